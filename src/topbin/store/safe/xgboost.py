"""XGBoost models as XGBoost's own JSON, of a form so narrow that every position in it is checked.

The text is read into the types below and written again from them, so XGBoost sees nothing else.
Forests of trees for two classes are stored; splits by category, linear boosters, dropped trees and
other objectives are not.
"""

from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from topbin.store.safe.trees import check_range, check_splits, depth_of, forged, require_that

MOST_DEEP = 1_000  # explaining a row takes memory by the square of the depth
Digits = Annotated[str, Meta(pattern=r"^\d{1,9}$")]
Share = Annotated[str, Meta(pattern=r"^\[?-?\d{1,40}(\.\d{1,40})?(E-?\d{1,2})?\]?$")]
Empty = Annotated[tuple[int, ...], Meta(max_length=0)]
Type = Literal["float", "int", "i", "q"]


class _Strict(Struct, forbid_unknown_fields=True):
    """Fields as named, and no others."""


class _TreeSizes(_Strict):
    num_deleted: Digits
    num_feature: Digits
    num_nodes: Digits
    size_leaf_vector: Literal["1"]


class _Tree(_Strict):
    base_weights: list[float]
    categories: Empty
    categories_nodes: Empty
    categories_segments: Empty
    categories_sizes: Empty
    default_left: list[Literal[0, 1]]
    id: int
    left_children: list[int]
    loss_changes: list[float]
    parents: list[int]
    right_children: list[int]
    split_conditions: list[float]
    split_indices: list[int]
    split_type: list[Literal[0]]
    sum_hessian: list[float]
    tree_param: _TreeSizes


class _Categories(_Strict):
    enc: Empty = ()
    feature_segments: Empty = ()
    sorted_idx: Empty = ()


class _Counts(_Strict):
    num_parallel_tree: Digits
    num_trees: Digits


class _Trees(_Strict):
    gbtree_model_param: _Counts
    iteration_indptr: list[int]
    tree_info: list[Literal[0]]
    trees: list[_Tree]
    cats: _Categories | UnsetType = UNSET


class _Booster(_Strict):
    model: _Trees
    name: Literal["gbtree"]


class _Sizes(_Strict):
    base_score: Share
    boost_from_average: Literal["0", "1"]
    num_class: Literal["0"]
    num_feature: Digits
    num_target: Literal["1"]


class _Weight(_Strict):
    scale_pos_weight: Share


class _Objective(_Strict):
    name: Literal["binary:logistic"]
    reg_loss_param: _Weight


class _Learner(_Strict):
    attributes: Annotated[dict[str, str], Meta(max_length=0)]
    feature_names: list[str]
    feature_types: list[Type]
    gradient_booster: _Booster
    learner_model_param: _Sizes
    objective: _Objective


class _Model(_Strict):
    learner: _Learner
    version: tuple[int, int, int]


def checked(text: str | bytes) -> bytes:
    """The text of an XGBoost model, written again; TB110 if it is not as XGBoost writes it."""
    try:
        model = msgspec.json.decode(text, type=_Model)
    except (msgspec.DecodeError, RecursionError) as error:
        raise forged(f"only plain trees over numbers, for two classes: {error}") from error
    learner = model.learner
    columns = int(learner.learner_model_param.num_feature)
    for names in (learner.feature_names, learner.feature_types):
        require_that(len(names) in (0, columns), "its columns and their names differ in length")
    stored = learner.gradient_booster.model
    trees, rounds = len(stored.trees), stored.iteration_indptr
    known = int(stored.gbtree_model_param.num_trees) == trees == len(stored.tree_info)
    require_that(known and rounds[:1] == [0] and rounds[-1] == trees, "its trees are not counted")
    require_that(all(a <= b for a, b in pairwise(rounds)), "its rounds are out of order")
    for number, tree in enumerate(stored.trees):
        require_that(tree.id == number, "its trees are out of order")
        _check_tree(tree, columns)
    return msgspec.json.encode(model)


def _check_tree(tree: _Tree, columns: int) -> None:
    size = int(tree.tree_param.num_nodes)
    lists = [getattr(tree, name) for name in tree.__struct_fields__]
    lengths = {len(each) for each in lists if isinstance(each, list)}
    require_that(size and lengths == {size}, "its lists differ in length")
    require_that(int(tree.tree_param.num_feature) == columns, "its trees read other columns")
    whole = {}
    for name in ("left_children", "right_children", "parents", "split_indices"):
        values = getattr(tree, name)
        require_that(min(values) >= -1 and max(values) < 2**31, f"its {name} are no positions")
        whole[name] = np.array(values, np.int64)
    left, right = whole["left_children"], whole["right_children"]
    require_that(((left == -1) == (right == -1)).all(), "a node has one child")
    inner = np.flatnonzero(left != -1)
    sides = left[inner], right[inner]
    check_splits(inner, sides, size, whole["split_indices"][inner], columns)
    parents = whole["parents"]
    for side in sides:
        require_that((parents[side] == inner).all(), "a child names another parent")
    check_range(parents[1:], 0, size)
    require_that(depth_of(inner, sides, size) <= MOST_DEEP, f"it is deeper than {MOST_DEEP:,}")


def text_of(model: Any) -> str | None:
    """The checked text of a classifier; None if it was not fitted."""
    if not model.__sklearn_is_fitted__():
        return None
    return checked(bytes(model.get_booster().save_raw("json"))).decode()


def load(xgboost: Any, params: dict[str, Any], text: str | None) -> Any:
    """A classifier of these parameters, and of this text if it was fitted."""
    model = xgboost.XGBClassifier(**params)
    if text is not None:
        content = bytearray(checked(text))
        model._Booster = xgboost.Booster({"n_jobs": model.n_jobs}, model_file=content)
        model.n_classes_ = 2
    return model
