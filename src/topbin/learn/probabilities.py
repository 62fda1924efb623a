"""Probabilities for the unlabeled: from out-of-fold scores and the posterior of α.

In U a row is positive with probability α·p_p/p_u, so what is known of it is the mean of
min(1, α·p_p/p_u) over the posterior of α. The ratio p_p/p_u is an isotonic regression of "is in P"
on the score (Zadrozny & Elkan, KDD 2002), because a balanced one, g, gives g/(1 − g).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from topbin.core.checks import Floats, check_fraction, check_scores
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.posterior import AlphaPosterior

TILT, LEAST = 1e-3, 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityMap:
    """A rising map from scores to probabilities, linear between its knots.

    An isotonic fit ties rows that the scores do order, so a thousandth of the probability is a
    logistic curve through the scores: rank by either, the order is the same.

    Attributes
    ----------
    knots, values
        Scores in rising order, and the probability at each.
    centre, width
        Where the logistic curve is one half, and how wide it is.

    >>> ProbabilityMap(np.array([0.0, 1.0]), np.array([0.0, 1.0]), centre=0.5, width=1.0)([0.5])
    array([0.5])
    """

    knots: Floats
    values: Floats
    centre: float
    width: float

    def __call__(self, scores: Any) -> Floats:
        """The probability of each score, strictly between 0 and 1."""
        z = np.asarray(scores, np.float64)
        steps = np.interp(z, self.knots, self.values)
        tilt: Floats = expit((z - self.centre) / self.width)
        return (1 - TILT) * steps + TILT * tilt


Posterior = ProbabilityMap  # as earlier versions stored it


@dataclass(frozen=True, slots=True, eq=False)
class RatioMap:
    """The ratio p_p/p_u as a rising function of the score, and how much of U each knot stands for.

    An isotonic fit is a few flat blocks. Every row of U is in one of them, so the share of U in
    each is all that a mean over U needs.
    """

    knots: Floats
    ratio: Floats
    share_u: Floats
    centre: float
    width: float
    tilt_u: float

    @classmethod
    def of(cls, scores_p: Any, scores_u: Any, weight_p: Any = None) -> "RatioMap":
        """From scores of rows the scorer never saw; `weight_p` is as in `topbin.core.Evidence`."""
        p, u = check_scores(scores_p, "scores_p"), check_scores(scores_u, "scores_u")
        scores = np.concatenate([p, u]).astype(np.float64)
        is_p = np.arange(scores.size) < p.size
        weight = np.where(is_p, 1 / p.size, 1 / u.size)
        if weight_p is not None:
            weight[: p.size] *= weight_p / np.mean(weight_p)
        fit = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        fit.fit(scores, is_p.astype(float), sample_weight=weight)
        knots = fit.X_thresholds_
        block = np.searchsorted(knots, u).clip(max=knots.size - 1)
        share_u = np.bincount(block, minlength=knots.size) / u.size
        centre, width = float(scores.mean()), float(scores.std()) or 1.0
        tilt_u = float(expit((u - centre) / width).mean())
        # A ratio is bounded, because g = 1 means "no row of U here"; and g = 0 only "no row of P",
        # so that for an α near 1 these rows are raised too.
        g = fit.y_thresholds_
        ratio = np.maximum(g, LEAST) / np.maximum(1 - g, LEAST)
        return cls(knots, ratio, share_u, centre, width, tilt_u)

    def values_at(self, alpha: float) -> Floats:
        """The probabilities at the knots if α were known; their mean over U is α.

        Where the ratio says more than certain it is cut to 1, and the rest is raised until the mean
        is α again: that improved Brier score and accuracy in every trial at α = .5 and .9.
        """
        return np.minimum(1.0, scale_to(self.ratio, self.share_u, alpha) * self.ratio)

    def probabilities(self, posterior: AlphaPosterior, alpha: float) -> ProbabilityMap:
        """The mean over the posterior, scaled so that its mean over U is this α."""
        mean = np.mean([self.values_at(a) for a in posterior.draws()], axis=0)
        wanted = min(1.0, max(0.0, (alpha - TILT * self.tilt_u) / (1 - TILT)))
        values = np.minimum(1.0, scale_to(mean, self.share_u, wanted) * mean)
        return ProbabilityMap(self.knots, values, self.centre, self.width)


def fit_probabilities(evidence: Evidence, estimate: AlphaEstimate) -> ProbabilityMap:
    """The probability at each score, from what α was read from and from what is known of α.

    Parameters
    ----------
    evidence
        Scores of rows of P and of U that no model had seen.
    estimate
        α, and its posterior if there is one.

    Returns
    -------
    ProbabilityMap
        A map whose mean over the scores of U is α.

    >>> half = Evidence.of([3.0, 4.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    >>> known = AlphaEstimate(alpha=0.5, n_p=3, n_u=4, method="given")
    >>> fit_probabilities(half, known)([1.0, 4.0]).round(2)
    array([0., 1.])
    """
    alpha = check_fraction(estimate.alpha, "alpha", low_open=False, high_open=False)
    ratio = RatioMap.of(*evidence.scores, evidence.weight_p)
    return ratio.probabilities(posterior_of(estimate), alpha)


def posterior_of(estimate: AlphaEstimate) -> AlphaPosterior:
    """What is known of α; an estimate without a posterior is taken as known."""
    return estimate.posterior or AlphaPosterior.known(estimate.alpha)


def scale_to(ratio: Floats, share: Floats, alpha: float) -> float:
    """The t with Σ share·min(1, t·ratio) = α; without one, the t that makes every ratio > 0 a 1.

    With the largest cut to 1, which have a share k together, t = (α − k)/Σ share·ratio of the
    others, for the first k that is enough.

    >>> quarters = np.full(4, 0.25)
    >>> scale_to(np.array([0.0, 1.0, 2.0, 8.0]), quarters, alpha=0.5)   # 1/3, 2/3 and 1 make 2 of 4
    0.3333333333333333
    """
    order = np.argsort(-ratio, kind="stable")
    order = order[(ratio[order] > 0) & (share[order] > 0)]
    r, s = ratio[order], share[order]
    cut = np.cumsum(s) - s  # the share of those before, which are cut to 1
    if alpha >= s.sum():
        return float(1 / r[-1]) if r.size else 1.0
    t = (alpha - cut) / np.cumsum((s * r)[::-1])[::-1]
    return float(t[np.argmax(t * r <= 1)])
