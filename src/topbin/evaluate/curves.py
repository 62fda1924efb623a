"""Precision-recall and ROC curves without one known negative, with bands for the whole curve.

With q_p and q_u the shares of positives and of unlabeled rows at or above a threshold:
recall = TPR = q_p, precision = α·q_p/q_u and FPR = (q_u − α·q_p)/(1 − α) (Jain, White & Radivojac,
AAAI 2017). The figures are those of `topbin.metrics` at the same threshold and α.

A band holds at all thresholds at once: with probability `confidence`, the curve of the population
is inside everywhere, and so is that of these unlabeled rows, if their labels were known. It is made
as intervals of other metrics are: how far the limits of q_p, of q_u and of α move the curve is
squared and added. Here the limits of the shares hold at all thresholds at once (`bands`). Those of
q_p allow for both samples of positives, the known ones and as many hidden ones as α implies. If α
is estimated, its interval has half of the risk. For coverage see bench/results/curve_coverage.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from topbin.core import AlphaEstimate, Evidence, InputError, Tails
from topbin.core.checks import check_fraction
from topbin.core.defaults import CONFIDENCE
from topbin.evaluate.bands import limits_above
from topbin.evaluate.measure import Floats, Interval, read_alpha, read_source, square_and_add
from topbin.evaluate.threshold import precision_of
from topbin.mpe.estimate import estimate_alpha
from topbin.mpe.intervals import interval, spread_of

POINTS = 500  # thresholds of a curve at most, evenly spread over recall
SLIGHT, NOTHING = 1e-9, 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Limited:
    """A share at each threshold, from the highest to the lowest, with limits for all of them."""

    value: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, above: Any, n: int, risk: float, **how: Any) -> "Limited":
        """From counts; no row is above the first threshold, and all are above the last."""
        counts = np.concatenate([[0.0], above, [n]])
        return cls(counts / n, *limits_above(counts, n, risk, **how))


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
    q_p: Limited
    q_u: Limited
    notes: tuple[str, ...] = ()

    def precision_band(self, recall: Any) -> tuple[Floats, Floats]:
        """The band of the precision at these recalls."""
        at = np.maximum(_array(recall), SLIGHT)
        low, high = (np.exp(end) for end in self._band(log_precision_at, at, at - SLIGHT / 2))
        # A recall that no known positive is below can mean that all rows are picked.
        low = np.where(at > self.q_p.low[-1], np.minimum(low, self.alpha_range[0]), low)
        return np.minimum(1.0, low), np.minimum(1.0, high)

    def tpr_band(self, fpr: Any) -> tuple[Floats, Floats]:
        """The band of the true positive rate at these false positive rates."""
        at = _array(fpr)
        low, high = self._band(tpr_at, at - SLIGHT, at)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def _band(self, curve: Any, at_low: Floats, at_high: Floats) -> tuple[Floats, Floats]:
        """Limits of a curve; where it is vertical, the place of a limit says which end counts."""
        values = self.q_p.value, self.q_u.value, self.alpha
        limits = *((one.low, one.high) for one in (self.q_p, self.q_u)), self.alpha_range
        low, _ = square_and_add(lambda *shares: curve(at_low, *shares), values, limits)
        _, high = square_and_add(lambda *shares: curve(at_high, *shares), values, limits)
        return np.asarray(low), np.asarray(high)


def log_precision_at(recall: Floats, q_p: Floats, q_u: Floats, alpha: float) -> Floats:
    """The logarithm of the precision at each recall, from both shares at falling thresholds.

    A precision is a product of factors; those add up in the logarithm.
    """
    picked = np.maximum(np.interp(recall, q_p, q_u), NOTHING)
    return np.asarray(np.log(np.maximum(precision_of(recall, picked, alpha), NOTHING)))


def tpr_at(fpr: Floats, q_p: Floats, q_u: Floats, alpha: float) -> Floats:
    """The true positive rate at each false positive rate, which grows as the threshold falls."""
    if alpha == 1:  # only as the end of an interval: no negative is in the way
        return np.ones_like(fpr)
    return np.interp(fpr, _rising(fpr_of(q_p, q_u, alpha)), q_p)


def fpr_of(q_p: Floats, q_u: Floats, alpha: float) -> Floats:
    """The share of negatives above a threshold; not yet cut to [0, 1]."""
    return (q_u - alpha * q_p) / (1 - alpha)


def pu_curves(
    scores_p: Any, scores_u: Any = None, *, alpha: Any = None, confidence: float = CONFIDENCE
) -> Curves:
    """Precision, recall and false positive rate at every threshold, without negatives.

    `scores_p` is a `Result`, a fitted classifier, an `Evidence` or `Tails`; or scores, beside
    `scores_u`. Without `alpha`, α is the estimate, and the bands allow for its interval. `alpha`
    may be an `AlphaEstimate`, whose interval is then used, or a known number.

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
    how: Any = {"spread": spread_of(evidence.crossfitted)}
    hidden = max(1.0, value * tails.n_u)
    q_p = Limited.of(tails.above_p, tails.n_p, risk, second=hidden, **how)
    q_u = Limited.of(tails.above_u, tails.n_u, risk, **how)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = precision_of(tails.q_p, tails.q_u, value)
    fpr = np.full(tails.cuts.size, np.nan) if value == 1 else fpr_of(tails.q_p, tails.q_u, value)
    shown = np.fmin(1.0, precision), np.clip(_rising(fpr), 0.0, 1.0)  # 1 too if nothing is picked
    at = tails.cuts.astype(np.float64), tails.q_p
    return Curves(*at, *shown, value, ends, level, q_p, q_u, notes)


def _alpha(
    evidence: Evidence, estimate: AlphaEstimate | None, alpha: Any, level: float
) -> tuple[float, Interval, float, tuple[str, ...]]:
    """α, the range that the bands allow for, the risk of the shares, and notes."""
    if alpha is not None:
        value, ends, notes = read_alpha(alpha, level)
        return value, ends, 1 - evidence.level(level), notes
    if estimate is None:
        estimate = estimate_alpha(evidence, confidence=None)
    risk = (1 - evidence.level(level)) / 2
    how: Any = {"crossfitted": evidence.crossfitted, "kappa": evidence.kappa}
    low, high = interval(evidence.independent, 1 - risk, **how)
    # The point can be outside; its curve must not be.
    return estimate.alpha, (min(low, estimate.alpha), max(high, estimate.alpha)), risk, ()


def _thinned(tails: Tails) -> Tails:
    """At most `POINTS` cuts, from the highest to the lowest."""
    wanted = np.linspace(1, tails.above_p[0], POINTS)
    last = np.searchsorted(-tails.above_p, -wanted, side="right") - 1
    return tails.at(np.unique(np.clip(last, 0, None))[::-1])


def _rising(rates: Floats) -> Floats:
    """A rate that chance makes fall somewhere, midway between the highest before and lowest after.

    >>> _rising(np.array([0.0, 0.2, 0.1, 0.4]))
    array([0.  , 0.15, 0.15, 0.4 ])
    """
    after = np.minimum.accumulate(rates[::-1])[::-1]
    return (np.maximum.accumulate(rates) + after) / 2


def _array(x: Any) -> Floats:
    return np.atleast_1d(np.asarray(x, np.float64))


def require_negatives(curves: Curves) -> None:
    """Refuse a ROC curve if α is 1."""
    if curves.alpha == 1:
        raise InputError(
            "TB008",
            "alpha is 1: no unlabeled row is negative, so there is no false positive rate. "
            "Look at precision and recall instead.",
        )
