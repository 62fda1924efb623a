"""Checkpoints of a torch run: one safetensors file, its JSON header holding the history.

One file, written beside its place and then moved onto it, is either the old epoch or the new one,
never half of each. Nothing in it can run code.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from topbin.core.atomic import new_file, write_errors
from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.data.images import Images
from topbin.learn.backends.torch import State, TorchBackend
from topbin.learn.loop import Epoch
from topbin.learn.nets import Dataset, Tensor, torch
from topbin.learn.rows import n_rows

if TYPE_CHECKING:
    import safetensors.torch
else:
    safetensors = require("safetensors", extra="torch", caller="a checkpoint")
    require("safetensors.torch", extra="torch", caller="a checkpoint")

FORMAT = "topbin-checkpoint-1"


def keep(
    path: Path | str, model: TorchBackend, epochs: Iterable[Epoch], done: Sequence[Epoch] = ()
) -> Iterator[Epoch]:
    """Pass the epochs of `train` through, with a checkpoint on disk before each is handed on.

    In a team of processes one writes and all read, so the path must be one that all can see. A
    run and its resumption are the same lines:

        done = load(path, model)
        for epoch in keep(path, model, train(model, ..., done=done), done): ...
    """
    history = list(done)
    for epoch in epochs:
        history.append(epoch)
        if model.team.leads:
            save(path, model, history)
        yield epoch


def path_in(folder: Path | str, model: TorchBackend, samples: Sequence[Any], about: str) -> Path:
    """The file of one run in a folder of runs, named by all that its bits depend on.

    A Dataset is known by its kind and length, because reading it takes long.
    """
    known = sha256(json.dumps([about, _settings(model)]).encode())
    for value in (model.rng, *model.net.state_dict().values(), *samples):
        for part in value if isinstance(value, tuple) else (value,):
            known.update(_content(part))
    with write_errors(Path(folder)):
        Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / f"{known.hexdigest()[:16]}.safetensors"


def _content(X: Any) -> bytes:
    if isinstance(X, Dataset):
        return f"{type(X).__qualname__} {n_rows(X)}".encode()
    if isinstance(X, Images):
        return X.hash("").encode()
    rows = torch.as_tensor(X).detach().cpu()
    content: bytes = rows.reshape(-1).view(torch.uint8).numpy().tobytes()
    return f"{rows.dtype} {tuple(rows.shape)}".encode() + content


def save(path: Path | str, model: TorchBackend, history: Sequence[Epoch]) -> None:
    """Write the model's state and the history, all or nothing."""
    state = model.state()
    tensors = {f"net.{name}": value for name, value in state.net.items()} | {"rng": state.rng}
    plain: dict[str, Any] = {}
    for index, slots in state.optimizer["state"].items():
        for slot, value in slots.items():
            key = f"optimizer.{index}.{slot}"
            (tensors if isinstance(value, Tensor) else plain)[key] = value
    header = {
        "format": FORMAT,
        "settings": json.dumps(_settings(model)),
        "plain": json.dumps(plain),
        "history": json.dumps([asdict(epoch) for epoch in history]),
    }
    contiguous = {key: value.contiguous() for key, value in tensors.items()}
    with new_file(path, force=True) as part:
        part.write_bytes(safetensors.torch.save(contiguous, header))


def load(path: Path | str, model: TorchBackend) -> tuple[Epoch, ...]:
    """Restore the model from a checkpoint and return its history; () if there is no file."""
    if not os.path.exists(path):
        return ()
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError("TB017", f"{path} is not a safetensors file: {error}") from error
    if header.get("format") != FORMAT:
        raise InputError(
            "TB017", f"{path} has format {header.get('format')!r}; this version reads {FORMAT!r}."
        )
    before = model.state()
    try:
        settings, plain, history = (json.loads(header[k]) for k in ("settings", "plain", "history"))
        for name, value in _settings(model).items():
            if settings.get(name) != value:
                raise InputError(
                    "TB017",
                    f"{path} was trained with {name} = {settings.get(name)}; now it is {value}. "
                    "Resume with the same settings, or start again at another path.",
                )
        epochs = msgspec.convert(history, tuple[Epoch, ...])
        state = replace(_state(path, model, tensors, plain), epochs=len(epochs))
        model.restore(state)
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(state.rng)
    except InputError:
        raise
    except (RuntimeError, ValueError, LookupError, TypeError, AttributeError) as error:
        model.restore(before)
        raise InputError(
            "TB017",
            f"{path} is damaged or does not fit this net: {type(error).__name__}: {error}. Remove "
            "it and start again.",
        ) from error
    return epochs


def _state(
    path: Path | str, model: TorchBackend, tensors: dict[str, Tensor], plain: dict[str, Any]
) -> State:
    net = {k.removeprefix("net."): v for k, v in tensors.items() if k.startswith("net.")}
    now = model.net.state_dict()
    kinds, kinds_now = ({k: (v.shape, v.dtype) for k, v in of.items()} for of in (net, now))
    wrong = sorted(k for k in now.keys() | net.keys() if kinds.get(k) != kinds_now.get(k))
    if wrong:
        raise InputError(
            "TB017", f"{path} is of another net: {', '.join(wrong[:3])} differ. Use the same net."
        )
    groups = model.optimizer.param_groups
    weights = dict(enumerate(weight for group in groups for weight in group["params"]))
    slots: dict[int, dict[str, Any]] = {}
    for key, value in (tensors | plain).items():
        if key.startswith("optimizer."):
            _, index, slot = key.split(".", 2)
            shapes = ((), weights[int(index)].shape)
            if isinstance(value, Tensor) and value.shape not in shapes:
                raise ValueError(f"{key} has another shape than its weights")
            if isinstance(value, Tensor) and value.shape == shapes[1]:  # in the weights' layout
                value = torch.empty_like(weights[int(index)], dtype=value.dtype).copy_(value)
            slots.setdefault(int(index), {})[slot] = value
    known = model.optimizer.state_dict()["param_groups"]
    return State(net, {"state": slots, "param_groups": known}, tensors["rng"])


def _settings(model: TorchBackend) -> dict[str, Any]:
    """What must not change between a run and its resumption."""
    optim = asdict(model.optim) | {"peaks": list(model.optim.peaks)}  # as JSON gives it back
    # Earlier versions could add up the gradients of several mini-batches. `accumulate` keeps their
    # files readable; one that has more than 1 is refused.
    counts = {"batch": model.batch, "accumulate": 1, "phases": list(model.phases)}
    return {"optim": optim, **counts, "mirror": model.mirror}
