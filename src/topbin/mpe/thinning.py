"""Thinned tails: of millions of cuts, the one that BBE will choose, and those of given ranks.

Between thresholds a < b every cut has at most the positives of a and at least the unlabeled rows
of b above it, so its bound (Garg et al. 2021, algorithm 1) is at least what these two counts give.
That rules out almost all cuts without counting at them.

Where rows are counted in parts, every cut goes to every part and a count comes back for each, so a
hundred million cuts are too many. The cuts that are kept are those of ranks 1, 2, …, 10⁴, then of
ranks in steps of 0.01 %, and the geometric ranks that `bbe_cp`, intervals, bounds and alarms read,
which therefore do not change.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from topbin.core import InputError, Tails
from topbin.core.checks import Scores, check_scores
from topbin.core.tails import SPARSE, Counts, Shares, at_ranks, geometric_ranks
from topbin.mpe.bbe import DELTA, GAMMA, upper_confidence

MANY = 1 << 17  # distinct positive scores up to which all of them are cuts
STEP = 1e-4
FEW = 1 << 17  # rows below which full tails are as quick
FIRST, SPLIT = 64, 4  # runs to begin with, and parts that a surviving run is split in
SAFETY = 1 + 1e-9  # covers the rounding of a bound; it only keeps more runs


def thin_tails(
    scores_p: Any,
    scores_u: Any,
    *,
    delta: float = DELTA,
    gamma: float = GAMMA,
    ranks: Iterable[int] = (),
) -> Tails:
    """Tails at the cut that `bbe` chooses among all, and at the cuts of these ranks.

    Rank k is the cut that contains the k-th largest positive score. Small samples, or few
    positives, are not worth thinning and give full tails. Either way, `bbe` with the same `delta`
    and `gamma` returns the bits that it returns for full tails, and so does everything that reads
    only the given ranks.

    Parameters
    ----------
    scores_p, scores_u
        Scores of the known positives and of the unlabeled rows; higher is more positive.
    delta, gamma
        As in `bbe`.
    ranks
        Ranks of positives, from 1, the largest score, on.

    Returns
    -------
    Tails
        Exact counts at few cuts.

    Examples
    --------
    >>> low, high = np.arange(100_000.0), np.arange(100_000.0, 200_000.0)
    >>> tails = thin_tails(high, np.append(low, high), ranks=[1])
    >>> tails.cuts, tails.above_p, tails.above_u
    (array([100000., 199999.]), array([100000,      1]), array([100000,      1]))
    """
    scores_p = check_scores(scores_p, "scores_p", finite=False)
    scores_u = check_scores(scores_u, "scores_u", finite=False)
    wanted = _check_ranks(ranks, scores_p.size)
    if scores_p.size + scores_u.size < FEW or scores_u.size >= SPARSE * scores_p.size:
        return Tails.from_scores(scores_p, scores_u)
    p, u = _ranked(scores_p, "scores_p"), _ranked(scores_u, "scores_u")
    places = p.size - np.append(wanted, _best(p, u, delta, gamma).above_p)
    return _tails_at(p, u, np.unique(np.searchsorted(p, p[places])))


def lowest_cut(
    size: int,
    tails_at: Callable[[Counts], Tails],
    next_cut: Callable[[Counts], Counts],
    bound: Callable[[Tails], Shares],
) -> Tails:
    """Tails at the one cut with the smallest bound among all; of equal ones the lowest.

    A cut is known by its place, below `size`: `tails_at` counts at some places, `next_cut` gives
    the places of the next cuts. Runs of cuts whose floor is above the smallest bound seen are
    dropped, the others split, until none is left.
    """
    best, lowest = 0, np.inf
    first, last = _split(np.array([0]), np.array([size - 1]), FIRST)
    while first.size:
        bounds = bound(tails_at(first))
        at = int(np.argmin(bounds))
        if (bounds[at], first[at]) < (lowest, best):
            best, lowest = int(first[at]), float(bounds[at])
        first, last = _split(next_cut(first), last, SPLIT)
        floor = bound(replace(tails_at(first), above_u=tails_at(last).above_u))
        alive = floor <= lowest * SAFETY
        first, last = first[alive], last[alive]
    return tails_at(np.array([best]))


def _split(first: Counts, last: Counts, parts: int) -> tuple[Counts, Counts]:
    """Cut each run into up to so many runs of nearly equal length; empty ones are dropped.

    >>> _split(np.array([0, 5]), np.array([1, 4]), 16)
    (array([0, 1]), array([0, 1]))
    """
    edges = first[:, None] + (last + 1 - first)[:, None] * np.arange(parts + 1) // parts
    starts, ends = edges[:, :-1], edges[:, 1:] - 1
    filled = ends >= starts
    return starts[filled], ends[filled]


def _best(p: Scores, u: Scores, delta: float, gamma: float) -> Tails:
    return lowest_cut(
        p.size,
        tails_at=partial(_tails_at, p, u),
        next_cut=lambda places: np.searchsorted(p, p[places], side="right"),
        bound=partial(upper_confidence, delta=delta, gamma=gamma),
    )


def _ranked(scores: Scores, name: str) -> Scores:
    """The scores in ascending order; the ends show whether all are finite."""
    ranked = np.sort(check_scores(scores, name, finite=False))
    return ranked if np.isfinite(ranked[[0, -1]]).all() else check_scores(ranked, name)


def _tails_at(p: Scores, u: Scores, places: Counts) -> Tails:
    """The cuts that the positives at these places have as scores."""
    starts = np.searchsorted(p, p[places])
    cuts = p[starts] + 0.0  # −0.0 becomes the 0.0 it equals, as in full tails
    return Tails(cuts, p.size - starts, u.size - np.searchsorted(u, cuts), p.size, u.size)


def _check_ranks(ranks: Iterable[int], n_p: int) -> Counts:
    wanted = np.array([*ranks] or np.empty(0, np.int64))
    if wanted.dtype.kind not in "iu" or ((wanted < 1) | (wanted > n_p)).any():
        raise InputError(
            "TB008", f"ranks must be whole numbers from 1 to n_p = {n_p:,}; got {wanted}."
        )
    return wanted.astype(np.int64)


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
