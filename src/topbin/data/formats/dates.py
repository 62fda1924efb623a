"""Dates that are not in ISO 8601: one order of day, month and year per column, for all files.

An order is never guessed from a part of the data. It is the one that all values of the column in
all files fit, or what the user or the model says; if they fit two, that is an error.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from topbin.core.errors import InputError, option

ORDERS = {"dmy": "day, month, year", "mdy": "month, day, year", "ymd": "year, month, day"}
ISO = "iso"  # dates in any other form stay text
TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
SHAPE = re.compile(r"(\d{1,4})([-/. ])\d{1,2}\2(\d{1,4})(?: .{4,})?", re.ASCII)

Given = str | Mapping[str, str] | None  # an order for all columns, or for some by name


@dataclass(frozen=True, slots=True)
class Dated:
    """A column of one file whose values are all dates: one of them, and a format per order."""

    sample: str
    formats: Mapping[str, str]

    def read(self, order: str) -> str:
        """The sample as a date in ISO 8601."""
        return str(datetime.strptime(self.sample, self.formats[order]).date())


Found = tuple[str, str, Dated]  # a file, the name of a column, and its dates


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


def check_order(dates: Any) -> None:
    """Refuse an order that is not known."""
    if dates not in (None, ISO, *ORDERS):
        known = ", ".join([*ORDERS, ISO])
        raise InputError("TB008", f"dates must be one of {known}; got {dates!r}.")


def settle_orders(columns: Iterable[Found], given: Given) -> dict[str, str]:
    """The order of each column; TB118 if its dates fit two orders, or files differ.

    One `given` order for all columns only decides where several fit; an order that is given for a
    column by name is always used.

    >>> found = "a.csv", "day", Dated("03/04/2020", formats_of("03/04/2020"))
    >>> settle_orders([found], "mdy")
    {'day': 'mdy'}
    >>> settle_orders([found], None)
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB118 "03/04/2020" in the column "day" of a.csv can be 2020-04-03
    (dmy) or 2020-03-04 (mdy). Say which: dates='dmy' or dates='mdy'.
    """
    exact, usual = (given, None) if isinstance(given, Mapping) else ({}, given)
    for order in (usual, *exact.values()):
        check_order(order)
    if usual == ISO:
        return {}
    by_name: dict[str, list[Found]] = {}
    for found in columns:
        by_name.setdefault(found[1], []).append(found)
    return {name: exact.get(name) or _order(found, usual) for name, found in by_name.items()}


def _order(found: list[Found], usual: str | None) -> str:
    orders = [order for order in ORDERS if all(order in dated.formats for *_, dated in found)]
    if len(orders) == 1 or usual in orders:
        return orders[0] if len(orders) == 1 else str(usual)
    file, name, dated = found[0]
    if not orders:
        seen = {tuple(d.formats): f"{d.sample} in {file}" for file, _, d in found}
        told = "; ".join(f"{sample} ({' or '.join(fit)})" for fit, sample in seen.items())
        raise InputError(
            "TB118",
            f'dates in the column "{name}" are written in different orders: {told}. '
            f"Make them equal, or leave them as text: {option('dates', 'iso')}.",
        )
    readings = " or ".join(f"{dated.read(order)} ({order})" for order in orders)
    ways = " or ".join(option("dates", order) for order in orders)
    told = f'"{dated.sample}" in the column "{name}" of {file} can be {readings}'
    raise InputError("TB118", f"{told}. Say which: {ways}.")


def date_lines(columns: Iterable[Found], orders: Mapping[str, str]) -> list[str]:
    """A sentence per column that is read in one of these orders, with an example."""
    shown = {name: (dated, orders.get(name, ISO)) for _, name, dated in columns}
    return [
        f'"{name}" is {ORDERS[order]}: {dated.sample} is {dated.read(order)}'
        for name, (dated, order) in shown.items()
        if order in dated.formats
    ]
