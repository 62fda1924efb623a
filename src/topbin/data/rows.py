"""Whole rows of parquet files, part by part, each row with its place among all of them.

Places run through the files in their order, so they do not depend on how the files are cut into
parts, nor on the engine; what is drawn by a hash of the place is drawn the same everywhere.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.errors import InputError
from topbin.core.hashing import GOLDEN, splitmix64
from topbin.core.optional import require
from topbin.data.addresses import first_line
from topbin.data.files import PARQUET, ending, unreadable

PART_ROWS = 1 << 20  # a part is also what is done again after a failure, so not too many
CHUNK_ROWS = 100_000
WORD = 0xFFFFFFFFFFFFFFFF
Places = NDArray[np.int64]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class RowPart:
    """A run of row groups of a parquet file, and the place of its first row among all rows."""

    path: str
    groups: tuple[int, ...]
    first: int
    rows: int


def find_row_parts(paths: Sequence[str], rows: int | None = None) -> list[RowPart]:
    """The parts of these files, each of about `rows` rows or of one larger row group."""
    parts: list[RowPart] = []
    first = 0
    for path in paths:
        for part in _parts_of(path, first, rows or PART_ROWS):
            parts.append(part)
            first += part.rows
    return parts


def read_rows(
    part: RowPart, columns: Sequence[str] | None = None, rows: int | None = None
) -> Iterator[tuple[Places, Any]]:
    """Arrow batches of a part's rows, with their places; a damaged file is TB102."""
    place = part.first
    with _reading(part.path), _arrow().ParquetFile(part.path) as file:
        batches = file.iter_batches(
            rows or CHUNK_ROWS,
            row_groups=list(part.groups),
            columns=None if columns is None else list(columns),
            use_threads=False,
        )
        for batch in batches:
            yield np.arange(place, place + batch.num_rows), batch
            place += batch.num_rows


def mix(places: Places, seed: int, stream: int = 0) -> Hashes:
    """Random-looking 64-bit numbers that depend on nothing but place, seed and stream.

    >>> mix(np.array([0, 1]), seed=0) == mix(np.array([0, 1]), seed=0)
    array([ True,  True])
    """
    start = (int(GOLDEN) * (1 + seed) + 0xD1B54A32D192ED03 * stream) & WORD
    z = places.astype(np.uint64) * GOLDEN + np.uint64(start)
    return splitmix64(z)


def _parts_of(path: str, first: int, rows: int) -> Iterator[RowPart]:
    if ending(path) not in PARQUET:
        raise InputError(
            "TB102", f'"{path}" is not a parquet file, and only these are read row by row in parts.'
        )
    with _reading(path):
        footer = _arrow().read_metadata(path)
    held: list[int] = []
    count = 0
    for group in range(footer.num_row_groups):
        held.append(group)
        count += footer.row_group(group).num_rows
        if count >= rows or (group == footer.num_row_groups - 1 and count):
            yield RowPart(path, tuple(held), first, count)
            first, held, count = first + count, [], 0


def _arrow() -> Any:
    return require("pyarrow.parquet", extra="dask", caller="reading parquet in parts")


@contextmanager
def _reading(path: str) -> Iterator[None]:
    arrow = require("pyarrow", extra="dask", caller="reading parquet in parts")
    try:
        yield
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(path, first_line(error)) from error
