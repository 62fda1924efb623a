"""Shares of rows: exact limits (Clopper & Pearson, Biometrika 1934), and shares below a score.

Rows that belong together, such as visits of one patient, say less than as many independent ones.
`design_effect` measures how much less (Kish, Survey Sampling, 1965).
"""

from typing import Any

import numpy as np
from scipy.special import betaincinv

from topbin.core.checks import Floats, RowNumbers, Scores


def exact_upper(hits: Any, n: Any, risk: float) -> Any:
    """The largest share under which so few hits have a probability of at least `risk`.

    >>> round(float(exact_upper(0, 59, 0.05)), 3)       # "none in 59": at most 5 %
    0.05
    """
    misses = np.asarray(n - hits, np.float64)
    # Without a miss the limit is 1, which betaincinv calls undefined.
    return np.where(misses > 0, betaincinv(hits + 1, np.where(misses > 0, misses, 1), 1 - risk), 1)


def exact_lower(hits: Any, n: Any, risk: float) -> Any:
    """The smallest share under which so many hits have a probability of at least `risk`.

    >>> round(float(exact_lower(59, 59, 0.05)), 3), float(exact_lower(0, 59, 0.05))
    (0.95, 0.0)
    """
    hits = np.asarray(hits, np.float64)
    return np.where(hits > 0, betaincinv(np.where(hits > 0, hits, 1), n - hits + 1, risk), 0)


def effective_rows(weights: Floats) -> float:
    """How many equally weighted rows give the same precision (Kish).

    >>> effective_rows(np.array([3.0, 1.0])), effective_rows(np.ones(9))      # 16/10
    (1.6, 9.0)
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def share_below(scores: Scores, ranked: Scores, weights: Floats | None = None) -> Floats:
    """For each score, the share of `ranked` (ascending) that is lower; ties count half.

    With `weights`, the share of the weight of `ranked`.

    >>> share_below(np.array([0.0, 2.0, 9.0]), np.array([1.0, 2.0, 2.0, 3.0]))
    array([0. , 0.5, 1. ])
    """
    ends = np.searchsorted(ranked, scores), np.searchsorted(ranked, scores, "right")
    if weights is None:
        return np.asarray((ends[0] + ends[1]) / (2 * ranked.size), np.float64)
    below = np.concatenate([[0.0], np.cumsum(weights)])
    return np.asarray((below[ends[0]] + below[ends[1]]) / (2 * below[-1]), np.float64)


def ranks_of(scores: Scores) -> Floats:
    """For each score, the share of all that is lower; ties, and the score itself, count half.

    >>> ranks_of(np.array([5.0, 7.0, 7.0, 9.0]))
    array([0.125, 0.5  , 0.5  , 0.875])
    """
    return share_below(scores, np.sort(scores))


def design_effect(scores: Scores, groups: RowNumbers, cuts: Scores) -> float:
    """How many times as much as those of independent rows do shares above a cut vary, at most?

    The variance of a share is that of sums over groups. The largest effect of all cuts counts, but
    no more than if the rows of a group were copies of each other, and no less than 1.

    >>> groups = np.repeat([0, 1, 2, 3], 3)
    >>> scores = np.array([9.0, 1.0, 5.0, 4.0])[groups]     # copies: 12 rows are worth 4
    >>> design_effect(scores, groups, np.array([2.0, 5.0]))
    3.0
    """
    sizes = np.bincount(groups)
    sizes, codes = sizes[sizes > 0], np.cumsum(sizes > 0)[groups] - 1
    copies = float((sizes**2).sum() / scores.size)
    if sizes.size < 2:
        return copies
    effect = 1.0
    for cut in cuts:
        hits = np.bincount(codes, scores >= cut, minlength=sizes.size)
        share = hits.sum() / scores.size
        if 0 < share < 1:
            spread = ((hits - share * sizes) ** 2).sum() * sizes.size / (sizes.size - 1)
            effect = max(effect, float(spread / (scores.size * share * (1 - share))))
    return min(effect, copies)
