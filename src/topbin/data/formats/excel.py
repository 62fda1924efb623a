"""Excel workbooks: every sheet is a table, whose first row that is not blank names the columns.

A workbook with one sheet that holds rows needs nothing; of several, a query says which one:
`select * from "Sheet2"`. Cells have types of their own, so nothing is guessed from text. A formula
counts as the value that Excel last computed, and an error such as #N/A as missing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from itertools import dropwhile
from typing import Any
from zipfile import BadZipFile

import pandas as pd

from topbin.core.cells import NO_VALUE
from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.data.batch import FramePart
from topbin.data.find import Format
from topbin.data.formats.database import only_table
from topbin.data.formats.duck import QUERY_SECONDS, connect, duck_errors, failed, one_select
from topbin.data.schema import check_names

Cells = tuple[Any, ...]


def open_excel(_: Any, path: str, name: str, sql: str | None = None) -> FramePart:
    """The rows of the only sheet that has any, or of a query over the sheets."""
    sheets = {title: frame for title, frame in _sheets(path, name) if len(frame)}
    if not sheets:
        raise InputError("TB001", f"{name} has no sheet with a line of names and rows below it.")
    frame = sheets[only_table(name, list(sheets))] if sql is None else _asked(sheets, name, sql)
    if not len(frame):
        raise InputError("TB001", f"{name} has columns but no rows.")
    return replace(FramePart.of(frame, name=name, path=path), is_database=True)


def _asked(sheets: dict[str, pd.DataFrame], name: str, sql: str) -> pd.DataFrame:
    """The rows of a query in which the sheets are tables."""
    with (
        duck_errors(lambda words: failed(name, "TB113", words), "TB113"),
        connect(seconds=QUERY_SECONDS) as connection,
    ):
        for title, frame in sheets.items():
            connection.raw.register(title, frame)
        found = list(connection.frames(one_select(sql), 1 << 30))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


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
            f"{name} cannot be read: it is no Excel workbook. Save it again, as .xlsx or as .csv.",
        ) from error
    try:
        for sheet in book.worksheets:
            if sheet.sheet_state == "visible":
                rows = [tuple(map(_value, row)) for row in sheet.iter_rows(values_only=True)]
                yield sheet.title, _frame(rows, f'the sheet "{sheet.title}" of {name}')
    finally:
        book.close()


def _value(cell: Any) -> Any:
    """A cell, None if it says that there is no value."""
    return None if isinstance(cell, str) and cell.strip() in NO_VALUE else cell


def _frame(rows: Sequence[Cells], where: str) -> pd.DataFrame:
    """The rows below the first one that is not blank; blank rows and columns do not count."""
    header, *below = [*dropwhile(_is_blank, rows)] or [()]
    below = [row for row in below if not _is_blank(row)]
    columns: dict[str, pd.Series] = {}
    for i, title in enumerate(header):
        values = [row[i] if i < len(row) else None for row in below]
        if title is None and not _is_blank(values):
            place = f"column {i + 1:,} of {where} has values and no name."
            raise InputError("TB102", f"{place} Name it in the first row.")
        if title is not None:
            check_names(where, [*columns, str(title)])
            columns[str(title).strip()] = _column(values)
    return pd.DataFrame(columns)


def _is_blank(values: Sequence[Any]) -> bool:
    return all(value is None for value in values)


def _column(values: Sequence[Any]) -> pd.Series:
    """Values of one kind as they are; of several kinds as text.

    >>> _column([1, None, "x"]).tolist(), _column([1, 2.5]).tolist()
    (['1', None, 'x'], [1.0, 2.5])
    """
    kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) < 2:
        return pd.Series(values)
    return pd.Series([None if value is None else str(value) for value in values], dtype=object)


def _kind(value: Any) -> type:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float
    return date if isinstance(value, datetime | date) else type(value)


FORMATS = (
    Format("excel", (".xlsx", ".xlsm"), open_excel, is_database=True, may_be_many=True),
)  # fmt: skip
