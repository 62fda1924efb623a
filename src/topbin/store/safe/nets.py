"""Trained nets: weights as safetensors, the rest as JSON; nothing in either can run code.

A net of `topbin.learn.nets` is built again by its name and the shape of a row; a user's own net is
code, which is never stored: the user passes one of the same shape when loading.
"""

import warnings
from typing import TYPE_CHECKING, Any

from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.learn.backends.torch import TorchBackend, name_for, torch_backend
from topbin.learn.learners import PVU
from topbin.learn.nets import build_net
from topbin.store.safe.store import Attachments, name_of, pack, unpack

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", extra="torch", caller="a saved net")


def pack_net(backend: TorchBackend, attached: Attachments) -> Any:
    """What scores rows again: the net's name or class, a row's shape, the optimizer's settings."""
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


def unpack_net(content: Any, attached: Attachments) -> TorchBackend:
    """A backend that scores as the stored one did; TB110 if the weights are of another net."""
    prefix = content["prefix"]
    shape = tuple(int(size) for size in attached.tensors[prefix + "rows"])
    weights = {
        name.removeprefix(prefix): value
        for name, value in attached.tensors.items()
        if name.startswith(prefix) and name != prefix + "rows"
    }
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


def _load(net: Any, weights: "dict[str, torch.Tensor]") -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a net without memory copies nothing, and says so
            net.load_state_dict(weights)
    except RuntimeError as error:
        words = f"the stored weights are of another net: {' '.join(str(error).split())}"
        raise InputError("TB110", words[:340]) from error
