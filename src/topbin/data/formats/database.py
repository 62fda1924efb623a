"""Databases in a file: DuckDB's own, and SQLite's, which Python's sqlite3 reads.

A SQLite column may hold values of any type, so the types are counted over all rows first; text
that is an ISO date in every row is a date, because SQLite has no other way to store one.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from topbin.core.errors import InputError, option
from topbin.data.batch import Part, tidy_column
from topbin.data.find import Format
from topbin.data.formats import duck
from topbin.data.formats.duck import QUERY_SECONDS, DuckPart, identifier
from topbin.data.schema import Kind, Types, kinds_of, quoted

BATCH = 300  # columns counted in one query; SQLite allows 2,000 result columns
ISO_DATE = "[0-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]*"
COUNTS = (
    "count({c}), sum(typeof({c}) = 'integer'), sum(typeof({c}) = 'real'), "
    "sum(typeof({c}) = 'text'), "
    f"sum(typeof({{c}}) = 'text' and {{c}} glob '{ISO_DATE}' and julianday({{c}}) is not null)"
)


READING = {  # what SQLite may do
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class SqlitePart(Part):
    """A table of a SQLite database, or a query over one."""

    query: str

    def read(self, types: Types, rows: int) -> Iterator[Any]:
        """Frames of at most `rows` rows."""
        chosen = ", ".join(identifier(name) for name in types)
        with _sqlite(self.path, self.name, "TB102") as connection:
            cursor = _limited(connection, connection.execute, f"select {chosen} from {self.query}")
            while block := _limited(connection, cursor.fetchmany, rows):
                values = zip(kinds_of(types).items(), zip(*block, strict=True), strict=True)
                yield pd.DataFrame({c: _column(v, kind) for (c, kind), v in values})


def open_duckdb(_: Any, path: str, name: str, sql: str | None = None) -> DuckPart:
    """The only table of a database, or the rows of a query."""
    with (
        duck.duck_errors(lambda words: f"{name} cannot be opened: {words}"),
        duck.connect(database=path, seconds=QUERY_SECONDS) as connection,
    ):
        listing = "select table_name from information_schema.tables where table_schema = 'main'"
        tables = [row[0] for row in connection.rows(listing)]
    relation = identifier(only_table(name, tables)) if sql is None else ""
    part = DuckPart(path=path, name=name, relation=relation, query=sql, own={}, types={})
    return replace(part, is_database=True).described()


def open_sqlite(_: Any, path: str, name: str, sql: str | None = None) -> SqlitePart:
    """The only table of a database, or the rows of a query."""
    with _sqlite(path, name, "TB102") as connection:
        listing = "select name from sqlite_master where type in ('table', 'view')"
        listed = [found for (found,) in connection.execute(listing)]
    tables = [table for table in listed if not table.startswith("sqlite_")]
    asked = f"(\n{(sql or '').strip().rstrip(';')}\n)"
    query = asked if sql is not None else identifier(only_table(name, tables))
    with _sqlite(path, name, "TB102" if sql is None else "TB113") as connection:
        types, rows = _types(connection, query)
    return SqlitePart(path=path, name=name, types=types, query=query, size=rows, is_database=True)


def only_table(name: str, tables: Sequence[str]) -> str:
    """The one table of a database, or TB113 with what to ask for."""
    if len(tables) != 1:
        found = f"{len(tables):,} tables ({quoted(sorted(tables)) or 'none'})"
        way_out = f"Say which rows you want: {option('sql', 'select * from ...')}"
        raise InputError("TB113", f"{name} holds {found}. {way_out}")
    return tables[0]


def _types(connection: sqlite3.Connection, query: str) -> tuple[Types, int]:
    ask = partial(_limited, connection, connection.execute)
    columns = [column[0] for column in ask(f"select * from {query} limit 0").description]
    (rows,) = ask(f"select count(*) from {query}").fetchone()
    types: Types = {}
    for start in range(0, len(columns), BATCH):
        batch = columns[start : start + BATCH]
        asked = ", ".join(COUNTS.format(c=identifier(column)) for column in batch)
        counts = ask(f"select {asked} from {query}").fetchone()
        for i, column in enumerate(batch):
            types[column] = _type(*(count or 0 for count in counts[5 * i : 5 * i + 5]))
    return types, rows


def _limited(connection: sqlite3.Connection, call: Callable[..., Any], *given: Any) -> Any:
    return duck.run_limited(partial(call, *given), connection.interrupt, QUERY_SECONDS)


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


def _may(action: int, *_: Any) -> int:
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


@contextmanager
def _sqlite(path: str, name: str, code: str) -> Iterator[sqlite3.Connection]:
    """A connection that can only read this file, whatever the query or a view in the file says."""
    address = Path(path).absolute().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as connection:
            connection.execute("pragma trusted_schema = off")
            connection.set_authorizer(_may)
            yield connection
    except sqlite3.Error as error:
        raise InputError(code, duck.failed(name, code, f"{error}.")) from error


FORMATS = (
    Format("duckdb", (".duckdb",), open_duckdb, mark=(8, b"DUCK"), is_database=True),
    Format("sqlite", (".db", ".sqlite", ".sqlite3"), open_sqlite, (0, b"SQLite format 3\0"), True),
)
