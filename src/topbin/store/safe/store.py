"""Fitted objects as JSON, with arrays, scikit-learn models, boosters and nets as leaves.

A type that `topbin.store.safe.lists` does not name is refused by name, in saving and in loading.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from topbin.core.errors import InputError
from topbin.core.evidence import Evidence
from topbin.core.optional import require
from topbin.store.safe.lists import FACES, HOLDERS, SIMPLE, VALUES
from topbin.store.safe.trees import check_booster

PLAIN = (str, bool, int, type(None))
LIGHTGBM = "lightgbm.sklearn.LGBMClassifier"
BACKEND = "topbin.learn.backends.torch.TorchBackend"


@dataclass(slots=True)
class Leaves:
    """What JSON cannot hold: arrays, scikit-learn models, LightGBM's texts, weights of nets."""

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    parts: list[Any] = field(default_factory=list)
    boosters: list[str] = field(default_factory=list)
    tensors: dict[str, Any] = field(default_factory=dict)
    net: Any = None


def pack(value: Any, leaves: Leaves) -> Any:
    """`value` as JSON; what JSON cannot hold is put into `leaves`.

    >>> pack({"alpha": (0.5, float("inf"))}, Leaves())
    {'$dict': [['alpha', {'$tuple': [0.5, {'$float': 'inf'}]}]]}
    """
    if type(value) in PLAIN or (type(value) is float and math.isfinite(value)):
        return value
    if isinstance(value, list):
        return [pack(item, leaves) for item in value]
    for kind, fits, packer in PACKERS:
        if fits(value):
            return {kind: packer(value, leaves)}
    raise refused(name_of(value))


def unpack(node: Any, leaves: Leaves) -> Any:
    """The value of a JSON node; TB110 if no rule made it."""
    if isinstance(node, list):
        return [unpack(item, leaves) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1:
        ((kind, content),) = node.items()
        if kind in UNPACKERS:
            return UNPACKERS[kind](content, leaves)
    raise InputError("TB110", f"the model folder holds a value of no known kind: {list(node)[:3]}.")


def refused(names: str) -> InputError:
    """The refusal of types, by name."""
    return InputError(
        "TB111",
        f"not on the list of types that are safe to store: {names}. Nothing was done. "
        "Use a scikit-learn or LightGBM model or a net, or keep the fitted object in memory.",
    )


def name_of(value: Any) -> str:
    """Module and name of a value's class."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def is_own(value: Any, table: Mapping[str, str]) -> bool:
    """Whether a value's class is the one this table names, not a namesake."""
    room = table.get(type(value).__name__)
    module = type(value).__module__
    return room is not None and (module == room or module.startswith(room + "."))


def _pack_value(value: Any, leaves: Leaves) -> Any:
    packed = {f.name: _pack_field(getattr(value, f.name), leaves) for f in fields(value)}
    return [type(value).__name__, packed]


def _pack_field(value: Any, leaves: Leaves) -> Any:
    # A callback or an augmentation belongs to the program that fits, not to the model it leaves.
    is_function = callable(value) and hasattr(value, "__code__")
    return None if is_function else pack(value, leaves)


def _pack_face(face: Any, leaves: Leaves) -> Any:
    params = face.get_params(deep=False)
    leaves.net = params.get("estimator")
    fitted = {name: value for name, value in vars(face).items() if name not in params}
    return [
        type(face).__name__,
        {name: _pack_field(_kept(name, value), leaves) for name, value in params.items()},
        {name: pack(value, leaves) for name, value in fitted.items()},
    ]


def _kept(name: str, value: Any) -> Any:
    return None if name == "memory" else value  # it serves the fit, and may be large


def _pack_array(array: NDArray[Any], leaves: Leaves) -> Any:
    if array.dtype == object:
        return {"objects": [pack(item, leaves) for item in array.ravel()], "shape": array.shape}
    leaves.arrays[f"a{len(leaves.arrays)}"] = array
    return f"a{len(leaves.arrays) - 1}"


def _pack_scalar(value: Any, leaves: Leaves) -> Any:
    return [value.dtype.str, pack(value.item(), leaves)]


def _pack_dict(value: Mapping[Any, Any], leaves: Leaves) -> Any:
    return [[pack(key, leaves), pack(item, leaves)] for key, item in value.items()]


def _pack_simple(model: Any, leaves: Leaves) -> Any:
    return [type(model).__name__, _pack_dict(vars(model), leaves)]


def _pack_part(value: Any, leaves: Leaves) -> int:
    leaves.parts.append(value)
    return len(leaves.parts) - 1


def _pack_lightgbm(model: Any, leaves: Leaves) -> Any:
    state = dict(vars(model))
    booster = state.pop("_Booster", None)
    best = None
    if booster is not None:
        leaves.boosters.append(booster.model_to_string(num_iteration=-1))
        check_booster(leaves.boosters[-1])
        best = booster.best_iteration
    place = None if booster is None else len(leaves.boosters) - 1
    return [_pack_dict(state, leaves), place, best]


def _pack_net(backend: Any, leaves: Leaves) -> Any:
    from topbin.store.safe.nets import pack_net

    return pack_net(backend, leaves)


def _is_simple(value: Any) -> bool:
    return is_own(value, SIMPLE) or (is_own(value, HOLDERS) and _holds_lightgbm(vars(value)))


def _holds_lightgbm(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_lightgbm(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(_holds_lightgbm(item) for item in value)
    if is_own(value, HOLDERS):
        return _holds_lightgbm(vars(value))
    return name_of(value) == LIGHTGBM


def _is_module(value: Any) -> bool:
    return any(base.__module__ == "torch.nn.modules.module" for base in type(value).__mro__)


def _is_part(value: Any) -> bool:
    known = isinstance(value, BaseEstimator | np.random.RandomState) or issparse(value)
    return known or type(value).__module__.startswith("sklearn.")


def _built(table: Mapping[str, str], name: Any) -> Any:
    if name not in table:
        raise refused(repr(name))
    return getattr(import_module(table[name]), name)


def _unpack_value(content: Any, leaves: Leaves) -> Any:
    name, packed = content
    return _built(VALUES, name)(**{key: unpack(node, leaves) for key, node in packed.items()})


def _unpack_face(content: Any, leaves: Leaves) -> Any:
    name, params, fitted = content
    face = _built(FACES, name)(**{key: unpack(node, leaves) for key, node in params.items()})
    values = {key: unpack(node, leaves) for key, node in fitted.items()}
    if "scores_p_" in values:  # folders of 0.1.0 kept the scores without the evidence around them
        values["evidence_"] = Evidence(values.pop("scores_p_"), values.pop("scores_u_"))
    if "codes_" in values:  # 0.1.0 called the encoder of a classifier so
        codes = values.pop("codes_")
        values["features_"] = codes and _built(VALUES, "Features")(codes)
    vars(face).update(values)
    return face


def _unpack_array(content: Any, leaves: Leaves) -> Any:
    if isinstance(content, str):
        return leaves.arrays[content]
    array = np.empty(len(content["objects"]), object)
    array[:] = [unpack(node, leaves) for node in content["objects"]]
    return array.reshape(content["shape"])


def _unpack_scalar(content: Any, leaves: Leaves) -> Any:
    return np.dtype(content[0]).type(unpack(content[1], leaves))


def _unpack_dict(content: Any, leaves: Leaves) -> Any:
    return {unpack(key, leaves): unpack(item, leaves) for key, item in content}


def _unpack_lightgbm(content: Any, leaves: Leaves) -> Any:
    lightgbm = require("lightgbm", extra="boost", caller="a saved LightGBM model")
    state, place, best = content
    model = lightgbm.LGBMClassifier()
    vars(model).update(_unpack_dict(state, leaves))
    if place is not None:
        check_booster(leaves.boosters[place])
        try:
            model._Booster = lightgbm.Booster(model_str=leaves.boosters[place])
        except lightgbm.basic.LightGBMError as error:
            raise InputError("TB110", f"a stored booster is damaged: {error}.") from error
        model._Booster.best_iteration = best
    return model


def _unpack_simple(content: Any, leaves: Leaves) -> Any:
    name, state = content
    model = object.__new__(_built(SIMPLE | HOLDERS, name))  # its state is all that it holds
    vars(model).update(_unpack_dict(state, leaves))
    return model


def _unpack_net(content: Any, leaves: Leaves) -> Any:
    from topbin.store.safe.nets import unpack_net

    return unpack_net(content, leaves)


def _unpack_module(content: Any, leaves: Leaves) -> Any:
    if leaves.net is None:
        raise InputError(
            "TB111",
            f"this model was trained with your own net {content}, whose code is not stored. "
            "Build one of the same shape and pass it: load(folder, net=...).",
        )
    return leaves.net


PACKERS: tuple[tuple[str, Callable[[Any], bool], Callable[[Any, Leaves], Any]], ...] = (
    ("$float", lambda value: type(value) is float, lambda value, _: repr(value)),
    ("$tuple", lambda value: type(value) is tuple, lambda value, leaves: pack(list(value), leaves)),
    ("$dict", lambda value: isinstance(value, dict), _pack_dict),
    ("$array", lambda value: type(value) is np.ndarray, _pack_array),
    ("$scalar", lambda value: isinstance(value, np.generic), _pack_scalar),
    ("$value", lambda value: is_dataclass(value) and is_own(value, VALUES), _pack_value),
    ("$face", lambda value: is_own(value, FACES), _pack_face),
    ("$backend", lambda value: name_of(value) == BACKEND, _pack_net),
    ("$module", _is_module, lambda value, _: name_of(value)),
    ("$lightgbm", lambda value: name_of(value) == LIGHTGBM, _pack_lightgbm),
    ("$simple", _is_simple, _pack_simple),
    ("$part", _is_part, _pack_part),
)
UNPACKERS: dict[str, Callable[[Any, Leaves], Any]] = {
    "$float": lambda content, _: float(content),
    "$tuple": lambda content, leaves: tuple(unpack(content, leaves)),
    "$dict": _unpack_dict,
    "$array": _unpack_array,
    "$scalar": _unpack_scalar,
    "$value": _unpack_value,
    "$face": _unpack_face,
    "$backend": _unpack_net,
    "$module": _unpack_module,
    "$lightgbm": _unpack_lightgbm,
    "$simple": _unpack_simple,
    "$part": lambda content, leaves: leaves.parts[content],
}
