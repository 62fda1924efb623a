"""Trained nets: weights as safetensors, the rest as JSON; nothing in either can run code.

A net of `topbin.learn.nets` is built again by its name and the shape of a row; a user's own net is
code, which is never stored: the user passes one of the same shape when loading.
"""

from typing import TYPE_CHECKING, Any

from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.learn.backends.torch import TorchBackend, torch_backend
from topbin.learn.pvu import PVU
from topbin.store.safe.store import Leaves, name_of, pack, unpack

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", extra="torch", caller="a saved net")


def pack_net(backend: TorchBackend, leaves: Leaves) -> Any:
    """What scores rows again: the net's name or class, a row's shape, the optimiser's settings."""
    prefix = f"net{sum(name.endswith('.rows') for name in leaves.tensors)}."
    weights = {k: v.detach().cpu().contiguous() for k, v in backend.net.state_dict().items()}
    leaves.tensors |= {prefix + name: value for name, value in weights.items()}
    leaves.tensors[prefix + "rows"] = torch.tensor(backend.row_shape or (), dtype=torch.int64)
    named = leaves.net is None or isinstance(leaves.net, str)
    return {
        "prefix": prefix,
        "net": (leaves.net or "auto") if named else {"$module": name_of(backend.net)},
        "optim": pack(backend.optim, leaves),
        "batch": backend.batch,
        "mixed": backend.mixed,
    }


def unpack_net(content: Any, leaves: Leaves) -> TorchBackend:
    """A backend that scores as the stored one did; TB110 if the weights are of another net."""
    prefix = content["prefix"]
    shape = tuple(int(size) for size in leaves.tensors[prefix + "rows"])
    weights = {
        name.removeprefix(prefix): value
        for name, value in leaves.tensors.items()
        if name.startswith(prefix) and name != prefix + "rows"
    }
    backend = torch_backend(
        PVU,
        torch.zeros(1, *shape),
        net=unpack(content["net"], leaves),
        optim=unpack(content["optim"], leaves),
        batch=content["batch"],
    )
    try:
        backend.net.load_state_dict(weights)
    except RuntimeError as error:
        words = " ".join(str(error).split())
        raise InputError(
            "TB110", f"the stored weights are of another net: {words[:300]}"
        ) from error
    backend.mixed = content["mixed"] and backend.device.type == "cuda"
    backend.row_shape = shape or None
    return backend
