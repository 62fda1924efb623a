"""How far an unlabeled count can fall short of its share by chance, calibrated by simulation.

Take the bins that contain the k best positives, for a few ranks k. If every negative scored below
every positive, the unlabeled counts in these bins would depend on n_p, n_u and α alone, whatever
the scores: the share of positives above the k-th best is an order statistic of uniforms, and each
of the α·n_u hidden positives falls there with that probability. Their number is fixed, because α is
the share of these very rows. Negatives anywhere else can only raise the counts. So a shortfall that
is rare in this worst case is at least as rare in every other, and one simulation serves all score
distributions, with no union bound over the bins.

Where labeling is selective by a factor Γ at most (`gamma`; docs/explanation/intervals.md), a bin
with a share q of the labeled positives has a share of at least q/(q + Γ(1 − q)) of the hidden ones.
The worst case is then this smallest share in all bins at once, and every other raises the counts.
"""

from functools import lru_cache
from math import ceil, log
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from topbin.core.tails import Counts, Shares, Tails, geometric_ranks

SEED = 2021
DRAWS = 20_000
SMALLEST_BIN = 5
# Beyond 20 of the 20,000 draws the tail is continued as that of a normal deviation.
RAREST = 20 / DRAWS
# About one standard error of a simulated 5 % quantile; covers the error of interpolation in α too.
SLACK = 0.01


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
    above_p: Counts,
    above_u: Counts,
    n_p: int,
    n_u: int,
    alpha: float | Shares,
    gamma: float = 1.0,
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
