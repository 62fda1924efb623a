"""A bound on α that holds for any overlap of the classes and any scores.

It assumes that rows are independent (`Evidence.independent` has tails of as many independent rows,
if they are in groups or cross-fitted) and that the labeled positives are a random sample of all
positives. It inverts, over α, the test "no bin of the best positives contains too few unlabeled
rows for this α". α is the share of positives among these very rows, so their number does not vary.

How far a count can fall short by chance is calibrated by simulation, jointly over the bins of the k
best positives, for a few ranks k. If every negative scored below every positive, the unlabeled
counts in these bins would depend on n_p, n_u and α alone, whatever the scores: the share of
positives above the k-th best is an order statistic of uniforms, and each of the α·n_u hidden
positives falls there with that probability. Negatives anywhere else can only raise the counts. So a
shortfall that is rare in this worst case is at least as rare in every other, and one simulation
serves all score distributions, with no union bound over the bins.

`gamma` gives up the random sample: with w the density of hidden positives over that of labeled
ones, it is enough that max w ≤ Γ·min w (docs/explanation/intervals.md). Γ = 1 is a random sample. A
bin with a share q of the labeled positives then has a share of at least q/(q + Γ(1 − q)) of the
hidden ones. The worst case is this smallest share in all bins at once.
"""

from collections.abc import Callable
from functools import lru_cache
from math import ceil, log
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from topbin.core.checks import check_fraction, is_number
from topbin.core.errors import InputError
from topbin.core.options import CONFIDENCE
from topbin.core.tails import Counts, Shares, Tails, at_ranks, geometric_ranks

SEED = 2021
DRAWS = 20_000
SMALLEST_BIN = 5
# Beyond 20 of the 20,000 draws the tail is continued as that of a normal deviation.
RAREST = 20 / DRAWS
# About one standard error of a simulated 5 % quantile; covers the error of interpolation in α too.
SLACK = 0.01
SPLIT, ROUNDS = 40, 5  # 40⁻⁵ of the gap between two values of α: finer than anybody reads


def calibrated_ranks(n_p: int) -> Counts:
    """The ranks whose bins the bound compares: 5·√2ʲ and n_p, a subset of `geometric_ranks`.

    >>> calibrated_ranks(50)
    array([ 5,  8, 10, 15, 20, 29, 41, 50])
    """
    grid = geometric_ranks(n_p)
    steps = np.arange(1 + max(0, int(2 * log(n_p / SMALLEST_BIN, 2))))
    wanted = np.minimum(SMALLEST_BIN * 2 ** (steps / 2), n_p)
    return np.unique(np.append(grid[np.searchsorted(grid, wanted)], n_p))


def fewest_hidden(share: Any, gamma: float) -> Any:
    """The smallest share of the hidden positives in a bin with this share of the labeled ones.

    >>> fewest_hidden(0.5, 1.0), fewest_hidden(0.5, 3.0)
    (0.5, 0.25)
    """
    return share / (1 + (gamma - 1) * (1 - share))


def deviation(
    above_p: Counts, above_u: Counts, n_p: int, n_u: int, alpha: float | Shares, gamma: float = 1.0
) -> Shares:
    """Standardized q_u − α q, with q the share of the hidden positives in the bin.

    It is the smallest that `gamma` allows, q_p if labels are random, and for the variance it is
    estimated as if the bin were pure.

    >>> float(deviation(np.array(50), np.array(100), 100, 400, 0.5))  # a quarter of U, as expected
    0.0
    """
    hidden = above_p / (1 + (gamma - 1) * (1 - above_p / n_p))
    q = np.minimum(1.0, (hidden + above_u) / (n_p + 1 + alpha * n_u))  # never 1 by chance
    # How much more the smallest share varies than that of as many rows, from its slope in q_p.
    varies = (1 + (gamma - 1) * q) ** 2 / gamma
    variance = alpha * q * (1 - q) * (1 / n_u + alpha / n_p * varies)
    excess = above_u / n_u - alpha * hidden / n_p
    return np.asarray(excess / np.sqrt(np.maximum(variance, np.finfo(float).tiny)))


def cut_deviations(tails: Tails, alpha: float | Shares, gamma: float = 1.0) -> Shares:
    """The deviation at every cut, in the last axis; α may be an array."""
    alpha = np.asarray(alpha)[..., None]
    return deviation(tails.above_p, tails.above_u, tails.n_p, tails.n_u, alpha, gamma)


def alpha_grid(n_u: int) -> Shares:
    """The α at which simulations are run: shares of whole rows, dense where these are few.

    >>> alpha_grid(5), alpha_grid(10**8).size
    (array([0.2, 0.4, 0.6, 0.8, 1. ]), 60)
    """
    few = np.unique(np.ceil(1.15 ** np.arange(45)))
    many = few[-1] * 2.0 ** np.arange(1, 30)
    lower = np.concatenate([few, many])
    upper = np.ceil(np.array([0.6, 0.8, 0.9, 0.95, 0.98, 1.0]) * n_u)
    return np.unique(np.concatenate([lower[lower <= 0.5 * n_u], upper])) / n_u


@lru_cache(maxsize=128)
def worst_shortfalls(n_p: int, n_u: int, alpha: float, gamma: float = 1.0) -> Shares:
    """Sorted draws of the largest standardized shortfall if no negative scores as high."""
    rng = np.random.default_rng(SEED)  # one seed for every α: the quantiles change smoothly with α
    ranks = calibrated_ranks(n_p)
    gaps = np.diff(np.concatenate([[0], ranks, [n_p + 1]]))
    rings = rng.standard_gamma(gaps, size=(DRAWS, gaps.size))
    rings /= rings.sum(axis=1, keepdims=True)
    if gamma > 1:
        shares = fewest_hidden(np.cumsum(rings[:, :-1], axis=1), gamma)
        rings[:, :-1] = np.maximum(0.0, np.diff(shares, axis=1, prepend=0.0))
    rings[:, -1] = np.maximum(0.0, 1 - rings[:, :-1].sum(axis=1))
    above_u = np.cumsum(rng.multinomial(round(alpha * n_u), rings)[:, :-1], axis=1)
    draws = np.sort(-deviation(ranks, above_u, n_p, n_u, alpha, gamma).min(axis=1))
    draws.setflags(write=False)
    return draws


def critical_shortfall(
    n_p: int, n_u: int, alpha: float, confidence: float, gamma: float = 1.0
) -> float:
    """The shortfall that chance exceeds with probability 1 − confidence at most."""
    draws, risk = worst_shortfalls(n_p, n_u, alpha, gamma), 1 - confidence
    quantile = SLACK + float(draws[ceil((1 - max(risk, RAREST)) * draws.size) - 1])
    if risk >= RAREST:
        return quantile
    bins = RAREST / ndtr(-quantile)  # as many independent normal deviations as would give this tail
    return float(-ndtri(risk / bins))


def upper_bound(tails: Tails, confidence: float = CONFIDENCE, *, gamma: float = 1.0) -> float:
    """The largest α that the counts do not contradict, whatever the scores and the negatives.

    It assumes that rows are independent and that the labeled positives are a random sample of all
    positives. With `gamma`, they need not be: the odds of being labeled may differ by that factor.
    Only cuts of `geometric_ranks` are read.

    Parameters
    ----------
    tails
        Counts above each cut, such as `Tails.from_scores(scores_p, scores_u)`. Of independent
        rows.
    confidence
        The level of the bound.
    gamma
        Γ ≥ 1: how selective labeling may be.

    Returns
    -------
    float
        The largest α.

    Examples
    --------
    >>> tails = Tails.from_scores(np.linspace(2, 3, 1000), np.linspace(1, 3, 2000))
    >>> 0.5 <= upper_bound(tails) < 0.52                         # half score like positives
    True
    """
    check_fraction(confidence, "confidence")
    check_gamma(gamma)
    tails.require_unlabeled()
    # Roughly the critical shortfall: that of six independent normal deviations.
    usual = float(-ndtri((1 - confidence) / 6))

    def critical(alpha: float) -> float:
        return critical_shortfall(tails.n_p, tails.n_u, alpha, confidence, gamma)

    return _largest_accepted(tails, usual, critical, gamma)


def check_gamma(gamma: Any) -> float:
    """Γ as a float of at least 1; how selective labeling may be.

    >>> check_gamma(0.5)
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB123 gamma must be a finite number ≥ 1; got 0.5. ...
    """
    if not is_number(gamma) or gamma < 1:
        raise InputError(
            "TB123",
            f"gamma must be a finite number ≥ 1; got {gamma!r}. 1 means that positives are labeled "
            "at random; 2, that the odds of being labeled may be twice as high for some as for "
            "others.",
        )
    return float(gamma)


def _largest_accepted(
    tails: Tails, usual: float, critical_at: Callable[[float], float], gamma: float = 1.0
) -> float:
    """sup{α : no shortfall beyond the critical one}, which is known at the values of a grid.

    The walk starts where the usual critical shortfall would end it, so that few of them are
    simulated. Between two of them the critical shortfall is interpolated in log α. Raising it
    everywhere can only raise the result, even where acceptance is not monotone in α.
    """
    read, grid = at_ranks(tails, calibrated_ranks(tails.n_p)), alpha_grid(tails.n_u)

    def critical(knot: int) -> float:
        return critical_at(float(grid[knot]))

    least = cut_deviations(read, grid, gamma).min(axis=1)
    knot = int(np.count_nonzero(least >= -usual)) - 1
    while knot >= 0 and least[knot] < -critical(knot):
        knot -= 1
    while knot + 1 < grid.size and least[knot + 1] >= -critical(knot + 1):
        knot += 1
    if knot + 1 == grid.size:
        return 1.0
    low, high = (float(grid[knot]) if knot >= 0 else 0.0), float(grid[knot + 1])
    between = np.log([low or high / 2, high]), [critical(max(knot, 0)), critical(knot + 1)]
    for _ in range(ROUNDS):
        trial = np.linspace(low, high, SPLIT + 1)[1:]
        allowed = -np.interp(np.log(trial), *between)
        refused = cut_deviations(read, trial, gamma).min(axis=1) < allowed
        first = int(np.argmax(np.append(refused[:-1], True)))
        low, high = (float(trial[first - 1]) if first else low), float(trial[first])
    return low
