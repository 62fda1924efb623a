"""Precision-recall and ROC curves without one known negative, with bands for the whole curve.

With q_p and q_u the shares of positives and of unlabeled rows at or above a threshold:
recall = TPR = q_p, precision = α·q_p/q_u and FPR = (q_u − α·q_p)/(1 − α) (Jain, White & Radivojac,
AAAI 2017). The figures are those of `topbin.metrics` at the same threshold and α.

A band holds at all thresholds at once. With probability `confidence`, the curve of the population
is inside everywhere, and so is that of these unlabeled rows, if their labels were known. Half of
the risk is that of α's interval, if α is estimated; the rest is shared by limits of q_p and q_u
from `bands`. Those of q_p allow for both samples of positives: the known ones, and as many hidden
ones as α implies. Between two cuts the counts are known only as far as those of the cuts, so each
step of a curve has limits, and the band at a place joins all steps that can be there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from topbin.core import AlphaEstimate, Evidence, InputError, Tails
from topbin.core.checks import check_fraction
from topbin.core.defaults import CONFIDENCE
from topbin.evaluate.bands import limits_above
from topbin.evaluate.measure import ALPHA_KNOWN, Floats, Interval, read_alpha, read_source
from topbin.evaluate.threshold import precision_of
from topbin.mpe.estimate import estimate_alpha
from topbin.mpe.intervals import interval, spread_of

POINTS = 500  # thresholds of a curve at most, evenly spread over recall


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Limits of both shares on each step, from the highest threshold to the lowest."""

    p_low: Floats
    p_high: Floats
    u_low: Floats
    u_high: Floats

    def fpr(self, alphas: Interval) -> tuple[Floats, Floats]:
        """Limits of the false positive rate, if α is in this range.

        The rate grows as the threshold falls, so a limit holds for all steps on its side.
        """
        low = np.minimum(*(fpr_of(self.p_high, self.u_low, alpha, 0.0) for alpha in alphas))
        high = np.maximum(*(fpr_of(self.p_low, self.u_high, alpha, 1.0) for alpha in alphas))
        return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Both curves, from the highest threshold to the lowest, and what covers them.

    `alpha_range` is the range of α that the bands allow for. `fpr` is NaN if α is 1.

    >>> found = pu_curves([3.0, 2.0], [3.0, 2.0, 1.0, 0.0], alpha=0.25)     # one of four
    >>> found.recall.tolist(), found.precision.tolist(), found.fpr.round(2).tolist()
    ([0.5, 1.0], [0.5, 0.5], [0.17, 0.33])
    """

    threshold: Floats
    recall: Floats
    precision: Floats
    fpr: Floats
    alpha: float
    alpha_range: Interval
    confidence: float
    steps: Steps
    notes: tuple[str, ...] = ()

    def precision_band(self, recall: Any) -> tuple[Floats, Floats]:
        """The band of the precision at these recalls."""
        at, (first, last) = _places(self.steps.p_low, self.steps.p_high, recall)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = (
                np.nan_to_num(precision_of(at, share, alpha), nan=1.0, posinf=1.0)
                for share, alpha in zip(
                    (self.steps.u_high[last], self.steps.u_low[first]),
                    self.alpha_range,
                    strict=True,
                )
            )
        return np.minimum(1.0, low), np.minimum(1.0, high)

    def tpr_band(self, fpr: Any) -> tuple[Floats, Floats]:
        """The band of the true positive rate at these false positive rates."""
        _, (first, last) = _places(*self.steps.fpr(self.alpha_range), fpr)
        return self.steps.p_low[first], self.steps.p_high[last]


def _places(low: Floats, high: Floats, x: Any) -> tuple[Floats, tuple[Any, Any]]:
    """The first and the last step that can be at each place, from limits that only grow.

    >>> _places(np.array([0.0, 0.1, 0.5]), np.array([0.3, 0.6, 1.0]), [0.2, 0.9])[1]
    (array([0, 2]), array([1, 2]))
    """
    at = np.atleast_1d(np.asarray(x, np.float64))
    last = np.searchsorted(low, at, side="right") - 1
    first = np.searchsorted(high, at)
    return at, (np.clip(first, 0, low.size - 1), np.clip(last, 0, low.size - 1))


def pu_curves(
    scores_p: Any, scores_u: Any = None, *, alpha: Any = None, confidence: float = CONFIDENCE
) -> Curves:
    """Precision, recall and false positive rate at every threshold, without negatives.

    `scores_p` is a `Result`, a fitted classifier, an `Evidence` or `Tails`; or scores, beside
    `scores_u`. Without `alpha`, α is the estimate, and the bands allow for its interval. A number
    is taken as known. The interval of an `AlphaEstimate`, for example one from an audit, is taken
    as it is: its own risk then comes on top of that of the bands.

    >>> found = pu_curves(np.arange(1000.0), np.arange(-1000.0, 1000.0), alpha=0.5)
    >>> low, high = found.precision_band(0.5)       # half of the positives, and no negative
    >>> bool(0.75 < low[0] < 0.85), float(high[0])
    (True, 1.0)
    """
    level = check_fraction(confidence, "confidence")
    evidence, estimate = read_source(scores_p, scores_u)
    tails = evidence.independent
    tails.require_unlabeled()
    value, ends, risk, notes = _alpha(evidence, estimate, alpha, level)
    tails = _thinned(tails)
    steps = _steps(tails, value, risk, spread_of(evidence.crossfitted))
    precision = _precision(tails.q_p, tails.q_u, value)
    shown = tails.cuts.astype(np.float64), tails.q_p, precision, fpr_of(tails.q_p, tails.q_u, value)
    return Curves(*shown, value, ends, level, steps, notes)


def _alpha(
    evidence: Evidence, estimate: AlphaEstimate | None, alpha: Any, level: float
) -> tuple[float, Interval, float, tuple[str, ...]]:
    """α, the range that is allowed for, the risk that is left for the shares, and notes."""
    if isinstance(alpha, AlphaEstimate) and alpha.interval is not None:
        note = (
            f"the interval of α is at {100 * (alpha.confidence or 0):g} %; both hold together less"
        )
        return alpha.alpha, alpha.interval, 1 - level, (f"{note} often than the band alone.",)
    if alpha is not None:
        value, ends, notes = read_alpha(alpha, level)
        return value, ends, 1 - level, notes or (ALPHA_KNOWN,)
    if estimate is None:
        estimate = estimate_alpha(evidence, confidence=None)
    risk = (1 - level) / 2
    low, high = interval(evidence.independent, 1 - risk, crossfitted=evidence.crossfitted)
    # The point can be outside; its curve must not be.
    return estimate.alpha, (min(low, estimate.alpha), max(high, estimate.alpha)), risk, ()


def _thinned(tails: Tails) -> Tails:
    """At most `POINTS` cuts, from the highest to the lowest."""
    wanted = np.linspace(1, tails.above_p[0], POINTS)
    last = np.searchsorted(-tails.above_p, -wanted, side="right") - 1
    return tails.at(np.unique(np.clip(last, 0, None))[::-1])


def _steps(tails: Tails, alpha: float, risk: float, spread: float) -> Steps:
    """Above the first cut no positive is left, and below the last one anything can be."""
    how: Any = {"spread": spread, "second": max(1.0, alpha * tails.n_u)}
    before, after = np.concatenate([[0], tails.above_p]), np.append(tails.above_p - 1, tails.n_p)
    p_low, _ = limits_above(before, tails.n_p, risk / 2, **how)
    _, p_high = limits_above(np.maximum(after, before), tails.n_p, risk / 2, **how)
    above_u = np.concatenate([[0], tails.above_u, [tails.n_u]])
    u_low, u_high = limits_above(above_u, tails.n_u, risk / 2, spread=spread)
    return Steps(p_low, p_high, u_low[:-1], u_high[1:])


def _precision(q_p: Floats, q_u: Floats, alpha: float) -> Floats:
    """The precision, cut at 1, which it also is where no unlabeled row is above."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = precision_of(q_p, q_u, alpha)
    return np.asarray(np.minimum(1.0, np.nan_to_num(found, nan=1.0, posinf=1.0)))


def fpr_of(q_p: Any, q_u: Any, alpha: float, undefined: float = np.nan) -> Any:
    """The share of negatives above a threshold, cut to [0, 1]; undefined if there are none."""
    if alpha == 1:
        return np.full_like(q_p, undefined)
    return np.clip((q_u - alpha * q_p) / (1 - alpha), 0.0, 1.0)


def require_negatives(curves: Curves) -> None:
    """Refuse a ROC curve if α is 1."""
    if curves.alpha == 1:
        raise InputError(
            "TB008",
            "alpha is 1: no unlabeled row is negative, so there is no false positive rate. "
            "Look at precision and recall instead.",
        )
