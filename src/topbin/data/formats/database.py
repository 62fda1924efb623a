"""Sources with several tables: DuckDB, SQLite, PostgreSQL and workbooks. A query picks rows.

The only table of a source needs no query; of several, `select * from ...` says which one.

A SQLite column may hold values of any type, so the types are counted over all rows first; text
that is an ISO date in every row is a date, because SQLite has no other way to store one.

An address names a PostgreSQL server, a database and perhaps a table:
`postgresql://ada@host/claims#visits`. It never holds a password: addresses are stored in run
folders and seen in lists of processes. Rows are copied to this machine once, in one transaction
that cannot write, and then read like a parquet file; so they stay the same however often they are
read, and memory does not grow with them. Scored rows can be written back into a table.

Every sheet of a workbook is a table, whose first row that is not blank names the columns. Cells
have types of their own, so nothing is guessed from text. A formula counts as the value that Excel
last computed, and an error such as #N/A as missing.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from itertools import dropwhile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urldefrag, urlsplit
from zipfile import BadZipFile

import pandas as pd

from topbin.core.errors import FileError, InputError, option
from topbin.core.labels import NO_VALUE
from topbin.core.optional import require
from topbin.data.batch import FramePart, Part, tidy_column
from topbin.data.formats import duck
from topbin.data.formats.duck import DuckPart, failed, identifier
from topbin.data.formats.parquet import open_address
from topbin.data.paths import Format, own_file
from topbin.data.schema import Kind, Types, check_names, kinds_of, quoted

BATCH = 300  # columns counted in one query; SQLite allows 2,000 result columns
ISO_DATE = "[0-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]*"
TYPE_OF_ALL = f"""case count({{c}})
    when 0 then 'BLANK'
    when sum(typeof({{c}}) = 'text' and {{c}} glob '{ISO_DATE}' and julianday({{c}}) is not null)
        then 'TIMESTAMP'
    when sum(typeof({{c}}) = 'integer') then 'BIGINT'
    when sum(typeof({{c}}) in ('integer', 'real')) then 'DOUBLE'
    when sum(typeof({{c}}) in ('integer', 'real', 'text')) then 'VARCHAR'
    else 'BLOB' end"""
READING = {  # what SQLite may do
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
SCHEMES = ("postgresql://", "postgres://")
SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
READ_ONLY = (  # and rows in the same order, as long as they do not change
    "set transaction isolation level repeatable read, read only",
    "set local synchronize_seqscans = off",
    "set local max_parallel_workers_per_gather = 0",
)
LISTING = (
    "select table_schema || '.' || table_name from information_schema.tables "
    "where table_schema not in ('pg_catalog', 'information_schema')"
)
DATE = "case when isfinite({c}) then {c} end as {c}"
# How a column of each type is asked for; columns of all other types come as text.
ASKED = {
    **dict.fromkeys(("bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar"), "{c}"),
    **dict.fromkeys(("_int2", "_int4", "_int8", "_float4", "_float8"), "{c}"),
    **dict.fromkeys(("numeric", "money"), "{c}::numeric::float8 as {c}"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), DATE),
}


def only_table(name: str, tables: Sequence[str]) -> str:
    """The one table of a database, or TB113 with what to ask for."""
    if len(tables) != 1:
        seen = f"{len(tables):,} tables ({quoted(sorted(tables)) or 'none'})"
        way_out = f"Say which rows you want: {option('sql', 'select * from ...')}"
        raise InputError("TB113", f"{name} holds {seen}. {way_out}")
    return tables[0]


def subquery(sql: str) -> str:
    """A query as the table of another one.

    >>> subquery("select 1;").split()
    ['(', 'select', '1', ')']
    """
    return f"(\n{sql.strip().rstrip(';')}\n)"


def open_duckdb(_: Any, path: str, name: str, sql: str | None = None) -> DuckPart:
    """The only table of a database, or the rows of a query."""
    with (
        duck.coded_errors(lambda words: f"{name} cannot be opened: {words}"),
        duck.connect(database=path, seconds=duck.QUERY_SECONDS) as connection,
    ):
        listing = "select table_name from information_schema.tables where table_schema = 'main'"
        tables = [row[0] for row in connection.rows(listing)]
    relation = identifier(only_table(name, tables)) if sql is None else ""
    return DuckPart(
        path=path, name=name, relation=relation, query=sql, own={}, types={}, is_database=True
    ).described()


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
                yield pd.DataFrame({c: _sqlite_column(v, kind) for (c, kind), v in values})


def open_sqlite(_: Any, path: str, name: str, sql: str | None = None) -> SqlitePart:
    """The only table of a database, or the rows of a query."""
    with _sqlite(path, name, "TB102") as connection:
        listing = "select name from sqlite_master where type in ('table', 'view')"
        tables = [row[0] for row in connection.execute(listing)]
    tables = [table for table in tables if not table.startswith("sqlite_")]
    query = identifier(only_table(name, tables)) if sql is None else subquery(sql)
    with _sqlite(path, name, "TB102" if sql is None else "TB113") as connection:
        types, rows = _sqlite_types(connection, query)
    return SqlitePart(path=path, name=name, types=types, query=query, size=rows, is_database=True)


def _sqlite_types(connection: sqlite3.Connection, query: str) -> tuple[Types, int]:
    ask = partial(_limited, connection, connection.execute)
    columns = [column[0] for column in ask(f"select * from {query} limit 0").description]
    (rows,) = ask(f"select count(*) from {query}").fetchone()
    types: Types = {}
    for start in range(0, len(columns), BATCH):
        batch = columns[start : start + BATCH]
        asked = ", ".join(TYPE_OF_ALL.format(c=identifier(column)) for column in batch)
        types |= zip(batch, ask(f"select {asked} from {query}").fetchone(), strict=True)
    return types, rows


def _limited(connection: sqlite3.Connection, call: Callable[..., Any], *given: Any) -> Any:
    return duck.run_limited(partial(call, *given), connection.interrupt, duck.QUERY_SECONDS)


def _sqlite_column(values: Sequence[Any], kind: Kind) -> pd.Series:
    if kind not in ("date", "number"):
        return _as_text(values)
    column = pd.Series(values)
    if kind == "number":
        return tidy_column(pd.to_numeric(column), kind)
    return tidy_column(pd.to_datetime(column, format="ISO8601", errors="coerce"), kind)


def _as_text(values: Sequence[Any]) -> pd.Series:
    return pd.Series([None if value is None else str(value) for value in values], dtype=object)


@contextmanager
def _sqlite(path: str, name: str, code: str) -> Iterator[sqlite3.Connection]:
    """A connection that can only read this file, whatever the query or a view in the file says."""
    address = Path(path).absolute().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as connection:
            connection.execute("pragma trusted_schema = off")
            connection.set_authorizer(
                lambda action, *_: sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY
            )
            yield connection
    except sqlite3.Error as error:
        raise InputError(code, failed(name, code, f"{error}.")) from error


def is_server(path: Any) -> bool:
    """Whether a name is the address of a PostgreSQL server.

    >>> is_server("postgresql://host/claims#visits"), is_server("s3://bucket/claims.parquet")
    (True, False)
    """
    return isinstance(path, str) and path.startswith(SCHEMES)


def open_postgres(connection: duck.Duck, address: str, name: str, sql: str | None = None) -> Part:
    """The rows of a query, of the table that the address names, or of the only table."""
    with _transaction(address, "TB102" if sql is None else "TB113") as cursor:
        for setting in READ_ONLY:
            cursor.execute(setting)
        rows = _table(cursor, address) if sql is None else f"{subquery(sql)} as answer"
        columns = cursor.adbc_execute_schema(f"select * from {rows}")
        check_names(name, columns.names)
        asked = ", ".join(map(_as_arrow, columns)) or "*"
        place = own_file(".parquet")
        _copy(cursor, f"select {asked} from {rows}", place)
    return replace(open_address(connection, str(place)), name=name, is_database=True)


def fill_table(address: str, rows: Path, *, force: bool = False) -> None:
    """Write the rows of a parquet file to a new table, all or none; TB104 if it exists already."""
    table = urldefrag(address).fragment
    if not table:
        way_out = "Name one behind #: postgresql://host/database#scored"
        raise InputError("TB105", f'"{address}" names no table. {way_out}')
    with (
        _package("pyarrow.parquet").ParquetFile(rows) as file,
        _transaction(address, "TB105") as cursor,
    ):
        batches = _package("pyarrow.lib").RecordBatchReader.from_batches(
            file.schema_arrow, file.iter_batches()
        )
        ingest(cursor, table, batches, force=force)


def ingest(cursor: Any, table: str, batches: Any, *, force: bool) -> None:
    """Make a table of Arrow rows; its transaction ends with the cursor's."""
    *schema, name = table.split(".", 1)
    mode = "replace" if force else "create"
    try:
        cursor.adbc_ingest(name, batches, mode, db_schema_name=schema[0] if schema else None)
    except _package("adbc_driver_manager").Error as error:
        if error.status_code.name != "ALREADY_EXISTS":
            raise
        way_out = f"Choose another name, or replace it with {option('force', True)}."
        raise FileError("TB104", f'the table "{table}" exists already. {way_out}') from error


def _table(cursor: Any, address: str) -> str:
    """The table that the address names, in SQL, or the only one of the database."""
    named = urldefrag(address).fragment
    if not named:
        cursor.execute(LISTING)
        named = only_table(f'"{urldefrag(address).url}"', [row[0] for row in cursor.fetchall()])
    return ".".join(map(identifier, named.split(".", 1)))


def _as_arrow(field: Any) -> str:
    """A column in SQL, as a type that Arrow and parquet know."""
    type_ = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    return ASKED.get(type_, "{c}::text as {c}").format(c=identifier(field.name))


def _copy(cursor: Any, query: str, place: Path) -> None:
    """Write the rows of a query to a parquet file, a batch at a time."""
    limited = partial(duck.run_limited, stop=cursor.adbc_cancel, seconds=duck.QUERY_SECONDS)
    limited(lambda: cursor.execute(query))
    reader = cursor.fetch_record_batch()
    with _package("pyarrow.parquet").ParquetWriter(place, reader.schema) as writer:
        while (batch := limited(partial(next, reader, None))) is not None:
            writer.write_batch(batch)


@contextmanager
def _transaction(address: str, code: str) -> Iterator[Any]:
    """A cursor whose work is kept if all goes well, and undone otherwise."""
    refuse_password(address)
    connect: Callable[[str], Any] = _package("adbc_driver_postgresql.dbapi").connect
    try:
        with connect(urldefrag(address).url) as connection, connection.cursor() as cursor:
            yield cursor
            connection.commit()
    except (_package("adbc_driver_manager").Error, _package("pyarrow.lib").ArrowException) as error:
        said = re.split(r"ERROR: |FATAL: ", str(error))[-1]
        words = " ".join(re.split(r"\nLINE |\nCONTEXT: |Query was: ", said)[0].split())
        if code == "TB105":
            raise FileError(code, f'"{address}" cannot be written: {words}') from error
        raise InputError(code, failed(f'"{address}"', code, words)) from error


def refuse_password(address: str) -> None:
    """TB152 if an address holds a password; the message does not.

    >>> refuse_password("postgresql://ada:secret@host/claims")
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB152 the address of "host" holds a password...
    """
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise InputError("TB102", "the address of the server cannot be read.") from error
    held = [parts.password, *(parse_qs(parts.query).get(name) for name in SECRETS)]
    # Signs such as / and # in a password end the part of an address that should hold it.
    is_cut = "@" in parts.path + parts.query + parts.fragment
    if is_cut or any(secret is not None for secret in held):
        raise InputError(
            "TB152",
            f'the address of "{parts.hostname or "localhost"}" holds a password, which others '
            "could read in a list of processes or in a run folder. Leave it out, and give it in "
            "the variable PGPASSWORD or in the file ~/.pgpass.",
        )


def _package(module: str) -> Any:
    return require(module, extra="postgres", caller="a PostgreSQL server")


def open_excel(_: Any, path: str, name: str, sql: str | None = None) -> FramePart:
    """The rows of the only sheet that has any, or of a query over the sheets."""
    sheets = {title: frame for title, frame in _sheets(path, name) if len(frame)}
    if not sheets:
        raise InputError("TB001", f"{name} has no sheet with a line of names and rows below it.")
    if sql is None:
        frame = sheets[only_table(name, list(sheets))]
    else:
        frame = _query_sheets(sheets, name, sql)
    return replace(FramePart.of(frame, name=name, path=path), is_database=True)


def _query_sheets(sheets: dict[str, pd.DataFrame], name: str, sql: str) -> pd.DataFrame:
    """The rows of a query in which the sheets are tables."""
    with (
        duck.coded_errors(lambda words: failed(name, "TB113", words), "TB113"),
        duck.connect(seconds=duck.QUERY_SECONDS) as connection,
    ):
        for title, frame in sheets.items():
            connection.raw.register(title, frame)
        frames = list(connection.frames(duck.one_select(sql), 1 << 30))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _sheets(path: str, name: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """The sheets that are not hidden, as frames."""
    caller = f"reading {name}"
    excel = require("openpyxl", extra="excel", caller=caller)
    broken = require("openpyxl.utils.exceptions", extra="excel", caller=caller).InvalidFileException
    try:
        book = excel.load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, OSError, broken) as error:
        raise InputError(
            "TB102",
            f"{name} cannot be read: it is not an Excel workbook. Save it again, as .xlsx or as "
            ".csv.",
        ) from error
    with closing(book):
        for sheet in book.worksheets:
            if sheet.sheet_state == "visible":
                rows = [tuple(map(_value, row)) for row in sheet.iter_rows(values_only=True)]
                yield sheet.title, _frame(rows, f'the sheet "{sheet.title}" of {name}')


def _value(cell: Any) -> Any:
    """A cell, None if it says that there is no value."""
    return None if isinstance(cell, str) and cell.strip() in NO_VALUE else cell


def _frame(rows: Sequence[Sequence[Any]], where: str) -> pd.DataFrame:
    """The rows below the first one that is not blank; blank rows and columns do not count."""
    header, *below = [*dropwhile(_is_blank, rows)] or [()]
    below = [row for row in below if not _is_blank(row)]
    check_names(where, [str(title) for title in header if title is not None])
    columns: dict[str, pd.Series] = {}
    for i, title in enumerate(header):
        values = [row[i] if i < len(row) else None for row in below]
        if title is not None:
            columns[str(title).strip()] = _sheet_column(values)
        elif not _is_blank(values):
            place = f"column {i + 1:,} of {where} has values and no name."
            raise InputError("TB102", f"{place} Name it in the first row.")
    return pd.DataFrame(columns)


def _is_blank(values: Sequence[Any]) -> bool:
    return all(value is None for value in values)


def _sheet_column(values: Sequence[Any]) -> pd.Series:
    """Values of one kind as they are; of several kinds as text.

    >>> _sheet_column([1, None, "x"]).tolist(), _sheet_column([1, 2.5]).tolist()
    (['1', None, 'x'], [1.0, 2.5])
    """
    kinds = {_cell_kind(value) for value in values if value is not None}
    return pd.Series(values) if len(kinds) < 2 else _as_text(values)


def _cell_kind(value: Any) -> type:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float
    return date if isinstance(value, datetime | date) else type(value)


SERVER = Format("postgresql", (), open_postgres, is_database=True)  # known by its address
FORMATS = (
    Format("duckdb", (".duckdb",), open_duckdb, mark=(8, b"DUCK"), is_database=True),
    Format("sqlite", (".db", ".sqlite", ".sqlite3"), open_sqlite, (0, b"SQLite format 3\0"), True),
    Format("excel", (".xlsx", ".xlsm"), open_excel, is_database=True, may_be_many=True),
)
