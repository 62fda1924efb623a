"""A scan: columns, types and row count known before any work, then rows in chunks.

DuckDB scans csv, tsv, parquet, json and its own files in constant memory. Its extension for SQLite
files is a download, so these are read with Python's own sqlite3 (see `topbin.data.sqlite`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import duckdb
import pandas as pd

from topbin.core.errors import InputError
from topbin.data.delimited import Delimited, complaint, inspect_delimited
from topbin.data.find import Source, identifier, literal, path_literal

Kind = Literal["number", "boolean", "date", "string", "blank", "other"]
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "number"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "number"),
    **dict.fromkeys(("FLOAT", "REAL", "DOUBLE", "DECIMAL"), "number"),
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "date"),
    "TIMESTAMP WITH TIME ZONE": "date",
    "BOOLEAN": "boolean",
    **dict.fromkeys(("VARCHAR", "TEXT", "ENUM", "UUID"), "string"),
    **dict.fromkeys(("BLANK", "NULL", '"NULL"'), "blank"),
}
UNKNOWN = re.compile(r"Table with name .* does not exist")
CALLED_DATA = 'The rows of a file are called data: --sql "select * from data"'
VECTOR = 2048  # rows that DuckDB moves at a time


class Scan(Protocol):
    """What every reader offers."""

    @property
    def name(self) -> str:
        """How messages call it."""
        ...

    @property
    def types(self) -> dict[str, str]:
        """Each column's type, in the file's order."""
        ...

    def count(self) -> int:
        """How many rows there are."""
        ...

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[pd.DataFrame]:
        """Frames of at most about `rows` rows, in the file's order."""
        ...


def kind_of(type_: str) -> Kind:
    """What a type means to a model.

    >>> kind_of("DECIMAL(10,2)"), kind_of("INTEGER[]")
    ('number', 'other')
    """
    return KINDS.get(type_, KINDS.get(type_.partition("(")[0], "other"))


@contextmanager
def open_scan(source: Source, needed: Sequence[str] | None = None) -> Iterator[Scan]:
    """Open the files, settle columns and types (see `merge_types`); close all at the end."""
    if source.format == "sqlite":
        from topbin.data.sqlite import open_sqlite

        with open_sqlite(source) as scan:
            yield scan
        return
    with _connect(source) as connection:
        yield _duck_scan(connection, source, needed)


@dataclass(frozen=True, slots=True, eq=False)
class DuckScan:
    """Rows that DuckDB reads."""

    connection: Any
    name: str
    relation: str
    types: dict[str, str]
    explain: Callable[[str], str]
    known_rows: int | None = None

    def count(self) -> int:
        """How many rows there are; counted once by the checks of a csv, else now."""
        if self.known_rows is not None:
            return self.known_rows
        with _duck_errors("TB102", self.explain):
            query = f"select count(*) from {self.relation}"
            return int(self.connection.execute(query).fetchone()[0])

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[pd.DataFrame]:
        """Frames of at most about `rows` rows; memory does not grow with the table."""
        chosen = ", ".join(_selected(column, self.types[column]) for column in columns)
        with _duck_errors("TB102", self.explain):
            result = self.connection.execute(f"select {chosen} from {self.relation}")
            while len(frame := result.fetch_df_chunk(max(1, rows // VECTOR))):
                yield _tidy(frame, self.types)


def _duck_scan(connection: Any, source: Source, needed: Sequence[str] | None) -> DuckScan:
    if source.format in ("csv", "tsv"):
        scan = _delimited_scan(connection, source, needed)
    elif source.format == "duckdb":
        scan = _described(connection, source.name, _only_table(connection, source), "TB102")
    else:
        scan = _files_scan(connection, source, needed)
    if source.sql is None:
        return scan
    if source.format != "duckdb":
        connection.execute(f"create view data as select * from {scan.relation}")
    query = f"(\n{source.sql.strip().rstrip(';')}\n)"
    return _described(connection, source.name, query, "TB113", is_view=source.format != "duckdb")


@contextmanager
def _connect(source: Source) -> Iterator[Any]:
    # No extension is ever fetched from a network: what the plain install brings must do.
    config: Any = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    database = str(source.paths[0]) if source.format == "duckdb" else ":memory:"
    with _duck_errors("TB102", lambda words: f"{source.name} cannot be opened: {words}"):
        connection = duckdb.connect(database, read_only=database != ":memory:", config=config)
    try:
        connection.execute("set TimeZone='UTC'; set enable_progress_bar=false")
        yield connection
    finally:
        connection.close()


@contextmanager
def _duck_errors(code: str, explain: Callable[[str], str]) -> Iterator[None]:
    try:
        yield
    except (duckdb.Error, UnicodeDecodeError) as error:
        raise InputError(code, explain(_words(str(error)))) from error


def _words(error: str) -> str:
    """The parser's sentence without the query it points into."""
    return " ".join(error.partition("\n\nLINE ")[0].split())


def _described(
    connection: Any, name: str, relation: str, code: str, *, is_view: bool = False
) -> DuckScan:
    cannot = "the query fails on" if code == "TB113" else "cannot read"

    def explain(words: str) -> str:
        if is_view and UNKNOWN.search(words):
            words = f"{words.partition(' Did you mean')[0]} {CALLED_DATA}"
        return f"{cannot} {name}: {words}"

    with _duck_errors(code, explain):
        listed = connection.execute(f"describe select * from {relation}").fetchall()
    types = {column: type_ for column, type_, *_ in listed}
    return DuckScan(connection, name, relation, types, explain)


def _only_table(connection: Any, source: Source) -> str:
    if source.sql is not None:
        return "(select 1)"
    query = "select table_name from information_schema.tables where table_schema = 'main'"
    tables = [row[0] for row in connection.execute(query).fetchall()]
    return identifier(the_only_table(source, tables))


def the_only_table(source: Source, tables: Sequence[str]) -> str:
    """The one table of a database, or TB113 with what to ask for."""
    if len(tables) != 1:
        found = ", ".join(f'"{table}"' for table in sorted(tables)[:8]) or "none"
        raise InputError(
            "TB113",
            f"{source.name} holds {len(tables):,} tables ({found}). "
            'Say which rows you want: --sql "select * from ..."',
        )
    return tables[0]


def _files_scan(connection: Any, source: Source, needed: Sequence[str] | None) -> DuckScan:
    scans = []
    for path in source.paths:
        relation = _relation(source.format, path_literal(path))
        scans.append(_described(connection, f'"{path}"', relation, "TB102"))
        if source.format != "parquet" and list(scans[-1].types) == ["json"]:
            raise InputError("TB102", f'"{path}" does not hold JSON objects, one a row.')
    merge_types([(scan.name, scan.types) for scan in scans], needed)
    if len(scans) == 1:
        return scans[0]
    listed = f"[{', '.join(path_literal(path) for path in source.paths)}]"
    return _described(connection, source.name, _relation(source.format, listed), "TB102")


def _relation(format_: str, listed: str) -> str:
    if format_ == "parquet":
        return f"read_parquet({listed}, union_by_name=true, hive_partitioning=false)"
    layout = "newline_delimited" if format_ == "jsonl" else "auto"
    return f"read_json({listed}, format={literal(layout)}, union_by_name=true, sample_size=-1)"


def _delimited_scan(connection: Any, source: Source, needed: Sequence[str] | None) -> DuckScan:
    tabs = source.format == "tsv"
    parts = [inspect_delimited(connection, path, tabs=tabs) for path in source.paths]
    types = merge_types([(f'"{part.path}"', part.types) for part in parts], needed)
    readable = {c: "VARCHAR" if type_ == "BLANK" else type_ for c, type_ in types.items()}
    selects = " union all by name ".join(f"select * from {p.scan(readable)}" for p in parts)
    rows = sum(part.rows for part in parts)
    return DuckScan(
        connection,
        source.name,
        f"({selects})",
        types,
        lambda words: _complaints(parts, words),
        rows,
    )


def _complaints(parts: Sequence[Delimited], words: str) -> str:
    said = [complaint(part.path, part.delimiter, "") for part in parts]
    shown = [text for text in said if not text.endswith("cannot be read: ")]
    return shown[0] if shown else said[0] + words


def merge_types(
    tables: Sequence[tuple[str, dict[str, str]]], needed: Sequence[str] | None = None
) -> dict[str, str]:
    """One type a column for several tables, or TB106 with the columns that do not match.

    With `needed`, only these columns must match; of the others a table may lack some, and where
    kinds differ they are read as text.

    >>> merge_types([("a", {"x": "BIGINT", "y": "DATE"}), ("b", {"y": "BLANK", "x": "DOUBLE"})])
    {'x': 'DOUBLE', 'y': 'DATE'}
    >>> merge_types([("a", {"x": "BIGINT", "y": "DATE"}), ("b", {"z": "DATE", "x": "DOUBLE"})], "x")
    {'x': 'DOUBLE', 'y': 'DATE', 'z': 'DATE'}
    """
    (first, types), *others = tables
    merged = dict(types)
    for name, types in others:
        _same_columns(first, merged, name, types, needed)
        for column, type_ in types.items():
            before = merged.get(column, type_)
            if needed is None or column in needed or _alike(before, type_):
                merged[column] = _wider(before, type_, column, first, name, needed is None)
            else:
                merged[column] = "VARCHAR"
    return merged


def _alike(a: str, b: str) -> bool:
    return kind_of(a) == kind_of(b) or "blank" in (kind_of(a), kind_of(b))


def _same_columns(
    first: str, a: dict[str, str], second: str, b: dict[str, str], needed: Sequence[str] | None
) -> None:
    wanted = a.keys() | b.keys() if needed is None else set(needed)
    gaps = [
        f"{name} has no " + ", ".join(f'"{column}"' for column in sorted(missing)[:8])
        for name, missing in (
            (second, (a.keys() - b.keys()) & wanted),
            (first, (b.keys() - a.keys()) & wanted),
        )
        if missing
    ]
    if gaps:
        raise InputError(
            "TB106",
            f"the tables have different columns: {'; '.join(gaps)}. "
            + _advice("the others", needed is None),
        )


def _advice(what: str, may_drop: bool) -> str:
    return f"Make them equal, or leave {what} out with --drop." if may_drop else "Make them equal."


def _wider(a: str, b: str, column: str, first: str, second: str, may_drop: bool) -> str:
    if a == b or kind_of(b) == "blank":
        return a
    if kind_of(a) == "blank":
        return b
    if not _alike(a, b):
        raise InputError(
            "TB106",
            f'column "{column}" is {kind_of(a)} ({a}) in {first} '
            f"and {kind_of(b)} ({b}) in {second}. " + _advice("it", may_drop),
        )
    return {"number": "DOUBLE", "date": "TIMESTAMP"}.get(kind_of(a), a)


def _selected(column: str, type_: str) -> str:
    """The column in SQL, in one of the few forms that a frame holds the same way everywhere."""
    name = identifier(column)
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return f"make_timestamp(epoch_us({name})) as {name}"  # a cast would drop the offset
    if kind_of(type_) == "date":
        return f"case when isfinite({name}) then {name} end as {name}"
    if kind_of(type_) in ("other", "string") and type_ != "VARCHAR":
        return f"{name}::VARCHAR as {name}"
    return name


def _tidy(frame: pd.DataFrame, types: dict[str, str]) -> pd.DataFrame:
    """Every chunk in the same dtypes, whether or not a value is missing in it."""
    return frame.assign(**{c: tidy_column(frame[c], kind_of(types[c])) for c in frame})


def tidy_column(column: pd.Series, kind: Kind) -> pd.Series:
    """Numbers as numpy numbers (NaN is missing), dates without zone, booleans nullable."""
    if kind == "number":
        whole = column.dtype.kind in "iu" and not column.hasnans
        return column.astype("int64" if whole and column.dtype != "uint64" else "float64")
    if kind == "date":
        return column.astype("datetime64[us]")
    return column.astype("boolean") if kind == "boolean" else column
