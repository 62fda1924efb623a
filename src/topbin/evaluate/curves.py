"""Precision-recall and ROC curves without one known negative, with bands for the whole curve.

With q_p and q_u the shares of positives and of unlabeled rows at or above a threshold:
recall = TPR = q_p, precision = α·q_p/q_u and FPR = (q_u − α·q_p)/(1 − α) (Jain, White & Radivojac,
AAAI 2017). The figures are those of `topbin.metrics` at the same threshold and α.

A band is made of draws of the whole curve: α from its posterior, and both shares as a Bayesian
bootstrap has them (Rubin, Annals of Statistics 1981), q_p once more for the hidden positives. The
draws that are most extreme somewhere are left out, and the band contains all of the others. So it
holds at all thresholds at once. For coverage see bench/results/curve_coverage.md.

Of a list of the k best rows, the precision is the mean of their own probabilities. Its ends square
and add three distances (Zou & Donner, Statistics in Medicine 2008): to the same mean with α at the
end of its interval; to the limit of a share of k rows; and to what follows from the limit of the
share of the known positives that score as high (Clopper & Pearson 1934).
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from topbin.core import AlphaEstimate, Evidence, Tails
from topbin.core.binomial import share_below
from topbin.core.checks import Floats, Scores, check_fraction
from topbin.core.estimate import RANGE_ONLY, Interval
from topbin.core.formatting import percent
from topbin.core.options import CONFIDENCE
from topbin.core.posterior import AlphaPosterior
from topbin.evaluate.measure import ALPHA_KNOWN, Share, read_source
from topbin.evaluate.metrics import precision_of
from topbin.learn.probabilities import RatioMap, posterior_of
from topbin.mpe.estimate import estimate_alpha
from topbin.mpe.overlap import alpha_posterior

POINTS = 500  # thresholds of a curve at most, evenly spread over recall
SEED, DRAWS = 2021, 1000
SLIGHT, NOTHING, DIGITS = 1e-9, 1e-12, 9


@dataclass(frozen=True, slots=True, eq=False)
class CurveDraws:
    """Equally likely α and shares of both samples above each threshold, from none to all."""

    alpha: Floats
    q_p: Floats
    q_u: Floats

    @classmethod
    def of(cls, tails: Tails, posterior: AlphaPosterior) -> "CurveDraws":
        """Draws for tails of independent rows, from the highest threshold to the lowest."""
        rng = np.random.default_rng(SEED)
        alpha = rng.permutation(posterior.draws(DRAWS))
        known = _shares(tails.above_p, tails.n_p, rng)
        hidden = np.maximum(1, np.rint(alpha * tails.n_u)).astype(np.int64)
        rings = np.diff(known, axis=1).clip(0)
        drawn = rng.multinomial(hidden, rings / rings.sum(axis=1, keepdims=True))
        q_p = np.column_stack([np.zeros(DRAWS), np.cumsum(drawn, axis=1) / hidden[:, None]])
        return cls(alpha, q_p, _shares(tails.above_u, tails.n_u, rng))

    def band(
        self, curve: Any, places: tuple[Floats, Floats], confidence: float
    ) -> tuple[Floats, Floats]:
        """The least and the largest value at each place, of the draws that are nowhere extreme.

        Where a curve is vertical, the first of both places reads its low end, and the second its
        high end.
        """
        draws = list(zip(self.q_p, self.q_u, self.alpha, strict=True))
        low, high = (np.array([curve(at, *one) for one in draws]) for at in places)
        # Equal values have equal ranks, or ties would make a draw extreme.
        ranks = rankdata(np.hstack([low, high]).round(DIGITS), axis=0) / (DRAWS + 1)
        extreme = abs(ranks - 0.5).max(axis=1)
        inner = np.argsort(extreme, kind="stable")[: max(1, round(confidence * DRAWS))]
        return low[inner].min(axis=0), high[inner].max(axis=0)


def _shares(above: Any, n: int, rng: np.random.Generator) -> Floats:
    """Draws of the share of a population above each threshold, after counts of n of its rows."""
    rows = np.diff(np.concatenate([[0.0], above, [n]]))
    rings = rng.standard_gamma(np.maximum(rows + np.append(np.zeros(rows.size - 1), 1), NOTHING),
                               (DRAWS, rows.size))  # fmt: skip
    shares = np.cumsum(rings, axis=1) / rings.sum(axis=1, keepdims=True)
    return np.column_stack([np.zeros(DRAWS), shares])


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
    draws: CurveDraws = field(repr=False)
    notes: tuple[str, ...] = ()

    def precision_band(self, recall: Any) -> tuple[Floats, Floats]:
        """The band of the precision at these recalls, the curve itself included."""
        at = np.maximum(_array(recall), SLIGHT)
        low, high = self.draws.band(precision_at, (at, at - SLIGHT / 2), self.confidence)
        own = np.interp(at, self.recall, self.precision)
        return np.minimum(low, own), np.minimum(1.0, np.maximum(high, own))

    def tpr_band(self, fpr: Any) -> tuple[Floats, Floats]:
        """The band of the true positive rate at these false positive rates, the curve included."""
        at = _array(fpr)
        low, high = self.draws.band(tpr_at, (at - SLIGHT, at), self.confidence)
        own = np.interp(at, np.append(0, self.fpr), np.append(0, self.recall))  # NaN if α is 1
        return np.fmin(low, own), np.fmax(high, own)


def precision_at(recall: Floats, q_p: Floats, q_u: Floats, alpha: float) -> Floats:
    """The precision at each recall, from both shares at falling thresholds."""
    picked = np.maximum(np.interp(recall, q_p, q_u), NOTHING)
    return np.minimum(1.0, np.asarray(precision_of(recall, picked, alpha), np.float64))


def tpr_at(fpr: Floats, q_p: Floats, q_u: Floats, alpha: float) -> Floats:
    """The true positive rate at each false positive rate, which grows as the threshold falls."""
    if alpha == 1:  # no negative is in the way
        return np.ones_like(fpr)
    return np.interp(fpr, _rising(fpr_of(q_p, q_u, alpha)), q_p)


def fpr_of(q_p: Floats, q_u: Floats, alpha: float) -> Floats:
    """The share of negatives above a threshold; not yet cut to [0, 1]."""
    return (q_u - alpha * q_p) / (1 - alpha)


def pu_curves(
    scores_p: Any, scores_u: Any = None, *, alpha: Any = None, confidence: float = CONFIDENCE
) -> Curves:
    """Precision, recall and false positive rate at every threshold, without negatives.

    Parameters
    ----------
    scores_p, scores_u
        A `Result`, a fitted classifier, an `Evidence` or `Tails`; or scores, beside `scores_u`.
    alpha
        None: the estimate. An `AlphaEstimate`, or a known number. Of an estimate, the bands allow
        for its posterior.
    confidence
        The level of the bands.

    Returns
    -------
    Curves
        Threshold, recall, precision and false positive rate, with their bands.

    Examples
    --------
    >>> found = pu_curves(np.arange(1000.0), np.arange(-1000.0, 1000.0), alpha=0.5)
    >>> low, high = found.precision_band(0.5)       # half of the positives, and no negative
    >>> bool(0.85 < low[0] < 0.95), float(high[0])
    (True, 1.0)
    """
    level = check_fraction(confidence, "confidence")
    evidence, estimate = read_source(scores_p, scores_u)
    evidence.tails.require_unlabeled()
    value, posterior, notes = _alpha(evidence, estimate, alpha)
    tails = _thinned(evidence.independent)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = precision_of(tails.q_p, tails.q_u, value)
    fpr = np.full(tails.cuts.size, np.nan) if value == 1 else fpr_of(tails.q_p, tails.q_u, value)
    shown = np.fmin(1.0, precision), np.clip(_rising(fpr), 0.0, 1.0)  # 1 too if nothing is picked
    at, draws = (tails.cuts.astype(np.float64), tails.q_p), CurveDraws.of(tails, posterior)
    return Curves(*at, *shown, value, posterior.interval(level), level, draws, notes)


def _alpha(
    evidence: Evidence, estimate: AlphaEstimate | None, alpha: Any
) -> tuple[float, AlphaPosterior, tuple[str, ...]]:
    """α, what is known of it, and notes."""
    given = alpha if isinstance(alpha, AlphaEstimate) else estimate
    if alpha is not None and given is not alpha:
        known = check_fraction(alpha, "alpha", low_open=False, high_open=False)
        return known, AlphaPosterior.known(known), (ALPHA_KNOWN,)
    if given is None:
        given = estimate_alpha(evidence, confidence=None)
    posterior = given.posterior or alpha_posterior(evidence.tails, effective=evidence.effective)
    return given.alpha, posterior, ()


def _thinned(tails: Tails) -> Tails:
    """At most `POINTS` cuts, from the highest to the lowest."""
    wanted = np.linspace(min(1, tails.above_p[-1]), tails.above_p[0], POINTS)
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


UNKNOWN = "their precision cannot be estimated from the scores that gave α"


@dataclass(frozen=True, slots=True, eq=False)
class ListPrecision:
    """For each k the precision of the k best rows, with both ends of its interval."""

    value: Floats
    low: Floats
    high: Floats

    @property
    def of_others(self) -> "ListPrecision":
        """How many of the same rows are not positive."""
        return ListPrecision(1 - self.value, 1 - self.high, 1 - self.low)


def precision_of_best(
    likely: Floats,
    likely_at: tuple[Floats, Floats],
    known_above: Share,
    confidence: float,
    *,
    worth: float = 1.0,
) -> ListPrecision:
    """How many of the k best rows are positive, for each k.

    `likely` are the rows' probabilities, best first, and `likely_at` those with α at either end of
    its interval. `known_above` is the share of the known positives that score as high as each row.
    Rows in groups count as `worth` independent rows each.

    >>> likely, known = np.repeat([1.0, 0.5], 100), Share(np.full(200, 1.0), 10_000)
    >>> found = precision_of_best(likely, (likely, likely), known, 0.95)      # α is known
    >>> found.value[[99, 199]].tolist(), found.low[[99, 199]].round(2).tolist()
    ([1.0, 0.75], [0.96, 0.68])
    """
    n = np.arange(1, likely.size + 1)
    value, *ends = (np.cumsum(each) / n for each in (likely, *likely_at))
    share = np.maximum(known_above.value, 1 / known_above.n)
    known = [limit / share * value for limit in Share(share, known_above.n).limits(confidence)]
    sides = zip(Share(value, n * worth).limits(confidence), ends, known, strict=True)
    low, high = (
        value + sign * np.sqrt(sum(np.maximum(0.0, sign * (end - value)) ** 2 for end in side))
        for sign, side in zip((-1, 1), sides, strict=True)
    )
    return ListPrecision(value, np.maximum(0.0, low), np.minimum(1.0, high))


def list_precision(evidence: Evidence, estimate: AlphaEstimate, ranked: Scores) -> ListPrecision:
    """The precision of the k best rows for each k, from their scores, best first.

    Parameters
    ----------
    evidence
        The scores that α was read from.
    estimate
        α, and what is known of it.
    ranked
        The scores of the listed rows, best first.

    Returns
    -------
    ListPrecision
        For each k the precision of the k best rows, with its interval.

    Examples
    --------
    >>> evidence = Evidence.of(np.repeat([1.0, 0.0], [90, 10]), np.repeat([1.0, 0.0], 100))
    >>> half = AlphaEstimate(alpha=0.5, n_p=100, n_u=200, method="known")
    >>> list_precision(evidence, half, np.repeat([1.0, 0.0], 100)).value[[99, 199]].round(2)
    array([0.9, 0.5])
    """
    ratio = RatioMap.of(*evidence.scores, evidence.weight_p)
    ends = estimate.interval or (estimate.alpha, estimate.alpha)
    low, high = (np.interp(ranked, ratio.knots, ratio.values_at(end)) for end in ends)
    likely = ratio.probabilities(posterior_of(estimate), estimate.alpha)(ranked)
    above = 1 - share_below(ranked, np.sort(evidence.scores[0]))
    known = Share(above, max(1.0, evidence.effective[0]))
    worth = 1.0 if estimate.worth is None else estimate.worth[1] / estimate.n_u
    level = estimate.confidence or CONFIDENCE
    best = precision_of_best(likely, (low, high), known, level, worth=worth)
    # The best rows hold at least as many positives as rows drawn at random would.
    drawn, *drawn_at = (np.full(ranked.size, alpha) for alpha in (estimate.alpha, *ends))
    every = Share(np.ones(ranked.size), known.n)
    random = precision_of_best(drawn, (drawn_at[0], drawn_at[1]), every, level, worth=worth)
    low = np.minimum(best.value, np.maximum(best.low, random.low))
    # And no more than there are among all rows.
    most = ends[1] * estimate.n_u / np.arange(1, ranked.size + 1)
    return replace(best, low=low, high=np.maximum(best.value, np.minimum(best.high, most)))


def what_to_expect(
    estimate: AlphaEstimate,
    precision: float | None,
    low: float | None,
    high: float | None,
    what: str = "positive",
) -> str:
    """How many of some rows are positive, in words, from their precision and its interval.

    If there are too few known positives for a single α, only the range is told.

    >>> found = AlphaEstimate(alpha=0.225, interval=(0.16, 0.33), n_p=200, n_u=900, method="bbe")
    >>> what_to_expect(found, 0.83, 0.63, 0.96)
    'about 83 % positive (63 % to 96 %)'
    """
    if precision is None:
        return UNKNOWN
    about = f"about {percent_of(precision)} % {what}"
    if estimate.interval is None or low is None or high is None:
        return about
    ends = f"{percent_of(low)} %", f"{percent_of(high)} %"
    if estimate.worth_p < RANGE_ONLY:
        return f"between {' and '.join(ends)} {what}"
    return f"{about} ({' to '.join(ends)})"


def percent_of(share: float) -> str:
    """A share as people say it: whole percents, and more digits only below one.

    >>> percent_of(0.834), percent_of(0.0042)
    ('83', '0.42')
    """
    return f"{100 * share:.0f}" if share >= 0.01 or share == 0 else percent(share)
