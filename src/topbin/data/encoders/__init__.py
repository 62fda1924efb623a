"""Frozen encoders: texts or images in, one vector per row out. One file per kind.

Vectors that were made before are on the disk, one per content and encoder, in blocks. A block is
written whole or not at all, so that a killed run continues where it was. Fit, score, audit and
refit find the vectors of each other, and one more row costs one more encoding.

A function of Python can be an encoder too (`GivenEncoder`). No file can hold it, so a stored model
has its name only, and whoever scores gives it again. Its vectors are not stored, because nothing
says for sure which function made them.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from topbin.core.atomic import new_file, write_errors
from topbin.core.errors import InputError, option
from topbin.data.columns import Column
from topbin.data.images import Images, OnProgress
from topbin.data.paths import is_remote

BLOCK = 256  # rows, encoded and stored at a time
PYTHON = "python:"  # before the name of a function
Fitted = TypeVar("Fitted", bound=Any)  # an encoder with a `digest`, which says which one it is
Vectors = NDArray[np.float32]


def cache_folder(name: str) -> Path:
    """A folder of the user's cache, or of what TOPBIN_CACHE names."""
    usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("TOPBIN_CACHE") or Path(usual) / "topbin") / name


@contextmanager
def encoder_errors(what_fails: str) -> Iterator[None]:
    """Errors of an encoder, which are of many classes, as TB143."""
    try:
        yield
    except Exception as error:
        words = str(error).partition("\n")[0][:200]
        raise InputError("TB143", f"{what_fails}: {words}") from error


def fitted(kind: Callable[[str], Fitted], given: str, digest: str) -> Fitted:
    """The encoder of a fit: TB151 if it is not on this machine, TB143 if another one is there."""
    if is_remote(given):
        raise InputError(
            "TB151",
            f'the model asks for the encoder "{given}", which is not on this machine. Copy it '
            f"here, and name its folder with {option('encoder')}.",
        )
    encoder = kind(given)
    if encoder.digest != digest:
        raise InputError(
            "TB143",
            f'the encoder "{given}" is not the one that the model was fitted with. Name the '
            f"folder of that one with {option('encoder')}, or fit again.",
        )
    return encoder


def vectors_of(
    digest: str,
    keys: Sequence[bytes],
    encode: Callable[[list[int]], Any],
    tell: OnProgress | None = None,
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
    matrix = np.empty((len(keys), 0), np.float32)
    for some, vectors in chain(_stored(folder, todo), _made(folder, todo, encode)):
        if not matrix.shape[1]:
            matrix = np.empty((len(keys), vectors.shape[1]), np.float32)
        for key, vector in zip(some, checked(vectors, len(some), matrix.shape[1]), strict=True):
            matrix[todo.pop(key)] = vector
        if tell is not None:
            tell(len(keys) - sum(map(len, todo.values())), len(keys))
    return matrix


def _stored(folder: Path, todo: Mapping[bytes, Any]) -> Iterator[tuple[list[bytes], Vectors]]:
    """From each block the vectors that are still to be found; a damaged block has none."""
    for block in sorted(folder.glob("*.npz")):
        if not todo:
            return
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
    """The other vectors, a block at a time, each stored before the next is made."""
    while todo:
        some = list(islice(todo, BLOCK))
        vectors = checked(encode([todo[key][0] for key in some]), len(some))
        path = folder / f"{hashlib.sha256(b''.join(some)).hexdigest()[:32]}.npz"
        keys = np.array([np.frombuffer(key, np.uint8) for key in some])
        with new_file(path, force=True) as half, open(half, "wb") as handle:
            np.savez(handle, keys=keys, vectors=vectors)
        yield some, vectors


def checked(vectors: Any, rows: int, size: int | None = None) -> Vectors:
    """What an encoder gave, if it is one finite vector per row; TB143 otherwise.

    >>> checked([[1, 2], [3, 4]], rows=2).shape
    (2, 2)
    """
    matrix = np.asarray(vectors, np.float32)
    fits = matrix.ndim == 2 and len(matrix) == rows and matrix.shape[1] == (size or matrix.shape[1])
    if not fits or not np.isfinite(matrix).all():
        seen = "numbers that are not finite" if fits else f"shape {matrix.shape}"
        raise InputError(
            "TB143",
            f"the encoder gave {seen} for {rows:,} rows; one vector of finite numbers per row was "
            "expected. Use another encoder.",
        )
    return matrix


@dataclass(frozen=True, eq=False)
class GivenEncoder:
    """A function that takes a list of texts, or an array of images (n, height, width, channels)."""

    function: Callable[[Any], Any]

    @property
    def given(self) -> str:
        """Its name, as a stored model has it."""
        named = self.function if hasattr(self.function, "__qualname__") else type(self.function)
        return f"{PYTHON}{named.__qualname__}"

    @property
    def digest(self) -> str:
        """Nothing says which function it was."""
        return ""

    def vectors(self, images: Images, paths: Any = None, tell: OnProgress | None = None) -> Vectors:
        """One vector per image, by its pixels as they were read."""
        return self._all(lambda some: images.read(some).transpose(0, 2, 3, 1), len(images), tell)

    def column(self, column: Column) -> Vectors:
        """One vector per row of a column of text, each text read once; NaN where it is missing."""
        if not column.texts:
            raise InputError("TB108", f'"{column.name}" holds no text to encode.')
        return column.per_row(self._all(lambda some: list(column.texts[some]), len(column.texts)))

    def _all(
        self, read: Callable[[slice], Any], rows: int, tell: OnProgress | None = None
    ) -> Vectors:
        parts: list[Vectors] = []
        for start in range(0, rows, BLOCK):
            end, size = min(start + BLOCK, rows), parts[0].shape[1] if parts else None
            some = read(slice(start, end))
            with encoder_errors(f"the encoder {self.given!r} failed"):
                made = self.function(some)
                made = made.detach().cpu().numpy() if hasattr(made, "detach") else made  # of torch
            parts.append(checked(made, end - start, size))
            if tell is not None:
                tell(end, rows)
        return np.concatenate(parts)


def given_again(name: str, given: Any) -> GivenEncoder:
    """The function of a fit; TB143 if it is not given again, or another one is."""
    encoder, function = GivenEncoder(given), name.removeprefix(PYTHON)
    if not callable(given):
        raise InputError(
            "TB143",
            f'the model reads vectors of the function "{function}" of Python, which no file can '
            "hold. Give it again: topbin.load(run, encoder=function).",
        )
    if encoder.given != name:
        raise InputError(
            "TB143",
            f'the model was fitted with the function "{function}", and '
            f'"{encoder.given.removeprefix(PYTHON)}" is given. Give the same one.',
        )
    return encoder
