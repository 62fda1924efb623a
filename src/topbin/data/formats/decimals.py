"""Numbers in csv files that are not plainly written: decimal commas, separated thousands.

The mark of a column is what its decimals follow: a point or a comma. It is the one that all values
of the column in all files fit. Where both fit ("1,234"), the user decides, then the other columns,
then the delimiter: files whose fields are separated by semicolons have decimal commas. What was
decided is said and stored, and new rows are read in the same way.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from topbin.core.errors import InputError

MARKS = {",": "comma", ".": "point"}
TEXT = "text"  # numbers that are not plainly written stay text
SPACES = " '’\u00a0\u202f"
Given = str | Mapping[str, str] | None  # a mark for all columns, or for some by name


def pattern(mark: str) -> str:
    """The regular expression of a number with this mark, for Python and for DuckDB.

    A number that begins with 0 is a code, and at most 18 digits are a number that is exact enough.

    >>> [bool(re.fullmatch(pattern(","), text)) for text in ("1.234,5", "1 234", "0,5", "007")]
    [True, True, True, False]
    """
    other = "," if mark == "." else "."
    grouped = "|".join(f"(?:[{between}][0-9]{{3}}){{1,5}}" for between in other + SPACES)
    return f" *[-+]?(?:0|[1-9][0-9]{{0,17}}|[1-9][0-9]{{0,2}}(?:{grouped}))(?:[{mark}][0-9]+)? *"


def separators(mark: str) -> str:
    """What may stand between the digits of a number with this mark."""
    return ("," if mark == "." else ".") + SPACES


@dataclass(frozen=True, slots=True)
class Numbered:
    """A column of one file whose values are all numbers: one of them, and the marks that fit all.

    With a mark in `whole`, no value has decimals. A `plain` column is read with a point anyway.
    """

    sample: str
    marks: tuple[str, ...]
    whole: tuple[str, ...] = ()
    plain: bool = False
    delimiter: str = ","

    def read(self, mark: str) -> float:
        """The sample as a number."""
        digits = self.sample.translate({ord(sign): None for sign in separators(mark)})
        return float(digits.replace(mark, "."))


Found = tuple[str, str, Numbered]  # a file, the name of a column, and its numbers


def marks_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The marks with which all texts are numbers.

    >>> marks_of(["1.234,56", "7"]), marks_of(["26,571", "980"]), marks_of(["3,5", "high"])
    ((',',), (',', '.'), ())
    """
    found = list(MARKS)
    for text in texts:
        found = [mark for mark in found if re.fullmatch(pattern(mark), text)]
        if not found:
            break
    return tuple(found)


def check_mark(decimal: Any) -> None:
    """Refuse a mark that is not known."""
    if decimal not in (None, TEXT, *MARKS):
        known = ", ".join(map(repr, [*MARKS, TEXT]))
        raise InputError("TB008", f"decimal must be one of {known}; got {decimal!r}.")


def settle_decimals(columns: Iterable[Found], given: Given) -> dict[str, str]:
    """The mark of each column that is not plainly written; TB150 if files differ.

    One `given` mark for all columns only decides where both fit; a mark that is given for a column
    by name is always used.

    >>> pay = "a.csv", "pay", Numbered("26,571", (",", "."))
    >>> rate = "a.csv", "rate", Numbered("3,5", (",",))
    >>> settle_decimals([pay], None), settle_decimals([pay, rate], None)
    ({'pay': '.'}, {'pay': ',', 'rate': ','})
    """
    exact, usual = (given, None) if isinstance(given, Mapping) else ({}, given)
    for mark in (usual, *exact.values()):
        check_mark(mark)
    if usual == TEXT:
        return {}
    by_name: dict[str, list[Found]] = {}
    for found in columns:
        by_name.setdefault(found[1], []).append(found)
    fitting = {name: _common(found) for name, found in by_name.items() if name not in exact}
    certain = {marks[0] for marks in fitting.values() if len(marks) == 1}
    return {
        name: exact.get(name) or _mark(found, fitting[name], usual, certain)
        for name, found in by_name.items()
        if not all(_is_plain(numbered, certain) for *_, numbered in found)
    }


def _is_plain(numbered: Numbered, certain: set[str]) -> bool:
    """Whether nothing speaks for another reading than that of plain numbers with a point."""
    if not numbered.plain or "," not in numbered.marks:
        return numbered.plain
    return "," not in certain and ("." in certain or numbered.delimiter == ",")


def _common(found: list[Found]) -> list[str]:
    """The marks that fit a column in all files."""
    return [mark for mark in MARKS if all(mark in numbered.marks for *_, numbered in found)]


def _mark(found: list[Found], fitting: list[str], usual: str | None, certain: set[str]) -> str:
    if not fitting:
        name = found[0][1]
        seen = {numbered.marks: f"{numbered.sample} in {file}" for file, _, numbered in found}
        told = "; ".join(seen.values())
        raise InputError(
            "TB150",
            f'numbers in the column "{name}" are written in different ways: {told}. '
            "Make them equal.",
        )
    if len(fitting) == 1:
        return fitting[0]
    if usual in fitting:
        return str(usual)
    if len(certain) == 1:
        return next(iter(certain))
    is_plain = all(numbered.plain for *_, numbered in found)
    return "," if not is_plain and all(n.delimiter == ";" for *_, n in found) else "."


def decimal_lines(
    columns: Iterable[Found], decimals: Mapping[str, str], given: Given = None
) -> list[str]:
    """A sentence per column that was not plainly written, with an example and what is in doubt.

    >>> pay = "a.csv", "pay", Numbered("26,571", (",", "."), (".",))
    >>> decimal_lines([pay], {"pay": "."}, "."), decimal_lines([pay], {"pay": ","}, ",")
    (['"pay" has separated thousands: 26,571 is 26571'],
     ['"pay" has a decimal comma: 26,571 is 26.571'])
    """
    shown: dict[str, Numbered] = {}
    for _, name, numbered in columns:  # of several files, the one that leaves least in doubt
        kept = shown.setdefault(name, numbered)
        shown[name] = min(kept, numbered, key=lambda one: len(one.marks))
    asked = given if isinstance(given, Mapping) else dict.fromkeys(shown, given)
    return [
        f'"{name}" has {_manner(numbered, decimals[name], in_doubt=not asked.get(name))}'
        for name, numbered in shown.items()
        if decimals.get(name) in numbered.marks
    ]


def _manner(numbered: Numbered, mark: str, *, in_doubt: bool) -> str:
    has = "separated thousands" if mark in numbered.whole else f"a decimal {MARKS[mark]}"
    told = f"{has}: {numbered.sample.strip()} is {numbered.read(mark):.15g}"
    other = "," if mark == "." else "."
    if not in_doubt or other not in numbered.marks or numbered.read(other) == numbered.read(mark):
        return told
    instead = f"{numbered.read(other):.15g}"
    return f'{told}; if it is {instead}, say --decimal {other} (decimal="{other}")'
