"""Scott's estimator: the smallest ratio of exact binomial limits over all cuts.

Scott, "A rate of convergence for mixture proportion estimation", AISTATS 2015, in the form of
equation (scott) in the appendix of Garg et al., NeurIPS 2021.
"""

from topbin.core.checks import check_fraction
from topbin.core.estimate import AlphaEstimate
from topbin.core.tails import Tails
from topbin.mpe.bbe import DELTA, at_cut, best_between, ratio_limit
from topbin.mpe.thinning import lowest_cut


def scott(tails: Tails, *, delta: float = DELTA, union_bound: bool = False) -> AlphaEstimate:
    """Estimate α by min over cuts of U(c) / L(c), capped at 1.

    U is the binomial upper limit of q_u and L the lower limit of q_p, each failing with
    probability δ (Clopper & Pearson). With `union_bound` they fail with δ/n_u and δ/n_p, so that
    they hold at all cuts at once; Scott's released code does without, because the price is bias.

    The estimate is the ratio of the limits, not of the samples: too high by .02 to .06 with the
    union bound on 2,000 + 2,000 rows of Gaussians 4σ apart. Without it the error is .02 on
    average, but up to .45: among so many cuts some tiny bin happens to contain no row of U.

    Parameters
    ----------
    tails
        Counts above each cut, such as `Tails.from_scores(scores_p, scores_u)`.
    delta
        The chance δ that a limit fails.
    union_bound
        Whether the limits hold at all cuts at once.

    Returns
    -------
    AlphaEstimate
        α and its cut, without an interval.

    Examples
    --------
    >>> import numpy as np
    >>> tails = Tails.from_scores(np.ones(1000), np.repeat([1.0, 0.0], 500))
    >>> round(scott(tails).alpha, 3)  # upper limit of 500 in 1,000, .521, over .1^(1/1000)
    0.522
    """
    check_fraction(delta, "delta")
    tails.require_unlabeled()
    levels = (delta / tails.n_u, delta / tails.n_p) if union_bound else (delta, delta)
    best = lowest_cut(
        tails.cuts.size, tails.at, lambda cuts: cuts + 1, lambda some: ratio_limit(some, *levels)
    ).at(0)
    held = "at all cuts at once (union bound)" if union_bound else "at each cut separately"
    note = f"binomial limits that hold {held}, δ = {delta:g}"
    return at_cut(best, float(ratio_limit(best, *levels)), "scott", (note,))


def scott_bracket(tails: Tails) -> tuple[float, float]:
    """The smallest and the largest α that `scott` can give at all cuts, from counts at some."""
    alpha = scott(tails).alpha
    floor = ratio_limit(best_between(tails), DELTA).min(initial=alpha)
    return min(alpha, float(floor)), alpha
