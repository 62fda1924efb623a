"""Vectors, one per row, such as the embeddings of texts or images: read, checked, put together.

A column of vectors is one feature with many numbers. All its vectors have the same length; a row
without one is missing. Files of NumPy, .npy, hold one vector per row, in one column that is called
"embedding"; they are read without pickle, and stay on the disk. Models read long vectors by their
principal components.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from topbin.core.checks import Floats
from topbin.core.errors import InputError
from topbin.core.formatting import counted
from topbin.core.hashing import row_keys
from topbin.data.batch import Part
from topbin.data.paths import Format
from topbin.data.schema import Types

EMBEDDING = "embedding"  # the column that a file or array of vectors becomes
NUMBERS = "biuf"  # NumPy's letters for numbers
# Vectors of more numbers than WIDE are read by so many components, learned from so many rows. More
# components cost time and, where rows are few, accuracy (bench/results/photographs.md).
WIDE, COMPONENTS, LEARNED_FROM = 128, 64, 20_000


def stack_vectors(values: Iterable[Any], name: str) -> Floats:
    """The vectors of a column as rows of a matrix, NaN where there is none; TB142 if they differ.

    >>> stack_vectors([[1.0, 2.0], None], "v")
    array([[ 1.,  2.],
           [nan, nan]])
    """
    rows = [None if value is None else np.asarray(value, np.float64) for value in values]
    vectors = {row: vector for row, vector in enumerate(rows) if vector is not None}
    size = next((vector.size for vector in vectors.values()), 0)
    for row, vector in vectors.items():
        if vector.size != size:
            raise InputError(
                "TB142",
                f'column "{name}" has vectors of different lengths: {size:,} numbers, and '
                f"{vector.size:,} in row {row + 1:,}. Make all vectors with the same model.",
            )
    matrix, here = np.full((len(rows), size), np.nan), list(vectors)
    matrix[here] = list(vectors.values())
    refuse_bad_numbers(matrix[here], f'column "{name}"', here)
    return matrix


def refuse_bad_numbers(matrix: NDArray[Any], where: str, rows: Any = None) -> None:
    """TB142 if a vector holds NaN or infinity."""
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        row = int(bad[0] if rows is None else rows[bad[0]])
        raise InputError(
            "TB142",
            f"{where} has NaN or infinity in {counted(bad.size, 'vector')}, first in row "
            f"{row + 1:,}. Make these vectors again, or drop the rows.",
        )


def check_vectors(array: Any, where: str, rows: int | None = None) -> Any:
    """A matrix of numbers with one vector per row, and as many of them as there are rows; TB142."""
    refuse_bad_numbers(check_form(array, where, rows), where)
    return array


def check_form(array: Any, where: str, rows: int | None = None) -> Any:
    """The same, of whose shape and type alone is checked: the numbers may be on the disk."""
    rule = "embeddings are a matrix of numbers with one row per row of the table"
    if getattr(array, "ndim", 0) != 2 or array.dtype.kind not in NUMBERS or array.shape[1] == 0:
        seen = f"shape {getattr(array, 'shape', ())} and type {getattr(array, 'dtype', '?')}"
        raise InputError("TB142", f"{where} has {seen}; {rule}.")
    if rows is not None and array.shape[0] != rows:
        seen = f"{array.shape[0]:,} vectors for {rows:,} rows"
        raise InputError("TB142", f"{where} has {seen}; {rule}, in order.")
    return array


def load_npy(path: str | Path, name: str) -> Any:
    """The array of an .npy file, which stays on the disk; TB142 if it is none, or a pickle."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        words = " ".join(str(error).split())
        raise InputError("TB142", f"{name} cannot be read as numbers of NumPy: {words}.") from error
    return check_form(array, name)


def are_missing(vectors: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows of floats have no vector: those with NaN, found without a second matrix.

    >>> are_missing(np.array([[1.0, 2.0], [np.nan, np.nan]]))
    array([False,  True])
    """
    return np.asarray(np.isnan(vectors.min(axis=1, initial=np.inf)))


def principal_axes(vectors: NDArray[Any]) -> tuple[Floats, Floats]:
    """The mean of vectors, and the directions in which they differ most, one per row.

    Rows are ordered by their content first: the order in a file would move the last bits.

    >>> mean, axes = principal_axes(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))
    >>> mean, np.abs(axes[:1])
    (array([2., 5.]), array([[1., 0.]]))
    """
    known = np.flatnonzero(~are_missing(vectors))
    keys = row_keys(vectors)[known]
    off = vectors[known[np.argsort(keys, kind="stable")][:LEARNED_FROM]].astype(np.float64)
    mean = off.mean(axis=0)
    off -= mean
    _, directions = np.linalg.eigh(off.T @ off)
    return mean, np.ascontiguousarray(directions[:, ::-1][:, :COMPONENTS].T)


def project(vectors: NDArray[Any], mean: Floats, axes: Floats) -> Floats:
    """The components of vectors along these axes."""
    step = max(1, (1 << 22) // max(1, mean.size))
    parts = [(vectors[i : i + step] - mean) @ axes.T for i in range(0, len(vectors), step)]
    return np.concatenate([np.zeros((0, len(axes))), *parts])


@dataclass(frozen=True, kw_only=True, eq=False)
class VectorFile(Part):
    """The vectors of a file; `groups` are the first row and the end of a run of them."""

    def cut(self, rows: int) -> Sequence[Part]:
        """Runs of rows."""
        ends = [*range(0, self.count(), rows), self.count()]
        return [replace(self, size=end - i, groups=(i, end)) for i, end in pairwise(ends)]

    def read(self, types: Types, rows: int) -> Iterator[Any]:
        """Frames of at most so many rows, whose vectors are views of the file."""
        array = load_npy(self.path, self.name)
        first, end = self.groups or (0, self.count())
        for start in range(first, end, rows):
            here = range(start, min(start + rows, end))
            block = array[here.start : here.stop]
            refuse_bad_numbers(block, self.name, here)
            yield pd.DataFrame({name: pd.Series(list(block), dtype=object) for name in types})


def _open(_: Any, path: str, name: str) -> VectorFile:
    array = load_npy(path, name)
    return VectorFile(path=path, name=name, types={EMBEDDING: "FLOAT[]"}, size=array.shape[0])


FORMATS = (Format("npy", (".npy",), _open, mark=(0, b"\x93NUMPY")),)
