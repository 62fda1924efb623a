"""Parts of a table and how to read one: a few row groups of a parquet file, or a whole text file.

Parquet is read by Arrow where it is installed, else, like text, by DuckDB, which comes with topbin.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from topbin.core.checks import Scores
from topbin.core.errors import MissingExtra
from topbin.core.labels import label_key
from topbin.core.optional import require
from topbin.data.addresses import first_line
from topbin.data.files import PARQUET, File, ending, identifier, relation, unreadable

PART_ROWS = 1 << 22  # small row groups are read together up to this many rows
CHUNK_ROWS = 1 << 20
FEW = 8  # values below which a comparison each is quicker than one count of all
BYTE = 256
WHOLE = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
VECTOR = 2048  # rows that DuckDB moves at a time
MARKS = ("n/a", "na", "none", "null", "#n/a", "<na>", "?", "-")  # words for "no score"


@dataclass(frozen=True, slots=True)
class Part:
    """Row groups of a parquet file, or, if none are named, a whole file."""

    path: str
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read; `wide` asks for float64 scores."""

    score: str
    label: str | None
    by: str | None = None
    wide: bool = True

    @property
    def coded(self) -> dict[str, str]:
        """The columns of values, by the role they have in a chunk."""
        roles = {"labels": self.label, "groups": self.by}
        return {role: name for role, name in roles.items() if name is not None}

    @property
    def named(self) -> list[str]:
        """Those to read, each once."""
        return list(dict.fromkeys([self.score, *self.coded.values()]))

    @property
    def kind(self) -> type[np.floating[Any]]:
        """What scores are read as."""
        return np.float64 if self.wide else np.float32


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Values as positions in a short list; missing, blank and NaN are None."""

    values: list[Any]
    codes: NDArray[np.integer[Any]]

    def where(self, chosen: Any) -> NDArray[np.bool_]:
        """Which rows hold a value for which `chosen` is true."""
        holds = np.array([bool(chosen(value)) for value in self.values])
        if np.count_nonzero(holds) == 1:
            return np.asarray(self.codes == holds.argmax())
        return np.take(holds, self.codes)

    def counts(self) -> dict[Any, int]:
        """How many rows hold each value."""
        if len(self.values) <= FEW:
            rows = [int(np.count_nonzero(self.codes == i)) for i in range(1, len(self.values))]
            rows.insert(0, self.codes.size - sum(rows))
        else:
            rows = np.bincount(self.codes, minlength=len(self.values)).tolist()
        return {value: n for value, n in zip(self.values, rows, strict=True) if n}

    def at(self, index: Any) -> "Coded":
        """The same values at some of the rows."""
        return Coded(self.values, self.codes[index])


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Scores with their labels and groups, where these were read; `scores` may hold NaN."""

    scores: Scores
    labels: Coded = Coded([], np.zeros(0, np.uint8))
    groups: Coded | None = None

    def at(self, index: Any) -> "Chunk":
        """Some of the rows."""
        groups = None if self.groups is None else self.groups.at(index)
        return Chunk(self.scores[index], self.labels.at(index), groups)

    def by_group(self, index: Any) -> Iterator[tuple[Any, Scores]]:
        """These rows' scores by group, where there are any; one group, None, without a column."""
        scores, groups = self.scores[index], None if self.groups is None else self.groups.at(index)
        if groups is None and scores.size:
            yield None, scores
        if groups is None or not scores.size:
            return
        order = np.argsort(groups.codes, kind="stable")
        ranked = groups.codes[order]
        starts = np.flatnonzero(ranked[1:] != ranked[:-1]) + 1
        for rows in np.split(order, starts):
            yield groups.values[groups.codes[rows[0]]], scores[rows]


def find_parts(files: Sequence[File]) -> list[Part]:
    """The parts of these files, each row in one of them."""
    return [part for file in files for part in _parts(file)]


def read_part(part: Part, columns: Columns) -> Iterator[Chunk]:
    """The rows of a part in chunks; a file that cannot be read is TB102."""
    with _reading(part.path):
        yield from _by_arrow(part, columns) if part.groups else _by_duckdb(part, columns)


def _parts(file: File) -> Iterator[Part]:
    arrow = _arrow() if ending(file.path) in PARQUET else None
    if arrow is None:
        yield Part(file.path)
        return
    with _reading(file.path):
        footer = arrow.read_metadata(file.path)
    held, rows = [], 0
    for group in range(footer.num_row_groups):
        held.append(group)
        rows += footer.row_group(group).num_rows
        if rows >= PART_ROWS:
            yield Part(file.path, tuple(held))
            held, rows = [], 0
    if held:
        yield Part(file.path, tuple(held))


def _arrow(module: str = "pyarrow.parquet") -> Any:
    try:
        return require(module, extra="dask", caller="reading row groups")
    except MissingExtra:
        return None


@contextmanager
def _reading(path: str) -> Iterator[None]:
    arrow = _arrow("pyarrow")
    theirs = (arrow.ArrowException,) if arrow else ()
    try:
        yield
    except (duckdb.Error, OSError, UnicodeDecodeError, *theirs) as error:
        raise unreadable(path, first_line(error)) from error


def _by_arrow(part: Part, columns: Columns) -> Iterator[Chunk]:
    with _arrow().ParquetFile(part.path, pre_buffer=False) as file:
        batches = file.iter_batches(
            CHUNK_ROWS, row_groups=list(part.groups), columns=columns.named, use_threads=False
        )
        for batch in batches:
            scores = batch.column(columns.score)
            if scores.type.to_pandas_dtype() is not columns.kind:
                scores = scores.cast(columns.kind.__name__, safe=False)
            scores = scores.to_numpy(zero_copy_only=False)  # NaN where a score is missing
            coded = {role: arrow_coded(batch.column(name)) for role, name in columns.coded.items()}
            yield Chunk(scores, **coded)


def arrow_coded(column: Any) -> Coded:
    """The values of an Arrow column as codes."""
    if str(column.type) in WHOLE and len(column) and not column.null_count:
        found = _short_range(column.to_numpy(zero_copy_only=False))
        if found is not None:
            return found
    column = column.dictionary_encode()
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _coded(codes, column.dictionary.to_pylist())


def _short_range(whole: NDArray[Any]) -> Coded | None:
    """Whole numbers in a short range are their own codes; None if the range is not short.

    >>> _short_range(np.array([-1, 1, 1]))
    Coded(values=[-1, 0, 1], codes=array([0, 2, 2], dtype=uint8))
    """
    low, high = int(whole.min()), int(whole.max())
    if high - low >= BYTE:
        return None
    if low:
        whole = whole - whole.dtype.type(low)
    return Coded(list(range(low, high + 1)), whole.astype(np.uint8))


def _by_duckdb(part: Part, columns: Columns) -> Iterator[Chunk]:
    number = "double" if columns.wide else "float"
    is_text = ending(part.path) not in PARQUET
    score = identifier(columns.score)
    # Only what is no number is looked at a second time.
    worded = f"coalesce(try_cast({score} as {number}), cast({_unmarked(score)} as {number}))"
    chosen = [f"{worded if is_text else f'cast({score} as {number})'} as score"]
    chosen += [f"{identifier(name)} as {role}" for role, name in columns.coded.items()]
    with duckdb.connect(config={"threads": 1}) as connection:
        try:
            result = connection.execute(f"select {', '.join(chosen)} from {relation(part.path)}")
            while len(frame := result.fetch_df_chunk(CHUNK_ROWS // VECTOR)):
                scores = frame["score"].to_numpy(columns.kind, na_value=np.nan)
                coded = {role: _pandas_coded(frame[role], is_text) for role in columns.coded}
                yield Chunk(scores, **coded)
        except duckdb.ConversionException as error:
            raise unreadable(part.path, _no_number(connection, part, columns.score)) from error


def _unmarked(column: str) -> str:
    """The SQL of a column, with nothing where a word stands for no score."""
    marks = ", ".join(f"'{mark}'" for mark in MARKS)
    word = f"lower(trim(cast({column} as varchar), ' \"'))"  # JSON keeps its quotes
    return f"case when {word} in ({marks}) then null else {column} end"


def _no_number(connection: Any, part: Part, score: str) -> str:
    """Which line has a score that is no number, and what stands there."""
    column = _unmarked(identifier(score))
    line, value = connection.execute(
        f"select row_number() over () as line, cast({identifier(score)} as varchar) as score "
        f"from {relation(part.path)} "
        f"qualify {column} is not null and try_cast({column} as double) is null limit 1"
    ).fetchone()
    header = ending(part.path) != ".jsonl"
    return f'column "{score}" is not a number in line {line + header:,}: {value!r}'


def _pandas_coded(column: Any, is_text: bool) -> Coded:
    codes, values = column.factorize()
    listed = values.tolist()
    return _coded(codes, [meant(value) for value in listed] if is_text else listed)


def _coded(codes: NDArray[np.integer[Any]], values: list[Any]) -> Coded:
    """One place a distinct key; missing rows come as −1, which is the place of the last value."""
    place: dict[Any, int] = {}
    keys = [label_key(value) for value in [*values, None]]
    moved = np.array([place.setdefault(key, len(place)) for key in keys])
    return Coded(list(place), moved[codes])


def meant(word: Any) -> Any:
    """A word of a text file as the number or truth value it may stand for.

    >>> meant("1"), meant("0.5"), meant("True"), meant("yes"), meant(7)
    (1, 0.5, True, 'yes', 7)
    """
    if not isinstance(word, str):
        return word
    if word.strip().lower() in ("true", "false"):
        return word.strip().lower() == "true"
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    return word
