"""Days, weeks, months, or stretches of a number: periods that follow one another and are counted.

A period is named by its start, as text: a date, or a number with twelve digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from topbin.core.errors import InputError, option
from topbin.evaluate.watch import A_YEAR, Period

MOST_PERIODS, A_YEAR_OF_NUMBERS = 5_000, 52
MONDAY = 3  # days from 1970-01-01, a Thursday, back to the start of its week


@dataclass(frozen=True, slots=True)
class Every:
    """How long a period is: "day", "week" or "month"; for a column of numbers, how wide it is.

    >>> Every("week").starts(np.array(["1970-01-06", "1970-01-04"], "datetime64[D]"))
    array(['1970-01-05', '1969-12-29'], dtype=object)
    >>> Every("0.5").starts(np.array([1.7, -0.2]))
    array(['1.5', '-0.5'], dtype=object)
    """

    name: str

    def __post_init__(self) -> None:
        if not (self.name in A_YEAR or 0 < self.width < np.inf):
            raise InputError(
                "TB008",
                f"{option('every')} must be day, week or month, or for a column of numbers how "
                f"wide a period is; got {self.name!r}.",
            )

    @property
    def is_of_dates(self) -> bool:
        """Whether periods are of days."""
        return self.name in A_YEAR

    @property
    def width(self) -> float:
        """How wide a period of numbers is; NaN if it is none."""
        try:
            return float(self.name)
        except ValueError:
            return np.nan

    @property
    def per_year(self) -> int:
        """How many periods a year has, or is taken to have."""
        return A_YEAR.get(self.name, A_YEAR_OF_NUMBERS)

    def starts(self, values: Any) -> Any:
        """The start of the period that each value is in."""
        if not self.is_of_dates:
            numbers = np.floor(values / self.width) * self.width
            return np.array([f"{value:.12g}" for value in numbers], object)
        days = values.astype("datetime64[D]")
        if self.name == "week":
            days = days - (days.astype(np.int64) + MONDAY) % 7
        elif self.name == "month":
            days = days.astype("datetime64[M]").astype("datetime64[D]")
        return days.astype(str).astype(object)

    def number(self, start: str) -> int:
        """Where the period with this start is in time, so that the next one has the next number."""
        if not self.is_of_dates:
            return round(float(start) / self.width)
        day = np.datetime64(start, "M" if self.name == "month" else "D").astype(np.int64)
        return int(day + MONDAY) // 7 if self.name == "week" else int(day)

    def start(self, number: int) -> str:
        """The start of the period with this number."""
        if not self.is_of_dates:
            return f"{number * self.width:.12g}"
        if self.name == "month":
            return str(np.datetime64(number, "M").astype("datetime64[D]"))
        return str(np.datetime64(7 * number - MONDAY if self.name == "week" else number, "D"))

    def is_start(self, start: str) -> bool:
        """Whether a period can begin here."""
        try:
            if self.is_of_dates:
                return bool(self.starts(np.array([start], "datetime64[D]"))[0] == start)
            return abs(float(start)) < 2**53 and f"{float(start):.12g}" == start
        except (ValueError, OverflowError):
            return False

    def filled(self, periods: Sequence[Period]) -> tuple[Period, ...]:
        """The periods with those between them that have no rows."""
        if not periods:
            return ()
        found, first = [periods[0]], self.number(periods[0].start)
        none = tuple((0,) * len(one) for one in periods[0].columns)
        empty = Period("", 0, 0, (0,) * len(periods[0].bins), none)
        for before, period in pairwise(periods):
            for number in range(self.number(before.start) + 1, self.number(period.start)):
                if number - first > MOST_PERIODS:
                    raise InputError(
                        "TB161",
                        f"from {periods[0].start} to {period.start} there are more than "
                        f"{MOST_PERIODS:,} periods. Choose a wider one with {option('every')}.",
                    )
                found.append(replace(empty, start=self.start(number)))
            found.append(period)
        return tuple(found)

    def follow_one_another(self, starts: Sequence[str]) -> bool:
        """Whether these are starts of periods without a gap, and not too many."""
        if len(starts) > MOST_PERIODS + 1 or not all(map(self.is_start, starts)):
            return False
        return all(self.start(self.number(a) + 1) == b for a, b in pairwise(starts))
