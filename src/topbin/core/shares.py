"""Shares of rows: exact limits (Clopper & Pearson, Biometrika 1934), and shares below a score."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from topbin.core.checks import Scores


def exact_upper(hits: Any, n: Any, doubt: float) -> Any:
    """The largest share under which so few hits have a probability of at least `doubt`.

    >>> round(float(exact_upper(0, 59, 0.05)), 3)       # "none in 59": at most 5 %
    0.05
    """
    misses = np.asarray(n - hits, np.float64)
    # Without a miss the limit is 1, which betaincinv calls undefined.
    return np.where(misses > 0, betaincinv(hits + 1, np.where(misses > 0, misses, 1), 1 - doubt), 1)


def exact_lower(hits: Any, n: Any, doubt: float) -> Any:
    """The smallest share under which so many hits have a probability of at least `doubt`.

    >>> round(float(exact_lower(59, 59, 0.05)), 3), float(exact_lower(0, 59, 0.05))
    (0.95, 0.0)
    """
    hits = np.asarray(hits, np.float64)
    return np.where(hits > 0, betaincinv(np.where(hits > 0, hits, 1), n - hits + 1, doubt), 0)


def share_below(
    scores: Scores, ranked: Scores, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
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
