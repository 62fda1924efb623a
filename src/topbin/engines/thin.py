"""Cuts of very many positives, thinned by rank, and how much that can change an estimate.

Every cut goes to every part and a count comes back for each, so a hundred million cuts are too
many. The cuts that are kept are those of ranks 1, 2, …, 10⁴, then of ranks in steps of 0.01 %, and
the geometric ranks that `bbe_cp`, intervals, bounds and alarms read, which therefore do not change.
"""

import numpy as np

from topbin.core.tails import Counts, Tails
from topbin.mpe.bbe_cp import at_ranks, geometric_ranks
from topbin.mpe.registry import find_method

MANY = 1 << 17  # distinct positive scores up to which all of them are cuts
STEP = 1e-4


def thin(tails: Tails) -> Tails:
    """Tails at the kept ranks; tails with few cuts are returned unchanged."""
    return tails if tails.cuts.size <= MANY else at_ranks(tails, kept_ranks(tails.n_p))


def kept_ranks(n_p: int) -> Counts:
    """All ranks up to 1/STEP, then each at most STEP further, and the geometric ones.

    Between neighboring ranks j < k no bin has more than k − 1 positives, and the bin of j has at
    least j positives and no more unlabeled rows. So the smallest bound of BBE at kept cuts is at
    most (1 + STEP) times the smallest at all cuts.

    >>> kept_ranks(20_000).size         # 10,000, then about ln(2)/STEP
    16934
    """
    dense = round(1 / STEP)
    steps = np.arange(1 + int(np.log(max(1.0, n_p / dense)) / np.log1p(STEP)))
    further = np.floor(dense * (1 + STEP) ** steps).astype(np.int64)
    ranks = np.concatenate([np.arange(1, dense + 1), further, geometric_ranks(n_p)])
    return np.unique(ranks[ranks <= n_p])


def cost(tails: Tails, distinct: int, method: str) -> tuple[str, ...]:
    """What to say about an estimate from thinned tails; nothing if all cuts were kept."""
    if tails.cuts.size == distinct:
        return ()
    kept = f"{tails.cuts.size:,} of {distinct:,} cuts were counted"
    chosen = find_method(method)
    if chosen.cuts == "ranks":
        return (f"{kept}, among them all that {method} and the interval read: no error from that",)
    if chosen.bracket is None:
        return (f"{kept}; with all of them {method} may give another α",)
    low, high = chosen.bracket(tails)
    return (f"{kept}; with all of them {method} would give α between {low:.6f} and {high:.6f}",)
