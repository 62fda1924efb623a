"""Fitted scikit-learn models from a file, checked before they are used.

A stored tree holds positions: of its children, and of the column it splits on. A nearest-neighbor
model holds the class of each row. Compiled code follows these numbers unchecked, so a forged file
could make it read or write memory that is not its own (scikit-learn pull request 34558). Here each
position must lie inside the tree and the table, every node but the first must be the child of
exactly one earlier node, and all arrays must have the shapes that the compiled code expects.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaseEnsemble
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import NODE_DTYPE, Tree

from topbin.core.errors import InputError

Ints = NDArray[np.int64]


def forged(what: str) -> InputError:
    """The refusal of a model whose numbers do not fit each other."""
    return InputError("TB110", f"a stored tree is damaged or forged: {what}. Nothing was loaded.")


def require_that(fits: Any, what: str) -> None:
    """TB110 unless it fits."""
    if not fits:
        raise forged(what)


def build_tree(n_features: int, n_classes: int, max_depth: int, nodes: Any, values: Any) -> Tree:
    """A scikit-learn tree of one output from its arrays, each checked before the tree exists."""
    require_that(
        isinstance(n_classes, int) and 1 <= n_classes <= 2, "it is not a tree for two classes"
    )
    require_that(
        isinstance(nodes, np.ndarray) and nodes.dtype == NODE_DTYPE and nodes.ndim == 1,
        "its nodes have another form",
    )
    require_that(
        isinstance(values, np.ndarray)
        and values.dtype == np.float64
        and values.shape == (nodes.size, 1, n_classes),
        "its values do not fit its nodes",
    )
    tree = Tree(int(n_features), np.array([n_classes], np.intp), 1)
    nodes, values = np.ascontiguousarray(nodes), np.ascontiguousarray(values)
    state = {"max_depth": int(max_depth), "node_count": nodes.size}
    _check_nodes(nodes, int(n_features), state["max_depth"])
    tree.__setstate__({**state, "nodes": nodes, "values": values})
    return tree


def check_model(model: Any) -> None:
    """Raise TB110 if compiled code would follow a number of this fitted model out of its arrays."""
    CHECKS.get(type(model).__name__, lambda _: None)(model)
    if isinstance(model, BaseEnsemble) or any(map(_holds_tree, vars(model).values())):
        check_trees(model)


def check_trees(parts: Any) -> None:
    """Raise TB110 if a tree inside these fitted models points outside itself or its table."""
    for tree, columns in _trees(parts, None):
        if isinstance(tree, Tree):
            require_that(0 < tree.node_count <= tree.capacity, "it has no nodes")
            nodes = tree.__getstate__()["nodes"]
            _check_nodes(nodes, min(columns, tree.n_features), tree.max_depth)
        else:
            _check_predictor(tree, columns)


def _trees(value: Any, above: int | None) -> Iterator[tuple[Any, int]]:
    """Every tree below `value`, with the number of columns it may split on."""
    if isinstance(value, Tree | TreePredictor):
        if above is None:
            raise forged("nothing says how many columns it has")
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


def _check_nodes(nodes: Any, columns: int, max_depth: int) -> None:
    require_that(nodes.size, "it has no nodes")
    inner = np.flatnonzero(nodes["left_child"] != -1)
    left, right = nodes["left_child"][inner], nodes["right_child"][inner]
    check_children(inner, left, nodes.size)
    check_children(inner, right, nodes.size)
    check_range(nodes["feature"][inner], 0, columns)
    check_each_once(np.concatenate([left, right]))
    # Walks allocate as many places as the tree says that it is deep.
    depth = [0] * nodes.size
    for parent, a, b in zip(inner.tolist(), left.tolist(), right.tolist(), strict=True):
        depth[a] = depth[b] = depth[parent] + 1
    require_that(max(depth) <= max_depth, f"it is {max(depth)} deep and says {max_depth}")


def _check_predictor(tree: TreePredictor, columns: int) -> None:
    nodes = tree.nodes
    require_that(
        isinstance(nodes, np.ndarray)
        and nodes.dtype == PREDICTOR_RECORD_DTYPE
        and nodes.ndim == 1
        and nodes.size,
        "its nodes have another form",
    )
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    children = [nodes[side][inner].astype(np.int64) for side in ("left", "right")]
    for side in children:
        check_children(inner, side, nodes.size)
    check_each_once(np.concatenate(children))
    check_range(nodes["feature_idx"][inner].astype(np.int64), 0, columns)
    by_category = nodes[inner][nodes["is_categorical"][inner] != 0]
    for bitsets in (tree.raw_left_cat_bitsets, tree.binned_left_cat_bitsets):
        _check_bitsets(bitsets)
        check_range(by_category["bitset_idx"].astype(np.int64), 0, len(bitsets))


def _check_bitsets(bitsets: Any) -> None:
    fits = isinstance(bitsets, np.ndarray) and bitsets.ndim == 2 and bitsets.shape[1] == 8
    require_that(fits and bitsets.dtype == np.uint32, "its sets of categories have another form")


def _check_histogram_boosting(model: Any) -> None:
    if not hasattr(model, "_predictors"):
        return
    require_that(not getattr(model, "_in_fit", False), "it is in the middle of a fit")
    require_that(
        getattr(model, "_preprocessor", None) is None,
        "it changes its columns by itself, which topbin does not check",
    )
    categorical = model._bin_mapper.is_categorical_
    require_that(
        isinstance(categorical, np.ndarray) and categorical.shape == (model.n_features_in_,),
        "its columns do not fit",
    )


def _check_boosting(model: Any) -> None:
    if not hasattr(model, "estimators_"):
        return
    trees = model.estimators_
    require_that(
        isinstance(trees, np.ndarray) and trees.ndim == 2 and trees.shape[1] == 1,
        "there is more than one tree per round",
    )
    require_that(model.n_trees_per_iteration_ == 1, "there is more than one tree per round")
    require_that(
        all(type(tree).__name__ == "DecisionTreeRegressor" for tree in trees.flat)
        and all(isinstance(getattr(tree, "tree_", None), Tree) for tree in trees.flat),
        "a round holds something else than a tree",
    )


def _check_neighbors(model: Any) -> None:
    if not hasattr(model, "_fit_method"):
        return
    require_that(model._fit_method == "brute" and model._tree is None, "it is not searched by rows")
    rows, classes = model._fit_X, model._y
    require_that(rows.ndim == 2 and rows.shape[1] == model.n_features_in_, "its columns do not fit")
    require_that(
        isinstance(classes, np.ndarray)
        and classes.dtype == np.intp
        and classes.shape == (rows.shape[0],)
        and model.n_samples_fit_ == rows.shape[0]
        and isinstance(model.n_neighbors, int)
        and 0 < model.n_neighbors <= rows.shape[0],
        "its rows and classes do not fit",
    )
    check_range(classes, 0, len(model.classes_))


def check_children(parents: Any, children: Any, nodes: int) -> None:
    """Each child is a node that comes after its parent."""
    check_range(children, 0, nodes)
    require_that((children > parents).all(), "a child comes before its parent")


def check_each_once(children: Any) -> None:
    """No node has two parents."""
    require_that(np.unique(children).size == children.size, "a node has two parents")


def check_range(places: Any, low: int, high: int) -> None:
    """All places lie in [low, high)."""
    if places.size and not (low <= places.min() and places.max() < high):
        raise forged(
            f"{int(places.min())} to {int(places.max())} is not within {low} to {high - 1}"
        )


CHECKS: dict[str, Callable[[Any], None]] = {
    "GradientBoostingClassifier": _check_boosting,
    "HistGradientBoostingClassifier": _check_histogram_boosting,
    "KNeighborsClassifier": _check_neighbors,
}
