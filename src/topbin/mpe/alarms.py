"""Alarms: reasons to doubt an estimate, each with the direction of the error.

No alarm is not a proof. Whether the top bin is pure cannot be verified from scores: a test of the
bin's top half against the rest has little power, so it can raise doubt but never remove it.
All alarms read the tails only at the geometric ranks, so thinned tails raise the same ones.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import norm

from topbin.core.defaults import FEW_POSITIVES
from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.core.hashing import Twins
from topbin.core.tails import Tails
from topbin.mpe.bbe_cp import at_ranks, geometric_ranks

TINY_BIN = 20
NEAR_ONE = 0.95
DISAGREE = 0.1
LEVEL = 0.025
CLEARLY = 0.001


def find_alarms(
    estimate: AlphaEstimate, tails: Tails, others: Sequence[AlphaEstimate] = ()
) -> tuple[Alarm, ...]:
    """Every alarm that these tails and these other estimates raise.

    >>> est = AlphaEstimate(alpha=0.3, n_p=30, n_u=30, method="bbe")
    >>> scores_p, scores_u = np.arange(70.0, 100.0), np.arange(0.0, 90.0, 3.0)
    >>> [alarm.code for alarm in find_alarms(est, Tails.from_scores(scores_p, scores_u))]
    ['few-positives']
    """
    read = at_ranks(tails, geometric_ranks(tails.n_p))
    checks: tuple[Callable[[AlphaEstimate, Tails], Alarm | None], ...] = (
        few_positives, tiny_bin, no_flat_top, near_one, not_higher, heavy_ties,
        outside_interval,
    )  # fmt: skip
    found = [check(estimate, read) for check in checks] + [methods_disagree(estimate, others)]
    return tuple(alarm for alarm in found if alarm is not None)


def few_positives(estimate: AlphaEstimate, tails: Tails) -> Alarm | None:
    """Below 100 positives the point estimate of α = .5 was seen anywhere from .39 to .55."""
    if estimate.n_p >= FEW_POSITIVES:
        return None
    message = f"only {estimate.n_p} known positives; trust the interval more than the point."
    return Alarm("few-positives", message, "either")


def tiny_bin(estimate: AlphaEstimate, tails: Tails) -> Alarm | None:
    """The ratio of a few rows is mostly luck."""
    if estimate.cut is None or tails.n_p < TINY_BIN:
        return None
    best = _bin_of(estimate.cut, tails)
    x, y = int(tails.above_p[best]), int(tails.above_u[best])
    if min(x, y) >= TINY_BIN:
        return None
    message = f"the chosen top bin contains only {x:,} positives and {y:,} unlabeled rows."
    return Alarm("tiny-bin", message, "either")


def no_flat_top(estimate: AlphaEstimate, tails: Tails) -> Alarm | None:
    """In a pure bin the upper and lower half have the same ratio; here the lower one is higher."""
    if estimate.cut is None:
        return None
    best = _bin_of(estimate.cut, tails)
    half = int(np.argmin(np.abs(tails.above_p - tails.above_p[best] / 2)))
    x = np.array([tails.above_p[half], tails.above_p[best] - tails.above_p[half]])
    y = np.array([tails.above_u[half], tails.above_u[best] - tails.above_u[half]])
    if min(x.min(), y.min()) < 5:
        return None
    rise = np.log(y[1] / x[1]) - np.log(y[0] / x[0])
    if rise <= norm.ppf(1 - LEVEL) * sqrt((1 / x + 1 / y).sum()):
        return None
    message = (
        "the ratio still rises inside the chosen top bin, so the bin seems to contain negatives."
    )
    return Alarm("no-flat-top", message, "up")


def near_one(estimate: AlphaEstimate, tails: Tails) -> Alarm | None:
    """Near 1, the model may simply not have learned to separate positives from the rest."""
    if estimate.alpha < NEAR_ONE:
        return None
    message = (
        f"α = {estimate.alpha:.3f} means that nearly all unlabeled rows are positive; a model that "
        "learned nothing gives the same."
    )
    return Alarm("near-one", message, "up")


def not_higher(estimate: AlphaEstimate, tails: Tails) -> Alarm | None:
    """One-sided Kolmogorov–Smirnov tests at the cuts: do positives score higher, or even lower?"""
    gaps = tails.q_p - tails.q_u
    if _differ(gaps, tails, LEVEL):
        return None
    if _differ(-gaps, tails, CLEARLY):
        message = (
            "positives score lower than the unlabeled rows; are your scores reversed? "
            "Higher must mean more positive."
        )
        return Alarm("reversed-scores", message, "either")
    message = (
        "positives and unlabeled rows have the same scores; these scores cannot separate them."
    )
    return Alarm("indistinguishable", message, "up")


def _differ(gaps: Any, tails: Tails, level: float) -> bool:
    """The one-sided Kolmogorov–Smirnov test of these gaps between two tails."""
    return bool(np.max(gaps) > sqrt(-np.log(level) / 2 * (1 / tails.n_p + 1 / tails.n_u)))


def heavy_ties(estimate: AlphaEstimate, tails: Tails) -> Alarm | None:
    """Tied scores cannot be separated, so a pure part of a tied group cannot be found."""
    wanted = geometric_ranks(tails.n_p).size
    if tails.cuts.size >= wanted / 2 or wanted < 10:
        return None
    message = (
        f"positives have few distinct scores ({tails.cuts.size} instead of {wanted}), so the top "
        "bin can be chosen only roughly."
    )
    return Alarm("ties", message, "up")


def outside_interval(estimate: AlphaEstimate, tails: Tails) -> Alarm | None:
    """The method's point contradicts the counts."""
    if estimate.interval is None:
        return None
    low, high = estimate.interval
    if low <= estimate.alpha <= high:
        return None
    message = (
        f"{estimate.method} gives {estimate.alpha:.3f}, outside the interval {low:.3f} to "
        f"{high:.3f} that the counts allow."
    )
    return Alarm("outside-interval", message, "up" if estimate.alpha > high else "down")


def methods_disagree(estimate: AlphaEstimate, others: Sequence[AlphaEstimate]) -> Alarm | None:
    """Two readings of the same scores that differ by more than a tenth."""
    points = {other.method: other.alpha for other in (*others, estimate)}
    low, high = min(points, key=points.__getitem__), max(points, key=points.__getitem__)
    if points[high] - points[low] <= DISAGREE:
        return None
    message = f"methods disagree: {low} {points[low]:.3f}, {high} {points[high]:.3f}."
    return Alarm("methods-disagree", message, "either")


def shared_rows(twins: Twins) -> tuple[Alarm, ...]:
    """Positive rows that are also among the unlabeled, more often than chance explains.

    >>> [alarm.code for alarm in shared_rows(Twins(n_p=3, rows=2, distinct=2, usual=0.0))]
    ['shared-rows']
    """
    if not twins.are_unusual:
        return ()
    shared = twins.distinct
    message = (
        f"{shared:,} distinct positive row{'s' if shared > 1 else ''} also stand among the "
        "unlabeled; if they are the same cases, remove them there."
    )
    return (Alarm("shared-rows", message, "up"),)


def _bin_of(cut: float, tails: Tails) -> int:
    """The cut that was chosen, or the nearest smaller bin that these tails know."""
    return min(int(np.searchsorted(tails.cuts, cut)), tails.cuts.size - 1)
