"""Columns of a table in the form that checks and features read, each read once.

The kinds are those of `topbin.data.schema.Kind` everywhere: number, boolean, date, string, vector,
blank and other. Whether a string column is read as text, by its words, is for features to say.

A column of text may hold numbers and more: "?", "<5", "$5,315.99", "12 %", "3.5 kg". It is read as
numbers if nearly all of its cells are numbers of one unit, apart from those that say that there is
none; whatever is not a number is then missing. Every cell is read by itself, so that all engines
and all parts of a file agree. Only the fit decides about a column, and the model keeps what it
decided.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from topbin.core.checks import unmasked
from topbin.core.errors import InputError
from topbin.data.batch import FIRST_TEXTS, Batch
from topbin.data.formats.written import MARKS, NumberCell, is_missing, look_numeric, read_cell
from topbin.data.schema import Kind
from topbin.data.vectors import are_missing, stack_vectors

NEARLY_ALL = 0.95
LEAST = 3  # different numbers; a column with fewer loses nothing as categories
LARGER = ("k", "m", "b", "t", "bn", "mio", "mrd", "tsd", "thousand", "million", "billion")
WHOLE = re.compile(r"[-+]?[0-9]+")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column's name, its kind, and one value per row.

    `values` holds float64 numbers (0 and 1 for booleans) with NaN where missing, or dates as
    datetime64[us] with NaT where missing. A string is held as its position in `texts`. Vectors are
    the rows of a matrix.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    texts: tuple[str, ...] = ()

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return are_missing(self.values) if self.kind == "vector" else np.isnan(self.values)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The values as float64, dates as microseconds."""
        if self.kind != "date":
            return self.values
        return np.where(self.missing, np.nan, self.values.astype(np.int64))

    @property
    def is_whole(self) -> bool:
        """Whether all numbers are whole; those with gaps arrive as floats from most readers."""
        seen = self.values[np.isfinite(self.values)] if self.kind == "number" else self.values[:0]
        return bool(seen.size) and bool((seen == np.rint(seen)).all())

    @property
    def codes(self) -> NDArray[np.intp]:
        """The position of each row's text in `texts`, and one past the last if it is missing."""
        return np.where(self.missing, len(self.texts), self.values).astype(np.intp)

    @property
    def strings(self) -> NDArray[np.object_]:
        """The text of each row, empty where it is missing."""
        return np.array([*self.texts, ""], object)[self.codes]

    def per_row(self, per_text: Any) -> NDArray[Any]:
        """What was made of each text, a number or a vector, for each row; NaN where it is missing.

        >>> Column("town", "string", np.array([0.0, np.nan]), ("Ulm",)).per_row([7.0])
        array([ 7., nan])
        """
        made = np.asarray(per_text)
        missing = np.full((1, *made.shape[1:]), np.nan, made.dtype)
        return np.concatenate([made, missing])[self.codes]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of a table; each is read when it is first asked for, and then kept.

    >>> columns = Columns(as_batch({"town": ["Bern", "Lyon", None, "Bern"]}))
    >>> columns["town"].values, columns["town"].texts
    (array([ 0.,  1., nan,  0.]), ('Bern', 'Lyon'))
    """

    table: Batch
    known: dict[str, Column] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Column:
        if name not in self.known:
            self.known[name] = read_column(self.table, name)
        return self.known[name]

    def with_read(self, columns: Iterable[Column]) -> "Columns":
        """The same, with some columns read in another way."""
        return Columns(self.table, self.known | {column.name: column for column in columns})

    def as_numbers(self, marks: Mapping[str, str]) -> "Columns":
        """The same, with these columns of text read as numbers, each with its mark."""
        return self.with_read(read_numbers(self[name], mark) for name, mark in marks.items())


def with_vectors(table: Batch, vectors: Mapping[str, NDArray[Any]]) -> Columns:
    """The columns of a table, of which some are vectors that were made of what they hold."""
    kinds: dict[str, Kind] = {**table.kinds}
    kinds.update((name, "vector") for name in vectors)
    known = {name: Column(name, "vector", matrix) for name, matrix in vectors.items()}
    return Columns(replace(table, kinds=kinds), known)


def as_columns(table: Any) -> Columns:
    """The columns of any table that `as_batch` takes; `Columns` stay as they are."""
    return table if isinstance(table, Columns) else Columns(as_batch(table))


def as_batch(table: Any) -> Batch:
    """A `Batch` of a pandas, polars or arrow frame, a mapping of columns, or a 2-D array.

    >>> list(as_batch(np.zeros((3, 2))).kinds)
    ['column 0', 'column 1']
    """
    if isinstance(table, Batch):
        return table
    if issparse(table):
        raise InputError("TB005", "a sparse matrix has no columns that can be read one by one.")
    if isinstance(table, Mapping):
        table = _frame_of(table)
    elif not hasattr(table, "columns"):
        array = np.asarray(unmasked(table))
        if array.ndim != 2:
            raise InputError("TB005", f"a table has two dimensions; got shape {array.shape}.")
        table = pd.DataFrame(array, columns=[f"column {i}" for i in range(array.shape[1])])
    batch = Batch.from_frame(table, name="the table")
    if not batch.kinds:
        raise InputError("TB001", "the table has no columns.")
    return batch


def _frame_of(columns: Mapping[Any, Any]) -> pd.DataFrame:
    arrays = {str(name): np.asarray(unmasked(values)) for name, values in columns.items()}
    for name, array in arrays.items():
        if array.ndim != 1:
            rule = f'column "{name}" must have one value per row'
            raise InputError("TB005", f"{rule}; got shape {array.shape}.")
    sizes = sorted({array.size for array in arrays.values()})
    if len(sizes) > 1:
        raise InputError("TB005", f"columns differ in length: {sizes} rows.")
    return pd.DataFrame(arrays)


def read_column(table: Batch, name: str) -> Column:
    """Read one column of a table; see `Column`."""
    column, kind = table.frame[name], table.kinds[name]
    if column.dtype == np.float64:
        return Column(name, kind, column.to_numpy())  # as it is: a copy of all would be a matrix
    if kind == "vector":
        return Column(name, kind, stack_vectors(column, name))
    if kind in ("number", "boolean", "blank"):
        return Column(name, kind, column.to_numpy("float64", na_value=np.nan))
    if kind == "date":
        return Column(name, kind, column.to_numpy("datetime64[us]"))
    places, texts = pd.factorize(column.to_numpy(object))
    return Column(name, kind, np.where(places < 0, np.nan, places), tuple(texts))


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The different texts of a column, how many rows have each, and the number in each."""

    texts: tuple[str, ...]
    rows: NDArray[np.intp]
    numbers: tuple[NumberCell | None, ...]

    @classmethod
    def of(cls, column: Column, mark: str) -> "Cells":
        """The cells of a column of text, read with this mark."""
        rows = np.bincount(column.codes, minlength=len(column.texts) + 1)[:-1]
        return cls(column.texts, rows, tuple(read_cell(text, mark) for text in column.texts))

    @property
    def words(self) -> list[str]:
        """Texts that are neither numbers nor say that there is none."""
        both = zip(self.texts, self.numbers, strict=True)
        return [text for text, cell in both if cell is None and not is_missing(text)]

    @property
    def units(self) -> tuple[str, ...]:
        """The different units; a number without one counts if units may change its size."""
        units = {cell.unit for cell in self.numbers if cell is not None}
        named = sorted(units - {""})
        return tuple(named if len(named) != 1 or named[0] not in LARGER else sorted(units))

    @property
    def share(self) -> float:
        """The share of numbers among the rows that say something else than "no number"."""
        is_number = np.array([cell is not None for cell in self.numbers])
        says_none = np.array([is_missing(text) for text in self.texts])
        rest = self.rows[~says_none | is_number].sum()
        return float(self.rows[is_number].sum() / rest) if rest else 0.0

    @property
    def are_numbers(self) -> bool:
        """Whether nearly all are numbers, and some are not plain whole ones, as codes are."""
        values = {cell.value for cell in self.numbers if cell is not None}
        odd = (text for text in self.texts if text.strip() and not WHOLE.fullmatch(text.strip()))
        return len(values) >= LEAST and self.share >= NEARLY_ALL and any(odd)


def mark_of(column: Column, usual: str | None = None) -> str | None:
    """The mark with which a column of text is read as numbers; None if it stays text.

    Where both marks fit, `usual` decides, then the point.

    >>> column = as_columns({"pay": ["26,571", "?", "1,204", "980"]})["pay"]
    >>> mark_of(column), mark_of(column, ",")
    ('.', ',')
    """
    both = [mark for mark, cells in readings(column).items() if len(cells.units) < 2]
    return next((mark for mark in (usual, ".", ",") if mark in both), None)


def numeric_marks(columns: Iterable[Column], usual: str | None = None) -> dict[str, str]:
    """The mark of each column of text that is read as numbers; see `mark_of`."""
    return {column.name: mark for column in columns if (mark := mark_of(column, usual))}


def mixed_units(column: Column) -> tuple[str, ...]:
    """The units of a column of numbers that are of several units, which cannot be compared."""
    units = [cells.units for cells in readings(column).values()]
    return min(units, key=len) if units and all(len(each) > 1 for each in units) else ()


def readings(column: Column) -> dict[str, Cells]:
    """The cells of a column by mark, for the marks with which they are best read as numbers."""
    if column.kind != "string" or not look_numeric(column.texts[:FIRST_TEXTS]):
        return {}
    read = {mark: Cells.of(column, mark) for mark in MARKS}
    read = {mark: cells for mark, cells in read.items() if cells.are_numbers}
    best = max((cells.share for cells in read.values()), default=0.0)
    return {mark: cells for mark, cells in read.items() if cells.share == best}


def read_numbers(column: Column, mark: str) -> Column:
    """A column of text as one of numbers; cells that hold none are missing."""
    cells = (read_cell(text, mark) for text in column.texts)
    values = np.array([np.nan if cell is None else cell.value for cell in cells], np.float64)
    return Column(column.name, "number", column.per_row(values))
