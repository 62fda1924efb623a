"""DuckDB, which reads csv, json and parquet files, its own databases, and queries over them.

A connection reaches the user's own files and nothing else, and its settings are locked before any
SQL runs: neither a query nor a view in a received database can read or write another file. Json
files, an array of objects or one object per line, need no more than this module.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from glob import escape
from threading import Lock
from typing import Any
from urllib.parse import unquote
from weakref import WeakSet

import duckdb

from topbin.core.errors import InputError, option
from topbin.data.batch import Part, tidy_column
from topbin.data.paths import Format
from topbin.data.schema import Types, check_names, kind_of, kinds_of

QUERY_SECONDS = 600.0  # for a query of the user, or a view in a database
VECTOR = 2048  # rows that DuckDB moves at a time
INFINITE = "lower(trim({c})) in ('infinity', '-infinity', '+infinity')"
NO_FOLDER = "__HIVE_DEFAULT_PARTITION__"  # the name of a folder of rows without a value
ANSWER = "topbin_answer"  # the name of a query's rows
UNKNOWN = re.compile(r"Table with name .* does not exist")
CALLED_DATA = f"The rows of a file are called data: {option('sql', 'select * from data')}"
CONFIG: dict[str, Any] = {  # nothing is fetched from a network, and no stored password is read
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_persistent_secrets": False,
}
LOCK = (
    "set global TimeZone='UTC'; set global python_enable_replacements=false; "
    "set enable_progress_bar=false; set enable_external_access=false; set lock_configuration=true"
)


class Duck:
    """A locked connection; its queries end at Ctrl-C, or after `seconds`."""

    def __init__(self, raw: Any, seconds: float | None) -> None:
        self.raw, self.seconds = raw, seconds

    def rows(self, query: str) -> list[Any]:
        """All rows of a short answer."""
        return list(self._run(lambda: self.raw.execute(query).fetchall()))

    def frames(self, query: str, rows: int) -> Iterator[Any]:
        """The rows of any answer, in frames of at most about `rows` rows."""
        result = self._run(lambda: self.raw.execute(query))
        while len(frame := self._run(lambda: result.fetch_df_chunk(max(1, rows // VECTOR)))):
            yield frame

    def describe(self, relation: str) -> Types:
        """The columns of a relation and their types."""
        return {row[0]: row[1] for row in self.rows(f"describe select * from {relation}")}

    def _run(self, call: Callable[[], Any]) -> Any:
        return run_limited(call, self.raw.interrupt, self.seconds)


def run_limited(call: Callable[[], Any], stop: Callable[[], None], seconds: float | None) -> Any:
    """Call a database in another thread, because it does not hear Ctrl-C while it works."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call)
        try:
            wait([future], seconds)
        finally:
            late = not future.done()
            while not future.done():
                stop()
                wait([future], 0.1)
    if late:
        raise InputError(
            "TB113",
            f"the query took more than {seconds:g} s. Write its rows to a parquet file with your "
            "database first, and use that file.",
        )
    return future.result()


OPENING = Lock()
OPEN: WeakSet[Duck] = WeakSet()


@contextmanager
def connect(
    paths: Iterable[str] = (),
    *,
    folder: str = "",
    database: str = "",
    threads: int | None = None,
    seconds: float | None = None,
) -> Iterator[Duck]:
    """A locked connection that reaches these files, this folder, or this database (to read it)."""
    config = CONFIG | ({} if threads is None else {"threads": threads})
    with duckdb.connect(database or ":memory:", bool(database), config) as raw:
        # Connections to one database share its settings, which may be locked already.
        with OPENING:
            (is_locked,) = raw.execute("select current_setting('lock_configuration')").fetchall()
            if not is_locked[0]:
                raw.execute(f"set allowed_paths={_listed(paths)}")
                raw.execute(f"set allowed_directories={_listed([folder] if folder else [])}")
                raw.execute(LOCK)
        duck = Duck(raw, seconds)
        OPEN.add(duck)
        yield duck


def _listed(paths: Iterable[str]) -> str:
    """A list in SQL: each name, and each as a pattern that fits this name only."""
    return f"[{', '.join(literal(name) for path in paths for name in {path, escape(path)})}]"


def interrupt() -> None:
    """End all queries that run in this process, because the user gave up."""
    for duck in list(OPEN):
        duck.raw.interrupt()


@contextmanager
def coded_errors(explain: Callable[[str], str], code: str = "TB102") -> Iterator[None]:
    """DuckDB's errors as coded ones; `explain` makes a sentence of DuckDB's words."""
    try:
        yield
    except (duckdb.Error, UnicodeDecodeError, OSError) as error:
        # Without the query that DuckDB points into.
        words = " ".join(str(error).partition("\n\nLINE ")[0].split())
        raise InputError(code, explain(words)) from error


def literal(text: str) -> str:
    """An SQL string.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def identifier(column: str) -> str:
    """A column's name in SQL.

    >>> identifier("is fraud")
    '"is fraud"'
    """
    return '"' + column.replace('"', '""') + '"'


def path_literal(path: str) -> str:
    """A file in SQL; a name that looks like a pattern is taken as it is written."""
    return literal(escape(path))


@dataclass(frozen=True, kw_only=True, eq=False)
class DuckPart(Part):
    """Rows that DuckDB reads: `relation` is the SQL that gives them, or `query` that of the user.

    `own` are the types that the rows have, `types` those that columns are to be read as.
    """

    relation: str = ""
    own: Types
    query: str | None = None
    threads: int | None = None
    folders: dict[str, str] = field(default_factory=dict)  # columns that names of folders give

    @property
    def code(self) -> str:
        """The code of an error: of a query, or of a file."""
        return "TB102" if self.query is None else "TB113"

    @property
    def paths(self) -> list[str]:
        """The files that DuckDB may read."""
        return [self.path]

    @property
    def source(self) -> str:
        """What the rows are selected from."""
        return self.relation if self.query is None else ANSWER

    def explain(self, words: str) -> str:
        """What is wrong, from DuckDB's words."""
        return failed(self.name, self.code, words)

    def prepare(self, connection: Duck) -> None:
        """Give the answer to the query its name."""
        if self.query is not None:
            connection.rows(f"create temp view {ANSWER} as {one_select(self.query)}")

    def cut(self, rows: int) -> Sequence[Part]:
        """This part, read by one thread, because an engine reads several parts at once."""
        return [replace(self, threads=1)]

    def count(self) -> int:
        """How many rows there are."""
        if self.size is not None:
            return self.size
        with self.open() as connection:
            return int(connection.rows(f"select count(*) from {self.source}")[0][0])

    def read(self, types: Types, rows: int) -> Iterator[Any]:
        """Frames of at most about `rows` rows; memory does not grow with the file."""
        kinds = kinds_of(types).items()
        with self.open() as connection:
            query = f"select {self.selected(types)} from {self.source}"
            for frame in connection.frames(query, rows):
                yield frame.assign(**{c: tidy_column(frame[c], kind) for c, kind in kinds})

    @property
    def everything(self) -> str:
        """All columns in SQL, as they are."""
        return ", ".join(["*", *(self.selected({c: self.types[c]}) for c in self.folders)])

    def selected(self, types: Types) -> str:
        """These columns in SQL, read as these types."""
        return ", ".join(
            f"{_constant(self.folders[column], type_)} as {identifier(column)}"
            if column in self.folders
            else _selected(column, self.own[column], type_)
            for column, type_ in types.items()
        )

    def read_folders(self) -> "DuckPart":
        """The same rows, with a column for each folder called `column=value` above the file."""
        steps = (unquote(step).partition("=") for step in self.path.split("/")[:-1] if "=" in step)
        folders = {name: value for name, _, value in steps if name}
        check_names(f"{self.name}, with its folders,", [*self.own, *folders])
        types = self.types | {name: _type_of(value) for name, value in folders.items()}
        return replace(self, folders=folders, types=types)

    @contextmanager
    def open(self) -> Iterator[Duck]:
        """A connection in which the relation is known."""
        limit = QUERY_SECONDS if self.is_database or self.query is not None else None
        database = self.path if self.is_database else ""
        with (
            coded_errors(self.explain, self.code),
            connect(self.paths, database=database, threads=self.threads, seconds=limit) as duck,
        ):
            self.prepare(duck)
            yield duck

    def described(self) -> "DuckPart":
        """The same part with the types that its rows have."""
        with self.open() as connection:
            types = connection.describe(self.source)
        return replace(self, own=types, types=types)


@dataclass(frozen=True, kw_only=True, eq=False)
class Joined(DuckPart):
    """Several files as one relation, or a query over files, in which their rows are `data`."""

    relation: str = "data"
    files: tuple[DuckPart, ...]

    @property
    def paths(self) -> list[str]:
        """The files that DuckDB may read."""
        return [path for file in self.files for path in file.paths]

    def prepare(self, connection: Duck) -> None:
        """Give the rows of all files their name; a query sees the columns as they are."""
        reads = (
            f"select {file.everything if self.query else file.selected(file.types)} "
            f"from {file.source}"
            for file in self.files
        )
        connection.rows(f"create view data as {' union all by name '.join(reads)}")
        super().prepare(connection)

    def explain(self, words: str) -> str:
        """What is wrong, from the first file in which something is."""
        if self.query is not None:
            if UNKNOWN.search(words):
                words = f"{words.partition(' Did you mean')[0]} {CALLED_DATA}"
            return super().explain(words)
        causes = [file.explain("") for file in self.files]
        shown = (cause for cause in causes if not cause.endswith("cannot be read: "))
        return next(shown, causes[0] + words)


def open_relation(connection: Duck, path: str, name: str, relation: str) -> DuckPart:
    """A file that DuckDB reads with this SQL; whoever opens it words the errors of DuckDB."""
    types = connection.describe(relation)
    return DuckPart(path=path, name=name, relation=relation, own=types, types=types)


def one_select(sql: str) -> str:
    """The same SQL, if DuckDB reads it as exactly one SELECT; a duckdb.Error if it does not.

    >>> one_select("select 1")
    'select 1'
    >>> one_select("select 1; drop table t")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    duckdb.Error: a query must be one SELECT; this is SELECT, DROP.
    """
    kinds = [statement.type for statement in duckdb.extract_statements(sql)]
    if kinds != [duckdb.StatementType.SELECT]:
        seen = ", ".join(kind.name for kind in kinds) or "empty"
        raise duckdb.Error(f"a query must be one SELECT; this is {seen}.")
    return sql


def failed(name: str, code: str, words: str) -> str:
    """A sentence about a source that fails, or about a query."""
    if code == "TB113":
        return f"the query fails on {name}: {words}"
    return f"{name} cannot be read: {words}"


def _type_of(value: str) -> str:
    """The type of a value in a folder's name: a whole number, or text.

    >>> _type_of("2024"), _type_of("01"), _type_of("Ulm")
    ('BIGINT', 'BIGINT', 'VARCHAR')
    """
    if value == NO_FOLDER:
        return "BLANK"
    return "BIGINT" if re.fullmatch(r"-?\d{1,18}", value, re.ASCII) else "VARCHAR"


def _constant(value: str, type_: str) -> str:
    known = "NULL" if value == NO_FOLDER else literal(value)
    return f"{known}::{'VARCHAR' if type_ == 'BLANK' else type_}"


def _selected(column: str, own: str, wanted: str) -> str:
    """The column in SQL, in one of the few forms that a frame holds the same way everywhere."""
    name, kind = identifier(column), kind_of(wanted)
    if kind in ("string", "other", "blank"):
        return name if own == "VARCHAR" else f"{name}::VARCHAR as {name}"
    if kind == "vector":
        return f"{name}::DOUBLE[] as {name}"
    if kind_of(own) == "blank":
        return f"{name}::{'TIMESTAMP' if kind == 'date' else wanted} as {name}"
    if "TZ" in own or "TIME ZONE" in own:  # a plain cast would drop the offset
        return f"make_timestamp(epoch_us({name}::TIMESTAMPTZ)) as {name}"
    if kind == "date":
        return f"case when isfinite({name}) then {name} end as {name}"
    return f"{name}::DOUBLE as {name}" if wanted == "DOUBLE" != own else name


def _open_json(connection: Duck, path: str, name: str, layout: str) -> DuckPart:
    file = f"{path_literal(path)}, format={literal(layout)}, hive_partitioning=false"
    part = open_relation(connection, path, name, f"read_json({file}, sample_size=-1)")
    if list(part.own) == ["json"]:
        raise InputError("TB102", f"{name} does not hold JSON objects, one per row.")
    dates = [column for column, kind in kinds_of(part.own).items() if kind == "date"]
    for column in dates:  # DuckDB reads "infinity" in one as 1900-01-01
        as_text = f"read_json({file}, columns={{{literal(column)}: 'VARCHAR'}})"
        test = INFINITE.format(c=identifier(column))
        if connection.rows(f"select 1 from {as_text} where {test} limit 1"):
            infinite = f'{name} has an infinite date in the column "{column}". Leave it blank.'
            raise InputError("TB102", infinite)
    return replace(part, first_line=1)


FORMATS = (
    Format("json", (".json",), partial(_open_json, layout="auto")),
    Format("jsonl", (".jsonl", ".ndjson"), partial(_open_json, layout="newline_delimited")),
)
