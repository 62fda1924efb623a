"""Periods: the start of each day, week and month, and numbers that follow one another."""

from datetime import date, timedelta

import numpy as np
import pytest
from coded import fails

from topbin.evaluate.watch import MOST_PERIODS, Every, Period

DAYS = [date(1968, 2, 20) + timedelta(days=5 * k) for k in range(400)]
FIRST = {
    "day": lambda day: day,
    "week": lambda day: day - timedelta(days=day.weekday()),
    "month": lambda day: day.replace(day=1),
}


def period(start):
    return Period(start, 1, 0, (1, 0), ((2, 3),))


@pytest.mark.parametrize("every", list(FIRST))
def test_days_are_in_the_period_that_the_calendar_says(every):
    made = Every(every)
    starts = made.starts(np.array(DAYS, "datetime64[us]"))
    assert starts.tolist() == [str(FIRST[every](day)) for day in DAYS]
    numbers = [made.number(start) for start in starts]
    assert [made.start(number) for number in numbers] == starts.tolist()
    assert numbers == sorted(numbers)
    assert all(map(made.is_start, starts))


@pytest.mark.parametrize("width", ["0.1", "0.5", "7", "1e6"])
def test_numbers_are_cut_at_multiples_of_the_width(width):
    values = np.random.default_rng(0).normal(0, 100 * float(width), 300)
    made = Every(width)
    starts = made.starts(values)
    assert starts.tolist() == [f"{np.floor(v / float(width)) * float(width):.12g}" for v in values]
    assert {made.start(made.number(start)) for start in starts} <= {*starts, "0"}  # not "-0"


def test_gaps_are_filled_with_periods_without_rows():
    made = Every("month")
    filled = made.filled([period("2023-11-01"), period("2024-02-01")])
    starts = [one.start for one in filled]
    assert starts == ["2023-11-01", "2023-12-01", "2024-01-01", "2024-02-01"]
    assert [one.rows for one in filled] == [1, 0, 0, 1]
    assert filled[1] == Period("2023-12-01", 0, 0, (0, 0), ((0, 0),))
    assert made.follow_one_another(starts)
    assert not made.follow_one_another(starts[::2])
    assert not made.follow_one_another(["2023-11-02"])
    assert not made.follow_one_another(["never"])
    assert made.filled([]) == ()


def test_too_many_periods_and_lengths_that_are_none_are_refused():
    far = Every("1").start(MOST_PERIODS + 2)
    with fails("TB161", "more than 5,000 periods"):
        Every("1").filled([period("0"), period(far)])
    assert len(Every("1").filled([period("0"), period(str(MOST_PERIODS))])) == MOST_PERIODS + 1
    for wrong in ("year", "0", "-1", "nan", "inf", ""):
        with fails("TB008", "must be day, week or month"):
            Every(wrong)
