"""PostgreSQL: rows of a table or of a query, and scored rows back into a table.

An address names a server, a database and perhaps a table: `postgresql://ada@host/claims#visits`. It
never holds a password: addresses are stored in run folders and seen in lists of processes. Rows are
copied to this machine once, in one transaction that cannot write, and then read like a parquet
file; so they stay the same however often they are read, and memory does not grow with them.
"""

import atexit
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, urldefrag, urlsplit

from topbin.core.errors import FileError, InputError, option
from topbin.core.optional import require
from topbin.data.batch import Part
from topbin.data.find import Format
from topbin.data.formats.database import only_table
from topbin.data.formats.duck import QUERY_SECONDS, Duck, failed, identifier, run_limited
from topbin.data.formats.parquet import open_address
from topbin.data.schema import check_names

SCHEMES = ("postgresql://", "postgres://")
SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
READ_ONLY = (  # and rows in the same order, as long as they do not change
    "set transaction isolation level repeatable read, read only",
    "set local synchronize_seqscans = off",
    "set local max_parallel_workers_per_gather = 0",
)
OWN_TABLES = "('pg_catalog', 'information_schema')"
LISTING = (
    "select table_schema || '.' || table_name from information_schema.tables "
    f"where table_schema not in {OWN_TABLES}"
)
DATE = "case when isfinite({c}) then {c} end as {c}"
# How a column of each type is asked for; columns of all other types come as text.
ASKED = {
    **dict.fromkeys(("bool", "int2", "int4", "int8", "float4", "float8"), "{c}"),
    **dict.fromkeys(("_int2", "_int4", "_int8", "_float4", "_float8"), "{c}"),
    **dict.fromkeys(("text", "varchar"), "{c}"),
    **dict.fromkeys(("numeric", "money"), "{c}::numeric::float8 as {c}"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), DATE),
}


def is_server(path: Any) -> bool:
    """Whether a name is the address of a PostgreSQL server.

    >>> is_server("postgresql://host/claims#visits"), is_server("s3://bucket/claims.parquet")
    (True, False)
    """
    return isinstance(path, str) and path.startswith(SCHEMES)


def _open(connection: Duck, address: str, name: str, sql: str | None = None) -> Part:
    """The rows of a query, of the table that the address names, or of the only table."""
    with _transaction(address, "TB102" if sql is None else "TB113") as cursor:
        for setting in READ_ONLY:
            cursor.execute(setting)
        rows = f"(\n{sql.strip().rstrip(';')}\n) as answer" if sql else _table(cursor, address)
        columns = cursor.adbc_execute_schema(f"select * from {rows}")
        check_names(name, columns.names)
        asked = ", ".join(map(_asked, columns)) or "*"
        place = _folder() / f"{next(_numbers)}.parquet"
        _copy(cursor, f"select {asked} from {rows}", place)
    return replace(open_address(connection, str(place)), name=name, is_database=True)


def fill_table(address: str, rows: Path, *, force: bool = False) -> None:
    """Write the rows of a parquet file to a new table, all of them or none.

    TB104 if the table exists, unless `force` replaces it.
    """
    table = urldefrag(address).fragment
    if not table:
        way_out = "Name one behind #: postgresql://host/database#scored"
        raise InputError("TB105", f'"{address}" names no table. {way_out}')
    with _parquet("parquet").ParquetFile(rows) as file, _transaction(address, "TB105") as cursor:
        batches = _parquet("lib").RecordBatchReader.from_batches(
            file.schema_arrow, file.iter_batches()
        )
        ingest(cursor, table, batches, force=force)


def ingest(cursor: Any, table: str, batches: Any, *, force: bool) -> None:
    """Make a table of Arrow rows; its transaction ends with the cursor's."""
    *schema, name = table.split(".", 1)
    mode = "replace" if force else "create"
    try:
        cursor.adbc_ingest(name, batches, mode, db_schema_name=schema[0] if schema else None)
    except _adbc("manager").Error as error:
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


def _asked(field: Any) -> str:
    """A column in SQL, as a type that Arrow and parquet know."""
    type_ = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    return ASKED.get(type_, "{c}::text as {c}").format(c=identifier(field.name))


def _copy(cursor: Any, query: str, place: Path) -> None:
    """Write the rows of a query to a parquet file, a batch at a time."""
    limited = partial(run_limited, stop=cursor.adbc_cancel, seconds=QUERY_SECONDS)
    limited(lambda: cursor.execute(query))
    reader = cursor.fetch_record_batch()
    with _parquet("parquet").ParquetWriter(place, reader.schema) as writer:
        while (batch := limited(partial(next, reader, None))) is not None:
            writer.write_batch(batch)


@contextmanager
def _transaction(address: str, code: str) -> Iterator[Any]:
    """A cursor whose work is kept if all goes well, and undone otherwise."""
    refuse_password(address)
    connect: Callable[[str], Any] = _adbc("postgresql.dbapi").connect
    try:
        with connect(urldefrag(address).url) as connection, connection.cursor() as cursor:
            yield cursor
            connection.commit()
    except (_adbc("manager").Error, _parquet("lib").ArrowException) as error:
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
    if is_cut or any(found is not None for found in held):
        raise InputError(
            "TB152",
            f'the address of "{parts.hostname or "localhost"}" holds a password, which others '
            "could read in a list of processes or in a run folder. Leave it out, and give it in "
            "the variable PGPASSWORD or in the file ~/.pgpass.",
        )


SERVER = Format("postgresql", (), _open, is_database=True)  # known by its address
_numbers = count()


@lru_cache(maxsize=1)
def _folder() -> Path:
    """A folder that only this user can open, until the process ends."""
    folder = TemporaryDirectory(prefix="topbin-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _adbc(module: str) -> Any:
    return require(f"adbc_driver_{module}", extra="postgres", caller="a PostgreSQL server")


def _parquet(module: str) -> Any:
    return require(f"pyarrow.{module}", extra="postgres", caller="a PostgreSQL server")
