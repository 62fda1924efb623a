"""Rows in memory: a pandas frame in a few tidy forms, or Arrow rows as a parquet file gave them.

Whatever a column was read from, its values are the same here: numbers are numpy numbers (NaN is
missing), dates have no time zone, booleans are nullable, and everything else is text.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from topbin.core.checks import Scores
from topbin.core.errors import InputError, MissingExtra
from topbin.core.formatting import counted
from topbin.core.labels import NO_NUMBER, Coded, plain_word
from topbin.core.optional import require
from topbin.data.formats.written import Written, as_float, holds_number, is_missing, look_numeric
from topbin.data.schema import TYPICAL, WHOLE_TYPES, Chosen, Kind, Types, check_columns, kinds_of

Places = NDArray[np.int64]
CHUNK_ROWS = 100_000
DAY = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?")
EXACT = 2**53  # larger whole numbers are not floats
FIRST, LAST = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")
FIRST_TEXTS = 200  # texts that show whether cells hold numbers
ARROW_WHOLE = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
ARROW = {"number": "float64", "boolean": "bool", "date": "timestamp[us]"}  # all others are text
INFERRED: dict[str, Kind] = {
    **dict.fromkeys(("string", "categorical"), "string"),
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal"), "number"),
    **dict.fromkeys(("date", "datetime", "datetime64"), "date"),
    "boolean": "boolean",
}
# From pandas 3 on, frames share memory until one of them is changed: then only what changes is
# copied. Before, a frame that its owner changes later would change here too.
COPIES_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table, with the kind of every column.

    `data` is a tidy pandas frame or Arrow rows. `line` is that of the first row, in text files.

    >>> batch = Batch.from_frame(pd.DataFrame({"age": [31, 47], "town": ["Ulm", None]}))
    >>> batch.kinds, batch.rows
    ({'age': 'number', 'town': 'string'}, 2)
    """

    data: Any
    kinds: dict[str, Kind]
    name: str = "the frame"
    first: int = 0
    picked: Places | None = None
    line: int | None = None

    def __repr__(self) -> str:
        columns = counted(len(self.kinds), "column")
        return f"<Batch: {self.name}, {counted(self.rows)}, {columns}>"

    @classmethod
    def from_frame(cls, frame: Any, *, name: str = "the frame") -> "Batch":
        """Take a pandas, polars or arrow frame as it is, without changing the caller's."""
        frame = as_pandas(frame).reset_index(drop=True)
        frame.columns = [str(column) for column in frame.columns]
        if not frame.columns.is_unique:
            twice = frame.columns[frame.columns.duplicated()][0]
            raise InputError("TB115", f'{name} has the column "{twice}" twice. Rename one of them.')
        if not len(frame):
            raise no_rows(name)
        kinds = {column: _kind(frame[column]) for column in frame}
        return cls(tidy_frame(frame, kinds), kinds, name)

    @property
    def is_tidy(self) -> bool:
        """Whether the rows are in a pandas frame already."""
        return isinstance(self.data, pd.DataFrame)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows as a pandas frame, each column in the form of its kind."""
        if self.is_tidy:
            return self.data
        # Without its metadata: pandas would make some columns an index.
        plain = self.data.select(list(self.kinds)).replace_schema_metadata(None)
        return tidy_frame(plain.to_pandas(date_as_object=False), self.kinds)

    @property
    def readable(self) -> pd.DataFrame:
        """The columns that people can read: all but vectors."""
        return self.frame[[column for column, kind in self.kinds.items() if kind != "vector"]]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.data)

    @property
    def places(self) -> Places:
        """The place of each row among all rows of the table."""
        return np.arange(self.first, self.first + self.rows) if self.picked is None else self.picked

    def select(self, columns: Sequence[str]) -> "Batch":
        """Some of the columns, in this order; TB103 with the nearest name if one is not there."""
        check_columns(columns, list(self.kinds), self.name)
        kinds = {column: self.kinds[column] for column in columns}
        data = self.data[list(columns)] if self.is_tidy else self.data.select(list(columns))
        return replace(self, data=data, kinds=kinds)

    def with_blanks(self, kinds: dict[str, Kind]) -> "Batch":
        """These columns, in this order; those that are not there are blank."""
        data = tidy_frame(self.frame.reindex(columns=list(kinds)), kinds)
        return replace(self, data=data, kinds=kinds)

    def take(self, index: Any) -> "Batch":
        """Some of the rows, by position or mask, in this order."""
        rows = np.arange(self.rows)[index]
        data = self.data.iloc[rows].reset_index(drop=True) if self.is_tidy else self.data.take(rows)
        return replace(self, data=data, picked=self.places[rows])

    def coded(self, column: str) -> Coded:
        """A column as codes, for counting."""
        if self.is_tidy or self.kinds[column] == "date":
            return _code_series(self.frame[column])
        return _code_arrow(self.data.column(column))

    def numbers(self, column: str, dtype: type[np.floating[Any]] = np.float64) -> Scores:
        """A column as floats, NaN where a value is missing; TB102 names a value that is none."""
        if self.is_tidy and self.kinds[column] in ("string", "other"):
            return self._worded(column).astype(dtype)
        if self.is_tidy:
            return np.asarray(self.data[column].to_numpy(dtype, na_value=np.nan))
        values = self.data.column(column)
        if values.type.to_pandas_dtype() is not dtype:
            values = values.cast(dtype.__name__, safe=False)
        return np.asarray(values.to_numpy(zero_copy_only=False))

    def to_arrow(self, types: Types) -> Any:
        """The rows as Arrow has them; rows of a pandas frame get these types."""
        if not self.is_tidy:
            return self.data
        arrow = require("pyarrow", extra="dask", caller="writing rows with Arrow")
        known = ARROW | {"vector": arrow.list_(arrow.float64())}
        schema = arrow.schema(
            (column, "int64" if types[column] in WHOLE_TYPES else known.get(kind, "string"))
            for column, kind in self.kinds.items()
        )
        return arrow.RecordBatch.from_pandas(self.data, schema=schema, preserve_index=False)

    def hash(self) -> str:
        """SHA-256 of names, kinds and values in order: the same rows from any format agree."""
        digest = hashlib.sha256()
        for column, kind in self.kinds.items():
            digest.update(f"{column}\0{kind}\0".encode())
            digest.update(_row_hashes(self.frame[column], kind).tobytes())
        return f"sha256:{digest.hexdigest()}"

    def _worded(self, column: str) -> Scores:
        """Numbers from a column of text, in which some words mean that there is no number."""
        codes, words = self.data[column].factorize()
        numbers = [_number(word) for word in words]
        if None in numbers:
            bad = numbers.index(None)
            line = (self.line or 1) + int((codes == bad).argmax())
            what = f'column "{column}" is not a number in line {line:,}: {words[bad]!r}.'
            raise InputError("TB102", f"{self.name} cannot be read: {what}")
        return np.asarray(np.array([*numbers, np.nan])[codes], np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """Some rows of a table; small, so that it can be sent to another machine and read there.

    `types` are what the columns are read as, `first` is the place of the first row in the table,
    and `size` the number of rows, where it is known.
    """

    path: str
    name: str
    types: Types
    first: int = 0
    size: int | None = None
    groups: tuple[int, ...] = ()  # row groups, or a run of files; none means the whole file
    first_line: int | None = None  # in text files
    is_database: bool = False
    number_texts: frozenset[str] = frozenset()  # columns of text whose cells seem to hold numbers
    written: Mapping[str, Written] = field(default_factory=dict)  # dates, numbers in other forms
    ways: Mapping[str, str] = field(default_factory=dict)  # in which columns of these are read
    others: int = 0  # files beside the texts of a folder, which are no rows
    id_column: str | None = None  # which names rows and is never a feature

    @property
    def empty(self) -> int:
        """How many of the texts of a folder are empty."""
        return 0

    @property
    def encoding_note(self) -> str:
        """What to say about a file that is not UTF-8."""
        return ""

    def read_as(self, types: Types) -> "Part":
        """The same rows, with their columns read as these types."""
        return replace(self, types={c: type_ for c, type_ in types.items() if c in self.types})

    def read_folders(self) -> "Part":
        """The same rows, with a column for each folder called `column=value` above the file."""
        raise InputError("TB102", f"{self.name}: partitions are read from files on a disk only.")

    def read_written(self, ways: Mapping[str, str]) -> "Part":
        """The same rows; only text files have columns that can be read in several ways."""
        return self

    def read_texts(self, columns: frozenset[str]) -> "Part":
        """The same rows, with numbers in these columns read as text, as another file has them."""
        kinds = kinds_of(self.types)
        texts = {c: "VARCHAR" for c in columns if kinds.get(c) == "number"}
        return replace(self, types=self.types | texts) if texts else self

    def count(self) -> int:
        """How many rows there are."""
        assert self.size is not None
        return self.size

    def cut(self, rows: int) -> Sequence["Part"]:
        """Smaller parts of about `rows` rows, for engines; this one if it cannot be cut."""
        return [self]

    def read(self, types: Types, rows: int) -> Iterator[Any]:
        """The rows in order, at most about `rows` at a time: tidy frames, or Arrow rows."""
        raise NotImplementedError  # each format says this about its files

    def batches(self, columns: Chosen = None, rows: int | None = None) -> Iterator[Batch]:
        """The rows in order, in batches of at most about `rows` rows."""
        types = {c: self.types[c] for c in (self.types if columns is None else columns)}
        kinds, done = kinds_of(types), 0
        for data in self.read(types, rows or CHUNK_ROWS):
            line = None if self.first_line is None else self.first_line + done
            yield Batch(data, kinds, self.name, first=self.first + done, line=line)
            done += len(data)


@dataclass(frozen=True, kw_only=True, eq=False)
class FramePart(Part):
    """The rows of a tidy frame in memory, which are one batch."""

    data: pd.DataFrame

    @classmethod
    def of(cls, frame: Any, *, name: str = "the frame", path: str = "") -> "FramePart":
        """All rows of a pandas, polars or arrow frame."""
        batch = Batch.from_frame(frame, name=name)
        types = {column: TYPICAL[kind] for column, kind in batch.kinds.items()}
        texts = (column for column, kind in batch.kinds.items() if kind == "string")
        numbers = (c for c in texts if look_numeric(batch.frame[c].dropna()[:FIRST_TEXTS].tolist()))
        return cls(
            path=path, name=name, types=types, size=batch.rows, data=batch.frame,
            number_texts=frozenset(numbers),
        )  # fmt: skip

    def read(self, types: Types, rows: int) -> Iterator[Any]:
        """All rows at once."""
        data = self.data[list(types)]
        texts = (column for column, kind in kinds_of(types).items() if kind == "string")
        numbers = [column for column in texts if data[column].dtype.kind in "iuf"]
        yield data.assign(**{c: _settle(data[c], "string") for c in numbers}) if numbers else data


def join(batches: Sequence[Batch]) -> Batch:
    """Rows of several batches, one after another; the first batch gives the kinds."""
    first, *others = batches
    if not others:
        return first
    if any(batch.is_tidy for batch in batches):
        data = pd.concat([batch.frame for batch in batches], ignore_index=True)
    else:
        arrow = require("pyarrow", extra="dask", caller="rows of parquet files")
        tables = [arrow.table(batch.data) for batch in batches]
        data = arrow.concat_tables(tables, promote_options="permissive")
    return replace(first, data=data, picked=np.concatenate([batch.places for batch in batches]))


def tidy_frame(frame: pd.DataFrame, kinds: dict[str, Kind]) -> pd.DataFrame:
    """The columns in the forms of their kinds, whatever library they come from."""
    columns = {column: _settle(frame[column], kind) for column, kind in kinds.items()}
    return pd.DataFrame(columns, index=frame.index, copy=not COPIES_ON_WRITE)


def add_columns(frame: Any, columns: Mapping[str, Any], *, first: bool = False) -> pd.DataFrame:
    """The frame with more columns, last or `first`; they replace its own of the same name.

    >>> list(add_columns(pd.DataFrame({"a": [1], "b": [2]}), {"b": [3], "c": ""}, first=True))
    ['b', 'c', 'a']
    """
    # All at once: one by one, pandas warns about a frame with many columns.
    new = pd.DataFrame(dict(columns), index=frame.index)
    own = frame.drop(columns=list(columns), errors="ignore")
    return pd.concat([new, own] if first else [own, new], axis=1)


def not_a_table(given: Any) -> InputError:
    """The error of something that holds no rows."""
    return InputError(
        "TB006",
        "a table must be a path, a list of paths, or a pandas, polars or arrow frame; "
        f"got {type(given).__name__}.",
    )


def no_rows(name: str) -> InputError:
    """The error of a table without rows."""
    return InputError("TB001", f"{name} has columns but no rows.")


def as_pandas(frame: Any) -> pd.DataFrame:
    """A pandas, polars or arrow frame as a pandas one; the caller's stays as it is."""
    if isinstance(frame, pd.DataFrame):
        return frame.copy(deep=False)
    if not hasattr(frame, "to_pandas"):
        raise not_a_table(frame)
    try:
        return frame.to_pandas()
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "TB011", f"{type(frame).__name__} becomes a pandas frame with {error.name}: install it."
        ) from error


def _kind(column: pd.Series) -> Kind:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "string"
    if column.dtype.kind == "O" and column.isna().all():
        return "blank"
    if column.dtype.kind == "O" and _is_vector(column.dropna().iloc[0]):
        return "vector"
    inferred = pd.api.types.infer_dtype(column, skipna=True)
    if inferred in ("mixed", "mixed-integer") and all(map(_is_number_cell, column.dropna())):
        return "string"
    return "date" if inferred == "string" and _are_days(column) else INFERRED.get(inferred, "other")


def _is_vector(value: Any) -> bool:
    """Whether a value of a frame is a vector: a list, tuple or array of numbers.

    >>> _is_vector([0.5, 1.0]), _is_vector(["a"]), _is_vector("ab")
    (True, False, False)
    """
    if not isinstance(value, list | tuple | np.ndarray) or len(value) == 0:
        return False
    array = np.asarray(value)
    return array.ndim == 1 and array.dtype.kind == "f"


def _is_number_cell(value: Any) -> bool:
    """Whether a value is a number, or text that holds one or says that there is none."""
    if isinstance(value, str):
        return is_missing(value) or holds_number(value)
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _are_days(column: pd.Series) -> bool:
    """Whether all these strings are dates or times as ISO 8601 writes them, as in a csv file."""
    texts = column.dropna().astype(str)
    if not DAY.fullmatch(texts.iloc[0]) or not texts.str.fullmatch(DAY).all():
        return False
    return bool(pd.to_datetime(texts, format="ISO8601", errors="coerce").notna().all())


def _settle(column: pd.Series, kind: Kind) -> pd.Series:
    missing = column.isna()
    if kind == "date":
        return pd.Series(_moments(column), column.index)
    if kind == "vector":
        return column.astype(object).where(~missing, None)
    if kind == "number" and column.dtype == object:
        column = column.where(~missing, np.nan).astype("float64")
    if kind in ("string", "blank", "other") and column.dtype != "str":  # `str` of pandas 3
        return column.astype(object).map(str).where(~missing, None)
    return tidy_column(column, kind)


def tidy_column(column: pd.Series, kind: Kind) -> pd.Series:
    """Numbers as numpy numbers (NaN is missing), dates without zone, booleans nullable."""
    if kind == "number":
        whole = column.dtype.kind in "iu" and not column.hasnans
        return column.astype("int64" if whole and column.dtype != "uint64" else "float64")
    if kind == "date":
        return column.astype("datetime64[us]")
    return column.astype("boolean") if kind == "boolean" else column


def _moments(column: pd.Series) -> NDArray[np.datetime64]:
    """Dates and times without zone, in microseconds, which reach from year 1 to year 9999."""
    if pd.api.types.infer_dtype(column, skipna=True) == "string":
        column = pd.to_datetime(column, format="ISO8601")
    if column.dtype.kind == "M":
        moments = (column if column.dt.tz is None else column.dt.tz_convert(None)).to_numpy()
        days = moments.astype("datetime64[D]")
        finite = np.where((days >= FIRST) & (days <= LAST), moments, np.datetime64("NaT"))
        return finite.astype("datetime64[us]")
    return np.array([None if pd.isna(v) else _without_zone(v) for v in column], "datetime64[us]")


def _without_zone(moment: Any) -> Any:
    """A date or time as it reads in UTC."""
    if getattr(moment, "tzinfo", None) is None:
        return np.datetime64(moment)
    return np.datetime64(moment.astimezone(UTC).replace(tzinfo=None))


def _row_hashes(column: pd.Series, kind: Kind) -> NDArray[np.uint64]:
    values: Any
    if kind in ("number", "boolean"):
        values = column.to_numpy("float64", na_value=np.nan) + 0.0  # -0.0 and 0.0 are one value
        if column.dtype == "int64" and np.abs(values).max() >= EXACT:
            values = column.to_numpy()
    elif kind == "date":
        values = column.to_numpy().view("int64")
    elif kind == "vector":
        bits = [None if v is None else np.asarray(v, np.float64).tobytes().hex() for v in column]
        values = np.array(bits, object)
    else:
        values = column.astype(object).where(~column.isna(), None).to_numpy()
    return np.asarray(pd.util.hash_array(values), np.uint64)


def row_hashes(table: Any) -> NDArray[np.uint64]:
    """One number per row of a frame or an array of objects; the order of columns does not matter.

    >>> one, other = pd.DataFrame({"a": [1], "b": ["x"]}), pd.DataFrame({"b": ["x"], "a": [1]})
    >>> row_hashes(one) == row_hashes(other)
    array([ True])
    """
    frame = as_pandas(table) if hasattr(table, "columns") else pd.DataFrame(table)
    frame = frame[sorted(frame, key=str)].astype(str)
    return np.asarray(pd.util.hash_pandas_object(frame, index=False), np.uint64)


def _code_series(column: pd.Series) -> Coded:
    if column.dtype.kind in "iu" and len(column):
        whole = column.to_numpy()
        low, high = int(whole.min()), int(whole.max())
        if high - low < 256:  # whole numbers in a short range are their own codes
            codes = (whole - whole.dtype.type(low)).astype(np.uint8)
            return Coded(list(range(low, high + 1)), codes)
    codes, values = column.factorize()
    if column.dtype.kind == "M" and (values == values.normalize()).all():
        values = values.date  # a day reads like one, as in a file of Arrow dates
    return Coded.from_codes(codes, values.tolist())


def _code_arrow(column: Any) -> Coded:
    if str(column.type) in ARROW_WHOLE and not column.null_count:
        return _code_series(pd.Series(column.to_numpy(zero_copy_only=False), copy=False))
    column = column.dictionary_encode()
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Coded.from_codes(codes, column.dictionary.to_pylist())


def _number(word: Any) -> float | None:
    """What a word says, NaN if it means that there is no number; None if it is neither.

    >>> _number("0.5"), _number(" N/A "), _number("high")
    (0.5, nan, None)
    """
    text = plain_word(str(word).strip(' "'))  # JSON keeps its quotes
    return np.nan if text in NO_NUMBER else as_float(text)
