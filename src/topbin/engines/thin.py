"""Cuts of very many positives, thinned by rank, and what that can cost at most.

Every cut goes to every part and a count comes back for each, so a hundred million of them are too
many. Kept are the cuts of ranks 1, 2, …, 10⁴, from there on of every rank 0.01 % further, and the
geometric ranks that `bbe_cp`, intervals, bounds and alarms read, which therefore do not change.
"""

import numpy as np

from topbin.core.tails import Counts, Tails
from topbin.mpe.bbe import bbe, dkw_slack, upper_confidence
from topbin.mpe.bbe_cp import at_ranks, exact_upper, geometric_ranks
from topbin.mpe.scott import scott

MANY = 1 << 17  # distinct positive scores up to which every one stays a cut
STEP = 1e-4


def thin(tails: Tails) -> Tails:
    """Tails at the kept ranks; those with few cuts as they are."""
    return tails if tails.cuts.size <= MANY else at_ranks(tails, kept_ranks(tails.n_p))


def kept_ranks(n_p: int) -> Counts:
    """All ranks up to 1/STEP, then each at most STEP further, and the geometric ones.

    Between neighbouring ranks j < k lies no bin of more than k − 1 positives, and the bin of j
    holds at least j, with no more unlabeled rows. So the smallest bound of BBE at kept cuts is at
    most (1 + STEP) times the smallest at all cuts.

    >>> kept_ranks(20_000).size         # 10,000, then about ln(2)/STEP
    16934
    """
    dense = round(1 / STEP)
    steps = np.arange(1 + int(np.log(max(1.0, n_p / dense)) / np.log1p(STEP)))
    further = np.floor(dense * (1 + STEP) ** steps).astype(np.int64)
    ranks = np.concatenate([np.arange(1, dense + 1), further, geometric_ranks(n_p)])
    return np.unique(ranks[ranks <= n_p])


def bracket(tails: Tails, method: str) -> tuple[float, float]:
    """The smallest and the largest α that `method` can give at all cuts, from counts at some.

    A cut that was left out has at most the positives of the next lower kept cut, less one, and at
    least the unlabeled rows of the next higher one. Where even a bound made of these two exceeds
    the smallest that is known, the cut cannot be the one that is chosen.
    """
    gap = np.flatnonzero(-np.diff(tails.above_p) > 1)
    best_p, best_u = tails.above_p[gap] - 1, tails.above_u[gap + 1]
    ideal = Tails(tails.cuts[gap], best_p, best_u, tails.n_p, tails.n_u)
    if method == "scott":
        found = scott(tails).alpha
        floor = exact_upper(ideal, 0.1).min(initial=found)
        return min(found, float(floor)), found
    found = bbe(tails).alpha
    reached = float(upper_confidence(tails).min())
    alive = upper_confidence(ideal) <= reached
    # At such a cut the ratio is its bound less the slack, and the bound is at most the known one.
    most = reached - 1.01 * dkw_slack(tails, 0.1) / ideal.q_p[alive]
    low = ideal.ratio[alive].min(initial=found)
    return float(min(found, low)), float(min(1.0, max(found, most.max(initial=found))))


def cost(tails: Tails, distinct: int, method: str) -> tuple[str, ...]:
    """What to say of an estimate from thinned tails; nothing if all cuts were kept."""
    if tails.cuts.size == distinct:
        return ()
    kept = f"{tails.cuts.size:,} of {distinct:,} cuts were counted"
    if method not in ("bbe", "scott"):
        return (f"{kept}, among them all that {method} and the interval read: no error from that",)
    low, high = bracket(tails, method)
    return (f"{kept}; with all of them {method} would give α between {low:.6f} and {high:.6f}",)
