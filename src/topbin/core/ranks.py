"""The rank of scores among other scores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.checks import Scores


def share_below(
    scores: Scores, ranked: Scores, weights: NDArray[np.float64] | None = None
) -> NDArray[Any]:
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
