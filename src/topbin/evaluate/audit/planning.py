"""How many rows to audit: to reject an error, or for an interval of a wanted width.

The widths are those that the limits have on average if the estimate and the model's probabilities
are right; the audit itself does not rely on that.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from topbin.core import InputError
from topbin.core.binomial import exact_lower, exact_upper
from topbin.core.checks import Floats, check_count, check_fraction, is_number
from topbin.core.estimate import Interval
from topbin.core.options import CONFIDENCE
from topbin.evaluate.audit.draw import how_often, reach
from topbin.evaluate.audit.limits import (
    NEEDS_ALIKE,
    NEEDS_RANDOM,
    OF_A_KIND,
    TopBin,
    risk_of_look,
    share_of_upper,
)
from topbin.evaluate.measure import AlphaLike, Finding, read_alpha

MOST_ROWS = 1_000_000
ENOUGH_POWER = 0.8  # of a plan, and of the verdict "agrees"


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """How many rows to audit, and what that buys."""

    n: int
    power: float
    claim: float
    truth: float
    confidence: float

    def __str__(self) -> str:
        return (
            f"{self.n:,} random rows reject α = {self.claim:.3f} at {100 * self.confidence:g} % "
            f"confidence in {100 * self.power:.0f} % of audits if the truth is {self.truth:.3f}."
        )


def plan(
    alpha_hat: AlphaLike,
    error: float,
    *,
    power: float = ENOUGH_POWER,
    confidence: float = CONFIDENCE,
) -> AuditPlan:
    """How many random rows reject α̂ with this power when the truth is α̂ + error.

    The error has a sign. An estimate with an interval is held to its nearer end. Exact power rises
    in a sawtooth; the answer is the number from which on it stays above `power`.

    Parameters
    ----------
    alpha_hat
        The estimate that is audited, or its α.
    error
        How far the truth is from it, with a sign.
    power
        The chance to reject the estimate then.
    confidence
        The level of the rejection.

    Returns
    -------
    AuditPlan
        How many rows, and the power that they have.

    Examples
    --------
    >>> print(plan(0.08, 0.17))
    35 random rows reject α = 0.080 at 95 % confidence in 81 % of audits if the truth is 0.250.
    """
    wanted = check_fraction(power, "power")
    risk = 1 - check_fraction(confidence, "confidence")
    claim, truth = _claim_and_truth(alpha_hat, error, confidence)
    spread = [(p * (1 - p)) ** 0.5 for p in (claim, truth)]
    near = ((norm.isf(risk) * spread[0] + norm.ppf(wanted) * spread[1]) / error) ** 2
    if near > MOST_ROWS:
        raise InputError(
            "TB008",
            f"an error of {error:g} would take about {near:,.0f} audited rows to reject; ask for "
            "a larger error.",
        )
    # A tooth of the saw is about √n/(p(1 − p)) rows long; small plans are searched from 1 row.
    tooth = min(1.0, 8 / (1e-9 + min(spread) * near**0.5))  # relative to the number of rows
    ns = np.arange(max(1, int((1 - tooth) * near - 100)), int((1 + tooth) * near + 300))
    reached = _power(ns, claim, truth, risk)
    first = int(np.flatnonzero(np.append(True, reached < wanted))[-1])
    return AuditPlan(int(ns[first]), float(reached[first]), claim, truth, confidence)


def power(n: int, alpha_hat: AlphaLike, error: float, *, confidence: float = CONFIDENCE) -> float:
    """How often an audit of n random rows rejects α̂ when the truth is α̂ + error.

    Parameters
    ----------
    n
        How many rows are audited.
    alpha_hat, error, confidence
        As in `plan`.

    Returns
    -------
    float
        The share of audits that reject the estimate.

    Examples
    --------
    >>> round(power(50, 0.08, 0.17), 3)       # 50 rows find out that .08 should have been .25
    0.955
    """
    check_count(n, "n")
    risk = 1 - check_fraction(confidence, "confidence")
    claim, truth = _claim_and_truth(alpha_hat, error, confidence)
    return float(_power(np.array([n]), claim, truth, risk)[0])


def _power(n: NDArray[np.int64], claim: float, truth: float, risk: float) -> Floats:
    """P(X rejects claim | truth), X binomial, on the one side where the truth lies."""
    if truth < claim:
        claim, truth = 1 - claim, 1 - truth
    largest_accepted = binom.isf(risk, n, claim)
    return np.asarray(binom.sf(largest_accepted, n, truth), np.float64)


def claimed(alpha_hat: AlphaLike, confidence: float) -> Interval:
    """The range that an estimate claims, including its point.

    >>> claimed(0.3, 0.95)
    (0.3, 0.3)
    """
    value, (low, high), _ = read_alpha(alpha_hat, confidence)
    return min(value, low), max(value, high)


def _claim_and_truth(alpha_hat: AlphaLike, error: float, confidence: float) -> tuple[float, float]:
    low, high = claimed(alpha_hat, confidence)
    if not is_number(error) or error == 0:
        raise InputError("TB008", f"error must be a finite number other than 0; got {error!r}.")
    claim = high if error > 0 else low
    truth = claim + float(error)
    if not -1e-12 <= truth <= 1 + 1e-12:
        raise InputError(
            "TB008",
            f"an error of {error:g} from {claim:.3f} would put the truth at {truth:.3f}, outside "
            "[0, 1].",
        )
    return claim, min(1.0, max(0.0, truth))


def plan_either_way(
    alpha_hat: AlphaLike, error: float, *, confidence: float = CONFIDENCE
) -> AuditPlan:
    """How many rows notice an error of this size, whichever way it goes: what a verdict needs.

    Parameters
    ----------
    alpha_hat, error, confidence
        As in `plan`, but the error has no sign.

    Returns
    -------
    AuditPlan
        The larger one of the two plans.

    Examples
    --------
    >>> plan_either_way(0.08, 0.05).n == max(plan(0.08, 0.05).n, plan(0.08, -0.05).n)
    True
    """
    level, off = check_fraction(confidence, "confidence"), check_fraction(abs(error), "error")
    possible = possible_errors(claimed(alpha_hat, level), off)
    if not possible:
        raise InputError("TB008", no_room(off))
    plans = [plan(claim, signed, confidence=level) for claim, signed in possible]
    return max(plans, key=lambda one: one.n)


def no_room(error: float) -> str:
    """Why an error of this size cannot be noticed."""
    return (
        f"An error of {error:g}, up or down from the estimate's own range, would put α outside "
        "[0, 1]."
    )


def possible_errors(claimed: Interval, error: float) -> list[tuple[float, float]]:
    """The ends of the claim and the signed errors that keep the truth in [0, 1]."""
    both = [(claimed[1], error), (claimed[0], -error)]
    return [(claim, off) for claim, off in both if 0 <= claim + off <= 1]


@dataclass(frozen=True, slots=True)
class WidthPlan(Finding):
    """Labels for an interval no wider than `width`; None where no number of labels is enough.

    `plain` are random rows without a model, `anywhere` random rows whose probabilities are known,
    and `top` random rows of the top bin, whose interval is never narrower than `top_at_best`.
    """

    width: float
    confidence: float
    plain: int | None
    anywhere: int | None = None
    top: int | None = None
    top_at_best: float | None = None

    def __str__(self) -> str:
        lines = [f"For a {100 * self.confidence:g} % interval no wider than {self.width:g}:"]
        random, needs = self.plain, NEEDS_RANDOM
        if self.anywhere is not None:
            random, needs = self.anywhere, "if the model's probabilities are right, more if not"
            needs += f"; {_rows(self.plain)} without the model"
        lines.append(f"  --where anywhere   {_rows(random)}   {needs}")
        if self.top_at_best is not None:
            best = f"; never narrower than {self.top_at_best:.3f}"
            lines.append(f"  --where top        {_rows(self.top)}   {NEEDS_ALIKE}{best}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, eq=False)
class AuditWidths:
    """How wide the interval of an audit of n rows is on average, if α is right.

    `probabilities` are those of all unlabeled rows, if there are any.

    >>> round(AuditWidths(0.3, 10_000).plain(372), 3)
    0.1
    """

    alpha: float
    n_u: int
    probabilities: Any = None
    top: TopBin | None = None
    confidence: float = CONFIDENCE

    @property
    def _risk(self) -> float:
        return risk_of_look(1 - self.confidence, 1) / 2

    def plain(self, n: int) -> float:
        """Of random rows without a model."""
        hits = self.alpha * n
        return float(exact_upper(hits, n, self._risk) - exact_lower(hits, n, self._risk))

    def anywhere(self, n: int) -> float:
        """Of random rows whose probabilities are known."""
        if self.probabilities is None:
            return self.plain(n)
        alpha, f = self.alpha, np.asarray(self.probabilities, np.float64)
        variance, reaches = float(np.mean(f * (1 - f) / how_often(f))), reach(float(f.mean()))
        upper = share_of_upper(f)
        z = [float(norm.isf(2 * self._risk * share)) for share in (upper, 1 - upper)]
        end = 1.0 if n * min(alpha, 1 - alpha) < OF_A_KIND else 0.5
        far = [
            end * one / n + z_one * sqrt((variance + end * one * one / n) / n)
            for one, z_one in zip(reaches, z, strict=True)
        ]
        return min(self.plain(n), min(far[0], 1 - alpha) + min(far[1], alpha))

    def in_top(self, n: int) -> float:
        """Of random rows of the top bin; without one they say nothing."""
        top = self.top
        if top is None:
            return 1.0
        pure = min(1.0, self.alpha * top.above_p / top.n_p * top.n_u / top.above_u)
        low, high = top.limits(pure * n, n, self._risk)
        return high - low

    def of(self, where: str) -> tuple[Callable[[int], float], int]:
        """The width of a kind of audit as a function of n, and how many rows it can draw."""
        if where == "anywhere":
            return self.anywhere, self.n_u
        return self.in_top, 0 if self.top is None else self.top.above_u


def plan_width(
    alpha: float,
    width: float,
    n_u: int,
    *,
    probabilities: Any = None,
    top: TopBin | None = None,
    confidence: float = CONFIDENCE,
) -> WidthPlan:
    """How many labels of each kind make the interval no wider than this, if α is right.

    Parameters
    ----------
    alpha
        The expected α.
    width
        How wide the interval may be.
    n_u
        How many unlabeled rows there are.
    probabilities
        Of all unlabeled rows, if a model gives them.
    top
        The top bin, if it can be audited too.
    confidence
        The level of the interval.

    Returns
    -------
    WidthPlan
        Labels of each kind; None where no number is enough.

    Examples
    --------
    >>> print(plan_width(0.3, 0.1, 10_000))
    For a 95 % interval no wider than 0.1:
      --where anywhere   372 rows   needs only random rows and right answers
    """
    check_fraction(width, "width")
    check_fraction(alpha, "alpha", low_open=False, high_open=False)
    level, n_u = check_fraction(confidence, "confidence"), check_count(n_u, "n_u")
    of = AuditWidths(alpha, n_u, probabilities, top, level)
    plain = _least(of.plain, width, n_u)
    if probabilities is None:
        return WidthPlan(width, level, plain)
    needed = plain, _least(of.anywhere, width, n_u)
    if top is None:
        return WidthPlan(width, level, *needed)
    labels = _least(of.in_top, width, top.above_u)
    return WidthPlan(width, level, *needed, labels, of.in_top(top.above_u))


def _least(width_of: Callable[[int], float], width: float, most: int) -> int | None:
    """The smallest number of rows whose interval is narrow enough; None if `most` is too few."""
    if width_of(most) > width:
        return None
    return bisect_left(range(most), True, lo=1, key=lambda n: width_of(n) <= width)


def _rows(n: int | None) -> str:
    return "more rows than there are" if n is None else f"{n:,} rows"
