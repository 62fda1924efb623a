"""Tables in: one table, or a table of positives and one of unlabeled rows, whole or in chunks.

Columns, types and differences are checked before any row is used. Missing values stay missing:
in text files an empty field, NA, N/A, NaN, nan, NULL and null.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from topbin.core.errors import InputError, MissingExtra
from topbin.data.find import SourceLike, check_columns, find_source
from topbin.data.scan import Kind, Scan, kind_of, merge_types, open_scan, tidy_column

CHUNK = 100_000
DAY = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?")
EXACT = 2**53  # larger whole numbers are not floats
INFERRED: dict[str, Kind] = {
    **dict.fromkeys(("string", "categorical"), "string"),
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal"), "number"),
    **dict.fromkeys(("date", "datetime", "datetime64"), "date"),
    "boolean": "boolean",
    "empty": "blank",
}


@dataclass(frozen=True, slots=True)
class Schema:
    """What a table holds, known before any row is used."""

    types: dict[str, str]
    rows: int

    @property
    def kinds(self) -> dict[str, Kind]:
        """What each column means to a model: number, boolean, date, string, blank or other."""
        return {column: kind_of(type_) for column, type_ in self.types.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows in memory, with the kind of every column.

    >>> table = Batch.from_frame(pd.DataFrame({"age": [31, 47], "town": ["Ulm", None]}))
    >>> table.kinds, table.rows
    ({'age': 'number', 'town': 'string'}, 2)
    """

    frame: pd.DataFrame
    kinds: dict[str, Kind]
    name: str = "the frame"

    @classmethod
    def from_frame(cls, frame: Any, *, name: str = "the frame") -> "Batch":
        """Take a pandas, polars or arrow frame as it is, without changing the caller's."""
        frame = as_pandas(frame).reset_index(drop=True)
        frame.columns = [str(column) for column in frame.columns]
        if not frame.columns.is_unique:
            twice = frame.columns[frame.columns.duplicated()][0]
            raise InputError("TB115", f'{name} has the column "{twice}" twice. Rename one of them.')
        kinds = {column: _kind(frame[column]) for column in frame}
        columns = {c: _settled(frame[c], kind) for c, kind in kinds.items()}
        table = cls(pd.DataFrame(columns, index=frame.index), kinds, name)
        return table.check_rows()

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.frame)

    def check_rows(self) -> "Batch":
        """This table, or TB001 if it has no row."""
        if not len(self.frame):
            raise InputError("TB001", f"{self.name} has columns but no rows.")
        return self

    def column(self, name: str) -> pd.Series:
        """One column; TB103 with the nearest name if there is none."""
        check_columns([name], list(self.kinds), self.name)
        return self.frame[name]

    def drop(self, columns: Sequence[str]) -> "Batch":
        """The table without these columns; TB103 if one is not there."""
        check_columns(columns, list(self.kinds), self.name)
        kinds = {column: kind for column, kind in self.kinds.items() if column not in columns}
        return replace(self, frame=self.frame[list(kinds)], kinds=kinds)

    def hash(self) -> str:
        """SHA-256 of names, kinds and values in order: the same rows from any format agree."""
        digest = hashlib.sha256()
        for column, kind in self.kinds.items():
            digest.update(f"{column}\0{kind}\0".encode())
            digest.update(_row_hashes(self.frame[column], kind).tobytes())
        return f"sha256:{digest.hexdigest()}"


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Known positives and unlabeled rows with the same columns, from two places."""

    positives: Batch
    unlabeled: Batch
    shared_ids: int | None = None

    def stack(self) -> tuple[Batch, NDArray[np.bool_]]:
        """Both as one table, positives first, and which rows are positive."""
        frame = pd.concat([self.positives.frame, self.unlabeled.frame], ignore_index=True)
        name = f"{self.positives.name} with {self.unlabeled.name}"
        is_positive = np.arange(len(frame)) < self.positives.rows
        return Batch(frame, self.positives.kinds, name), is_positive


def describe(source: SourceLike, *, sql: str | None = None) -> Schema:
    """Columns, types and row count, without keeping a row."""
    with open_scan(find_source(source, sql=sql)) as scan:
        return Schema(dict(scan.types), scan.count())


def read_table(
    source: SourceLike, *, sql: str | None = None, columns: Sequence[str] | None = None
) -> Batch:
    """Read csv, tsv, json lines, parquet, a DuckDB or a SQLite file; all rows or a coded error.

    `source` is a path, a glob pattern or a list. With `sql` the rows are the query's: in a
    database its tables have their names, in other files the rows are called `data`.
    """
    with open_scan(find_source(source, sql=sql)) as scan:
        return _collect(scan, _chosen(scan, columns), scan.types)


def iter_chunks(
    source: SourceLike,
    columns: Sequence[str] | None = None,
    *,
    rows: int = CHUNK,
    sql: str | None = None,
    needed: Sequence[str] | None = None,
) -> Iterator[Batch]:
    """Tables of at most about `rows` rows, in order; memory does not grow with the source.

    Files must have the same columns; with `needed`, only as far as these are concerned.
    """
    with open_scan(find_source(source, sql=sql), needed) as scan:
        chosen = _chosen(scan, columns)
        kinds = {column: kind_of(scan.types[column]) for column in chosen}
        for frame in scan.chunks(chosen, rows):
            yield Batch(frame, kinds, scan.name)


def read_pair(
    positives: SourceLike,
    unlabeled: SourceLike,
    *,
    drop: Sequence[str] = (),
    id: str | None = None,
) -> Pair:
    """Read two tables with the same columns (in any order) and compatible types.

    Differences are TB106 before a row is read. `drop` names columns to leave out of both; with
    `id`, `shared_ids` says how many unlabeled rows have the id of a positive.
    """
    with open_scan(find_source(positives)) as p, open_scan(find_source(unlabeled)) as u:
        for name in drop:
            check_columns([name], [*p.types, *u.types], f"{p.name} or {u.name}")
        types_p, types_u = (_without(scan.types, drop) for scan in (p, u))
        types = merge_types([(p.name, types_p), (u.name, types_u)])
        if id is not None:
            check_columns([id], list(types), p.name)
        tables = [_collect(scan, list(types), types) for scan in (p, u)]
    shared = None
    if id is not None:
        shared = int(tables[1].frame[id].isin(tables[0].frame[id].dropna()).sum())
    return Pair(tables[0], tables[1], shared)


def _without(types: dict[str, str], drop: Sequence[str]) -> dict[str, str]:
    return {column: type_ for column, type_ in types.items() if column not in drop}


def _chosen(scan: Scan, columns: Sequence[str] | None) -> list[str]:
    check_columns(columns or (), list(scan.types), scan.name)
    return list(scan.types if columns is None else columns)


def _collect(scan: Scan, columns: list[str], types: dict[str, str]) -> Batch:
    frames = list(scan.chunks(columns, CHUNK))
    if not frames:
        raise InputError("TB001", f"{scan.name} has columns but no rows.")
    kinds = {column: kind_of(types[column]) for column in columns}
    frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    return Batch(frame, kinds, scan.name)


def as_pandas(frame: Any) -> pd.DataFrame:
    """A pandas, polars or arrow frame as a pandas one; the caller's stays as it is."""
    if isinstance(frame, pd.DataFrame):
        return frame.copy(deep=False)
    if not hasattr(frame, "to_pandas"):
        raise InputError(
            "TB006",
            f"a table must be a pandas, polars or arrow frame; got {type(frame).__name__}.",
        )
    try:
        return frame.to_pandas()
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "TB011", f"{type(frame).__name__} becomes a pandas frame with {error.name}: install it."
        ) from error


def _kind(column: pd.Series) -> Kind:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "string"
    if column.dtype.kind in "mcV":
        return "other"
    if column.dtype.kind == "O" and column.isna().all():
        return "blank"
    inferred = pd.api.types.infer_dtype(column, skipna=True)
    return "date" if inferred == "string" and _are_days(column) else INFERRED.get(inferred, "other")


def _are_days(column: pd.Series) -> bool:
    """Whether all these strings are dates or times as ISO 8601 writes them, as in a csv file."""
    texts = column.dropna().astype(str)
    if not DAY.fullmatch(texts.iloc[0]) or not texts.str.fullmatch(DAY).all():
        return False
    return bool(pd.to_datetime(texts, format="ISO8601", errors="coerce").notna().all())


def _settled(column: pd.Series, kind: Kind) -> pd.Series:
    missing = column.isna()
    if kind == "date":
        return pd.Series(_moments(column), column.index)
    if kind == "number" and column.dtype == object:
        column = column.where(~missing, np.nan).astype("float64")
    if kind in ("string", "blank", "other"):
        return column.astype(object).map(str).where(~missing, None)
    return tidy_column(column, kind)


def _moments(column: pd.Series) -> NDArray[np.datetime64]:
    """Dates and times without zone, in microseconds, which reach from year 1 to year 9999."""
    if pd.api.types.infer_dtype(column, skipna=True) == "string":
        column = pd.to_datetime(column, format="ISO8601")
    if column.dtype.kind == "M" and getattr(column.dtype, "tz", None) is None:
        return np.asarray(column.to_numpy(), "datetime64[us]")
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
    else:
        values = column.astype(object).where(~column.isna(), None).to_numpy()
    return np.asarray(pd.util.hash_array(values), np.uint64)
