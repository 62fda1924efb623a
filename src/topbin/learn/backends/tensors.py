"""Rows for torch: arrays, tensors, tuples of tensors and Datasets, read by row number.

Data in memory stays one tensor and a batch is one indexing call; only a Dataset is read row by row.
"""

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np

from topbin.core.errors import InputError
from topbin.data.images import Images
from topbin.learn.backends.needs_torch import Dataset, Tensor, torch


def as_rows(X: Any, name: str) -> Any:
    """A tensor, tuple of tensors or Dataset; numbers are checked, and copied only if needed."""
    if isinstance(X, tuple):
        return tuple(as_rows(part, name) for part in X)
    if isinstance(X, Dataset | Images):
        return X
    rows = X if isinstance(X, Tensor) else _from_array(X, name)
    if rows.ndim == 0:
        raise InputError("TB005", f"{name} is a single value; pass one row per sample.")
    if rows.is_floating_point() and not bool(torch.isfinite(rows).all()):
        bad = int((~torch.isfinite(rows)).reshape(len(rows), -1).any(1).sum())
        raise InputError(
            "TB004",
            f"{name} has {bad:,} of {len(rows):,} rows with NaN or infinite values. "
            "Fill them in or drop these rows; a net cannot take them.",
        )
    return rows


def _from_array(X: Any, name: str) -> Tensor:
    if hasattr(X, "toarray"):
        raise InputError("TB006", f"{name} is sparse and a net takes dense rows; use X.toarray().")
    array = np.asarray(X)
    if array.dtype == np.uint8 and array.ndim >= 3:
        return torch.from_numpy(np.asarray(array, order="C"))  # images stay small until batched
    if array.dtype.kind not in "fiub":
        raise InputError("TB006", f"{name} must be numbers; got dtype {array.dtype}.")
    dtype = np.float64 if array.dtype == np.float64 else np.float32
    return torch.from_numpy(np.asarray(array, dtype, order="C"))


def row_shape(X: Any) -> tuple[int, ...] | None:
    """The shape of one row of a tensor; tuples and Datasets have no single one."""
    if isinstance(X, Images):
        return X.row_shape
    return tuple(X.shape[1:]) if isinstance(X, Tensor) else None


def take(X: Any, rows: Tensor, name: str) -> Any:
    """The batch of these rows: a tensor, or a tuple or dict of tensors, as the net takes it."""
    if isinstance(X, Tensor):
        return X[rows.to(X.device)]
    if isinstance(X, Images):
        return torch.from_numpy(X.read(rows.numpy()))
    if isinstance(X, tuple):
        return tuple(take(part, rows, name) for part in X)
    return torch.utils.data.default_collate([_item(X, row, name) for row in rows.tolist()])


def _item(X: Any, row: int, name: str) -> Any:
    try:
        item = X[row]
    except MemoryError:
        raise
    except Exception as error:  # whatever the user's own code raises
        raise InputError(
            "TB016",
            f"the Dataset {name} raised {type(error).__name__} for row {row} of {len(X):,}: "
            f"{error}. Fix or remove that row; the model is as it was before this epoch.",
        ) from error
    return tuple(item) if isinstance(item, list) else item


def join(first: Any, second: Any) -> Any:
    """Two batches of one kind as one, the first's rows in front."""
    return _each(lambda *parts: torch.cat(parts), first, second)


def place(batch: Any, device: torch.device, dtype: torch.dtype) -> Any:
    """The batch on the net's device, real numbers in its type, bytes of images as 0 to 1.

    Integers other than bytes are left alone: they are token ids.
    """

    def moved(part: Tensor) -> Tensor:
        part = part.to(device)
        if part.dtype == torch.uint8:
            return part.to(dtype) / 255
        return part.to(dtype) if part.is_floating_point() else part

    return _each(moved, batch)


def _each(change: Callable[..., Tensor], *batches: Any) -> Any:
    """Batches of one kind, changed tensor by tensor."""
    if isinstance(batches[0], dict):
        return {key: _each(change, *(batch[key] for batch in batches)) for key in batches[0]}
    if isinstance(batches[0], list | tuple):
        return tuple(_each(change, *parts) for parts in zip(*batches, strict=True))
    return change(*batches)


def deal(n_p: int, n_u: int, batch: int) -> list[tuple[Tensor, Tensor]]:
    """Shuffle row numbers of P and of U into mini-batches with at most `batch` of each.

    Both are divided evenly, so the shorter one has fewer rows in each mini-batch, as in the paper;
    if these are less than a tenth of `batch`, its rows are used more than once.

    >>> [(len(p), len(u)) for p, u in deal(400, 600, batch=200)]
    [(134, 200), (133, 200), (133, 200)]
    """
    parts = ceil(max(n_p, n_u) / batch)
    least = max(1, batch // 10)
    return list(zip(_shuffled(n_p, parts, least), _shuffled(n_u, parts, least), strict=True))


def _shuffled(n: int, parts: int, least: int) -> tuple[Tensor, ...]:
    rounds = ceil(parts * min(least, n) / n)
    return torch.cat([torch.randperm(n) for _ in range(rounds)]).tensor_split(parts)
