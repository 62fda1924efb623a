"""Alarms: reasons to doubt an estimate, each with the direction of the error.

No alarm is not a proof. Whether the top bin is pure cannot be verified from scores: a test of the
bin's top half against the rest has little power, so it can raise doubt but never remove it.
All alarms read the tails only at the geometric ranks, so thinned tails raise the same ones.
"""

from collections.abc import Iterator, Sequence
from math import sqrt
from shlex import quote

import numpy as np
from scipy.stats import norm

from topbin.core import Alarm, AlphaEstimate, Evidence, Tails
from topbin.core.estimate import FEW_POSITIVES, RANGE_ONLY
from topbin.core.formatting import counted, figure
from topbin.core.hashing import Twins
from topbin.core.tails import at_ranks, geometric_ranks
from topbin.mpe.registry import find_method

Alarms = Iterator[Alarm]
TINY_BIN = 20  # rows on a side; the ratio of two such counts is off by about a third
NEAR_ONE = 0.95  # any α that leaves hardly any negatives
REPEATED = 0.05  # of the rows; any small share
LEVEL = 0.025  # of each one-sided test, as of one end of a 95 % interval
CLEARLY = 0.001  # any level far below LEVEL: that scores are reversed is a strong claim


def find_alarms(
    estimate: AlphaEstimate, evidence: Evidence, others: Sequence[AlphaEstimate] = ()
) -> tuple[Alarm, ...]:
    """Every alarm that this evidence and these other estimates raise.

    >>> est = AlphaEstimate(alpha=0.3, n_p=30, n_u=30, method="bbe")
    >>> scores_p, scores_u = np.arange(70.0, 100.0), np.arange(0.0, 90.0, 3.0)
    >>> [alarm.code for alarm in find_alarms(est, Evidence.of(scores_p, scores_u))]
    ['few-positives']
    """
    read, tested = (
        at_ranks(tails, geometric_ranks(tails.n_p))
        for tails in (evidence.tails, evidence.independent)
    )
    alarms = [
        alarm for check in CHECKS for alarm in check(estimate, tested if check in TESTS else read)
    ]
    if evidence.crossfitted:
        alarms = [by_own_models(alarm) for alarm in alarms]
    return (*alarms, *methods_disagree(estimate, others))


def few_positives(estimate: AlphaEstimate, tails: Tails) -> Alarms:
    """Below 100 positives the point estimate of α = .5 was seen anywhere from .39 to .55."""
    if estimate.worth_p < FEW_POSITIVES:
        seen = counted(estimate.n_p, "known positive")
        rows = f"only {seen}"
        if estimate.worth is not None:
            rows = f"{seen} in groups, worth {counted(estimate.worth_p, 'independent row')}"
        trust = "trust the interval more than the point"
        if estimate.interval is None:
            trust = "the point may be far off"
        elif estimate.worth_p < RANGE_ONLY:
            trust = "the interval is the answer"
        message = f"{rows}; {trust}."
        yield Alarm("few-positives", message, "either")


def tiny_bin(estimate: AlphaEstimate, tails: Tails) -> Alarms:
    """The ratio of a few rows is mostly luck."""
    if estimate.cut is None or tails.n_p < TINY_BIN:
        return
    best = _bin_of(estimate.cut, tails)
    x, y = int(tails.above_p[best]), int(tails.above_u[best])
    if min(x, y) < TINY_BIN:
        first, second = ("only ", "") if x < TINY_BIN else ("", "only ")
        seen = f"{first}{counted(x, 'positive')} and {second}{counted(y, 'unlabeled row')}"
        message = f"the chosen top bin contains {seen}."
        yield Alarm("tiny-bin", message, "either")


def no_flat_top(estimate: AlphaEstimate, tails: Tails) -> Alarms:
    """In a pure bin the upper and lower half have the same ratio; here the lower one is higher."""
    if estimate.cut is None:
        return
    best = _bin_of(estimate.cut, tails)
    half = int(np.argmin(np.abs(tails.above_p - tails.above_p[best] / 2)))
    x, y = (np.array([n[half], n[best] - n[half]]) for n in (tails.above_p, tails.above_u))
    if min(x.min(), y.min()) < 5:
        return
    rise = np.log(y[1] / x[1]) - np.log(y[0] / x[0])
    if rise > norm.ppf(1 - LEVEL) * sqrt((1 / x + 1 / y).sum()):
        yield Alarm(
            "no-flat-top",
            "the ratio still rises inside the chosen top bin. Either the bin contains negatives, "
            "and α is too high; or mainly clear cases are labeled, and α is too low.",
            "either",
        )


def near_one(estimate: AlphaEstimate, tails: Tails) -> Alarms:
    """Near 1, the model may simply not have learned to separate positives from the rest."""
    if estimate.alpha >= NEAR_ONE:
        message = f"α = {figure(estimate.alpha)} means that nearly all unlabeled rows are positive;"
        yield Alarm("near-one", f"{message} a model that learned nothing gives the same.", "up")


def not_higher(estimate: AlphaEstimate, tails: Tails) -> Alarms:
    """One-sided Kolmogorov–Smirnov tests at the cuts: do positives score higher, or even lower?"""
    gaps, spread = tails.q_p - tails.q_u, (1 / tails.n_p + 1 / tails.n_u) / 2
    if np.max(gaps) > sqrt(-np.log(LEVEL) * spread):
        return
    if np.max(-gaps) > sqrt(-np.log(CLEARLY) * spread):
        message = (
            "positives score lower than the unlabeled rows. Are the scores reversed, or positives "
            "and unlabeled rows swapped? Higher must mean more positive."
        )
        yield Alarm("reversed-scores", message, "either")
        return
    yield Alarm(
        "indistinguishable",
        "positives and unlabeled rows have the same scores; these scores cannot separate them.",
        "up",
    )


def by_own_models(alarm: Alarm) -> Alarm:
    """The same alarm, for scores that topbin made itself: nobody has reversed them.

    A model that did not see a known positive, but saw its copy as unlabeled, scores it low.
    """
    if alarm.code != "reversed-scores":
        return alarm
    message = (
        "models that did not see them score known positives lower than unlabeled rows, as happens "
        "if the same cases are on both sides."
    )
    return Alarm(
        "lower-scores", f"{message} Look for known positives among the unlabeled rows.", "either"
    )


def seen_in_training(estimate: AlphaEstimate) -> Alarms:
    """Scores of somebody's model: on rows that trained it, known positives stand above all others.

    >>> est = AlphaEstimate(alpha=0.0, n_p=300, n_u=900, method="bbe", interval=(0.0, 0.01))
    >>> [alarm.code for alarm in seen_in_training(est)]
    ['seen-in-training']
    """
    if estimate.interval is None or estimate.n_p < TINY_BIN:
        return
    high = estimate.interval[1]
    labeled = estimate.n_p / (estimate.n_p + high * estimate.n_u)
    if labeled > NEAR_ONE and high < 1 - NEAR_ONE:
        message = (
            f"by these scores at least {100 * labeled:.0f} % of all positives are labeled already. "
            "It looks like this when a model scores the rows that it was trained on, when a column "
            "leaks the label, or when hardly any positive is unlabeled. Use held-out scores "
            "(cross_val_predict), or topbin fit."
        )
        yield Alarm("seen-in-training", message, "down")


def heavy_ties(estimate: AlphaEstimate, tails: Tails) -> Alarms:
    """Tied scores cannot be separated, so a pure part of a tied group cannot be found."""
    seen, wanted = tails.cuts.size, geometric_ranks(tails.n_p).size
    if seen < wanted / 2 and wanted >= 10:
        message = f"positives have few distinct scores ({seen} instead of {wanted}),"
        yield Alarm("ties", f"{message} so how the classes overlap is seen only roughly.", "either")


def outside_limits(estimate: AlphaEstimate, tails: Tails) -> Alarms:
    """The method's point contradicts the counts: above the bound, or outside the interval."""
    (low, high), bound = estimate.interval or (0.0, 1.0), estimate.upper_bound
    point = f"the point of {estimate.method}, {figure(estimate.alpha)},"
    if bound is not None and estimate.alpha > bound:
        message = (
            f"{point} is above the bound {figure(bound)}; trust the bound if its assumptions hold."
        )
        yield Alarm("above-bound", message, "up")
    elif not low <= estimate.alpha <= high:
        ends = f"{figure(low)} to {figure(high)} that the counts allow."
        message = f"{point} is outside the interval {ends}"
        yield Alarm("outside-interval", message, "up" if estimate.alpha > high else "down")


CHECKS = (
    few_positives, tiny_bin, no_flat_top, near_one, not_higher, heavy_ties, outside_limits,
)  # fmt: skip
TESTS = (no_flat_top, not_higher)


def methods_disagree(estimate: AlphaEstimate, others: Sequence[AlphaEstimate]) -> Alarms:
    """Readings by other methods, outside the interval on a side on which they are not known to err.

    Where classes overlap, methods that need a pure top bin are too high, as is known of them. Below
    the interval none of them should be, and other methods should be on neither side.
    """
    if estimate.interval is None:
        return
    (low, high), row = estimate.interval, 1 / estimate.n_u
    strange = [
        other for other in others
        if other.method != estimate.method
        and (
            other.alpha < low - row
            or (other.alpha > high + row and find_method(other.method).errs != "up")
        )
    ]  # fmt: skip
    if strange:
        points = [f"{figure(other.alpha)} by {other.method}" for other in strange]
        seen = f"α is {', '.join(points)}, outside the interval"
        message = f"{seen}; rely on none alone, and label a random sample."
        yield Alarm("methods-disagree", message, "either")


def repeated_rows(share: float) -> tuple[Alarm, ...]:
    """Rows that are copies of others: their labels are known to the models that score them.

    >>> [alarm.bias for alarm in repeated_rows(0.5)], repeated_rows(0.01)
    (['down'], ())
    """
    if share <= REPEATED:
        return ()
    message = (
        f"{100 * share:.0f} % of the rows have an exact copy among the others; keep one of each."
    )
    return (Alarm("repeated-rows", message, "down"),)


def near_copies(
    near: float, following: float, column: str | None = None, *, given: str | None = None
) -> tuple[Alarm, ...]:
    """Nearest rows that share their label, and next ones that do not: as if rows were in groups.

    `near` and `following` are shares of unlabeled rows; `column` may name the groups. If one was
    `given`, they are rows of other groups.

    >>> near_copies(0.01, 0.5, "patient_id")[0].message.split("; ")[-1]
    'give the column that says what rows belong to: --group patient_id (group="patient_id").'
    """
    named = "a_column" if column is None else column
    where = "" if given is None else f' in other groups of "{given}"'
    message = (
        f"known positives have near-copies that are labeled too{where}: {100 * near:.0f} % of the "
        f"rows nearest to them are unlabeled, and {100 * following:.0f} % of the next. If rows "
        "belong together, as visits of one patient do, α is likely too low, and the interval too "
        "narrow; "
        f'give the column that says what rows belong to: --group {named} (group="{named}").'
    )
    return (Alarm("near-copies", message, "down", column),)


def group_column(column: str) -> tuple[Alarm, ...]:
    """A column that looks like the name of what rows belong to, with one label per value."""
    message = (
        f'rows with the same "{column}" are nearly always labeled together or not at all. If they '
        "belong together, α is likely too low, and the interval too narrow; say so: "
        f'--group {column} (group="{column}").'
    )
    return (Alarm("group-column", message, "down", column),)


def soft_leak(column: str, without: AlphaEstimate) -> Alarm:
    """A column that the others contradict: without it α is higher."""
    message = (
        f'without "{column}" α is {figure(without.alpha)}, and among unlabeled rows it agrees with '
        "no other column. If it was filled in because of the label, leave it out: "
        f'--drop {quote(column)} (drop=["{column}"]).'
    )
    if without.has_no_signal:
        message = (
            f'only "{column}" separates positives from unlabeled rows. If it was filled in because '
            f'of the label, leave it out: --drop {quote(column)} (drop=["{column}"]).'
        )
    return Alarm("leak", message, "down", column)


def shared_rows(twins: Twins) -> tuple[Alarm, ...]:
    """Positive rows that are also among the unlabeled, more often than chance explains.

    >>> [alarm.code for alarm in shared_rows(Twins(n_p=3, rows=2, distinct=2, usual=0.0))]
    ['shared-rows']
    """
    if not twins.are_unusual:
        return ()
    rows = "row is" if twins.distinct == 1 else "rows are"
    message = f"{twins.distinct:,} distinct positive {rows} also in the unlabeled data;"
    return (
        Alarm("shared-rows", f"{message} if they are the same cases, remove them there.", "up"),
    )


def _bin_of(cut: float, tails: Tails) -> int:
    """The cut that was chosen, or the nearest smaller bin that these tails know."""
    return min(int(np.searchsorted(tails.cuts, cut)), tails.cuts.size - 1)
