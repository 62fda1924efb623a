"""AlphaMax: the largest α under which the unlabeled scores are as likely as under any smaller α.

Jain, White, Trosset & Radivojac, "Nonparametric semi-supervised learning of class proportions",
2016 (arXiv 1601.01944), on one score per row.
"""

from typing import Any

import numpy as np
from scipy.special import chdtri

from topbin.core.checks import Floats, Scores, check_count, check_scores
from topbin.core.estimate import AlphaEstimate

STEPS = 300
ANGLES = np.arange(1, STEPS) * (np.pi / 2 / STEPS)  # even in arcsin √α
LAG = STEPS // 10  # to either side of an elbow: ± π/20, such as .5 against .35 and .65
HALVINGS = 80


def alphamax(scores_p: Any, scores_u: Any, *, bins: int | None = None) -> AlphaEstimate:
    """Estimate α at the elbow of the profile likelihood.

    Both samples become histograms over the same bins: shares p of the positives, w of the
    unlabeled. Given α, the unlabeled density is α p + (1 − α) h, where the negatives h are what is
    left of w when a part v ≤ w with Σ v = α, the positives, is taken out. The fit falls short by

        f(α) = min over v of  −Σ p log(v / (α p)) − Σ w log((α p + w − v) / w),

    which is 0 while α p ≤ w in every bin, that is up to the largest α the data allow. The elbow
    is where the slope after α most exceeds the slope before, relative to the height so far:

        the largest  (f(t + π/20) − 2 f(t) + f(t − π/20)) / (f(t) + c)  over t = arcsin √α.

    c = 2 (K − 1)(1/n_p + 1/n_u) is twice the f(1) that noise makes if U is P. If f(1) is below
    the 95 % point of that noise, the histograms do not separate U from P, and α = 1. (The authors
    fit lines over α, in which f is infinitely steep at 1, and take c as 1 % of f's range.) The
    K = `bins` bins (by default the cube root of the smaller sample, at least 4) contain equal
    shares of P and U together, so only the order of scores matters.

    On 2,000 + 2,000 rows of Gaussians 4σ apart the error is below .04, but up to .12 at α = .95.
    Between .976 and 1 no elbow is visible.

    Parameters
    ----------
    scores_p, scores_u
        Scores of the known positives and of the unlabeled rows; higher is more positive.
    bins
        K; None: by the sizes of the samples.

    Returns
    -------
    AlphaEstimate
        α, without an interval.

    Examples
    --------
    >>> found = alphamax(np.ones(1000), np.repeat([1.0, 0.0], 500))  # half score like positives
    >>> round(found.alpha, 2)
    0.5
    """
    p, u = np.sort(check_scores(scores_p, "scores_p")), np.sort(check_scores(scores_u, "scores_u"))
    if bins is None:
        bins = max(4, round(min(p.size, u.size) ** (1 / 3)))
    share_p, share_u = histograms(p, u, check_count(bins, "bins", least=2))
    alpha, note = _solve(share_p, share_u, 1 / p.size + 1 / u.size)
    return AlphaEstimate(alpha=alpha, n_p=p.size, n_u=u.size, method="alphamax", notes=(note,))


def _solve(share_p: Floats, share_u: Floats, variance: float) -> tuple[float, str]:
    freedom = share_p.size - 1
    at_one = float(np.sum((share_p - share_u) * np.log(share_p / share_u)))
    if freedom == 0 or at_one <= chdtri(freedom, 0.05) * variance:
        return 1.0, f"P and U have the same histogram up to noise ({freedom + 1} bins)"
    alphas = np.sin(ANGLES) ** 2
    height = np.append(np.zeros(LAG), likelihood_drop(share_p, share_u, alphas))
    middle = height[LAG:-LAG]
    bend = height[2 * LAG :] - 2 * middle + height[: -2 * LAG]
    best = int(np.argmax(bend / (middle + 2 * freedom * variance)))
    return float(alphas[best]), f"elbow of the likelihood ({freedom + 1} bins)"


def likelihood_drop(share_p: Floats, share_u: Floats, alphas: Floats) -> Floats:
    """How much likelihood each α costs: f(α), by exact solution of its convex problem.

    With a multiplier λ for Σ v = α, each v solves p/v − w/(α p + w − v) = λ, a quadratic, and is
    cut at w. Σ v falls in λ; it is below α at λ = 1/α − 1 and is 1 where every v is cut.

    >>> likelihood_drop(np.array([0.5, 0.5]), np.array([0.75, 0.25]), np.array([0.5])).round(9)
    array([0.])
    """
    alpha, p, w = alphas[:, None], share_p, share_u
    low = np.min(p / w - w / (alpha * p), axis=1, keepdims=True)
    high = 1 / alpha - 1
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        over = _taken(p, w, alpha, middle).sum(axis=1, keepdims=True) > alpha
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    v = _taken(p, w, alpha, high)
    lost = p * np.log(v / (alpha * p)) + w * np.log((alpha * p + w - v) / w)
    return np.asarray(np.maximum(-lost.sum(axis=1), 0.0))


def _taken(p: Floats, w: Floats, alpha: Floats, multiplier: Floats) -> Floats:
    """The positive part v of each bin at this multiplier, without cancellation."""
    total = alpha * p + w
    d = w - p + multiplier * total
    far = np.hypot(d, 2 * np.sqrt(p * w)) + np.abs(d)
    part = 2 * p * total / (2 * p + np.where(d < 0, 4 * p * w / far, far))
    return np.asarray(np.minimum(part, w))


def histograms(p: Scores, u: Scores, bins: int) -> tuple[Floats, Floats]:
    """Shares of sorted `p` and `u` in bins with equal shares of both; no count is below ½.

    >>> histograms(np.array([2.0, 2.0]), np.array([1.0, 2.0]), 2)
    (array([0.2, 0.8]), array([0.5, 0.5]))
    """
    scores = np.unique(np.concatenate([p, u]))
    below_p, below_u = np.searchsorted(p, scores), np.searchsorted(u, scores)
    count_p, count_u = np.diff(below_p, append=p.size), np.diff(below_u, append=u.size)
    # Equal scores cannot be separated, so all of them go to the bin of their middle.
    middle = (below_p + count_p / 2) / p.size + (below_u + count_u / 2) / u.size
    number = np.unique((middle / 2 * bins).astype(np.int64), return_inverse=True)[1]
    rows = [np.maximum(np.bincount(number, count), 0.5) for count in (count_p, count_u)]
    return rows[0] / rows[0].sum(), rows[1] / rows[1].sum()
