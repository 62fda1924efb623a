"""Exact counts at scale: how many scores of a sample lie at or above each of some cuts."""

import numpy as np
from numpy.typing import NDArray

from topbin.core.checks import Scores

Counts = NDArray[np.int64]

PIECE = 1 << 16  # rows at a time, so that temporaries stay in the cache
SPARSE = 8  # unlabeled rows per positive above which looking cuts up beats sorting both samples
RANKED = 1 << 18  # rows sorted at a time; more if looking up the cuts would cost more


def count_above(cuts: Scores, scores: Scores) -> Counts:
    """How many finite scores are at or above each of these distinct ascending cuts.

    >>> count_above(np.array([1.0, 2.0]), np.array([0.0, 1.5, 2.0, 3.0]))
    array([3, 2])
    """
    above = np.zeros(cuts.size, np.int64)
    for part in np.array_split(scores, max(1, scores.size // max(RANKED, 32 * cuts.size))):
        ranked = np.sort(part)
        above += ranked.size - np.searchsorted(ranked, cuts)
    return above
