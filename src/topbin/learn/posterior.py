"""Probabilities for the unlabeled: from out-of-fold scores and α to p(positive | score).

In U a row is positive with probability α·p_p/p_u. The ratio p_p/p_u is an isotonic regression of
"is in P" on the score (Zadrozny & Elkan, KDD 2002), because a balanced one, g, gives g/(1 − g).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from topbin.core.checks import check_fraction, check_scores
from topbin.learn.select import Floats

TILT = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """A rising map from scores to probabilities, linear between its knots.

    An isotonic fit ties rows that the scores do order, so a thousandth of the probability is a
    logistic curve through the scores: rank by either, the order is the same.

    >>> Posterior(np.array([0.0, 1.0]), np.array([0.0, 1.0]), centre=0.5, width=1.0)([0.5])
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


def fit_posterior(scores_p: Any, scores_u: Any, alpha: float, weight_p: Any = None) -> Posterior:
    """Fit the map on scores of rows the scorer never saw; its mean over U is α.

    Where the ratio says more than certain it is cut to 1, and the rest is raised until the mean is
    α again: that improved Brier score and accuracy in every trial at α = .5 and .9. `weight_p` is
    how much each positive counts, as in `topbin.core.Evidence`.

    >>> posterior = fit_posterior([3.0, 4.0, 4.0], [1.0, 2.0, 3.0, 4.0], alpha=0.5)
    >>> posterior([1.0, 4.0]).round(2)
    array([0., 1.])
    """
    p, u = check_scores(scores_p, "scores_p"), check_scores(scores_u, "scores_u")
    check_fraction(alpha, "alpha", low_open=False, high_open=False)
    scores = np.concatenate([p, u]).astype(np.float64)
    is_p = np.arange(scores.size) < p.size
    weight = np.where(is_p, 1 / p.size, 1 / u.size)
    if weight_p is not None:
        weight[: p.size] *= weight_p / np.mean(weight_p)
    fit = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    fit.fit(scores, is_p.astype(float), sample_weight=weight)
    scale = _scale_to(_ratio(fit.predict(u)), alpha)
    values = np.minimum(1.0, scale * _ratio(fit.y_thresholds_))
    return posterior_through(fit.X_thresholds_, values, scores)


def posterior_through(knots: Floats, values: Floats, scores: Floats) -> Posterior:
    """The map with these knots, its tilt placed by the mean and spread of the scores."""
    return Posterior(knots, values, float(scores.mean()), float(scores.std()) or 1.0)


def _ratio(g: Floats) -> Floats:
    """p_p/p_u of a balanced g; bounded, because 1 means "no row of U here"."""
    return g / np.maximum(1 - g, 1e-9)


def _scale_to(ratio: Floats, alpha: float) -> float:
    """The t with mean min(1, t·ratio) = α; without one, the t that makes every ratio > 0 a 1.

    With the k largest cut to 1, t = (α·m − k)/(sum of the others), for the first k that is enough.

    >>> _scale_to(np.array([0.0, 1.0, 2.0, 8.0]), alpha=0.5)      # 1/3, 2/3 and 1 make 2 of 4
    0.3333333333333333
    """
    r = np.sort(ratio[ratio > 0])[::-1]
    wanted = alpha * ratio.size
    if wanted >= r.size:
        return float(1 / r[-1]) if r.size else 1.0
    rest = np.cumsum(r[::-1])[::-1]
    t = (wanted - np.arange(r.size)) / rest
    return float(t[np.argmax(t * r <= 1)])
