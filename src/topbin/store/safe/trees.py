"""Trees from a file, checked before they are used.

A stored tree holds positions: of its children, and of the column it splits on. scikit-learn and
LightGBM follow them unchecked, so a forged file could make them read memory that is not theirs
(scikit-learn pull request 34558). Here every position must lie inside the tree and the table, and
every child after its parent, so that no walk leaves the tree or runs in a circle.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaseEnsemble
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import Tree

from topbin.core.errors import InputError

Ints = NDArray[np.int64]
LINE = re.compile(r"^(\w+)=(.*)$", re.MULTILINE)
NODE_LISTS = ("split_feature", "left_child", "right_child", "decision_type", "threshold")


def check_trees(parts: Any) -> None:
    """Raise TB110 if a tree inside these fitted models points outside itself or its table."""
    for tree, columns in _trees(parts, None):
        if isinstance(tree, Tree):
            _check_tree(tree, min(columns, tree.n_features))
        else:
            _check_predictor(tree, columns)


def check_booster(text: str) -> None:
    """Raise TB110 if a tree of a LightGBM model, in its text form, does."""
    try:
        header, trees = _split(text)
        columns = int(header["max_feature_idx"]) + 1
        for tree in trees:
            _check_leafwise(tree, columns)
    except (KeyError, ValueError, IndexError) as error:
        raise _forged(repr(error)) from error


def _trees(value: Any, above: int | None) -> Iterator[tuple[Any, int]]:
    """Every tree below `value`, with the number of columns it may split on."""
    if isinstance(value, Tree | TreePredictor):
        if above is None:
            raise _forged("nothing says how many columns it has")
        yield value, above
    elif isinstance(value, BaseEstimator):
        own = getattr(value, "n_features_in_", None)
        # Ensembles hand rows to their trees unchecked; all others check their own rows.
        handed = above if own is None else own if above is None else min(above, own)
        unchecked = isinstance(value, BaseEnsemble)
        for item in vars(value).values():
            yield from _trees(item, handed if unchecked or _holds_tree(item) else None)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _trees(item, above)
    elif isinstance(value, list | tuple) or (
        isinstance(value, np.ndarray) and value.dtype == object
    ):
        for item in value:
            yield from _trees(item, above)
    elif hasattr(value, "__dict__") and type(value).__module__.startswith("sklearn."):
        for item in vars(value).values():
            yield from _trees(item, None)


def _holds_tree(value: Any) -> bool:
    """A tree, or the lists of trees that boosting keeps, without an estimator between."""
    if isinstance(value, list | tuple) and value:
        return _holds_tree(value[0])
    return isinstance(value, Tree | TreePredictor)


def _check_tree(tree: Tree, columns: int) -> None:
    inner = np.flatnonzero(tree.children_left != -1)
    for children in (tree.children_left, tree.children_right):
        _check_children(inner, children[inner], tree.node_count)
    _check_range(tree.feature[inner], 0, columns)


def _check_predictor(tree: TreePredictor, columns: int) -> None:
    nodes = tree.nodes
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    for side in ("left", "right"):
        _check_children(inner, nodes[side][inner].astype(np.int64), nodes.size)
    _check_range(nodes["feature_idx"][inner].astype(np.int64), 0, columns)
    by_category = nodes[inner][nodes["is_categorical"][inner] != 0]
    for bitsets in (tree.raw_left_cat_bitsets, tree.binned_left_cat_bitsets):
        _check_range(by_category["bitset_idx"].astype(np.int64), 0, len(bitsets))


def _check_leafwise(tree: dict[str, str], columns: int) -> None:
    leaves = int(tree["num_leaves"])
    if int(tree.get("is_linear", 0)):
        raise _forged("its leaves are linear models, which topbin does not check")
    if leaves <= 1:
        return
    lists = {name: np.array(tree[name].split(), np.float64) for name in NODE_LISTS}
    if {values.size for values in lists.values()} != {leaves - 1}:
        raise _forged("its lists differ in length")
    at = np.arange(leaves - 1)
    for side in ("left_child", "right_child"):
        children = lists[side].astype(np.int64)
        leaf = children < 0  # a leaf is stored as −1 − its number
        _check_range(-1 - children[leaf], 0, leaves)
        _check_children(at[~leaf], children[~leaf], leaves - 1)
    _check_range(lists["split_feature"].astype(np.int64), 0, columns)
    by_category = lists["decision_type"].astype(np.int64) % 2 == 1
    if by_category.any():
        _check_categories(tree, lists["threshold"][by_category].astype(np.int64))


def _check_categories(tree: dict[str, str], places: Ints) -> None:
    bounds = np.array(tree["cat_boundaries"].split(), np.int64)
    words = len(tree["cat_threshold"].split())
    if bounds[0] != 0 or bounds[-1] != words or (np.diff(bounds) < 0).any():
        raise _forged("its category lists do not fit")
    _check_range(places, 0, bounds.size - 1)


def _check_children(parents: Any, children: Any, nodes: int) -> None:
    _check_range(children, 0, nodes)
    if (children <= parents).any():
        raise _forged("a child comes before its parent")


def _check_range(places: Any, low: int, high: int) -> None:
    if places.size and not (low <= places.min() and places.max() < high):
        raise _forged(
            f"{int(places.min())} to {int(places.max())} is not within {low} to {high - 1}"
        )


def _split(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Header and trees as LightGBM itself cuts them: by the sizes that the header states."""
    data = text.encode()
    start = data.index(b"\nTree=") + 1
    header = dict(LINE.findall(data[:start].decode()))
    trees = []
    for size in map(int, header["tree_sizes"].split()):
        lines = LINE.findall(data[start : start + size].decode())
        start += size
        tree = dict(lines)
        if size <= 0 or lines[0][0] != "Tree" or len(tree) != len(lines):
            raise ValueError("a tree is not where the header says")
        trees.append(tree)
    if not data[start:].startswith(b"end of trees"):
        raise ValueError("there is more than the header says")
    return header, trees


def _forged(what: str) -> InputError:
    return InputError("TB110", f"a stored tree is damaged or forged: {what}. Nothing was loaded.")
