"""Rows out: csv, tsv and xlsx that run no formulas, parquet, json lines, tasks of labeling tools.

A cell that begins with = + - @, a tab or a line end runs as a formula when a spreadsheet opens the
file (OWASP, "CSV injection"); such text gets an apostrophe in front. Numbers stay numbers.

Rows of an audit go out as tasks, and an export with answers comes back. Label Studio imports a list
of `{"data": …}` and exports it with `annotations`; Argilla (2.x) reads and writes a list of records
with `fields` and `responses` (`records.to_json`). Both show one text per row, called `shown`, and
ask one question, called `is_positive`, with yes, no and ? as choices.
"""

import csv
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from functools import partial
from glob import escape
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import msgspec
import numpy as np
import pandas as pd
from msgspec import Struct

from topbin.core.atomic import PART, PathLike, new_file, read_file, remove, remove_stale
from topbin.core.errors import FileError, InputError
from topbin.core.optional import require
from topbin.data.batch import add_columns
from topbin.data.formats import database
from topbin.data.formats.duck import connect, literal

FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
# Signs for the characters that no text file can hold, or no header of one: ␀ for 0, ␍ for 13.
PICTURES = {code: 0x2400 + code for code in range(32)}
NO_TEXT = "biufcM"  # NumPy's letters for numbers and times
SHEET = 2**20  # rows that a sheet can hold, its header included


def write_table(
    path: PathLike, rows: pd.DataFrame | Iterable[pd.DataFrame], *, force: bool = False
) -> int:
    """Write a frame, or frames that follow one another, atomically; return the number of rows.

    The ending of the name decides the format: .csv, .tsv, .xlsx, .parquet or .jsonl. The address of
    a PostgreSQL table makes a table there, in one transaction. Memory does not grow with the number
    of frames.
    """
    if database.is_server(path):
        with TemporaryDirectory(prefix="topbin-") as folder:
            staged = Path(folder) / "rows.parquet"
            database.refuse_password(str(path))
            written = write_table(staged, rows)
            database.fill_table(str(path), staged, force=force)
        return written
    target = Path(path)
    write = WRITERS.get(target.suffix.lower())
    if write is None:
        known = "Use .csv, .tsv, .xlsx, .parquet or .jsonl."
        raise InputError("TB105", f'"{target}" does not end in a known format. {known}')
    frames = _started([rows] if isinstance(rows, pd.DataFrame) else rows)
    remove_stale(target)
    with new_file(target, force=force) as part:
        return write(part, frames)


def escape_cell(value: Any) -> Any:
    """Text that a spreadsheet would run, made plain text; everything else stays as it is.

    >>> [escape_cell(cell) for cell in ("=cmd()", "-5", "@home", "a-b", -5)]
    ["'=cmd()", '-5', "'@home", 'a-b', -5]
    """
    risky = isinstance(value, str) and FORMULA.match(value) and not NUMBER.fullmatch(value)
    return f"'{value}" if risky else value


def name_in_files(name: str) -> str:
    """What readers compare: two columns with the same one could not be read back from a csv file.

    >>> name_in_files(" Row") == name_in_files("row")
    True
    """
    return str(escape_cell(str(name))).strip().casefold()


def in_front(frame: Any, columns: Mapping[str, Any]) -> Any:
    """The frame with these columns first; its own columns of the same name get another.

    Names that a reader of files takes for the same, such as "Row" and "row", count as the same.

    >>> import pandas as pd
    >>> list(in_front(pd.DataFrame({"Row": [7], "x": [1]}), {"row": [1]}))
    ['row', 'Row of the table', 'x']
    """
    taken = {name_in_files(name) for name in columns}
    names = []
    for own in map(str, frame.columns):
        own = own.translate(PICTURES)
        name = own if name_in_files(own) not in taken else unused(f"{own} of the table", taken)
        names.append(name)
        taken.add(name_in_files(name))
    return add_columns(frame.set_axis(names, axis=1), columns, first=True)


def unused(name: str, taken: Iterable[str]) -> str:
    """A name for a new column, with an underscore for each time it is taken."""
    known = {name_in_files(one) for one in taken}
    while name_in_files(name) in known:
        name += "_"
    return name


def _started(rows: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """The same frames, the first one already fetched: a bad source fails before a file exists."""
    frames = iter(rows)
    first = next(frames, None)
    if first is None:
        raise InputError("TB001", "there are no rows to write.")
    return chain([first], frames)


def _write_delimited(part: Path, frames: Iterable[pd.DataFrame], *, separator: str) -> int:
    rows = 0
    with part.open("w", encoding="utf-8", newline="", errors="replace") as handle:
        for i, frame in enumerate(frames):
            safe = frame.rename(columns=lambda name: escape_cell(str(name)))
            texts = [k for k, dtype in enumerate(frame.dtypes) if dtype.kind not in NO_TEXT]
            for k in texts:
                safe.isetitem(k, frame.iloc[:, k].astype(object).map(_cell))
            # Python's csv writer leaves a lone CR unquoted, which ends the row for many readers.
            written = chain(safe.columns, *(safe.iloc[:, k] for k in texts))
            returns = any("\r" in str(value) for value in written)
            quoting = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
            safe.to_csv(
                handle, sep=separator, index=False, header=not i, lineterminator="\n",
                quoting=quoting,
            )  # fmt: skip
            rows += len(frame)
    return rows


def _write_excel(part: Path, frames: Iterable[pd.DataFrame]) -> int:
    book = require("openpyxl", extra="excel", caller="writing .xlsx").Workbook(write_only=True)
    sheet, rows = book.create_sheet("rows"), 0
    for i, frame in enumerate(frames):
        if (rows := rows + len(frame)) >= SHEET:
            raise InputError("TB105", f"a sheet holds {SHEET - 1:,} rows at most; use .csv.")
        if not i:
            sheet.append([_excel_cell(str(name)) for name in frame.columns])
        for row in frame.itertuples(index=False, name=None):
            sheet.append([_excel_cell(value) for value in row])
    book.save(part)
    return rows


def _excel_cell(value: Any) -> Any:
    """What a cell can hold: numbers, plain times and text; everything else as text."""
    if not isinstance(value, list | tuple | np.ndarray) and pd.isna(value):
        return None
    if isinstance(value, str):
        return escape_cell(value).translate(PICTURES)
    is_plain = isinstance(value, bool | int | float | np.number | np.bool_)
    is_time = isinstance(value, datetime | date) and getattr(value, "tzinfo", None) is None
    return value if is_plain or is_time else str(value)


def _cell(value: Any) -> Any:
    return escape_cell(value.replace("\0", "␀") if isinstance(value, str) else value)


def _write_staged(part: Path, frames: Iterable[pd.DataFrame], *, options: str) -> int:
    """One parquet file per frame, then one file of all: a column gets the widest type of any."""
    rows = 0
    # Named before it exists: a signal that comes while the folder is made still finds its name.
    stage = part.with_name(f"{part.stem}.stage{PART}")
    try:
        stage.mkdir()
        with connect(folder=str(stage)) as connection:
            for i, frame in enumerate(frames):
                connection.raw.register("frame", frame)
                piece = literal(f"{stage}/{i:09d}.parquet")
                connection.rows(f"copy (select * from frame) to {piece} (format parquet)")
                rows += len(frame)
            pieces = literal(escape(str(stage)) + "/*.parquet")
            whole = stage / "whole"
            read = f"read_parquet({pieces}, union_by_name=true, hive_partitioning=false)"
            connection.rows(f"copy (from {read}) to {literal(str(whole))} ({options})")
            whole.replace(part)
    except duckdb.Error as error:
        words = str(error).partition("\n")[0]
        raise FileError("TB105", f"the rows cannot be written: {words}") from error
    finally:
        remove(stage)
    return rows


WRITERS: dict[str, Callable[[Path, Iterator[pd.DataFrame]], int]] = {
    **dict.fromkeys((".csv", ".txt"), partial(_write_delimited, separator=",")),
    **dict.fromkeys((".tsv", ".tab"), partial(_write_delimited, separator="\t")),
    ".xlsx": _write_excel,
    **dict.fromkeys((".parquet", ".pq"), partial(_write_staged, options="format parquet")),
    **dict.fromkeys((".jsonl", ".ndjson"), partial(_write_staged, options="format json")),
}
ANSWER, SHOWN, UNSURE = "is_positive", "shown", "?"


class _Choices(Struct):
    choices: list[str] = []


class _Part(Struct):
    from_name: str
    value: _Choices


class _Annotation(Struct):
    result: list[_Part]
    was_cancelled: bool = False


class _RowNumber(Struct):
    row: int


class _Task(Struct):
    """A task of Label Studio, as its export has it."""

    data: _RowNumber
    annotations: list[_Annotation]

    @property
    def answered(self) -> tuple[int, set[str]]:
        done = (part for each in self.annotations if not each.was_cancelled for part in each.result)
        return self.data.row, {c for part in done if part.from_name == ANSWER
                               for c in part.value.choices}  # fmt: skip


class _Response(Struct):
    value: str


class _Record(Struct):
    """A record of Argilla."""

    id: str
    responses: dict[str, list[_Response]]

    @property
    def answered(self) -> tuple[int, set[str]]:
        return int(self.id), {response.value for response in self.responses.get(ANSWER, ())}


TOOLS: dict[str, Callable[[int, str], object]] = {
    "label-studio": lambda row, shown: {"data": {"row": row, SHOWN: shown}},
    "argilla": lambda row, shown: {
        "id": str(row), "fields": {SHOWN: shown}, "metadata": {}, "suggestions": {},
        "responses": {}, "vectors": {},
    },
}  # fmt: skip
# What only the exports of a tool have.
EXPORTS: dict[str, Any] = {"annotations": list[_Task], "responses": list[_Record]}


def tasks_of(frame: Any, rows: Iterable[int], tool: str) -> str:
    """The rows of a frame, each as one text with a line per column that has a value."""
    if tool not in TOOLS:
        raise InputError("TB008", f"tool must be one of {', '.join(TOOLS)}; got {tool!r}.")
    known = frame.astype(object).where(frame.notna(), None)
    texts = (
        "\n".join(f"{name}: {v}" for name, v in values.items() if v is not None)
        for values in known.to_dict("records")
    )
    made = [TOOLS[tool](row, text) for row, text in zip(rows, texts, strict=True)]
    return msgspec.json.format(msgspec.json.encode(made), indent=1).decode()


def read_export(path: str | Path) -> Mapping[int, str] | None:
    """The answers of an export by row number; None if the file is not one of a labeling tool.

    Rows without an answer are blank. Where people disagree, or one chose twice, the row is unsure.
    """
    if Path(path).suffix.lower() != ".json":
        return None
    try:
        content = msgspec.json.decode(read_file(Path(os.path.realpath(path))))
    except (OSError, ValueError, RecursionError):
        return None  # a table that is missing or damaged, in the words of its reader
    first = content[0] if isinstance(content, list) and content else None
    kinds = [EXPORTS[key] for key in EXPORTS if isinstance(first, dict) and key in first]
    if not kinds:
        return None
    try:
        answered = [each.answered for each in msgspec.convert(content, kinds[0], strict=False)]
    except ValueError as error:
        raise InputError(
            "TB117",
            f'"{path}" is not an export of an audit: {error}. Export the tasks that topbin audit '
            "wrote, as JSON, with all their fields.",
        ) from error
    for row, times in Counter(row for row, _ in answered).items():
        if times > 1:
            raise InputError("TB117", f'"{path}" has row {row} twice; keep each row once.')
    return {row: each.pop() if len(each) == 1 else UNSURE if each else "" for row, each in answered}
