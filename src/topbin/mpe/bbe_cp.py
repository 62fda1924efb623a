"""Best Bin Estimation with exact binomial limits in place of the DKW inequality.

The idea is Algorithm 1 of Garg et al., NeurIPS 2021: trust the bin whose upper confidence bound is
smallest. DKW allows every bin the same absolute error; the limits of Clopper & Pearson
(Biometrika 1934) shrink with the bin, so small pure bins, and rare positives, are found.
"""

import numpy as np

from topbin.core.checks import check_fraction
from topbin.core.estimate import AlphaEstimate
from topbin.core.shares import exact_lower, exact_upper
from topbin.core.tails import Counts, Shares, Tails
from topbin.mpe.bbe import at_cut

RATIO = 1.05


def bbe_cp(tails: Tails, *, level: float = 5e-4) -> AlphaEstimate:
    """Estimate α by the ratio q_u/q_p at the cut where its exact upper limit is smallest.

    `level` is the probability that each of the two binomial limits fails at one cut. Only the
    cuts at `geometric_ranks` are read, so thinned tails that keep these give the same answer.

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


def geometric_ranks(n_p: int) -> Counts:
    """The positive ranks that are read: 1, 2, …, then in steps of 5 %, and always n_p itself.

    >>> geometric_ranks(8), geometric_ranks(10**7).size
    (array([1, 2, 3, 4, 5, 6, 7, 8]), 290)
    """
    steps = np.arange(1 + int(np.log(n_p) / np.log(RATIO)))
    return np.unique(np.append(np.ceil(RATIO**steps), n_p).astype(np.int64))


def at_ranks(tails: Tails, ranks: Counts) -> Tails:
    """The tails at the cuts of these ranks; rank 1 is the largest positive score.

    A cut of tied scores has several ranks and is read once, with all its rows. Thinned tails that
    lack the exact bin answer with the next larger one that they have.

    >>> at_ranks(Tails.from_scores([1.0, 2.0, 2.0, 5.0], [4.0]), np.array([1, 2])).above_p
    array([3, 1])
    """
    smaller_bins = np.searchsorted(tails.above_p[::-1], ranks)
    return tails.at(np.unique(np.maximum(tails.above_p.size - 1 - smaller_bins, 0)))
