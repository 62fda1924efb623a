"""SQLite files, read with Python's sqlite3 in chunks.

A SQLite column may hold values of any type, so the types are counted over all rows first; text
that is an ISO date in every row is a date, for SQLite has no other way to store one.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pandas as pd

from topbin.core.errors import InputError
from topbin.data.find import Source, identifier
from topbin.data.scan import Kind, kind_of, the_only_table, tidy_column

BATCH = 300  # columns counted in one query; SQLite allows 2,000 result columns
ISO_DATE = "[0-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]*"
COUNTS = (
    "count({c}), sum(typeof({c}) = 'integer'), sum(typeof({c}) = 'real'), "
    "sum(typeof({c}) = 'text'), "
    f"sum(typeof({{c}}) = 'text' and {{c}} glob '{ISO_DATE}' and julianday({{c}}) is not null)"
)


@dataclass(frozen=True, slots=True, eq=False)
class SqliteScan:
    """Rows of a SQLite table or query."""

    connection: sqlite3.Connection
    name: str
    relation: str
    types: dict[str, str]
    rows: int

    def count(self) -> int:
        """How many rows there are."""
        return self.rows

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[pd.DataFrame]:
        """Frames of at most `rows` rows."""
        chosen = ", ".join(identifier(column) for column in columns)
        with _sqlite_errors(self.name, "TB102"):
            cursor = self.connection.execute(f"select {chosen} from {self.relation}")
            while block := cursor.fetchmany(rows):
                values = zip(columns, zip(*block, strict=True), strict=True)
                yield pd.DataFrame({c: _column(v, kind_of(self.types[c])) for c, v in values})


@contextmanager
def open_sqlite(source: Source) -> Iterator[SqliteScan]:
    """Open read-only; without a query, the file's only table."""
    address = source.paths[0].absolute().as_uri() + "?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        relation = _relation(connection, source)
        types, rows = _types(connection, source, relation)
        yield SqliteScan(connection, source.name, relation, types, rows)


def _relation(connection: sqlite3.Connection, source: Source) -> str:
    if source.sql is not None:
        return f"(\n{source.sql.strip().rstrip(';')}\n)"
    listing = "select name from sqlite_master where type in ('table', 'view')"
    with _sqlite_errors(source.name, "TB102"):
        names = [name for (name,) in connection.execute(listing) if not name.startswith("sqlite_")]
    return identifier(the_only_table(source, names))


def _types(
    connection: sqlite3.Connection, source: Source, relation: str
) -> tuple[dict[str, str], int]:
    with _sqlite_errors(source.name, "TB113" if source.sql else "TB102"):
        described = connection.execute(f"select * from {relation} limit 0").description
        columns = [column[0] for column in described]
        (rows,) = connection.execute(f"select count(*) from {relation}").fetchone()
        types: dict[str, str] = {}
        for start in range(0, len(columns), BATCH):
            batch = columns[start : start + BATCH]
            asked = ", ".join(COUNTS.format(c=identifier(column)) for column in batch)
            counts = connection.execute(f"select {asked} from {relation}").fetchone()
            for i, column in enumerate(batch):
                types[column] = _type(*(count or 0 for count in counts[5 * i : 5 * i + 5]))
    return types, rows


def _type(filled: int, integers: int, reals: int, texts: int, dates: int) -> str:
    if filled == 0:
        return "BLANK"
    if dates == filled:
        return "TIMESTAMP"
    if integers + reals == filled:
        return "DOUBLE" if reals else "BIGINT"
    return "VARCHAR" if integers + reals + texts == filled else "BLOB"


def _column(values: Sequence[Any], kind: Kind) -> pd.Series:
    if kind == "date":
        return tidy_column(
            pd.to_datetime(pd.Series(values), format="ISO8601", errors="coerce"), kind
        )
    if kind == "number":
        return tidy_column(pd.to_numeric(pd.Series(values)), kind)
    return pd.Series([None if v is None else str(v) for v in values], dtype=object)


@contextmanager
def _sqlite_errors(name: str, code: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        cannot = "the query fails on" if code == "TB113" else "cannot read"
        raise InputError(code, f"{cannot} {name}: {error}.") from error
