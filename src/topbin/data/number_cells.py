"""A cell that holds a number, and perhaps more: "<5", "$5,315.99", "12 %", "3.5 kg", "1e-3"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from topbin.core.cells import NO_NUMBER, plain_word
from topbin.data.formats.written import MARKS, pattern, separators

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
    found = _cell(mark).fullmatch(text.strip().replace("−", "-"))
    if found is None:
        return None
    digits = (found["number"] or "").translate({ord(sign): None for sign in separators(mark)})
    value = float(found["plain"] or digits.replace(mark, "."))
    value = -value if found["sign"] == "-" else value
    limit = "+" if found["more"] else (found["limit"] or "")[:1]
    if limit:
        value += (-JUST if limit in "<≤" else JUST) * (abs(value) or 1.0)
    unit = (found["before"] or found["unit"] or "").rstrip(".").casefold()
    unit = unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit  # years, as in 1 year
    return NumberCell(value, unit, bool(limit))


def is_missing(text: str) -> bool:
    """Whether a cell says that there is no number."""
    return plain_word(text) in NO_NUMBER


def is_plain(text: str) -> bool:
    """Whether a cell holds a number and nothing else."""
    try:
        float(text)
    except ValueError:
        return False
    return True


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
