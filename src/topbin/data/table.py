"""Table: what every source of rows looks like to the rest of topbin.

A path, a pattern, a list of files, an address, a database, a query or a frame is opened once.
Columns and types are known, and compared, before any row is used; rows then come in batches, from
one file after another, or part by part on an engine. Vectors may be beside a table: in a file or an
array with one vector per row, in the order of the rows.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.errors import InputError, option
from topbin.core.formatting import counted, listed
from topbin.data import vectors
from topbin.data.batch import Batch, FramePart, Part, add_columns, join, no_rows, not_a_table
from topbin.data.formats import database, delimited, duck, parquet, text_files, written
from topbin.data.formats.duck import Duck, DuckPart, Joined, coded_errors, connect
from topbin.data.formats.written import Given, Written
from topbin.data.paths import TXT, Format, SourceLike, find_files, format_of, is_address
from topbin.data.schema import ONE_TEXT, Chosen, Kind, Types, check_columns, kinds_of, merge_types
from topbin.data.vectors import EMBEDDING, check_vectors, stack_vectors

FORMATS: tuple[Format, ...] = (
    *delimited.FORMATS,
    *parquet.FORMATS,
    *duck.FORMATS,
    *database.FORMATS,
    *text_files.FORMATS,
    *vectors.FORMATS,
)
PART_ROWS = 1 << 20  # a part is also what is done again after a failure, so not too many


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns with their types, and the files that hold the rows.

    `bad` are files that were left out because they cannot be read, with the reason. `dates` is the
    order of day, month and year, by column, where dates are not in ISO 8601; `decimals` the mark
    before the decimals, by column, where numbers have decimal commas or separated thousands, and
    `decimal_lines` say so.

    >>> import pandas as pd
    >>> table = open_table(pd.DataFrame({"age": [31, 47], "town": ["Ulm", None]}))
    >>> [batch.frame["age"].tolist() for batch in table.batches(["age"])]
    [[31, 47]]
    """

    name: str
    types: Types
    files: tuple[Part, ...]
    bad: dict[str, InputError] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)
    decimals: dict[str, str] = field(default_factory=dict)
    decimal_lines: Sequence[str] = ()

    def __repr__(self) -> str:
        columns = counted(len(self.types), "column")
        return f"<Table: {self.name}, {columns}, {counted(len(self.files), 'file')}>"

    @property
    def date_lines(self) -> list[str]:
        """How dates were read that are not in ISO 8601, a sentence per column."""
        return written.date_lines(_written(self.files, None, are_dates=True), self.dates)

    @property
    def id_column(self) -> str | None:
        """The column that names rows in every file, if the format has one."""
        names = {file.id_column for file in self.files}
        return names.pop() if len(names) == 1 else None

    @property
    def kinds(self) -> dict[str, Kind]:
        """What each column means to a model: number, boolean, date, string, blank or other."""
        return kinds_of(self.types)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(part.count() for part in self.files)

    def check(self, columns: Sequence[str]) -> "Table":
        """This table, or TB103 if it does not have one of these columns."""
        check_columns(columns, list(self.types), self.name)
        return self

    def read_as(self, types: Types) -> "Table":
        """The same rows with these columns, in this order, as these types."""
        return replace(self, types=types, files=tuple(file.read_as(types) for file in self.files))

    def parts(self, rows: int | None = None) -> list[Part]:
        """Parts for an engine, of about `rows` rows where a file can be cut."""
        return [part for file in self.files for part in file.cut(rows or PART_ROWS)]

    def placed_parts(self) -> list[Part]:
        """The parts that have rows, each with the place of its first row among all rows."""
        parts = self.parts()
        sizes = [part.count() for part in parts]
        if not any(sizes):
            raise no_rows(self.name)
        places = zip(parts, sizes, accumulate(sizes, initial=0), strict=False)
        return [replace(part, first=first, size=size) for part, size, first in places if size]

    def batches(self, columns: Chosen = None, rows: int | None = None) -> Iterator[Batch]:
        """The rows in order, in batches of at most about `rows` rows.

        Memory does not grow with the table. A column that one of the files lacks is blank there.
        """
        names = list(self.types if columns is None else columns)
        self.check(names)
        kinds = kinds_of({name: self.types[name] for name in names})
        # Several files that DuckDB reads are read as one relation, which is faster than one by one.
        one = self.joined() if len(self.files) > 1 else None
        first = 0
        for file in self.files if one is None else (one,):
            here = [name for name in names if name in file.types]
            for batch in file.batches(here, rows):
                whole = batch if here == names else batch.with_blanks(kinds)
                yield replace(whole, first=first)
                first += batch.rows

    def whole(self, columns: Chosen = None) -> Batch:
        """All rows at once; TB001 if there are none."""
        batches = list(self.batches(columns))
        if not batches:
            raise no_rows(self.name)
        return replace(join(batches), name=self.name)

    def joined(self) -> Joined | None:
        """All files as one; None if DuckDB does not read them all."""
        files = tuple(file for file in self.files if isinstance(file, DuckPart))
        if len(files) < len(self.files):
            return None
        path = files[0].path
        return Joined(path=path, name=self.name, own=self.types, types=self.types, files=files)


def open_table(
    source: Any,
    *,
    sql: str | None = None,
    columns: Chosen = None,
    needed: Chosen = None,
    skip_bad: bool = False,
    dates: Given = None,
    decimal: Given = None,
    partitions: bool = False,
) -> Table:
    """Open a path, a glob pattern, a list of these, an address, or a frame; read no rows yet.

    Parameters
    ----------
    source
        Files of any format that topbin reads, or a pandas, polars or arrow frame.
    sql
        A query whose rows are the table. In a database its tables have their own names; the rows of
        other files are called `data`.
    columns
        The columns to open, if not all; TB103 if one is not there.
    needed
        With several files: the columns that must match, if not all must.
    skip_bad
        Leave out files that cannot be read, which are otherwise TB102.
    dates
        How dates in csv files are written that are not in ISO 8601: "dmy", "mdy" or "ymd"; "iso"
        leaves them as text. A column that fits one order in all files needs none; one that fits two
        is TB118. A mapping gives orders by column.
    decimal
        What decimals follow in csv files, "," or ".", where "1,234" could be either; "text" leaves
        numbers with decimal commas or separated thousands as text. A mapping gives it by column.
    partitions
        Also read columns from folders called `column=value`; without it they are only folders.

    >>> import pandas as pd
    >>> table = open_table(pd.DataFrame({"age": [31, 47], "town": ["Ulm", None]}))
    >>> table.kinds, table.rows
    ({'age': 'number', 'town': 'string'}, 2)
    """
    matching = columns if needed is None and sql is None else needed
    opened = _opened(source, sql, skip_bad, partitions)
    (table,) = _agreed([opened], dates, decimal, matching)
    if sql is not None and not table.files[0].is_database:
        if (files := table.joined()) is None:
            raise InputError("TB113", f"{table.name}: a query reads files on the disk only.")
        answer = replace(files, query=sql).described()
        table = replace(table, types=answer.types, files=(answer,))
    table.check(columns or ())
    return table if columns is None else table.read_as({c: table.types[c] for c in columns})


def read_table(
    source: Any,
    *,
    sql: str | None = None,
    columns: Chosen = None,
    dates: Given = None,
    decimal: Given = None,
) -> Batch:
    """Read all rows of a source, or raise a coded error; parameters as in `open_table`.

    >>> import pandas as pd
    >>> read_table(pd.DataFrame({"age": [31, 47], "town": ["Ulm", None]}), columns=["age"]).rows
    2
    """
    return open_table(source, sql=sql, columns=columns, dates=dates, decimal=decimal).whole()


def open_pair(
    positives: Any,
    unlabeled: Any,
    dates: Given = None,
    partitions: bool = False,
    decimal: Given = None,
    apart: str | None = None,
    drop: Collection[str] = (),
) -> tuple[Table, Table]:
    """Open known positives and unlabeled rows, to be read as the same columns and types.

    TB106 if their columns differ, other than in order. The column `apart` comes last among those of
    the known rows, and is not read of the others. Of the columns to `drop`, those that only one of
    them has are not read.

    >>> import pandas as pd
    >>> two = open_pair(pd.DataFrame({"x": [1], "y": [2]}), pd.DataFrame({"y": [3], "x": [4]}))
    >>> [list(table.types) for table in two]
    [['x', 'y'], ['x', 'y']]
    """
    opened = [_opened(source, partitions=partitions) for source in (positives, unlabeled)]
    p, u = _agreed(opened, dates, decimal)
    last = {} if apart is None else {apart: p.check([apart]).types[apart]}
    u.check([name for name in drop if name not in p.types])
    of_one = p.types.keys() ^ u.types.keys()
    unread = {apart, *of_one.intersection(drop)}
    shared = [{name: t.types[name] for name in t.types if name not in unread} for t in (p, u)]
    less = option("drop", sorted(of_one - unread))
    advice = f"Make them equal, or leave out what only one of them has: {less}."
    types = merge_types([(p.name, shared[0]), (u.name, shared[1])], advice=advice)
    return p.read_as(types | last), u.read_as(types)


def leave_out_shared(known: Table, table: Table) -> tuple[Table, int]:
    """Leave out text files that known positives have too, and count them; TB139 if none is left."""
    folders = [file for file in known.files if isinstance(file, text_files.TextFolder)]
    taken = {os.path.realpath(path) for folder in folders for path in folder.paths}
    others, shared = list[Part](), 0
    for file in table.files:
        less = file.without(taken) if isinstance(file, text_files.TextFolder) else file
        shared += file.count() - less.count() if less is not file else 0
        others += [less] if less is file or less.count() else []
    if not others:
        raise all_shared(known.name, table.name)
    return replace(table, files=tuple(others)), shared


def all_shared(known: str, rest: str) -> InputError:
    """TB139: nothing is left of the unlabeled rows without the known positives."""
    return InputError(
        "TB139",
        f"every file in {rest} is also among the known positives in {known}, so no row is left "
        f"whose label is unknown. Name a folder that has known positives only "
        f"({option('positives')}), and one that has other files too.",
    )


def skipped(bad: Iterable[str]) -> list[str]:
    """A sentence about the files that were left out, if any were.

    >>> skipped(["b.parquet", "a.parquet"])
    ['2 files skipped because they cannot be read: a.parquet, b.parquet']
    """
    names = list(bad)
    files, they = counted(len(names), "file"), "they" if names[1:] else "it"
    return [f"{files} skipped because {they} cannot be read: {listed(names)}"] if names else []


def _opened(
    source: Any, sql: str | None = None, skip_bad: bool = False, partitions: bool = False
) -> Table:
    """The files of a source, opened one by one; how they match is not settled yet."""
    if not isinstance(source, str | os.PathLike | Sequence):
        part = FramePart.of(source)
        return Table(part.name, part.types, (part,))
    paths = _paths(source)
    with connect(map(os.path.abspath, paths)) as connection:
        files, bad = _open_files(connection, paths, sql, skip_bad)
    files = [file.read_folders() for file in files] if partitions else files
    more = f" and {len(paths) - 1:,} more" if paths[1:] else ""
    return Table(f'"{paths[0]}"{more}', {}, tuple(files), bad)


def _agreed(
    tables: Sequence[Table], dates: Given, decimal: Given, needed: Chosen = None
) -> list[Table]:
    """The same tables, with one order of dates, one decimal mark and one type per column."""
    files = [file for table in tables for file in table.files]
    orders = written.settle_orders(_written(files, needed, are_dates=True), dates)
    numbers = _numbers(files, needed)
    marks = written.settle_decimals(numbers, decimal)
    lines = written.decimal_lines(numbers, marks, decimal)
    # Columns that a file has as text because some cells hold more than a number.
    texts = frozenset(column for file in files for column in file.number_texts)
    texts = frozenset() if decimal == written.AS_TEXT else texts
    agreed = []
    for table in tables:
        read = tuple(file.read_written(orders | marks).read_texts(texts) for file in table.files)
        types = merge_types([(file.name, file.types) for file in read], needed)
        settled = replace(table, files=read, dates=orders, decimals=marks, decimal_lines=lines)
        agreed.append(settled.read_as(types))
    return agreed


def _written(files: Iterable[Part], needed: Chosen, *, are_dates: bool) -> list[Written]:
    """The needed columns of dates, or of numbers, that can be read in several ways, by file."""
    return [
        form
        for file in files
        for form in file.written.values()
        if form.is_date == are_dates and (needed is None or form.column in needed)
    ]


def _numbers(files: Sequence[Part], needed: Chosen) -> list[Written]:
    """The columns of each file that hold numbers with marks, if they are numbers in all files."""
    numbers = _written(files, needed, are_dates=False)
    known = {(form.file, form.column) for form in numbers}
    words = {
        column
        for file in files
        for column, kind in kinds_of(file.types).items()
        if kind not in ("number", "blank") and (file.name, column) not in known
    }
    return [form for form in numbers if form.column not in words]


def _paths(source: SourceLike) -> list[str]:
    """The files that a source names, as they were written."""
    parts = [source] if isinstance(source, str | os.PathLike) else list(source)
    paths: list[str] = []
    for part in parts:
        if not isinstance(part, str | os.PathLike):
            raise not_a_table(part)
        if str(part).startswith(("http://", "https://")):
            raise InputError(
                "TB101",
                f'"{part}" is a web address; topbin reads local files, and parquet files behind '
                "s3://, gs:// and hdfs://. Download it first.",
            )
        part = os.fspath(part)
        if database.is_server(part):
            database.refuse_password(part)
            paths.append(part)
        else:
            paths += parquet.find_behind(part) if is_address(part) else find_files(part, FORMATS)
    if not paths:
        raise InputError("TB101", "no file is named; pass the path of a table.")
    return paths


def _open_files(
    connection: Duck, paths: Sequence[str], sql: str | None, skip_bad: bool
) -> tuple[list[Part], dict[str, InputError]]:
    """The files that can be opened, and the errors of the others."""
    files: list[Part] = []
    bad: dict[str, InputError] = {}
    for path in paths:
        try:
            files.append(_open_file(connection, path, sql, alone=len(paths) == 1))
        except InputError as error:
            if not skip_bad or error.code != "TB102":
                raise
            bad[path] = error
    if not files:
        raise InputError("TB102", f"none of the {len(paths):,} files can be read.")
    return files, bad


def _open_file(connection: Duck, path: str, sql: str | None, *, alone: bool) -> Part:
    is_server = database.is_server(path)
    if is_address(path) and not is_server:
        return parquet.open_address(connection, path)
    format_ = database.SERVER if is_server else format_of(path, FORMATS)
    if format_.is_database and not (alone or format_.may_be_many):
        raise InputError("TB102", f'"{path}" is a database; name one database and no other file.')
    query = {"sql": sql} if format_.is_database else {}
    place = path if is_server else os.path.abspath(path)  # because a worker is in another folder
    try:
        with coded_errors(lambda words: f'"{path}" cannot be read: {words}'):
            part: Part = format_.open(connection, place, f'"{path}"', **query)
    except InputError as error:
        if error.code == "TB102" and path.lower().endswith(TXT) and os.path.isfile(path):
            raise InputError("TB102", f"{error.marked} {ONE_TEXT}") from error
        raise
    return part


def open_vectors(given: Any, rows: int) -> Any:
    """The matrix of an array, an .npy file, or a table of one column of vectors or only numbers.

    >>> open_vectors(np.eye(2), rows=2).shape
    (2, 2)
    """
    if not isinstance(given, str | os.PathLike):
        return check_vectors(np.asarray(given), "the array of embeddings", rows)
    batch = read_table(given)
    vectors = [column for column, kind in batch.kinds.items() if kind == "vector"]
    others = [column for column, kind in batch.kinds.items() if kind != "number"]
    if len(vectors) == 1:
        matrix = stack_vectors(batch.frame[vectors[0]], vectors[0])
    elif vectors or others:
        names = ", ".join(f'"{column}"' for column in (vectors or others)[:5])
        raise InputError(
            "TB142",
            f"{batch.name} must have one column of vectors, or numbers only; it has "
            f"{'the columns of vectors' if vectors else 'columns that are neither:'} {names}.",
        )
    else:
        matrix = batch.frame.to_numpy(np.float64)
    return check_vectors(matrix, batch.name, rows)


def as_column(given: Any) -> Any:
    """A matrix of floats as a frame with one column of vectors; anything else stays as it is.

    >>> as_column(np.eye(2)).columns.tolist(), as_column("table.csv")
    (['embedding'], 'table.csv')
    """
    if not isinstance(given, np.ndarray) or given.ndim != 2 or given.dtype.kind != "f":
        return given
    return pd.DataFrame({EMBEDDING: list(check_vectors(given, "the array"))})


def _attach(batch: Batch, vectors: Any) -> Batch:
    """The same rows with their vectors, as a column that is called "embedding"."""
    if EMBEDDING in batch.kinds:
        message = f'{batch.name} has a column "{EMBEDDING}" already, and embeddings are given too.'
        raise InputError("TB115", f"{message} Rename the column, or leave out one of them.")
    rows = pd.Series(list(vectors), dtype=object, index=batch.frame.index)
    frame = add_columns(batch.frame, {EMBEDDING: rows})
    return replace(batch, data=frame, kinds={**batch.kinds, EMBEDDING: "vector"})


def attach_whole(batch: Batch, given: Any) -> Batch:
    """All rows of a table with their vectors; TB142 if there are more or fewer."""
    return _attach(batch, open_vectors(given, batch.rows))


def attached(table: Table, given: Any) -> Iterator[Batch]:
    """The rows of a table in batches, with their vectors if these are given."""
    vectors = None if given is None else open_vectors(given, table.rows)
    for batch in table.batches():
        own = slice(batch.first, batch.first + batch.rows)
        yield batch if vectors is None else _attach(batch, vectors[own])
