"""Vectors beside a table: a file or an array with one vector per row, in the order of the rows."""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.errors import InputError
from topbin.data.batch import Batch, add_columns
from topbin.data.table import Table, read_table
from topbin.data.vectors import EMBEDDING, check_vectors, stack_vectors


def open_vectors(given: Any) -> Any:
    """The matrix of an array, an .npy file, or a table with one column of vectors or only numbers.

    >>> open_vectors(np.eye(2)).shape
    (2, 2)
    """
    if not isinstance(given, str | os.PathLike):
        return check_vectors(np.asarray(given), "the array of embeddings")
    batch = read_table(given)
    vectors = [column for column, kind in batch.kinds.items() if kind == "vector"]
    if len(vectors) == 1:
        return stack_vectors(batch.frame[vectors[0]], vectors[0])
    others = [column for column, kind in batch.kinds.items() if kind != "number"]
    if vectors or others:
        names = ", ".join(f'"{column}"' for column in (vectors or others)[:5])
        raise InputError(
            "TB142",
            f"{batch.name} must have one column of vectors, or numbers only; it has "
            f"{'the columns of vectors' if vectors else 'columns that are neither:'} {names}.",
        )
    return check_vectors(batch.frame.to_numpy(np.float64), batch.name)


def as_column(given: Any) -> Any:
    """A matrix of floats as a frame with one column of vectors; anything else stays as it is.

    >>> as_column(np.eye(2)).columns.tolist(), as_column("table.csv")
    (['embedding'], 'table.csv')
    """
    if not isinstance(given, np.ndarray) or given.ndim != 2 or given.dtype.kind != "f":
        return given
    return pd.DataFrame({EMBEDDING: list(check_vectors(given, "the array"))})


def attach(batch: Batch, vectors: Any) -> Batch:
    """The same rows with their vectors, as a column that is called "embedding"."""
    if EMBEDDING in batch.kinds:
        message = f'{batch.name} has a column "{EMBEDDING}" already, and embeddings are given too.'
        raise InputError("TB115", f"{message} Rename the column, or leave out one of them.")
    rows = pd.Series(list(vectors), dtype=object, index=batch.frame.index)
    frame = add_columns(batch.frame, {EMBEDDING: rows})
    return replace(batch, data=frame, kinds={**batch.kinds, EMBEDDING: "vector"})


def attach_whole(batch: Batch, given: Any) -> Batch:
    """All rows of a table with their vectors; TB142 if there are more or fewer."""
    return attach(batch, _checked(given, batch.rows))


def attached(table: Table, given: Any) -> Iterator[Batch]:
    """The rows of a table in batches, with their vectors if these are given."""
    vectors = None if given is None else _checked(given, table.rows)
    for batch in table.batches():
        own = slice(batch.first, batch.first + batch.rows)
        yield batch if vectors is None else attach(batch, vectors[own])


def _checked(given: Any, rows: int) -> Any:
    name = f'"{given}"' if isinstance(given, str | os.PathLike) else "the array of embeddings"
    return check_vectors(open_vectors(given), name, rows=rows)
