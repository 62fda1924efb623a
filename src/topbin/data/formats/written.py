"""How columns of csv files are written: dates that are not in ISO 8601, numbers with commas.

A column can be read in several ways: orders of day, month and year, or decimal marks, which are
what the decimals of numbers follow. Its way is the one that all values in all files fit, or what
the user or the model says. Dates that fit two orders are an error. Where both marks fit ("1,234"),
the user decides, then the other columns, then the delimiter: files whose fields are separated by
semicolons have decimal commas. What was decided is said and stored, and new rows are read so too.

A cell may hold a number and more: "<5", "$5,315.99", "12 %", "3.5 kg" (`read_cell`).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from topbin.core.errors import InputError, option
from topbin.core.labels import NO_NUMBER, plain_word

ORDERS = {"dmy": "day, month, year", "mdy": "month, day, year", "ymd": "year, month, day"}
ISO = "iso"  # dates in any other form stay text
TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
SHAPE = re.compile(r"(\d{1,4})([-/. ])\d{1,2}\2(\d{1,4})(?: .{4,})?", re.ASCII)
MARKS = {",": "comma", ".": "point"}
OTHER_MARK = {",": ".", ".": ","}
AS_TEXT = "text"  # numbers that are not plainly written stay text
SPACES = " '’\u00a0\u202f"

Given = str | Mapping[str, str] | None  # a way for all columns, or for some by name


@dataclass(frozen=True, slots=True)
class Written:
    """A column of one file whose values are all dates or all numbers: one of them, and its ways.

    An order comes with the format that reads it, a mark with the type that it gives. A `plain`
    column of numbers is read with a point anyway.
    """

    file: str
    column: str
    sample: str
    ways: Mapping[str, str]
    plain: bool = False
    delimiter: str = ","

    def __str__(self) -> str:
        orders = f" ({' or '.join(self.ways)})" if self.is_date else ""
        return f"{self.sample} in {self.file}{orders}"

    @property
    def is_date(self) -> bool:
        """Whether the ways are orders of dates."""
        return not self.ways.keys() <= MARKS.keys()

    def type_of(self, way: str) -> str:
        """The type of the column if it is read in this way."""
        form = self.ways[way]
        return ("TIMESTAMP" if "%M" in form else "DATE") if self.is_date else form

    def read(self, way: str) -> str:
        """The sample as a date in ISO 8601, or as a plain number."""
        if self.is_date:
            return str(datetime.strptime(self.sample, self.ways[way]).date())
        return f"{float(plain_number(self.sample, way)):.15g}"


def formats_of(text: str) -> dict[str, str]:
    """The orders in which a text is a date, each with the format that says so.

    >>> formats_of("13/04/2020"), formats_of("3.4.20 10:00")["mdy"]
    ({'dmy': '%d/%m/%Y'}, '%m.%d.%y %H:%M')
    """
    shape = SHAPE.fullmatch(text)
    if shape is None:
        return {}
    first, separator, last = shape.groups()
    year = "Y" if len(first) == 4 or len(re.match(r"\d*", last)[0]) == 4 else "y"  # type: ignore[index]
    plain = {o: separator.join(f"%{year if part == 'y' else part}" for part in o) for o in ORDERS}
    tried = ((order, form + time) for order, form in plain.items() for time in TIMES)
    return {order: form for order, form in tried if _fits(text, form)}


def _fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def pattern(mark: str) -> str:
    """The regular expression of a number with this mark, for Python and for DuckDB.

    A number that begins with 0 is a code, and at most 18 digits are a number that is exact enough.

    >>> [bool(re.fullmatch(pattern(","), text)) for text in ("1.234,5", "1 234", "0,5", "007")]
    [True, True, True, False]
    """
    grouped = "|".join(f"(?:[{between}][0-9]{{3}}){{1,5}}" for between in separators(mark))
    return f" *[-+]?(?:0|[1-9][0-9]{{0,17}}|[1-9][0-9]{{0,2}}(?:{grouped}))(?:[{mark}][0-9]+)? *"


def separators(mark: str) -> str:
    """What may stand between the digits of a number with this mark."""
    return OTHER_MARK[mark] + SPACES


def plain_number(text: str, mark: str) -> str:
    """A number with this mark as Python reads it: nothing but digits and a point."""
    return text.translate({ord(sign): None for sign in separators(mark)}).replace(mark, ".")


def marks_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The marks with which all texts are numbers.

    >>> marks_of(["1.234,56", "7"]), marks_of(["26,571", "980"]), marks_of(["3,5", "high"])
    ((',',), (',', '.'), ())
    """
    texts = list(texts)
    return tuple(mark for mark in MARKS if all(re.fullmatch(pattern(mark), text) for text in texts))


def settle_orders(columns: Iterable[Written], given: Given) -> dict[str, str]:
    """The order of each column; TB118 if its dates fit two orders, or files differ.

    One `given` order for all columns decides where several fit; one given by name is always used.

    >>> day = Written("a.csv", "day", "03/04/2020", formats_of("03/04/2020"))
    >>> settle_orders([day], "mdy")
    {'day': 'mdy'}
    >>> settle_orders([day], None)
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB118 "03/04/2020" in the column "day" of a.csv can be 2020-04-03
    (dmy) or 2020-03-04 (mdy). Say which: dates='dmy' or dates='mdy'.
    """
    exact, usual = _asked(given, "dates", [*ORDERS, ISO])
    if usual == ISO:
        return {}
    by_name = _by_name(columns)
    return {name: exact.get(name) or _order(in_files, usual) for name, in_files in by_name.items()}


def settle_decimals(columns: Iterable[Written], given: Given) -> dict[str, str]:
    """The mark of each column that is not plainly written; TB150 if files differ.

    One `given` mark for all columns decides where both fit; one given by name is always used.

    >>> pay = Written("a.csv", "pay", "26,571", {",": "DOUBLE", ".": "BIGINT"})
    >>> rate = Written("a.csv", "rate", "3,5", {",": "DOUBLE"})
    >>> settle_decimals([pay], None), settle_decimals([pay, rate], None)
    ({'pay': '.'}, {'pay': ',', 'rate': ','})
    """
    exact, usual = _asked(given, "decimal", [*MARKS, AS_TEXT])
    if usual == AS_TEXT:
        return {}
    by_name = _by_name(columns)
    fitting = {name: _common(in_files) for name, in_files in by_name.items() if name not in exact}
    certain = {marks[0] for marks in fitting.values() if len(marks) == 1}
    return {
        name: exact.get(name) or _mark(in_files, fitting[name], usual, certain)
        for name, in_files in by_name.items()
        if not all(_is_plain(written, certain) for written in in_files)
    }


def _asked(given: Given, name: str, known: Collection[str]) -> tuple[Mapping[str, str], Any]:
    """The ways that are given by name, and the one for all other columns, checked."""
    exact, usual = (given, None) if isinstance(given, Mapping) else ({}, given)
    for way in (usual, *exact.values()):
        if way not in (None, *known):
            listed = ", ".join(map(repr, known))
            raise InputError("TB008", f"{name} must be one of {listed}; got {way!r}.")
    return exact, usual


def _by_name(columns: Iterable[Written]) -> dict[str, list[Written]]:
    by_name: dict[str, list[Written]] = {}
    for written in columns:
        by_name.setdefault(written.column, []).append(written)
    return by_name


def _common(in_files: list[Written]) -> list[str]:
    """The ways that fit a column in all files."""
    first, *others = (written.ways for written in in_files)
    return [way for way in first if all(way in ways for ways in others)]


def _samples(in_files: list[Written]) -> str:
    """A value for each set of ways, with its file: what a reader must see if files differ."""
    different = {tuple(written.ways): written for written in in_files}
    return "; ".join(map(str, different.values()))


def _order(in_files: list[Written], usual: str | None) -> str:
    orders = _common(in_files)
    if usual in orders:
        return usual
    if len(orders) == 1:
        return orders[0]
    written, name = in_files[0], in_files[0].column
    if not orders:
        raise InputError(
            "TB118",
            f'dates in the column "{name}" are written in different orders: {_samples(in_files)}. '
            f"Make them equal, or leave them as text: {option('dates', 'iso')}.",
        )
    readings = " or ".join(f"{written.read(order)} ({order})" for order in orders)
    ways = " or ".join(option("dates", order) for order in orders)
    doubt = f'"{written.sample}" in the column "{name}" of {written.file} can be {readings}'
    raise InputError("TB118", f"{doubt}. Say which: {ways}.")


def _is_plain(written: Written, certain: set[str]) -> bool:
    """Whether nothing speaks for another reading than that of plain numbers with a point."""
    if not written.plain or "," not in written.ways:
        return written.plain
    return "," not in certain and ("." in certain or written.delimiter == ",")


def _mark(in_files: list[Written], fitting: list[str], usual: str | None, certain: set[str]) -> str:
    if not fitting:
        raise InputError(
            "TB150",
            f'numbers in the column "{in_files[0].column}" are written in different ways: '
            f"{_samples(in_files)}. Make them equal.",
        )
    if usual in fitting:
        return usual
    if len(fitting) == 1:
        return fitting[0]
    if len(certain) == 1:
        return next(iter(certain))
    is_plain = all(written.plain for written in in_files)
    return "," if not is_plain and all(w.delimiter == ";" for w in in_files) else "."


def date_lines(columns: Iterable[Written], orders: Mapping[str, str]) -> list[str]:
    """A sentence per column that is read in one of these orders, with an example."""
    shown = {written.column: written for written in columns}
    return [
        f'"{name}" is {ORDERS[orders[name]]}: {written.sample} is {written.read(orders[name])}'
        for name, written in shown.items()
        if orders.get(name) in written.ways
    ]


def decimal_lines(
    columns: Iterable[Written], decimals: Mapping[str, str], given: Given = None
) -> list[str]:
    """A sentence per column that was not plainly written, with an example and what is in doubt.

    >>> pay = Written("a.csv", "pay", "26,571", {",": "DOUBLE", ".": "BIGINT"})
    >>> decimal_lines([pay], {"pay": "."}, "."), decimal_lines([pay], {"pay": ","}, ",")
    (['"pay" has separated thousands: 26,571 is 26571'],
     ['"pay" has a decimal comma: 26,571 is 26.571'])
    """
    shown: dict[str, Written] = {}
    for written in columns:  # of several files, the one that leaves least in doubt
        before = shown.get(written.column, written)
        shown[written.column] = min(before, written, key=lambda one: len(one.ways))
    asked = given if isinstance(given, Mapping) else dict.fromkeys(shown, given)
    return [
        f'"{name}" has {_as_read(written, decimals[name], in_doubt=not asked.get(name))}'
        for name, written in shown.items()
        if decimals.get(name) in written.ways
    ]


def _as_read(written: Written, mark: str, *, in_doubt: bool) -> str:
    is_whole = written.ways[mark] == "BIGINT"
    has = "separated thousands" if is_whole else f"a decimal {MARKS[mark]}"
    read = f"{has}: {written.sample.strip()} is {written.read(mark)}"
    other = OTHER_MARK[mark]
    if not in_doubt or other not in written.ways or written.read(other) == written.read(mark):
        return read
    instead = f'if it is {written.read(other)}, say --decimal {other} (decimal="{other}")'
    return f"{read}; {instead}"


JUST = 1e-6  # how far "<5" is below 5, as a share of it
SIGNS = "$€£¥₹₽₩₺₪฿₫₴₦₱"
CURRENCY = (
    rf"(?:US|[RCA])?[{SIGNS}]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|"
    r"MXN|ZAR|RUB|TRY|KRW|SGD|HKD|Rs\.?|Fr\.?|kr\.?"
)
UNIT = rf"(?:[^\W\d_]|[%‰°²³/{SIGNS}]){{1,12}}\.?"


@dataclass(frozen=True, slots=True)
class NumberCell:
    """A cell that holds a number: the number, its unit, and whether it is only a limit."""

    value: float
    unit: str = ""
    is_limit: bool = False


@cache
def _cell(mark: str) -> re.Pattern[str]:
    plain = r"[-+]?[0-9]*\.?[0-9]+[eE][-+]?[0-9]+|[-+]?\.[0-9]+"  # 1.5e-3, .5
    return re.compile(
        rf"(?P<limit>[<>≤≥]=?)?\s*(?P<sign>[-+])?\s*(?P<before>{CURRENCY})?\s*"
        rf"(?:(?P<plain>{plain})|(?P<number>{pattern(mark).strip(' *')}))"
        rf"\s*(?P<unit>{UNIT})?(?P<more>\+)?"
    )


def read_cell(text: str, mark: str = ".") -> NumberCell | None:
    """The number in a cell, whose decimals follow this mark; None if it holds none.

    >>> read_cell("$5,315.99").value, read_cell("531,60 €", ",").value, read_cell("12 %").value
    (5315.99, 531.6, 12.0)
    >>> read_cell("<5").value < 5 == read_cell("5").value, read_cell("C50"), read_cell("007")
    (True, None, None)
    """
    match = _cell(mark).fullmatch(text.strip().replace("−", "-"))
    if match is None:
        return None
    value = float(match["plain"] or plain_number(match["number"], mark))
    value = -value if match["sign"] == "-" else value
    limit = "+" if match["more"] else (match["limit"] or "")[:1]
    if limit:
        value += (-JUST if limit in "<≤" else JUST) * (abs(value) or 1.0)
    unit = (match["before"] or match["unit"] or "").rstrip(".").casefold()
    unit = unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit  # years, as in 1 year
    return NumberCell(value, unit, bool(limit))


def is_missing(text: str) -> bool:
    """Whether a cell says that there is no number."""
    return plain_word(text) in NO_NUMBER


def as_float(text: str) -> float | None:
    """The number in a cell that holds nothing else; None for any other cell."""
    try:
        return float(text)
    except ValueError:
        return None


def holds_number(text: str) -> bool:
    """Whether a cell holds a number, whatever its decimals follow."""
    return any(read_cell(text, mark) is not None for mark in MARKS)


def look_numeric(texts: Sequence[str]) -> bool:
    """Whether at least half of these texts are numbers, or say that there is none, and one is.

    >>> look_numeric(["12 %", "?", "high"]), look_numeric(["?", "-"])
    (True, False)
    """
    numbers = sum(map(holds_number, texts))
    return numbers > 0 and 2 * (numbers + sum(map(is_missing, texts))) >= len(texts)
