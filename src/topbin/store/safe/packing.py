"""Fitted objects as JSON, with arrays, texts of boosters and weights of nets beside it.

A type that `topbin.store.safe` does not name is refused by name, in saving and in loading. An
object of scikit-learn is stored as its name and its attributes, and built from them again.
"""

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.tree._tree import Tree

from topbin.core.errors import InputError
from topbin.core.evidence import Evidence
from topbin.core.optional import require
from topbin.learn.learners import PVU
from topbin.store.safe import FACES, FUNCTIONS, GONE, NAMED, NOT_KEPT, SKLEARN, VALUES, boosters
from topbin.store.safe.trees import ForgedModel, build_tree, check_model, require_that

Fields = dict[str, Any]  # by name, as values or as JSON
PLAIN = (str, bool, int, type(None))
LIGHTGBM = "lightgbm.sklearn.LGBMClassifier"
BACKEND = "topbin.learn.backends.torch.TorchBackend"
SPARSE = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")
# Libraries take what they are told: so many threads that the process ends, or memory for so many
# classes. More of the first no machine has; of the second our models have as many as their trees
# say, and their parameters two.
THREADS = ("n_jobs", "nthread", "nthreads", "num_thread", "num_threads", "thread_count")
LARGEST = dict.fromkeys(THREADS, 1024) | {"_n_classes": 10_000, "num_class": 2, "num_classes": 2}


@dataclass(slots=True)
class Attachments:
    """What JSON cannot hold: arrays, texts of boosters, weights of nets."""

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    boosters: list[str] = field(default_factory=list)
    tensors: Fields = field(default_factory=dict)
    net: Any = None


@dataclass(frozen=True, slots=True)
class Rule:
    """Which values it is for, how one becomes JSON, and the way back."""

    fits: Callable[[Any], bool]
    pack: Callable[[Any, Attachments], Any]
    unpack: Callable[[Any, Attachments], Any]


def pack(value: Any, attached: Attachments) -> Any:
    """`value` as JSON; what JSON cannot hold is put into `attached`.

    >>> pack({"alpha": (0.5, float("inf"))}, Attachments())
    {'$dict': [['alpha', {'$tuple': [0.5, {'$float': 'inf'}]}]]}
    """
    if type(value) in PLAIN or (type(value) is float and math.isfinite(value)):
        return value
    if isinstance(value, list):
        return [pack(item, attached) for item in value]
    for kind, rule in RULES.items():
        if rule.fits(value):
            return {kind: rule.pack(value, attached)}
    raise refused(name_of(value))


def unpack(node: Any, attached: Attachments) -> Any:
    """The value of a JSON node; TB110 if no rule made it."""
    if isinstance(node, list):
        return [unpack(item, attached) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1 and (kind := next(iter(node))) in RULES:
        return RULES[kind].unpack(node[kind], attached)
    names = list(node)[:3]
    raise InputError("TB110", f"the model folder holds a value of an unknown kind: {names}.")


def refused(names: str) -> InputError:
    """The refusal of types, by name."""
    return InputError(
        "TB111",
        f"not on the list of types that are safe to store: {names}. Nothing was done. "
        "Use LightGBM, XGBoost, CatBoost, a net or one of the scikit-learn models that "
        "topbin.store.safe names. Or save the model with its own library, and give "
        "topbin its scores of held-out rows: topbin.estimate_alpha(scores_p, scores_u).",
    )


def name_of(value: Any) -> str:
    """Module and name of a value's class."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def is_own(value: Any, table: Mapping[str, str]) -> bool:
    """Whether a value's class is the one this table names, not a namesake."""
    room = table.get(type(value).__name__)
    return room is not None and f"{type(value).__module__}.".startswith(f"{room}.")


def _built(table: Mapping[str, str], name: Any) -> Any:
    if name not in table:
        raise refused(repr(name))
    return getattr(import_module(table[name]), name)


def _check_names(kind: type, names: Iterable[Any], spelling: str = r".*") -> None:
    """Refuse attributes that would stand in the place of a method."""
    for name in names:
        spelled = isinstance(name, str) and re.fullmatch(spelling, name)
        if not spelled or callable(getattr(kind, name, None)):
            raise InputError("TB110", f"{kind.__name__} has no attribute {name!r} to store.")


def _check_sizes(values: Mapping[Any, Any]) -> None:
    """Refuse numbers of threads and classes that would end the process."""
    for name, most in LARGEST.items():
        value = values.get(name)
        if value is not None and not (isinstance(value, Real) and abs(float(value)) <= most):
            raise InputError("TB110", f"the model folder asks for {name} = {value}.")


def _pairs(values: Mapping[Any, Any]) -> list[Any]:
    return [list(pair) for pair in values.items()]


def _from_pairs(pairs: Any) -> dict[Any, Any]:
    values = dict(pairs)
    _check_sizes(values)
    return values


def _pack_fields(values: Mapping[str, Any], attached: Attachments) -> Fields:
    # A callback or an augmentation belongs to the program that fits, not to the model.
    stored = {k: None if hasattr(v, "__code__") else v for k, v in values.items()}
    return {name: pack(value, attached) for name, value in stored.items()}


def _unpack_fields(nodes: Mapping[str, Any], attached: Attachments) -> Fields:
    return {name: unpack(node, attached) for name, node in nodes.items()}


def _pack_value(value: Any, attached: Attachments) -> Any:
    values = {f.name: getattr(value, f.name) for f in fields(value)}
    return [type(value).__name__, _pack_fields(values, attached)]


def _unpack_value(content: Any, attached: Attachments) -> Any:
    name, packed = content
    known = {field: node for field, node in packed.items() if field not in GONE.get(name, ())}
    return _built(VALUES, name)(**_unpack_fields(known, attached))


def _pack_face(face: Any, attached: Attachments) -> Any:
    params = face.get_params(deep=False)
    attached.net = params.get("estimator")
    fitted = {name: value for name, value in vars(face).items() if name not in params}
    if "memory" in params:
        params["memory"] = None  # it serves the fit, and may be large
    packed = {name: pack(value, attached) for name, value in fitted.items()}
    return [type(face).__name__, _pack_fields(params, attached), packed]


def _unpack_face(content: Any, attached: Attachments) -> Any:
    name, params, fitted = content
    given = _unpack_fields(params, attached)
    _check_sizes(given)
    face = _built(FACES, name)(**{k: v for k, v in given.items() if k not in GONE.get(name, ())})
    _check_names(type(face), fitted, r"[a-z]\w*")
    vars(face).update(_renamed(_unpack_fields(fitted, attached)))
    return face


def _renamed(fitted: Fields) -> Fields:
    """Fitted values of folders that earlier versions wrote, under the names that they have now."""
    if "posterior_" in fitted:
        fitted["probability_map_"] = fitted.pop("posterior_")
    if "scores_p_" in fitted:  # 0.1.0 kept the scores without the evidence around them
        fitted["evidence_"] = Evidence(fitted.pop("scores_p_"), fitted.pop("scores_u_"))
    if "codes_" in fitted:
        codes = fitted.pop("codes_")
        fitted["features_"] = codes and _built(VALUES, "Features")(codes)
    return fitted


def _pack_object(value: Any, attached: Attachments) -> Any:
    state = value.__getstate__() or {}
    packed = pack([list(pair) for pair in state.items() if pair[0] not in NOT_KEPT], attached)
    with _to_be_stored(value):
        check_model(value)
    return [type(value).__name__, packed]


@contextmanager
def _to_be_stored(value: Any) -> Iterator[None]:
    """A fitted model that no folder could give back is refused when it is saved."""
    try:
        yield
    except ForgedModel as error:
        raise refused(f"{name_of(value)} ({error.why})") from error


def _unpack_object(content: Any, attached: Attachments) -> Any:
    name, packed = content
    model = object.__new__(_built(SKLEARN, name))  # its state is all that it holds
    state = _from_pairs(unpack(packed, attached))
    _check_names(type(model), state)
    if hasattr(model, "__setstate__"):
        # The versions are kept once for the whole folder, and named there when loading fails.
        model.__setstate__({**state, "_sklearn_version": sklearn.__version__})
    else:
        vars(model).update(state)
    check_model(model)
    return model


def _pack_lightgbm(model: Any, attached: Attachments) -> Any:
    state = dict(vars(model))
    booster = state.pop("_Booster", None)
    place = best = None
    if booster is not None:
        if booster.pandas_categorical:
            raise refused(f"{LIGHTGBM} with categories of pandas")
        place, best = len(attached.boosters), booster.best_iteration
        attached.boosters.append(boosters.trees_only(booster.model_to_string(num_iteration=-1)))
    return [pack(_pairs(state), attached), place, best]


def _unpack_lightgbm(content: Any, attached: Attachments) -> Any:
    lightgbm = require("lightgbm", extra="boost", caller="a saved LightGBM model")
    packed, place, best = content
    state, model = _from_pairs(unpack(packed, attached)), lightgbm.LGBMClassifier()
    _check_names(type(model), state)
    vars(model).update(state)
    if place is not None:
        model._Booster = boosters.load_booster(attached.boosters[place], lightgbm)
        model._Booster.best_iteration = int(best)
        classes = max(2, model._Booster.num_model_per_iteration())
        require_that(state["_n_classes"] == classes, "its trees do not fit its classes")
    return model


def _boosted(
    package: str, kind: str, text_of: Callable[[Any], str | None], load: Callable[..., Any]
) -> Rule:
    """The rule of a library of boosted trees: its parameters, and the place of its text."""

    def pack_one(model: Any, attached: Attachments) -> Any:
        with _to_be_stored(model):
            text = text_of(model)
        place = None if text is None else len(attached.boosters)
        attached.boosters += [] if text is None else [text]
        return [pack(model.get_params(deep=False), attached), place]

    def unpack_one(content: Any, attached: Attachments) -> Any:
        library = require(package, extra=package, caller=f"a saved {kind}")
        packed, place = content
        text = None if place is None else attached.boosters[place]
        return load(library, unpack(packed, attached), text)

    return Rule(partial(is_own, table={kind: package}), pack_one, unpack_one)


def pack_net(backend: Any, attached: Attachments) -> Any:
    """What scores rows again: the net's name or class, a row's shape, the optimizer's settings.

    A net of `topbin.learn.nets` is built again by its name and the shape of a row; a user's own net
    is code, which is never stored: the user passes one of the same shape when loading.
    """
    from topbin.learn.backends.torch import name_for  # needs torch
    from topbin.learn.nets import torch

    prefix = f"net{sum(name.endswith('.rows') for name in attached.tensors)}."
    weights = {k: v.detach().cpu().contiguous() for k, v in backend.net.state_dict().items()}
    attached.tensors |= {prefix + name: value for name, value in weights.items()}
    attached.tensors[prefix + "rows"] = torch.tensor(backend.row_shape or (), dtype=torch.int64)
    named = attached.net is None or isinstance(attached.net, str)
    name = name_for(attached.net or "auto", backend.row_shape or ()) if named else None
    return {
        "prefix": prefix,
        "net": name or {"$module": name_of(backend.net)},
        "optim": pack(backend.optim, attached),
        "batch": backend.batch,
        "mixed": backend.mixed,
    }


def unpack_net(content: Any, attached: Attachments) -> Any:
    """A backend that scores as the stored one did; TB110 if the weights are of another net."""
    from topbin.learn.backends.torch import name_for, torch_backend
    from topbin.learn.nets import build_net, torch

    prefix = content["prefix"]
    shape = tuple(int(size) for size in attached.tensors[prefix + "rows"])
    named = {k.removeprefix(prefix): v for k, v in attached.tensors.items() if k.startswith(prefix)}
    weights = {name: value for name, value in named.items() if name != "rows"}
    net = unpack(content["net"], attached)
    if net == "auto" and len(shape) == 3:
        net = "resnet18"  # what it meant for images when a folder still said "auto"
    if isinstance(net, str):
        # First into a net that has shapes but no memory, because a forged shape can ask for any.
        with torch.device("meta"):
            _load(build_net(name_for(net, shape), shape), weights)
    optim, row = unpack(content["optim"], attached), torch.zeros(1, *shape)
    backend = torch_backend(PVU, row, net=net, optim=optim, batch=content["batch"])
    _load(backend.net, weights)
    backend.mixed = bool(content["mixed"]) and backend.device.type == "cuda"
    backend.row_shape = shape or None
    return backend


def _load(net: Any, weights: Fields) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a net without memory copies nothing, and says so
            net.load_state_dict(weights)
    except RuntimeError as error:
        words = f"the stored weights are of another net: {' '.join(str(error).split())}"
        raise InputError("TB110", words[:340]) from error


def _is_module(value: Any) -> bool:
    return any(base.__module__ == "torch.nn.modules.module" for base in type(value).__mro__)


def _unpack_module(content: Any, attached: Attachments) -> Any:
    if attached.net is None:
        raise InputError(
            "TB111",
            f"this model was trained with your own net {content}, whose code is not stored. "
            "Build one of the same shape and pass it: load(folder, net=...).",
        )
    return attached.net


def _pack_array(array: NDArray[Any], attached: Attachments) -> Any:
    if array.dtype == object:
        return {"objects": pack(list(array.ravel()), attached), "shape": array.shape}
    name = f"a{len(attached.arrays)}"
    attached.arrays[name] = array
    return name


def _unpack_array(content: Any, attached: Attachments) -> Any:
    if isinstance(content, str):
        return attached.arrays[content]
    array = np.empty(len(content["objects"]), object)
    array[:] = unpack(content["objects"], attached)
    return array.reshape(content["shape"])


def _tree_parts(tree: Tree) -> list[Any]:
    state = tree.__getstate__()
    sizes = tree.n_features, tree.max_n_classes, state["max_depth"]
    return [*map(int, sizes), state["nodes"], state["values"]]


def _sparse_parts(value: Any) -> list[Any]:
    if type(value).__name__ not in SPARSE:
        raise refused(name_of(value))
    return [type(value).__name__, list(value.shape), value.data, value.indices, value.indptr]


def _sparse(parts: Any) -> Any:
    name, (rows, columns), *arrays = parts
    if name not in SPARSE:
        raise refused(repr(name))
    matrix = getattr(sparse, name)(tuple(arrays), shape=(int(rows), int(columns)))
    matrix.check_format(full_check=True)  # every index inside, and every row where it says
    return matrix


def _random_parts(value: Any) -> Any:
    is_new = isinstance(value, np.random.Generator)
    return value.bit_generator.state if is_new else value.get_state(legacy=False)


def _random(state: Any) -> Any:
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


def _is_function(value: Any) -> bool:
    name = getattr(value, "__name__", None)
    return name in FUNCTIONS and value is _built(FUNCTIONS, name)


def _is_dtype(value: Any) -> bool:
    is_type = isinstance(value, type) and issubclass(value, np.number | np.bool_)
    return is_type or (isinstance(value, np.dtype) and value.kind in "biuf")


def _dtype(parts: Any) -> Any:
    is_type, name = parts
    dtype = np.dtype(str(name))
    if not _is_dtype(dtype):
        raise refused(repr(name))
    return dtype.type if is_type else dtype


def _of_type(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in kinds


def _parts(fits: Callable[[Any], bool], split: Any, join: Callable[[Any], Any]) -> Rule:
    """A rule for values that are made of parts, which have rules of their own."""
    return Rule(
        fits,
        lambda value, attached: pack(split(value), attached),
        lambda content, attached: join(unpack(content, attached)),
    )


RULES = {
    "$float": _parts(_of_type(float), repr, float),
    "$tuple": _parts(_of_type(tuple), list, tuple),
    "$dict": _parts(lambda value: isinstance(value, dict), _pairs, _from_pairs),
    "$array": Rule(_of_type(np.ndarray), _pack_array, _unpack_array),
    "$scalar": _parts(
        lambda value: isinstance(value, np.generic),
        lambda value: [value.dtype.str, value.item()],
        lambda parts: np.dtype(parts[0]).type(parts[1]),
    ),
    "$value": Rule(partial(is_own, table=VALUES), _pack_value, _unpack_value),
    "$face": Rule(partial(is_own, table=FACES), _pack_face, _unpack_face),
    "$backend": Rule(lambda value: name_of(value) == BACKEND, pack_net, unpack_net),
    "$module": Rule(_is_module, lambda value, _: name_of(value), _unpack_module),
    "$lightgbm": Rule(lambda value: name_of(value) == LIGHTGBM, _pack_lightgbm, _unpack_lightgbm),
    "$xgboost": _boosted("xgboost", "XGBClassifier", boosters.xgboost_text, boosters.load_xgboost),
    "$catboost": _boosted(
        "catboost", "CatBoostClassifier", boosters.catboost_text, boosters.load_catboost
    ),
    "$object": Rule(partial(is_own, table=SKLEARN), _pack_object, _unpack_object),
    "$tree": _parts(_of_type(Tree), _tree_parts, lambda parts: build_tree(*parts)),
    "$sparse": _parts(sparse.issparse, _sparse_parts, _sparse),
    "$random": _parts(_of_type(np.random.RandomState, np.random.Generator), _random_parts, _random),
    "$named": _parts(
        partial(is_own, table=NAMED),
        lambda value: type(value).__name__,
        lambda name: _built(NAMED, name)(),
    ),
    "$function": _parts(_is_function, lambda value: value.__name__, partial(_built, FUNCTIONS)),
    "$dtype": _parts(
        _is_dtype, lambda value: [isinstance(value, type), np.dtype(value).str], _dtype
    ),
    "$slice": _parts(
        _of_type(slice),
        lambda value: [value.start, value.stop, value.step],
        lambda parts: slice(*parts),
    ),
}
RULES["$simple"] = RULES["$object"]  # its name in format 1
