"""Boosted trees in the text of their own library, of a form so narrow that nothing else fits.

LightGBM's own reader takes many spellings and follows every position unchecked. Here each line must
be the one that is due, in the spelling that LightGBM writes, with whole numbers where positions
belong and lists as long as the number of leaves says. What follows the trees (importances,
parameters) is not needed to score rows: it is not kept, and LightGBM is never shown it.

The JSON of XGBoost and of CatBoost is read into the types below and written again from them, so the
library sees nothing else. Of XGBoost, forests of trees for two classes are stored; splits by
category, linear boosters, dropped trees and other objectives are not. Of CatBoost, symmetric trees
over columns of numbers are stored; other trees, categories, words and embeddings are not.
"""

import re
from collections.abc import Mapping
from itertools import accumulate, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from topbin.core.errors import InputError
from topbin.store.safe.trees import ForgedModel, check_range, check_splits, depth_of, require_that

MOST_DEEP = 1_000  # explaining a row takes memory by the square of the depth
Digits = Annotated[str, Meta(pattern=r"^\d{1,9}$")]
Share = Annotated[str, Meta(pattern=r"^\[?-?\d{1,40}(\.\d{1,40})?(E-?\d{1,2})?\]?$")]
Empty = Annotated[tuple[int, ...], Meta(max_length=0)]
Type = Literal["float", "int", "i", "q"]
MOST_SPLITS = 16  # of a symmetric tree of CatBoost: its own limit
INT = r"-?\d{1,10}"
FLOAT = r"-?(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|inf|nan)"
TOKEN = r"[^ \n\r\t\0]+"
END = "end of trees\n"
MOST_LEAVES = 131_072  # LightGBM's own limit


def _some(item: str) -> str:
    return rf"(?:{item}(?: {item})*)?"


HEADER = re.compile(
    "tree\nversion=v[34]\nnum_class=(?P<k>[1-9]\\d{0,4})\nnum_tree_per_iteration=(?P=k)\n"
    rf"label_index=0\nmax_feature_idx=(?P<last>\d{{1,9}})\nobjective="
    rf"(?:binary sigmoid:{FLOAT}|cross_entropy|multiclass num_class:(?P<classes>(?P=k)))\n"
    rf"(?:average_output\n)?feature_names=(?P<names>{_some(TOKEN)})\n"
    rf"(?:monotone_constraints=(?P<signs>{_some('(?:-1|0|1)')})\n)?"
    rf"feature_infos=(?P<infos>{_some(TOKEN)})\ntree_sizes=(?P<sizes>{_some(INT)})\n\n",
    re.ASCII,
)
# The lists of a tree in order, one item per leaf (`leaf_…`) or per inner node, and those of whole
# numbers. A tree with categories has two more, of any length.
LISTS = ["split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"]
LISTS += [f"{at}_{what}" for at in ("leaf", "internal") for what in ("value", "weight", "count")]
CATEGORIES = ["cat_boundaries", "cat_threshold"]
WHOLE = {"split_feature", "decision_type", "left_child", "right_child", *CATEGORIES}
WHOLE |= {"leaf_count", "internal_count"}
LINES = {
    name: re.compile(rf"{name}=({_some(INT if name in WHOLE else FLOAT)})\n")
    for name in LISTS + CATEGORIES
}
LAST = re.compile(rf"is_linear=0\nshrinkage={FLOAT}\n\n\n")


def trees_only(text: str) -> str:
    """The text up to the end of its trees, if every line of it is as LightGBM writes it.

    TB110 otherwise: a position outside the tree, a list of another length, a line out of order.
    """
    header = HEADER.match(text)
    if header is None:
        raise ForgedModel("its header is not one that LightGBM writes for classes")
    columns = int(header["last"]) + 1
    for name in ("names", "infos", "signs"):
        if header[name] is not None and len(header[name].split(" ")) != columns:
            raise ForgedModel(f"it has {columns:,} columns, and its {name} differ in length")
    k, trees = int(header["k"]), len(header["sizes"].split())
    fits = (k == 1) == (header["classes"] is None) and trees % k == 0 and (trees or k == 1)
    require_that(fits, "its trees do not fit its classes")
    data, start = text.encode(), len(header[0].encode())  # sizes are in bytes
    read = []
    for number, size in enumerate(map(int, header["sizes"].split())):
        # What is not ASCII becomes a character that no line may have.
        block = data[start : start + max(size, 0)].decode("ascii", errors="replace")
        read.append(_read_tree(block, number))
        start += size
    _check_positions(read, columns)
    ends = data[start:].startswith(END.encode())
    require_that(ends, "its trees are not where its header says")
    return data[:start].decode() + END


class _Tree(NamedTuple):
    """How many leaves and sets of categories a tree has, and its lists as they are written."""

    leaves: int
    n_cat: int
    lists: dict[str, str]


def _read_tree(block: str, number: int) -> _Tree:
    head = re.match(rf"Tree={number}\nnum_leaves=(\d{{1,6}})\nnum_cat=(\d{{1,6}})\n", block)
    if head is None or not 1 <= int(head[1]) <= MOST_LEAVES:
        raise ForgedModel("a tree is not where its header says")
    leaves, n_cat = int(head[1]), int(head[2])
    lists, end = {}, head.end()
    for name in LISTS + (CATEGORIES if n_cat else []):
        line = LINES[name].match(block, end)
        if line is None:
            raise ForgedModel(f"its line {name} is missing or spelled in another way")
        lists[name], end = line[1], line.end()
        items = line[1].count(" ") + 1 if line[1] else 0
        due = {leaves if name.startswith("leaf_") else leaves - 1}
        if leaves == 1 and name in ("leaf_weight", "leaf_count"):
            due.add(0)  # a tree of one leaf states its value, and other figures or not
        fits = name in CATEGORIES or items in due
        require_that(fits, f"its lists differ in length: {name} has {items:,} items")
    last = LAST.fullmatch(block, end)
    require_that(last, "its leaves are linear models, or its last lines are others")
    return _Tree(leaves, n_cat, lists)


def _check_positions(read: list[_Tree], columns: int) -> None:
    """Those of all trees at once: the nodes of each are counted on behind those before it."""
    if not read:
        return
    splits = [tree.leaves - 1 for tree in read]

    def every(name: str) -> list[str]:
        return " ".join(tree.lists[name] for tree in read).split()

    def spread(values: list[int]) -> Any:
        """The value of its tree for each split."""
        return np.repeat(np.array(values, np.int64), splits)

    leaves = spread([tree.leaves for tree in read])
    sides = [_ints(every(side)) for side in ("left_child", "right_child")]
    for side in sides:
        check_range(side, -leaves, leaves - 1)  # a leaf is stored as −1 − its number
    # The leaves are counted on behind the inner nodes.
    before = spread([0, *accumulate(2 * tree.leaves - 1 for tree in read[:-1])])
    sides = [before + np.where(side < 0, leaves - 2 - side, side) for side in sides]
    parents = before + np.concatenate([np.arange(k) for k in splits])
    nodes = sum(2 * tree.leaves - 1 for tree in read)
    check_splits(parents, sides, nodes, _ints(every("split_feature")), columns)
    kinds = _ints(every("decision_type"))
    check_range(kinds, 0, 12)
    is_category = kinds % 2 == 1
    places = [text for text, chosen in zip(every("threshold"), is_category, strict=True) if chosen]
    spelled = all(re.fullmatch(INT, place) for place in places)
    require_that(spelled, "the place of a set of categories is not a whole number")
    check_range(_ints(places), 0, spread([tree.n_cat for tree in read])[is_category])
    for tree in read:
        if tree.n_cat:
            bounds, words = (_ints(tree.lists[name].split()) for name in CATEGORIES)
            fits = bounds.size == tree.n_cat + 1 and bounds[0] == 0 and bounds[-1] == words.size
            require_that(fits and (np.diff(bounds) >= 0).all(), "its category lists do not fit")
            check_range(words, 0, 2**32)


def _ints(items: list[str]) -> Any:
    return np.array([int(item) for item in items], np.int64)


def load_booster(text: str, lightgbm: Any) -> Any:
    """A LightGBM model of checked text."""
    try:
        return lightgbm.Booster(model_str=trees_only(text))
    except lightgbm.basic.LightGBMError as error:
        raise InputError("TB110", f"a stored booster is damaged: {error}.") from error


class _Strict(Struct, forbid_unknown_fields=True):
    """Fields as named, and no others."""


Kind = TypeVar("Kind")


def _decoded(text: str | bytes, kind: type[Kind], allowed: str) -> Kind:
    """The values of a JSON text; TB110 if it has others."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ForgedModel(f"only {allowed}, for two classes: {error}") from error


class _XGBTreeSizes(_Strict):
    num_deleted: Digits
    num_feature: Digits
    num_nodes: Digits
    size_leaf_vector: Literal["1"]


class _XGBTree(_Strict):
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
    tree_param: _XGBTreeSizes


class _XGBCategories(_Strict):
    enc: Empty = ()
    feature_segments: Empty = ()
    sorted_idx: Empty = ()


class _XGBCounts(_Strict):
    num_parallel_tree: Digits
    num_trees: Digits


class _XGBTrees(_Strict):
    gbtree_model_param: _XGBCounts
    iteration_indptr: list[int]
    tree_info: list[Literal[0]]
    trees: list[_XGBTree]
    cats: _XGBCategories | UnsetType = UNSET


class _XGBBooster(_Strict):
    model: _XGBTrees
    name: Literal["gbtree"]


class _XGBSizes(_Strict):
    base_score: Share
    boost_from_average: Literal["0", "1"]
    num_class: Literal["0"]
    num_feature: Digits
    num_target: Literal["1"]


class _XGBWeight(_Strict):
    scale_pos_weight: Share


class _XGBObjective(_Strict):
    name: Literal["binary:logistic"]
    reg_loss_param: _XGBWeight


class _XGBLearner(_Strict):
    attributes: Annotated[dict[str, str], Meta(max_length=0)]
    feature_names: list[str]
    feature_types: list[Type]
    gradient_booster: _XGBBooster
    learner_model_param: _XGBSizes
    objective: _XGBObjective


class _XGBModel(_Strict):
    learner: _XGBLearner
    version: tuple[int, int, int]


def checked_xgboost(text: str | bytes) -> bytes:
    """The text of an XGBoost model, written again; TB110 if it is not as XGBoost writes it."""
    model = _decoded(text, _XGBModel, "plain trees over numbers")
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
        _check_xgboost_tree(tree, columns)
    return msgspec.json.encode(model)


def _check_xgboost_tree(tree: _XGBTree, columns: int) -> None:
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


def xgboost_text(model: Any) -> str | None:
    """The checked text of a classifier; None if it was not fitted."""
    if not model.__sklearn_is_fitted__():
        return None
    return checked_xgboost(bytes(model.get_booster().save_raw("json"))).decode()


def load_xgboost(xgboost: Any, params: Mapping[str, Any], text: str | None) -> Any:
    """A classifier of these parameters, and of this text if it was fitted."""
    model = xgboost.XGBClassifier(**params)
    if text is not None:
        content = bytearray(checked_xgboost(text))
        model._Booster = xgboost.Booster({"n_jobs": model.n_jobs}, model_file=content)
        model.n_classes_ = 2
    return model


class _CatColumn(_Strict):
    borders: list[float]
    feature_id: str
    feature_index: int
    flat_feature_index: int
    has_nans: bool
    nan_value_treatment: Literal["AsIs", "AsFalse", "AsTrue"]


class _CatColumns(_Strict):
    float_features: list[_CatColumn]


class _CatSplit(_Strict):
    border: float
    float_feature_index: int
    split_index: int
    split_type: Literal["FloatFeature"]


class _CatTree(_Strict):
    leaf_values: list[float]
    leaf_weights: list[float]
    splits: list[_CatSplit] | None


class _CatClasses(_Strict):
    class_label_type: Literal["Integer"]
    class_names: tuple[Literal[0], Literal[1]]
    class_to_label: tuple[Literal[0], Literal[1]]
    classes_count: Literal[0]


class _CatAbout(Struct):
    """What CatBoost says about the fit; all but the classes is left out."""

    class_params: _CatClasses


class _CatModel(_Strict):
    features_info: _CatColumns
    model_info: _CatAbout
    oblivious_trees: list[_CatTree]
    scale_and_bias: tuple[float, tuple[float]]


def checked_catboost(text: str | bytes) -> bytes:
    """The text of a CatBoost model, written again; TB110 if it is not as CatBoost writes it."""
    model = _decoded(text, _CatModel, "symmetric trees over numbers")
    places: dict[tuple[int, float], int] = {}  # of each border of each column, counted through
    for number, column in enumerate(model.features_info.float_features):
        counted = column.feature_index == column.flat_feature_index == number
        require_that(counted, "its columns are out of order")
        rising = sorted(set(column.borders)) == column.borders
        require_that(rising, "the borders of a column are out of order")
        places |= {(number, border): len(places) + k for k, border in enumerate(column.borders)}
    for tree in model.oblivious_trees:
        splits = tree.splits or []
        require_that(len(splits) <= MOST_SPLITS, f"it has more than {MOST_SPLITS} splits")
        lengths = {len(tree.leaf_values), len(tree.leaf_weights)}
        require_that(lengths == {2 ** len(splits)}, "its lists differ in length")
        for split in splits:
            place = places.get((split.float_feature_index, split.border))
            require_that(place == split.split_index, "a split is at no border of a column")
    return msgspec.json.encode(model)


def catboost_text(model: Any) -> str | None:
    """The checked text of a classifier; None if it was not fitted."""
    if not model.is_fitted():
        return None
    with TemporaryDirectory() as folder:  # it writes JSON only into files
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return checked_catboost(path.read_bytes()).decode()


def load_catboost(catboost: Any, params: Mapping[str, Any], text: str | None) -> Any:
    """A classifier of these parameters, and of this text if it was fitted."""
    model = catboost.CatBoostClassifier(**params)
    if text is not None:
        content = checked_catboost(text)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            path.write_bytes(content)
            model.load_model(str(path), format="json")
        model._init_params = params  # loading replaces them by those of the text, which has none
        model._n_features_in = len(model.get_feature_importance())  # which it keeps, as a fit does
    return model
