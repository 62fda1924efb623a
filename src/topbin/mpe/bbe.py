"""Best Bin Estimation: Algorithm 1 of Garg et al., NeurIPS 2021, and the same with exact limits.

The idea is to trust the bin whose upper confidence bound is smallest. The DKW inequality of the
paper allows every bin the same absolute error; the limits of Clopper & Pearson (Biometrika 1934)
shrink with the bin, so small pure bins, and rare positives, are found.

A bootstrap that draws counts, not rows, shows how the estimate would vary from sample to sample:
resampling rows with replacement makes the counts between neighboring cuts multinomial (Efron,
Annals of Statistics 1979), so a replicate costs a few hundred numbers, however many rows there are.
"""

from math import log, sqrt

import numpy as np
from numpy.random import Generator

from topbin.core.binomial import exact_lower, exact_upper
from topbin.core.checks import check_above_zero, check_count, check_fraction
from topbin.core.estimate import AlphaEstimate
from topbin.core.tails import Counts, Shares, Tails, at_ranks, geometric_ranks

DELTA, GAMMA = 0.1, 0.01  # of the bound, as in the experiments of Garg et al. 2021


def bbe(tails: Tails, *, delta: float = DELTA, gamma: float = GAMMA) -> AlphaEstimate:
    """Estimate α by the ratio q_u/q_p at the cut with the smallest upper confidence bound.

    Parameters
    ----------
    tails
        Counts above each cut, such as `Tails.from_scores(scores_p, scores_u)`.
    delta, gamma
        Of the bound that is minimized: δ and γ.

    Returns
    -------
    AlphaEstimate
        α and its cut, without an interval.

    Examples
    --------
    >>> bbe(Tails.from_scores(np.ones(1000), np.repeat([1.0, 0.0], 500))).alpha
    0.5
    """
    best = tails.at(int(np.argmin(upper_confidence(tails, delta=delta, gamma=gamma))))
    return at_cut(best, float(best.ratio), "bbe")


def bbe_cp(tails: Tails, *, level: float = 5e-4) -> AlphaEstimate:
    """Estimate α by the ratio q_u/q_p at the cut where its exact upper limit is smallest.

    Only the cuts at `geometric_ranks` are read, so thinned tails that keep these give the same
    answer.

    Parameters
    ----------
    tails
        Counts above each cut, such as `Tails.from_scores(scores_p, scores_u)`.
    level
        The chance that each of the two binomial limits fails at one cut.

    Returns
    -------
    AlphaEstimate
        α and its cut, without an interval.

    Examples
    --------
    >>> bbe_cp(Tails.from_scores(np.ones(1000), np.repeat([1.0, 0.0], 500))).alpha
    0.5
    """
    check_fraction(level, "level")
    read = at_ranks(tails, geometric_ranks(tails.n_p))
    best = read.at(int(np.argmin(ratio_limit(read, level))))
    return at_cut(best, float(best.ratio), "bbe_cp")


def ratio_limit(tails: Tails, level: float, level_p: float | None = None) -> Shares:
    """The upper limit of q_u over the lower limit of q_p, at every cut; ties go to larger bins."""
    tails.require_unlabeled()
    level_p = level if level_p is None else level_p
    high_u = exact_upper(tails.above_u, tails.n_u, level)
    low_p = exact_lower(tails.above_p, tails.n_p, level_p)
    return np.asarray(high_u / low_p, np.float64)


def at_cut(cut: Tails, alpha: float, method: str, notes: tuple[str, ...] = ()) -> AlphaEstimate:
    """An estimate that was read at this one cut; α is capped at 1."""
    return AlphaEstimate(
        alpha=min(1.0, alpha), cut=float(cut.cuts), n_p=cut.n_p, n_u=cut.n_u, method=method,
        notes=notes,
    )  # fmt: skip


def upper_confidence(tails: Tails, *, delta: float = DELTA, gamma: float = GAMMA) -> Shares:
    """The bound that BBE minimizes, at every cut; equal bounds go to the larger bin."""
    check_fraction(delta, "delta")
    check_above_zero(gamma, "gamma", zero=True)
    return tails.ratio + (1 + gamma) * dkw_slack(tails, delta) / tails.q_p


def dkw_slack(tails: Tails, delta: float) -> float:
    """How far q_u and q_p are from their means at most, with probability 1 − δ (lemma 1)."""
    tails.require_unlabeled()
    return sqrt(log(4 / delta) / 2) * (1 / sqrt(tails.n_u) + 1 / sqrt(tails.n_p))


def bbe_bracket(tails: Tails) -> tuple[float, float]:
    """The smallest and the largest α that `bbe` can give at all cuts, from counts at some of them.

    A cut that was left out can be the chosen one only if even the best counts that are possible
    there give a bound no larger than the smallest one known.
    """
    ideal, alpha = best_between(tails), bbe(tails).alpha
    reached = float(upper_confidence(tails).min())
    ideal = ideal.at(upper_confidence(ideal) <= reached)
    # At such a cut the ratio is its bound less the slack, and the bound is at most the known one.
    most = reached - (1 + GAMMA) * dkw_slack(tails, DELTA) / ideal.q_p
    low = ideal.ratio.min(initial=alpha)
    return float(min(alpha, low)), float(min(1.0, max(alpha, most.max(initial=alpha))))


def best_between(tails: Tails) -> Tails:
    """The best counts possible at cuts that were left out between neighboring known ones.

    Such a cut has at most the positives of the next lower known cut, less one, and at least the
    unlabeled rows of the next higher one.

    >>> best_between(Tails.from_scores([1.0, 2.0, 3.0], [2.5]).at([0, 2])).above_p
    array([2])
    """
    gap = np.flatnonzero(-np.diff(tails.above_p) > 1)
    best_p, best_u = tails.above_p[gap] - 1, tails.above_u[gap + 1]
    return Tails(tails.cuts[gap], best_p, best_u, tails.n_p, tails.n_u)


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
    every replicate repeats the bias of the estimate. Use `topbin.mpe.estimate_alpha` instead.

    Parameters
    ----------
    tails
        Counts above each cut, such as `Tails.from_scores(scores_p, scores_u)`.
    replicates
        How many resamples.
    seed
        Of the resamples.
    delta, gamma
        As in `bbe`.

    Returns
    -------
    ndarray
        One α per resample.

    Examples
    --------
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
