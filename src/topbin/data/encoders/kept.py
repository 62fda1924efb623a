"""Vectors that were made before: one per content and encoder, in blocks on the disk.

A block is written whole or not at all, so that a killed run continues where it was. Fit, score,
audit and refit find the vectors of each other, and one more row costs one more encoding.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from topbin.core.atomic import new_file, write_errors
from topbin.core.errors import InputError, option
from topbin.data.find import is_remote

BLOCK = 256  # rows, encoded and kept at a time
CACHE = "TOPBIN_CACHE"  # names the user's folder
Vectors = NDArray[np.float32]
Told = Callable[[int, int], object]  # how many rows are encoded, of how many


def cache_folder(name: str) -> Path:
    """A folder of the user's cache, or of what TOPBIN_CACHE names."""
    usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(CACHE) or Path(usual) / "topbin") / name


def check_fitted(encoder: str, digest: str, now: str) -> None:
    """TB143 if an encoder is not the one that the model was fitted with."""
    if now != digest:
        raise InputError(
            "TB143",
            f'the encoder "{encoder}" is not the one that the model was fitted with. Name the '
            f"folder of that one with {option('encoder')}, or fit again.",
        )


def check_place(encoder: str) -> None:
    """TB151 for the encoder of a stored model that is not on this machine."""
    if is_remote(encoder):
        raise InputError(
            "TB151",
            f'the model asks for the encoder "{encoder}", which is not on this machine. Copy it '
            f"here, and name its folder with {option('encoder')}.",
        )


def vectors_of(
    digest: str,
    keys: Sequence[bytes],
    encode: Callable[[list[int]], Any],
    tell: Told | None = None,
) -> Vectors:
    """One vector for each content, from the disk or from `encode`, which takes positions.

    `digest` says which encoder it is, and `keys` are SHA-256 of the contents. Equal contents are
    encoded once.
    """
    folder = cache_folder("vectors") / digest[:32]
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    todo: dict[bytes, list[int]] = {}
    for row, key in enumerate(keys):
        todo.setdefault(key, []).append(row)
    found = np.empty((len(keys), 0), np.float32)
    for some, vectors in chain(_kept(folder, todo), _made(folder, todo, encode)):
        if not found.shape[1]:
            found = np.empty((len(keys), vectors.shape[1]), np.float32)
        for key, vector in zip(some, checked(vectors, len(some), found.shape[1]), strict=True):
            found[todo.pop(key)] = vector
        if tell is not None:
            tell(len(keys) - sum(map(len, todo.values())), len(keys))
    return found


def _kept(folder: Path, todo: Mapping[bytes, Any]) -> Iterator[tuple[list[bytes], Vectors]]:
    """From each block the vectors that are still to be found; a damaged block has none."""
    for block in sorted(folder.glob("*.npz")):
        try:
            with np.load(block, allow_pickle=False) as stored:
                places = {bytes(key): place for place, key in enumerate(stored["keys"])}
                wanted = [key for key in places if key in todo]
                vectors = stored["vectors"][[places[key] for key in wanted]] if wanted else None
        except (OSError, ValueError, KeyError, IndexError, EOFError, BadZipFile):
            continue
        if vectors is not None:
            yield wanted, vectors


def _made(
    folder: Path, todo: Mapping[bytes, list[int]], encode: Callable[[list[int]], Any]
) -> Iterator[tuple[list[bytes], Vectors]]:
    """The other vectors, a block at a time, each kept before the next is made."""
    while todo:
        some = list(islice(todo, BLOCK))
        vectors = checked(encode([todo[key][0] for key in some]), len(some))
        _write(folder, some, vectors)
        yield some, vectors


def _write(folder: Path, keys: Sequence[bytes], vectors: Vectors) -> None:
    path = folder / f"{hashlib.sha256(b''.join(keys)).hexdigest()[:32]}.npz"
    stored = np.array([np.frombuffer(key, np.uint8) for key in keys])
    with new_file(path, force=True) as half, open(half, "wb") as handle:
        np.savez(handle, keys=stored, vectors=vectors)


def checked(vectors: Any, rows: int, size: int | None = None) -> Vectors:
    """What an encoder gave, if it is one finite vector per row; TB143 otherwise.

    >>> checked([[1, 2], [3, 4]], rows=2).shape
    (2, 2)
    """
    found = np.asarray(vectors, np.float32)
    fits = found.ndim == 2 and len(found) == rows and found.shape[1] == (size or found.shape[1])
    if not fits or not np.isfinite(found).all():
        seen = "numbers that are not finite" if fits else f"shape {found.shape}"
        raise InputError(
            "TB143",
            f"the encoder gave {seen} for {rows:,} rows; one vector of finite numbers per row was "
            "expected. Use another encoder.",
        )
    return found
