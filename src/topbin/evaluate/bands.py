"""Limits for the share of rows above a threshold that hold at all thresholds at once.

The share of the population above the k-th best of n rows is an order statistic of uniforms,
whatever the scores. A share s is refused for a count of k if n·KL(k/n, s) exceeds a critical value,
with KL the divergence of two coins (Berk & Jones, Zeitschrift für Wahrscheinlichkeitstheorie 1979).
How large it becomes by chance at the worst threshold depends on n alone and is simulated. Unlike a
band of equal width (DKW), this one is narrow where few rows are above, or almost all.
"""

from collections.abc import Callable
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np
from scipy.special import xlogy

from topbin.core.tails import Shares

SEED, DRAWS = 2021, 2000
READ = 300  # ranks from either end that are simulated; of fewer rows, all
HALVINGS = 50
# For the error of a simulated quantile, and for the ranks in between (.2 to .4 with 10 times more).
SLACK = 0.3


def divergence(share: Shares, other: Shares) -> Shares:
    """KL(share, other) of two coins, without a bound if the other is 0 or 1 and the share is not.

    >>> float(divergence(np.array(0.5), np.array(0.5))), float(divergence(1.0, np.exp(-2.0)))
    (0.0, 2.0)
    """
    with np.errstate(divide="ignore"):
        heads = xlogy(share, share) - xlogy(share, other)
        tails = xlogy(1 - share, 1 - share) - xlogy(1 - share, 1 - other)
    return np.asarray(np.maximum(0.0, heads + tails))


def critical_divergence(n: int, risk: float) -> float:
    """What n·KL exceeds at some threshold with a probability of at most `risk`."""
    size = 10 ** max(0, len(str(n)) - 2)
    draws = _worst_divergences(-(-n // size) * size)  # two digits of n are enough, and remembered
    return SLACK + float(draws[ceil((1 - risk) * draws.size) - 1])


def limits_above(
    above: Any, n: int, risk: float, *, spread: float = 1.0, second: float | None = None
) -> tuple[Shares, Shares]:
    """For each count of rows above a threshold, the limits of the share; all hold at once.

    `spread` is how much more shares vary than those of independent rows. With `second`, the limits
    hold for the share in a second sample of so many rows, and so for that of the population.

    >>> low, high = limits_above(np.array([0, 50, 100]), 100, 0.05)
    >>> low.round(2), high.round(2)
    (array([0.  , 0.34, 0.94]), array([0.06, 0.66, 1.  ]))
    """
    share = np.asarray(above, np.float64) / n
    allowed = spread**2 * critical_divergence(n if second is None else n + int(second), risk)

    def is_far(other: Shares) -> Any:
        if second is None:
            return n * divergence(share, other) > allowed
        both = (n * share + second * other) / (n + second)  # the best guess, if they are one
        return n * divergence(share, both) + second * divergence(other, both) > allowed

    return _furthest(share, 0.0, is_far), _furthest(share, 1.0, is_far)


def _furthest(share: Shares, end: float, is_far: Callable[[Shares], Any]) -> Shares:
    """The point between each share and the end from which on others are too far."""
    near, far = share.copy(), np.full_like(share, end)
    reached = ~is_far(far)
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        beyond = is_far(middle)
        near, far = np.where(beyond, near, middle), np.where(beyond, middle, far)
    return np.where(reached, end, far)


@lru_cache(maxsize=32)
def _worst_divergences(n: int) -> Shares:
    """Sorted draws of the largest n·KL over all thresholds.

    Just below the k-th best row k rows are above, and just above it k − 1.
    """
    rng = np.random.default_rng(SEED)
    near = np.unique(np.geomspace(1, max(1, n // 2), READ).round().astype(np.int64))
    ranks = np.unique(np.concatenate([near, n + 1 - near])) if n > 2 * READ else np.arange(1, n + 1)
    steps = np.diff(np.concatenate([[0], ranks, [n + 1]]))
    gaps = rng.standard_gamma(steps, (DRAWS, steps.size))
    share = np.cumsum(gaps[:, :-1], axis=1) / gaps.sum(axis=1, keepdims=True)
    few = np.where(share < ranks / n, divergence(ranks / n, share), 0.0)
    many = np.where(share > (ranks - 1) / n, divergence((ranks - 1) / n, share), 0.0)
    draws = np.sort(n * np.maximum(few, many).max(axis=1))
    draws.setflags(write=False)
    return np.asarray(draws)
