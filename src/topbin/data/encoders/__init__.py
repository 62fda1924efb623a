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
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from topbin.core.atomic import new_file, write_errors
from topbin.core.errors import InputError, option
from topbin.data.columns import Column
from topbin.data.images import Images
from topbin.data.paths import is_remote

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


PYTHON = "python:"  # before the name of a function
AT_ONCE = 256  # rows


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

    def texts(self, texts: Any) -> Vectors:
        """One vector per text."""
        return self._all(lambda i: list(texts[i : i + AT_ONCE]), len(texts), None)

    def vectors(self, images: Images, paths: Any = None, tell: Told | None = None) -> Vectors:
        """One vector per image, by its pixels as they were read."""
        return self._all(lambda i: _pixels(images, i), len(images), tell)

    def _all(self, some: Callable[[int], Any], rows: int, tell: Told | None) -> Vectors:
        parts: list[Vectors] = []
        for start in range(0, rows, AT_ONCE):
            size = parts[0].shape[1] if parts else None
            parts.append(checked(self._call(some(start)), min(AT_ONCE, rows - start), size))
            if tell is not None:
                tell(min(start + AT_ONCE, rows), rows)
        return np.concatenate(parts)

    def _call(self, rows: Any) -> Any:
        try:
            found = self.function(rows)
            # A tensor is of torch, and then torch is there.
            torch = sys.modules["torch"] if hasattr(found, "detach") else None
            return found if torch is None else found.detach().cpu().numpy()
        except Exception as error:
            words = str(error).partition("\n")[0][:200]
            raise InputError("TB143", f"the encoder {self.given!r} failed: {words}") from error

    def column(self, column: Column) -> Vectors:
        """One vector per row of a column of text, each text read once; NaN where it is missing."""
        if not column.texts:
            raise InputError("TB108", f'"{column.name}" holds no text to encode.')
        known = self.texts(column.texts)
        nothing = np.full((1, known.shape[1]), np.nan, np.float32)
        return np.concatenate([known, nothing])[column.places]


def given_again(name: str, given: Any) -> GivenEncoder:
    """The function of a fit; TB143 if it is not given again, or another one is."""
    if not callable(given):
        raise InputError(
            "TB143",
            f'the model reads vectors of the function "{name.removeprefix(PYTHON)}" of Python, '
            "which no file can hold. Give it again: topbin.load(run, encoder=function).",
        )
    encoder = GivenEncoder(given)
    if encoder.given != name:
        raise InputError(
            "TB143",
            f'the model was fitted with the function "{name.removeprefix(PYTHON)}", and '
            f'"{encoder.given.removeprefix(PYTHON)}" is given. Give the same one.',
        )
    return encoder


def _pixels(images: Images, start: int) -> Any:
    some = range(start, min(start + AT_ONCE, len(images)))
    return images.read(list(some)).transpose(0, 2, 3, 1)
