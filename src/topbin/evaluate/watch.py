"""α of one period after another, and alarms when the share or the rows have moved.

Under label shift (the classes look the same, only α moves) scores of new rows give α of a period
directly; see `topbin.evaluate.parts`. Two tests compare the last 1, 2, 4 and 8 periods with all
earlier ones since the last alarm. The first asks whether the share has moved. The second asks
whether anything else has: scores that no mixture of the same two classes has, or columns that look
different among rows that score low, most of which are negative whatever α is. Each test has a
chance `risk` of a false alarm in a year, by Bonferroni's correction for all comparisons of a year.
Once the rows have moved, α of later periods says nothing either, until the same test finds no more
difference from the rows before, or these turn out to have been the odd ones.

Periods are days, weeks, months, or stretches of a number, without a gap between them. A period is
named by its start, as text: a date, or a number with twelve digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate, pairwise
from operator import add
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from scipy.special import ndtri
from scipy.stats import chi2

from topbin.core.checks import Floats
from topbin.core.errors import InputError, option
from topbin.core.estimate import Interval
from topbin.core.formatting import counted, figure
from topbin.core.options import CONFIDENCE, RISK
from topbin.evaluate.parts import ScoreSums, Whole

WINDOWS = (1, 2, 4, 8)  # periods that are held against all earlier ones
A_YEAR: dict[str, int] = {"day": 365, "week": 52, "month": 12}
FEWEST = 10  # rows that a bin of a column must be expected to have, or it counts with others
WatchAlarm = Literal["share", "rows"]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Sum = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class Period:
    """What is kept of a period; parts of it add.

    `columns` has, for each column that models read, counts of low-scoring rows in bins. Of its
    `rows`, so many are `known` positives, and so many known to be `negative`.
    """

    start: str
    rows: Count
    total: Sum
    bins: tuple[Count, ...]
    columns: tuple[tuple[Count, ...], ...] = ()
    known: Count = 0
    negative: Count = 0

    @property
    def seen(self) -> ScoreSums:
        """Its scores."""
        return ScoreSums(self.rows, self.total, self.bins)

    def __add__(self, other: "Period") -> "Period":
        both = self.seen + other.seen
        pairs = zip(self.columns, other.columns, strict=True)
        columns = tuple(tuple(map(add, a, b)) for a, b in pairs)
        labeled = self.known + other.known, self.negative + other.negative
        return Period(self.start, both.rows, both.total, both.bins, columns, *labeled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What is said about a period: a line of periods.jsonl.

    `change` is α minus that of the first period with rows. `alarm` is "share" if α has moved, or
    "rows" if the rows have moved so that the model no longer fits, and `since` the period from
    which on; `columns` are then those that look different. Without an alarm, `since` says that the
    rows moved then and still differ. α is that of all `rows`, labeled or not, so that it does not
    move when people label some: `known` positives, or `negative` ones.
    """

    start: str
    rows: int
    known: int = 0
    negative: int = 0
    alpha: float | None = None
    interval: Interval | None = None
    change: float | None = None
    change_interval: tuple[float, float] | None = None
    alarm: WatchAlarm | None = None
    since: str | None = None
    p_share: float | None = None
    p_rows: float | None = None
    columns: tuple[str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether α says nothing, because the rows are not those that the model was made for."""
        return self.since is not None and self.alarm != "share"

    @property
    def sentence(self) -> str:
        """The period in one line."""
        kinds = (self.known, "known positive"), (self.negative, "known negative")
        labeled = " and ".join(counted(n, what) for n, what in kinds if n)
        if self.alpha is None or self.interval is None:
            return f"{self.start}: no rows"
        ends = "{} to {}".format(*map(figure, self.interval))
        rows = counted(self.rows) + (f", with {labeled}" if labeled else "")
        line = f"{self.start}: α = {figure(self.alpha)}, {ends} ({rows})"
        if self.alarm == "share":
            return f"{line}; ALARM: the share has moved since {self.since}"
        if self.is_unknown:
            what = f"the rows are still unlike those before {self.since}"
            if self.alarm:
                which = ", ".join(self.columns[:3]) or "seen in the scores"
                what = f"ALARM: the rows have moved since {self.since} ({which})"
            return (
                f"{self.start}: α is unknown ({rows}); {what}; the model no longer fits, so its "
                f"α of {figure(self.alpha)} says nothing"
            )
        return line


def follow(
    whole: Whole,
    periods: Sequence[Period],
    *,
    per_year: int,
    columns: Sequence[str] = (),
    risk: float = RISK,
    confidence: float = CONFIDENCE,
) -> tuple[Watched, ...]:
    """What to say about each period, from those up to it; later ones change nothing before them."""
    watched: list[Watched] = []
    tests = per_year * len(WINDOWS)
    recent: list[Period] = []  # since the last alarm
    before: list[Period] = []  # of each of these, the sum with all that come before it
    first, at_first = None, 0.0  # the first period with rows, and its α
    usual, since = None, None  # the rows before they moved, and when that was, until they are back
    for period in periods:
        if not period.rows:
            watched.append(Watched(start=period.start, rows=0))
            continue
        first = first or period
        recent.append(period)
        before.append(before[-1] + period if before else period)
        now = whole.compare(period.seen, whole.unlabeled, 0.0, confidence)
        at_first = now.alpha if period is first else at_first
        change = now.alpha - at_first  # as the two α that people see say
        low, high = (
            (0.0, 0.0) if period is first else _gap(whole, period.seen, first.seen, confidence)
        )
        ends = min(low, change), max(high, change)
        alarm = _alarm(whole, recent, before, tests, columns, risk)
        if usual is not None and alarm.kind == "share":
            alarm = replace(alarm, kind=None)  # α says nothing
        if alarm.kind == "rows":
            usual, since = usual or before[-alarm.window - 1], since or recent[-alarm.window].start
        recent, before = _cut(recent, before, alarm)
        baseline = None if usual is None else _baseline(whole, before[-1], usual, tests, risk)
        if baseline is not None:
            usual, since = None, None
            recent = [*baseline, *recent]
            before = list(accumulate(recent))
            alarm = _alarm(whole, recent, before, tests, columns, risk)
            recent, before = _cut(recent, before, alarm)
        watched.append(
            Watched(
                start=period.start, rows=period.rows, alpha=now.alpha, interval=now.interval,
                change=change, change_interval=ends, alarm=alarm.kind,
                since=recent[0].start if alarm.kind else since, p_share=alarm.p_share,
                p_rows=alarm.p_rows, columns=alarm.columns, known=period.known,
                negative=period.negative,
            )
        )  # fmt: skip
    return tuple(watched)


def _cut(
    recent: list[Period], before: list[Period], alarm: "_Raised"
) -> tuple[list[Period], list[Period]]:
    """The periods since the last alarm, and their sums, after this one."""
    if alarm.kind is None:
        return recent, before
    recent = recent[-alarm.window :]
    return recent, list(accumulate(recent))


def _baseline(
    whole: Whole, now: Period, usual: Period, tests: int, risk: float
) -> tuple[Period, ...] | None:
    """What comes before the rows since they moved, if α of these says something again; or None.

    They are back if nothing tells them from the usual ones. Or the first periods were odd: then
    the rows since are more by now, and their scores are a mixture of those of the fit.
    """
    if _rows_p(whole, now, usual, tests)[0] >= risk:
        return (usual,)
    fit = whole.fit(now.seen, whole.unlabeled)
    is_like_fit = fit is None or 2 * tests * fit >= risk
    return () if now.rows > usual.rows and is_like_fit else None


@dataclass(frozen=True, slots=True)
class _Raised:
    """The first window that raises an alarm, or none, and the least p-values, corrected."""

    kind: WatchAlarm | None = None
    window: int = 0
    p_share: float | None = None
    p_rows: float | None = None
    columns: tuple[str, ...] = ()


def _alarm(
    whole: Whole,
    recent: Sequence[Period],
    before: Sequence[Period],
    tests: int,
    columns: Sequence[str],
    risk: float,
) -> _Raised:
    """Compare the last periods with those before them; rows that moved count more than a share.

    `before` has the sums of the periods up to each. P-values are those of a year with so many
    `tests`.
    """
    share, rows, moved = [], [], {}
    for window in (w for w in WINDOWS if w < len(recent)):
        new, old = reduce(add, recent[-window:]), before[-window - 1]
        share.append((min(1.0, tests * _share_p(whole, new.seen, old.seen)), window))
        p_value, own = _rows_p(whole, new, old, tests)
        rows.append((p_value, window))
        moved[window] = tuple(columns[i] for i in np.argsort(own, kind="stable") if own[i] < risk)
    if not share:
        return _Raised()
    (p_share, own_window), (p_rows, other) = min(share), min(rows)
    if p_rows < risk:
        return _Raised("rows", other, p_share, p_rows, moved[other])
    return _Raised("share" if p_share < risk else None, own_window, p_share, p_rows)


def _rows_p(whole: Whole, new: Period, old: Period, tests: int) -> tuple[float, Floats]:
    """The p-value that the rows are the same but for their share, and those of the columns."""
    own = _column_p(new, old)
    own = 2 * tests * own.size * own  # one half of the risk each: for the scores, for all columns
    fit = whole.fit(new.seen, old.seen)
    least = np.min([1.0 if fit is None else 2 * tests * fit, *own])
    return min(1.0, float(least)), own


def _share_p(whole: Whole, new: ScoreSums, old: ScoreSums) -> float:
    """The p-value that the share is the same, two-sided."""
    contrast = whole.contrast(new, old)
    if not contrast.separates:
        return 1.0
    base = whole.alpha_of(new + old)
    return float(chi2.sf((contrast.value / whole.sd(contrast, base, base)) ** 2, 1))


def _gap(whole: Whole, new: ScoreSums, first: ScoreSums, confidence: float) -> tuple[float, float]:
    """The interval of α minus that of the first period; the overlap mostly cancels."""
    contrast = whole.contrast(new, first)
    if not contrast.separates:
        return -1.0, 1.0
    sd = whole.sd(contrast, whole.alpha_of(new), whole.alpha_of(first))
    ends = contrast.value + ndtri((1 - confidence) / 2) * sd * np.array([1, -1])
    low, high = np.clip((1 - whole.alpha) * ends, -1, 1)
    return float(low), float(high)


def _column_p(new: Period, old: Period) -> Floats:
    """For each column, the p-value that its counts in bins are of the same distribution.

    Bins that are expected to have few rows count together.
    """
    counts: Floats = np.array([new.columns, old.columns], np.float64)  # of both, columns, bins
    if not counts.size:
        return np.ones(0)
    rows = counts.sum(axis=2, keepdims=True)
    pooled = counts.sum(axis=0) / np.maximum(rows.sum(axis=0), 1)
    few = pooled * rows.min(axis=0) < FEWEST
    expected = rows * pooled
    off = np.where(few, 0, (counts - expected) ** 2 / np.maximum(expected, FEWEST)).sum(axis=(0, 2))
    left, right = (np.where(few, one, 0).sum(axis=2) for one in (counts, expected))
    off += ((left - right) ** 2 / np.maximum(right, FEWEST)).sum(axis=0)
    degrees = (~few).sum(axis=1) + (right.min(axis=0) >= FEWEST) - 1
    p_values = chi2.sf(off, np.maximum(degrees, 1))
    return np.where((degrees < 1) | (rows.min(axis=(0, 2)) < FEWEST), 1.0, p_values)


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
        filled, first = [periods[0]], self.number(periods[0].start)
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
                filled.append(replace(empty, start=self.start(number)))
            filled.append(period)
        return tuple(filled)

    def follow_one_another(self, starts: Sequence[str]) -> bool:
        """Whether these are starts of periods without a gap, and not too many."""
        if len(starts) > MOST_PERIODS + 1 or not all(map(self.is_start, starts)):
            return False
        return all(self.start(self.number(a) + 1) == b for a, b in pairwise(starts))
