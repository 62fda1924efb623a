"""How BBE's estimate would vary from sample to sample: a bootstrap that draws counts, not rows.

Resampling rows with replacement makes the counts between neighboring cuts multinomial (Efron,
Annals of Statistics 1979), so a replicate costs a few hundred numbers, however many rows there are.
"""

import numpy as np
from numpy.random import Generator

from topbin.core.checks import check_count
from topbin.core.defaults import DELTA, GAMMA
from topbin.core.tails import Counts, Shares, Tails, at_ranks, geometric_ranks
from topbin.mpe.bbe import upper_confidence


def bootstrap(
    tails: Tails,
    *,
    replicates: int = 1000,
    seed: int = 0,
    delta: float = DELTA,
    gamma: float = GAMMA,
) -> Shares:
    """BBE's α in each of `replicates` resamples of both samples, at cuts on a grid of ranks.

    This shows variability, not uncertainty: the percentiles of these values are not a confidence
    interval. Such an interval at a nominal 95 % was seen to cover α in 7 to 90 % of samples, since
    every replicate repeats the bias of the estimate. Use `topbin.mpe.intervals` instead.

    >>> tails = Tails.from_scores(np.ones(10_000), np.repeat([1.0, 0.0], 5_000))
    >>> alphas = bootstrap(tails, replicates=2000)
    >>> round(alphas.mean(), 3), round(alphas.std(), 3)  # a binomial share: sqrt(.5 * .5 / 10,000)
    (np.float64(0.5), np.float64(0.005))
    """
    check_count(replicates, "replicates")
    bounds = upper_confidence(tails, delta=delta, gamma=gamma)
    chosen = tails.above_p[np.argmin(bounds)]
    read = at_ranks(tails, np.append(geometric_ranks(tails.n_p), chosen))
    rng = np.random.default_rng(seed)
    above_p = _redraw(read.above_p, tails.n_p, replicates, rng)
    above_u = _redraw(read.above_u, tails.n_u, replicates, rng)
    drawn = Tails(read.cuts, np.maximum(above_p, 1), above_u, tails.n_p, tails.n_u)
    # A bin that drew no positive is not a cut of that resample.
    bounds = np.where(above_p > 0, upper_confidence(drawn, delta=delta, gamma=gamma), np.inf)
    best = np.argmin(bounds, axis=1)[:, None]
    return np.minimum(1.0, np.take_along_axis(drawn.ratio, best, axis=1)[:, 0])


def _redraw(above: Counts, size: int, replicates: int, rng: Generator) -> Counts:
    """Resampled counts above the same cuts: redraw the rings between them and add up inwards."""
    rings = -np.diff(above, prepend=size, append=0)
    drawn = rng.multinomial(size, rings / size, size=replicates)
    return np.cumsum(drawn[:, :0:-1], axis=1)[:, ::-1]
