"""What DuckDB reads: csv, json and parquet files, its own databases, and queries over them."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from glob import escape
from typing import Any

import duckdb

from topbin.core.errors import InputError
from topbin.data.batch import Batch, Part, tidy_column
from topbin.data.schema import Types, kind_of, kinds_of

CHUNK_ROWS = 100_000
VECTOR = 2048  # rows that DuckDB moves at a time
UNKNOWN = re.compile(r"Table with name .* does not exist")
CALLED_DATA = 'The rows of a file are called data: --sql "select * from data"'
Explain = Callable[[str], str]


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


@contextmanager
def connect(database: str = ":memory:", threads: int | None = None) -> Iterator[Any]:
    """A connection that is closed at the end; a database file is opened for reading only."""
    # No extension is ever fetched from a network: what the plain install brings must do.
    config: Any = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    config |= {} if threads is None else {"threads": threads}
    with duckdb.connect(database, read_only=database != ":memory:", config=config) as connection:
        connection.execute("set TimeZone='UTC'; set enable_progress_bar=false")
        yield connection


@contextmanager
def duck_errors(explain: Explain, code: str = "TB102") -> Iterator[None]:
    """DuckDB's errors as coded ones; `explain` makes a sentence of DuckDB's words."""
    try:
        yield
    except (duckdb.Error, UnicodeDecodeError, OSError) as error:
        # Without the query that DuckDB points into.
        words = " ".join(str(error).partition("\n\nLINE ")[0].split())
        raise InputError(code, explain(words)) from error


def describe(connection: Any, relation: str) -> Types:
    """The columns of a relation and their types."""
    listed = connection.execute(f"describe select * from {relation}").fetchall()
    return {column: type_ for column, type_, *_ in listed}


@dataclass(frozen=True, kw_only=True, eq=False)
class DuckPart(Part):
    """Rows that DuckDB reads; each format gives with `relation` the SQL that reads its file.

    `own` are the types that the relation has, `types` those that columns are to be read as.
    """

    own: Types
    threads: int | None = None
    database: str = ":memory:"
    code: str = "TB102"

    @property
    def relation(self) -> str:
        """The rows in SQL."""
        raise NotImplementedError

    def explain(self, words: str) -> str:
        """What is wrong, from DuckDB's words."""
        return f"{self.name} cannot be read: {words}"

    def prepare(self, connection: Any) -> None:
        """Whatever the relation needs in a new connection."""

    def cut(self, rows: int) -> Sequence[Part]:
        """This part, read by one thread, because an engine reads several parts at once."""
        return [replace(self, threads=1)]

    def count(self) -> int:
        """How many rows there are."""
        if self.size is not None:
            return self.size
        with self._open() as connection:
            query = f"select count(*) from {self.relation}"
            return int(connection.execute(query).fetchone()[0])

    def batches(
        self, columns: Sequence[str] | None = None, rows: int | None = None
    ) -> Iterator[Batch]:
        """Batches of at most about `rows` rows; memory does not grow with the file."""
        types = {c: self.types[c] for c in (self.types if columns is None else columns)}
        chosen = self.selected(types)
        vectors = max(1, (rows or CHUNK_ROWS) // VECTOR)
        kinds, done = kinds_of(types), 0
        with self._open() as connection:
            result = connection.execute(f"select {chosen} from {self.relation}")
            while len(frame := result.fetch_df_chunk(vectors)):
                tidy = frame.assign(**{c: tidy_column(frame[c], kinds[c]) for c in frame})
                line = None if self.first_line is None else self.first_line + done
                yield Batch(tidy, kinds, self.name, first=self.first + done, line=line)
                done += len(frame)

    def selected(self, types: Types) -> str:
        """These columns in SQL, read as these types."""
        return ", ".join(_selected(column, self.own[column], types[column]) for column in types)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with (
            duck_errors(self.explain, self.code),
            connect(self.database, self.threads) as connection,
        ):
            self.prepare(connection)
            yield connection


@dataclass(frozen=True, kw_only=True, eq=False)
class Joined(DuckPart):
    """Several files as one relation, or a query over files, in which their rows are `data`."""

    files: tuple[DuckPart, ...]
    query: str | None = None

    @property
    def relation(self) -> str:
        """The rows in SQL."""
        return "data" if self.query is None else self.query

    def prepare(self, connection: Any) -> None:
        """Give the rows of all files their name; a query sees the columns as they are."""
        reads = (
            f"select {'*' if self.query else file.selected(file.types)} from {file.relation}"
            for file in self.files
        )
        connection.execute(f"create view data as {' union all by name '.join(reads)}")

    def explain(self, words: str) -> str:
        """What is wrong, from the first file in which something is."""
        if self.query is not None:
            if UNKNOWN.search(words):
                words = f"{words.partition(' Did you mean')[0]} {CALLED_DATA}"
            return failed(self.name, self.code, words)
        said = [file.explain("") for file in self.files]
        shown = [text for text in said if not text.endswith("cannot be read: ")]
        return shown[0] if shown else said[0] + words


def join_files(
    files: tuple[DuckPart, ...], name: str, types: Types, query: str | None = None
) -> Joined:
    """Several files as one, or a query over them."""
    code = "TB102" if query is None else "TB113"
    return Joined(
        path=files[0].path, name=name, own=types, types=types, files=files, query=query, code=code
    )


def as_relation(sql: str) -> str:
    """A query as a relation of another query.

    >>> as_relation("select 1;")
    '(\\nselect 1\\n)'
    """
    return f"(\n{sql.strip().rstrip(';')}\n)"


def failed(name: str, code: str, words: str) -> str:
    """A sentence about a source that fails, or about a query."""
    if code == "TB113":
        return f"the query fails on {name}: {words}"
    return f"{name} cannot be read: {words}"


def _selected(column: str, own: str, wanted: str) -> str:
    """The column in SQL, in one of the few forms that a frame holds the same way everywhere."""
    name, kind = identifier(column), kind_of(wanted)
    if kind in ("string", "other", "blank"):
        return name if own == "VARCHAR" else f"{name}::VARCHAR as {name}"
    if kind_of(own) == "blank":
        return f"{name}::{'TIMESTAMP' if kind == 'date' else wanted} as {name}"
    if "TZ" in own or "TIME ZONE" in own:  # a plain cast would drop the offset
        return f"make_timestamp(epoch_us({name}::TIMESTAMPTZ)) as {name}"
    if kind == "date":
        return f"case when isfinite({name}) then {name} end as {name}"
    return f"{name}::DOUBLE as {name}" if wanted == "DOUBLE" != own else name
