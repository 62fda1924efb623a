"""Databases in a file: DuckDB's own, and SQLite's, which Python's sqlite3 reads.

A SQLite column may hold values of any type, so the types are counted over all rows first; text
that is an ISO date in every row is a date, because SQLite has no other way to store one.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from topbin.core.errors import InputError
from topbin.data.batch import Batch, Part, tidy_column
from topbin.data.duck import (
    CHUNK_ROWS,
    DuckPart,
    as_relation,
    connect,
    describe,
    duck_errors,
    failed,
    identifier,
)
from topbin.data.find import Format
from topbin.data.schema import SHOWN, Kind, Types, kinds_of

BATCH = 300  # columns counted in one query; SQLite allows 2,000 result columns
ISO_DATE = "[0-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]*"
COUNTS = (
    "count({c}), sum(typeof({c}) = 'integer'), sum(typeof({c}) = 'real'), "
    "sum(typeof({c}) = 'text'), "
    f"sum(typeof({{c}}) = 'text' and {{c}} glob '{ISO_DATE}' and julianday({{c}}) is not null)"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class DuckTable(DuckPart):
    """A table of a DuckDB database, or a query over one."""

    query: str

    @property
    def relation(self) -> str:
        """The rows in SQL."""
        return self.query

    def explain(self, words: str) -> str:
        """What is wrong, from DuckDB's words."""
        return failed(self.name, self.code, words)


@dataclass(frozen=True, kw_only=True, eq=False)
class SqlitePart(Part):
    """A table of a SQLite database, or a query over one."""

    query: str

    def batches(
        self, columns: Sequence[str] | None = None, rows: int | None = None
    ) -> Iterator[Batch]:
        """Batches of at most `rows` rows."""
        names = list(self.types if columns is None else columns)
        kinds, place = kinds_of({name: self.types[name] for name in names}), self.first
        chosen = ", ".join(identifier(name) for name in names)
        with _sqlite(self.path, self.name, "TB102") as connection:
            cursor = connection.execute(f"select {chosen} from {self.query}")
            while block := cursor.fetchmany(rows or CHUNK_ROWS):
                values = zip(names, zip(*block, strict=True), strict=True)
                frame = pd.DataFrame({c: _column(v, kinds[c]) for c, v in values})
                yield Batch(frame, kinds, self.name, first=place)
                place += len(block)


def open_duckdb(_: Any, path: str, name: str, sql: str | None = None) -> DuckTable:
    """The only table of a database, or the rows of a query."""
    with (
        duck_errors(lambda words: f"{name} cannot be opened: {words}"),
        connect(path) as connection,
    ):
        listing = "select table_name from information_schema.tables where table_schema = 'main'"
        names = [row[0] for row in connection.execute(listing).fetchall()]
        code = "TB102" if sql is None else "TB113"
        query = identifier(_only_table(name, names)) if sql is None else as_relation(sql)
        with duck_errors(lambda words: failed(name, code, words), code):
            types = describe(connection, query)
    return DuckTable(
        path=path, name=name, own=types, types=types, database=path, code=code, query=query
    )


def open_sqlite(_: Any, path: str, name: str, sql: str | None = None) -> SqlitePart:
    """The only table of a database, or the rows of a query."""
    with _sqlite(path, name, "TB102") as connection:
        listing = "select name from sqlite_master where type in ('table', 'view')"
        listed = [found for (found,) in connection.execute(listing)]
    tables = [table for table in listed if not table.startswith("sqlite_")]
    query = identifier(_only_table(name, tables)) if sql is None else as_relation(sql)
    with _sqlite(path, name, "TB102" if sql is None else "TB113") as connection:
        types, rows = _types(connection, query)
    return SqlitePart(path=path, name=name, types=types, query=query, size=rows)


def _only_table(name: str, tables: Sequence[str]) -> str:
    """The one table of a database, or TB113 with what to ask for."""
    if len(tables) != 1:
        found = ", ".join(f'"{table}"' for table in sorted(tables)[:SHOWN]) or "none"
        raise InputError(
            "TB113",
            f"{name} holds {len(tables):,} tables ({found}). "
            'Say which rows you want: --sql "select * from ..."',
        )
    return tables[0]


def _types(connection: sqlite3.Connection, query: str) -> tuple[Types, int]:
    described = connection.execute(f"select * from {query} limit 0").description
    columns = [column[0] for column in described]
    (rows,) = connection.execute(f"select count(*) from {query}").fetchone()
    types: Types = {}
    for start in range(0, len(columns), BATCH):
        batch = columns[start : start + BATCH]
        asked = ", ".join(COUNTS.format(c=identifier(column)) for column in batch)
        counts = connection.execute(f"select {asked} from {query}").fetchone()
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
        days = pd.to_datetime(pd.Series(values), format="ISO8601", errors="coerce")
        return tidy_column(days, kind)
    if kind == "number":
        return tidy_column(pd.to_numeric(pd.Series(values)), kind)
    return pd.Series([None if v is None else str(v) for v in values], dtype=object)


@contextmanager
def _sqlite(path: str, name: str, code: str) -> Iterator[sqlite3.Connection]:
    address = Path(path).absolute().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise InputError(code, failed(name, code, f"{error}.")) from error


FORMATS = (
    Format("duckdb", (".duckdb",), open_duckdb, mark=(8, b"DUCK"), is_database=True),
    Format("sqlite", (".db", ".sqlite", ".sqlite3"), open_sqlite, (0, b"SQLite format 3\0"), True),
)
