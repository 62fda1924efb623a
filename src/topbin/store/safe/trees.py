"""Fitted scikit-learn models from a file, checked before they are used.

A stored tree holds positions: of its children, and of the column it splits on. A nearest-neighbor
model holds the class of each row. Compiled code follows these numbers unchecked, so a forged file
could make it read or write memory that is not its own (scikit-learn pull request 34558). Here each
position must lie inside the tree and the table, every node but the first must be the child of
exactly one earlier node, and all arrays must have the shapes that the compiled code expects.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaseEnsemble
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import NODE_DTYPE, Tree

from topbin.core.errors import InputError


class ForgedModel(InputError):
    """The numbers of a stored model do not fit each other; `why` says which."""

    def __init__(self, why: str) -> None:
        self.why = why
        message = f"a stored model is damaged or forged: {why}. Nothing was loaded."
        super().__init__("TB110", message)

    def __reduce__(self) -> tuple[type["ForgedModel"], tuple[str]]:  # type: ignore[override]
        return type(self), (self.why,)


def require_that(fits: Any, why: str) -> None:
    """TB110 unless it fits."""
    if not fits:
        raise ForgedModel(why)


def build_tree(n_features: int, n_classes: int, max_depth: int, nodes: Any, values: Any) -> Tree:
    """A scikit-learn tree of one output from its arrays, each checked before the tree exists."""
    require_that(n_classes in (1, 2), "it is not a tree for two classes")
    _require_array(nodes, NODE_DTYPE, (...,), "its nodes have another form")
    shape = (nodes.size, 1, n_classes)
    _require_array(values, np.float64, shape, "its values do not fit its nodes")
    nodes, values = np.ascontiguousarray(nodes), np.ascontiguousarray(values)
    state = {"max_depth": int(max_depth), "node_count": nodes.size}
    _check_nodes(nodes, int(n_features), state["max_depth"])
    tree = Tree(int(n_features), np.array([n_classes], np.intp), 1)
    tree.__setstate__({**state, "nodes": nodes, "values": values})
    return tree


def check_model(model: Any) -> None:
    """Raise TB110 if compiled code would follow a number of this fitted model out of its arrays."""
    for fitted, check in CHECKS.get(type(model).__name__, {}).items():
        if hasattr(model, fitted):
            check(model)
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
    items: Iterable[Any] = ()
    if isinstance(value, Tree | TreePredictor):
        if above is None:
            raise ForgedModel("nothing says how many columns it has")
        yield value, above
    elif isinstance(value, BaseEstimator):
        read = getattr(value, "n_features_in_", None)
        # Ensembles hand rows to their trees unchecked; all others check their own rows.
        handed = above if read is None else read if above is None else min(above, read)
        unchecked = isinstance(value, BaseEnsemble)
        for item in vars(value).values():
            yield from _trees(item, handed if unchecked or _holds_tree(item) else None)
    elif isinstance(value, Mapping):
        items = value.values()
    elif isinstance(value, list | tuple):
        items = value
    elif isinstance(value, np.ndarray):
        items = value.flat if value.dtype == object else ()
    elif hasattr(value, "__dict__") and type(value).__module__.startswith("sklearn."):
        items, above = vars(value).values(), None
    for item in items:
        yield from _trees(item, above)


def _holds_tree(value: Any) -> bool:
    """A tree, or the lists of trees that boosting keeps, without an estimator between."""
    if isinstance(value, list | tuple) and value:
        return _holds_tree(value[0])
    return isinstance(value, Tree | TreePredictor)


def _check_nodes(nodes: Any, columns: int, max_depth: int) -> None:
    require_that(nodes.size, "it has no nodes")
    inner = np.flatnonzero(nodes["left_child"] != -1)
    left, right = nodes["left_child"][inner], nodes["right_child"][inner]
    check_splits(inner, (left, right), nodes.size, nodes["feature"][inner], columns)
    # Walks allocate as many places as the tree says that it is deep.
    depth = depth_of(inner, (left, right), nodes.size)
    require_that(depth <= max_depth, f"it is {depth} deep and says {max_depth}")


def _check_predictor(tree: TreePredictor, columns: int) -> None:
    nodes = tree.nodes
    _require_array(nodes, PREDICTOR_RECORD_DTYPE, (...,), "its nodes have another form")
    require_that(nodes.size, "it has no nodes")
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    at = {name: nodes[name][inner].astype(np.int64) for name in nodes.dtype.names}
    check_splits(inner, (at["left"], at["right"]), nodes.size, at["feature_idx"], columns)
    for bitsets in (tree.raw_left_cat_bitsets, tree.binned_left_cat_bitsets):
        _require_array(bitsets, np.uint32, (..., 8), "its sets of categories have another form")
        check_range(at["bitset_idx"][at["is_categorical"] != 0], 0, len(bitsets))


def _check_histogram_boosting(model: Any) -> None:
    require_that(not getattr(model, "_in_fit", False), "it is in the middle of a fit")
    require_that(
        getattr(model, "_preprocessor", None) is None,
        "it changes its columns by itself, which topbin does not check",
    )
    categorical, shape = model._bin_mapper.is_categorical_, (model.n_features_in_,)
    _require_array(categorical, np.uint8, shape, "its columns do not fit")


def _check_boosting(model: Any) -> None:
    trees, several = model.estimators_, "there is more than one tree per round"
    _require_array(trees, object, (..., 1), several)
    require_that(model.n_trees_per_iteration_ == 1, several)
    for tree in trees.flat:
        fits = type(tree).__name__ == "DecisionTreeRegressor" and hasattr(tree, "tree_")
        require_that(fits and type(tree.tree_) is Tree, "a round holds something else than a tree")


def _check_neighbors(model: Any) -> None:
    require_that(model._fit_method == "brute" and model._tree is None, "it is not searched by rows")
    (rows, columns), unfit = model._fit_X.shape, "its rows and classes do not fit"
    require_that(columns == model.n_features_in_, "its columns do not fit")
    _require_array(model._y, np.intp, (rows,), unfit)
    neighbors = model.n_neighbors
    require_that(isinstance(neighbors, int) and 0 < neighbors <= rows, unfit)
    require_that(model.n_samples_fit_ == rows, unfit)
    check_range(model._y, 0, len(model.classes_))


def check_splits(parents: Any, sides: Any, nodes: int, features: Any, columns: int) -> None:
    """Each split reads a column; each child comes after its parent, and has no other."""
    for children in sides:
        check_range(children, 0, nodes)
        require_that((children > parents).all(), "a child comes before its parent")
    check_range(features, 0, columns)
    every = np.concatenate(sides)
    require_that(np.unique(every).size == every.size, "a node has two parents")


def depth_of(parents: Any, sides: Any, nodes: int) -> int:
    """How deep a tree is whose splits `check_splits` has let pass."""
    depth = [0] * nodes
    for parent, *children in zip(parents.tolist(), *map(np.ndarray.tolist, sides), strict=True):
        for child in children:
            depth[child] = depth[parent] + 1
    return max(depth)


def check_range(places: Any, low: Any, high: Any) -> None:
    """All places lie in [low, high), two numbers or one of each for every place."""
    is_outside = ~((low <= places) & (places < high))  # NaN is outside
    if is_outside.any():
        first = int(is_outside.argmax())
        place, start, stop = (int(x.flat[first]) for x in np.broadcast_arrays(places, low, high))
        raise ForgedModel(f"{place} is not within {start} to {stop - 1}")


def _require_array(array: Any, dtype: Any, shape: tuple[Any, ...], what: str) -> None:
    """TB110 unless it is an array of this type and shape, where `...` is any size."""
    fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == len(shape)
    sizes = zip(shape, array.shape, strict=True) if fits else ()
    require_that(fits and all(wanted is ... or wanted == size for wanted, size in sizes), what)


# By class: an attribute that only a fitted model has, and the check of such a model.
CHECKS: dict[str, dict[str, Callable[[Any], None]]] = {
    "GradientBoostingClassifier": {"estimators_": _check_boosting},
    "HistGradientBoostingClassifier": {"_predictors": _check_histogram_boosting},
    "KNeighborsClassifier": {"_fit_method": _check_neighbors},
}
