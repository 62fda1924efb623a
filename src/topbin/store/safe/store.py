"""Fitted objects as JSON, with arrays, texts of boosters and weights of nets beside it.

A type that `topbin.store.safe.lists` does not name is refused by name, in saving and in loading. An
object of scikit-learn is stored as its name and its attributes, and built from them again.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.tree._tree import Tree

from topbin.core.errors import InputError
from topbin.core.evidence import Evidence
from topbin.core.optional import require
from topbin.store.safe.boosters import load_booster, trees_only
from topbin.store.safe.lists import FACES, FUNCTIONS, NAMED, NOT_KEPT, SKLEARN, VALUES
from topbin.store.safe.trees import build_tree, check_model

PLAIN = (str, bool, int, type(None))
LIGHTGBM = "lightgbm.sklearn.LGBMClassifier"
BACKEND = "topbin.learn.backends.torch.TorchBackend"
SPARSE = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")
THREADS = ("n_jobs", "nthread", "nthreads", "num_thread", "num_threads")
MOST_THREADS = 1024
Random = np.random.RandomState | np.random.Generator
FITTED = re.compile(r"[a-z]\w*")


@dataclass(slots=True)
class Attachments:
    """What JSON cannot hold: arrays, LightGBM's texts, weights of nets."""

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    boosters: list[str] = field(default_factory=list)
    tensors: dict[str, Any] = field(default_factory=dict)
    net: Any = None


def pack(value: Any, attached: Attachments) -> Any:
    """`value` as JSON; what JSON cannot hold is put into `attached`.

    >>> pack({"alpha": (0.5, float("inf"))}, Attachments())
    {'$dict': [['alpha', {'$tuple': [0.5, {'$float': 'inf'}]}]]}
    """
    if type(value) in PLAIN or (type(value) is float and math.isfinite(value)):
        return value
    if isinstance(value, list):
        return [pack(item, attached) for item in value]
    for kind, fits, packer in PACKERS:
        if fits(value):
            return {kind: packer(value, attached)}
    raise refused(name_of(value))


def unpack(node: Any, attached: Attachments) -> Any:
    """The value of a JSON node; TB110 if no rule made it."""
    if isinstance(node, list):
        return [unpack(item, attached) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1:
        ((kind, content),) = node.items()
        if kind in UNPACKERS:
            return UNPACKERS[kind](content, attached)
    raise InputError(
        "TB110", f"the model folder holds a value of an unknown kind: {list(node)[:3]}."
    )


def refused(names: str) -> InputError:
    """The refusal of types, by name."""
    return InputError(
        "TB111",
        f"not on the list of types that are safe to store: {names}. Nothing was done. "
        "Use LightGBM, a net or one of the scikit-learn models that topbin.store.safe.lists names, "
        "or keep the fitted object in memory.",
    )


def name_of(value: Any) -> str:
    """Module and name of a value's class."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def is_own(value: Any, table: Mapping[str, str]) -> bool:
    """Whether a value's class is the one this table names, not a namesake."""
    room = table.get(type(value).__name__)
    module = type(value).__module__
    return room is not None and (module == room or module.startswith(room + "."))


def _pack_value(value: Any, attached: Attachments) -> Any:
    packed = {f.name: _pack_field(getattr(value, f.name), attached) for f in fields(value)}
    return [type(value).__name__, packed]


def _pack_field(value: Any, attached: Attachments) -> Any:
    # A callback or an augmentation belongs to the program that fits, not to the model it attached.
    is_function = callable(value) and hasattr(value, "__code__")
    return None if is_function else pack(value, attached)


def _pack_face(face: Any, attached: Attachments) -> Any:
    params = face.get_params(deep=False)
    attached.net = params.get("estimator")
    fitted = {name: value for name, value in vars(face).items() if name not in params}
    return [
        type(face).__name__,
        {name: _pack_field(_kept(name, value), attached) for name, value in params.items()},
        {name: pack(value, attached) for name, value in fitted.items()},
    ]


def _kept(name: str, value: Any) -> Any:
    return None if name == "memory" else value  # it serves the fit, and may be large


def _pack_array(array: NDArray[Any], attached: Attachments) -> Any:
    if array.dtype == object:
        return {"objects": [pack(item, attached) for item in array.ravel()], "shape": array.shape}
    attached.arrays[f"a{len(attached.arrays)}"] = array
    return f"a{len(attached.arrays) - 1}"


def _pack_scalar(value: Any, attached: Attachments) -> Any:
    return [value.dtype.str, pack(value.item(), attached)]


def _pack_dict(value: Mapping[Any, Any], attached: Attachments) -> Any:
    return [[pack(key, attached), pack(item, attached)] for key, item in value.items()]


def _pack_object(value: Any, attached: Attachments) -> Any:
    state = value.__getstate__() or {}
    kept = {k: v for k, v in state.items() if k not in NOT_KEPT and k != "_sklearn_version"}
    packed = _pack_dict(kept, attached)
    try:
        check_model(value)
    except InputError as error:
        raise refused(f"{name_of(value)} ({error.message})") from error
    return [type(value).__name__, packed]


def _pack_tree(tree: Tree, attached: Attachments) -> Any:
    state = tree.__getstate__()
    arrays = [pack(state[name], attached) for name in ("nodes", "values")]
    return [tree.n_features, int(tree.max_n_classes), int(state["max_depth"]), *arrays]


def _pack_sparse(value: Any, attached: Attachments) -> Any:
    if type(value).__name__ not in SPARSE:
        raise refused(name_of(value))
    arrays = [pack(getattr(value, name), attached) for name in ("data", "indices", "indptr")]
    return [type(value).__name__, list(value.shape), *arrays]


def _pack_random(value: Any, attached: Attachments) -> Any:
    if isinstance(value, np.random.Generator):
        return pack(value.bit_generator.state, attached)
    return pack(value.get_state(legacy=False), attached)


def _pack_lightgbm(model: Any, attached: Attachments) -> Any:
    state = dict(vars(model))
    booster = state.pop("_Booster", None)
    best = None
    if booster is not None:
        if booster.pandas_categorical:
            raise refused(f"{LIGHTGBM} with categories of pandas")
        attached.boosters.append(trees_only(booster.model_to_string(num_iteration=-1)))
        best = booster.best_iteration
    place = None if booster is None else len(attached.boosters) - 1
    return [_pack_dict(state, attached), place, best]


def _pack_net(backend: Any, attached: Attachments) -> Any:
    from topbin.store.safe.nets import pack_net

    return pack_net(backend, attached)


def _is_module(value: Any) -> bool:
    return any(base.__module__ == "torch.nn.modules.module" for base in type(value).__mro__)


def _is_function(value: Any) -> bool:
    name = getattr(value, "__name__", None)
    return name in FUNCTIONS and value is _built(FUNCTIONS, name)


def _is_dtype(value: Any) -> bool:
    is_type = isinstance(value, type) and issubclass(value, np.number | np.bool_)
    return is_type or (isinstance(value, np.dtype) and value.kind in "biuf")


def _built(table: Mapping[str, str], name: Any) -> Any:
    if name not in table:
        raise refused(repr(name))
    return getattr(import_module(table[name]), name)


def _unpack_value(content: Any, attached: Attachments) -> Any:
    name, packed = content
    return _built(VALUES, name)(**{key: unpack(node, attached) for key, node in packed.items()})


def _unpack_face(content: Any, attached: Attachments) -> Any:
    name, params, fitted = content
    given = {key: unpack(node, attached) for key, node in params.items()}
    _check_threads(given)
    face = _built(FACES, name)(**given)
    values = {key: unpack(node, attached) for key, node in fitted.items()}
    for key in values:
        if not FITTED.fullmatch(key) or callable(getattr(type(face), key, None)):
            raise InputError("TB110", f"{name} has no fitted value of the name {key!r}.")
    vars(face).update(_renamed(values))
    return face


def _renamed(fitted: dict[str, Any]) -> dict[str, Any]:
    """Fitted values of folders that 0.1.0 wrote, under the names that they have now."""
    if "scores_p_" in fitted:  # 0.1.0 kept the scores without the evidence around them
        fitted["evidence_"] = Evidence(fitted.pop("scores_p_"), fitted.pop("scores_u_"))
    if "codes_" in fitted:
        codes = fitted.pop("codes_")
        fitted["features_"] = codes and _built(VALUES, "Features")(codes)
    return fitted


def _unpack_array(content: Any, attached: Attachments) -> Any:
    if isinstance(content, str):
        return attached.arrays[content]
    array = np.empty(len(content["objects"]), object)
    array[:] = [unpack(node, attached) for node in content["objects"]]
    return array.reshape(content["shape"])


def _unpack_scalar(content: Any, attached: Attachments) -> Any:
    return np.dtype(content[0]).type(unpack(content[1], attached))


def _unpack_dict(content: Any, attached: Attachments) -> Any:
    found = {unpack(key, attached): unpack(item, attached) for key, item in content}
    _check_threads(found)
    return found


def _check_threads(values: Mapping[Any, Any]) -> None:
    """Refuse more threads than any machine has; starting them would end the process."""
    for name in THREADS:
        if isinstance(found := values.get(name), int | float) and abs(found) > MOST_THREADS:
            raise InputError("TB110", f"the model folder asks for {name} = {found}.")


def _unpack_lightgbm(content: Any, attached: Attachments) -> Any:
    lightgbm = require("lightgbm", extra="boost", caller="a saved LightGBM model")
    state, place, best = content
    model = lightgbm.LGBMClassifier()
    vars(model).update(_state(type(model), state, attached))
    if place is not None:
        model._Booster = load_booster(attached.boosters[place], lightgbm)
        model._Booster.best_iteration = int(best)
    return model


def _unpack_object(content: Any, attached: Attachments) -> Any:
    name, packed = content
    model = object.__new__(_built(SKLEARN, name))  # its state is all that it holds
    state = _state(type(model), packed, attached)
    if hasattr(model, "__setstate__"):
        # The versions are kept once for the whole folder, and named there when loading fails.
        model.__setstate__({**state, "_sklearn_version": sklearn.__version__})
    else:
        vars(model).update(state)
    check_model(model)
    return model


def _state(kind: type, packed: Any, attached: Attachments) -> dict[str, Any]:
    """Attributes of an object, none of which can stand in the place of a method."""
    state: dict[str, Any] = _unpack_dict(packed, attached)
    for name in state:
        if not isinstance(name, str) or callable(getattr(kind, name, None)):
            raise InputError("TB110", f"{kind.__name__} has no attribute {name!r} to store.")
    return state


def _unpack_tree(content: Any, attached: Attachments) -> Tree:
    n_features, n_classes, max_depth, nodes, values = content
    arrays = unpack(nodes, attached), unpack(values, attached)
    return build_tree(n_features, n_classes, max_depth, *arrays)


def _unpack_sparse(content: Any, attached: Attachments) -> Any:
    name, (rows, columns), *arrays = content
    if name not in SPARSE:
        raise refused(repr(name))
    data, indices, indptr = (unpack(array, attached) for array in arrays)
    matrix = getattr(sparse, name)((data, indices, indptr), shape=(int(rows), int(columns)))
    matrix.check_format(full_check=True)  # every index inside, and every row where it says
    return matrix


def _unpack_random(content: Any, attached: Attachments) -> Any:
    state = unpack(content, attached)
    if state["bit_generator"] == "PCG64":
        generator = np.random.Generator(np.random.PCG64(0))
        generator.bit_generator.state = state
        return generator
    inner = state["state"]
    if inner["key"].shape != (624,) or not 0 <= int(inner["pos"]) <= 624:
        raise InputError("TB110", "the state of the random numbers is damaged.")
    numbers = np.random.RandomState(0)
    numbers.set_state(state)
    return numbers


def _pack_tuple(value: tuple[Any, ...], attached: Attachments) -> Any:
    return pack(list(value), attached)


def _pack_slice(value: slice, attached: Attachments) -> Any:
    return pack([value.start, value.stop, value.step], attached)


def _pack_dtype(value: Any, _: Attachments) -> Any:
    return [isinstance(value, type), np.dtype(value).str]


def _unpack_dtype(content: Any, _: Attachments) -> Any:
    is_type, name = content
    found = np.dtype(str(name))
    if not _is_dtype(found):
        raise refused(repr(name))
    return found.type if is_type else found


def _unpack_net(content: Any, attached: Attachments) -> Any:
    from topbin.store.safe.nets import unpack_net

    return unpack_net(content, attached)


def _unpack_module(content: Any, attached: Attachments) -> Any:
    if attached.net is None:
        raise InputError(
            "TB111",
            f"this model was trained with your own net {content}, whose code is not stored. "
            "Build one of the same shape and pass it: load(folder, net=...).",
        )
    return attached.net


PACKERS: tuple[tuple[str, Callable[[Any], bool], Callable[[Any, Attachments], Any]], ...] = (
    ("$float", lambda value: type(value) is float, lambda value, _: repr(value)),
    ("$tuple", lambda value: type(value) is tuple, _pack_tuple),
    ("$dict", lambda value: isinstance(value, dict), _pack_dict),
    ("$array", lambda value: type(value) is np.ndarray, _pack_array),
    ("$scalar", lambda value: isinstance(value, np.generic), _pack_scalar),
    ("$value", lambda value: is_dataclass(value) and is_own(value, VALUES), _pack_value),
    ("$face", lambda value: is_own(value, FACES), _pack_face),
    ("$backend", lambda value: name_of(value) == BACKEND, _pack_net),
    ("$module", _is_module, lambda value, _: name_of(value)),
    ("$lightgbm", lambda value: name_of(value) == LIGHTGBM, _pack_lightgbm),
    ("$object", lambda value: is_own(value, SKLEARN), _pack_object),
    ("$tree", lambda value: type(value) is Tree, _pack_tree),
    ("$sparse", sparse.issparse, _pack_sparse),
    ("$random", lambda value: isinstance(value, Random), _pack_random),
    ("$named", lambda value: is_own(value, NAMED), lambda value, _: type(value).__name__),
    ("$function", _is_function, lambda value, _: value.__name__),
    ("$dtype", _is_dtype, _pack_dtype),
    ("$slice", lambda value: type(value) is slice, _pack_slice),
)
UNPACKERS: dict[str, Callable[[Any, Attachments], Any]] = {
    "$float": lambda content, _: float(content),
    "$tuple": lambda content, attached: tuple(unpack(content, attached)),
    "$dict": _unpack_dict,
    "$array": _unpack_array,
    "$scalar": _unpack_scalar,
    "$value": _unpack_value,
    "$face": _unpack_face,
    "$backend": _unpack_net,
    "$module": _unpack_module,
    "$lightgbm": _unpack_lightgbm,
    "$object": _unpack_object,
    "$simple": _unpack_object,  # its name in format 1
    "$tree": _unpack_tree,
    "$sparse": _unpack_sparse,
    "$random": _unpack_random,
    "$named": lambda content, _: _built(NAMED, content)(),
    "$function": lambda content, _: _built(FUNCTIONS, content),
    "$dtype": _unpack_dtype,
    "$slice": lambda content, attached: slice(*unpack(content, attached)),
}
