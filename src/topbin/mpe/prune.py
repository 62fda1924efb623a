"""Thinned tails: of millions of cuts, the one that BBE will choose, and those of given ranks.

Between thresholds a < b every cut has at most the positives of a and at least the unlabeled rows
of b above it, so its bound (Garg et al. 2021, algorithm 1) is at least what these two counts give.
That rules out almost all cuts without counting at them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from topbin.core import InputError, Tails
from topbin.core.checks import Scores, check_scores
from topbin.core.counting import SPARSE, Counts
from topbin.core.defaults import DELTA, GAMMA
from topbin.mpe.bbe import upper_confidence

FEW = 1 << 17  # rows below which full tails are as quick
FIRST, SPLIT = 256, 4  # cells to begin with, and parts that a surviving cell is split in


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
    ranked = Ranked.of(scores_p, scores_u)
    return ranked.tails_at(np.append(scores_p.size - wanted, _best(ranked, delta, gamma)))


def best_cut(scores_p: Scores, scores_u: Scores) -> Tails:
    """Tails at the one cut that `bbe` chooses, for those who want nothing but its α.

    >>> best_cut(np.ones(1000), np.repeat([1.0, 0.0], 500)).above_u
    array([500])
    """
    ranked = Ranked.of(check_scores(scores_p, "scores_p"), check_scores(scores_u, "scores_u"))
    return ranked.tails_at(np.array([_best(ranked, DELTA, GAMMA)]))


@dataclass(frozen=True, slots=True)
class Ranked:
    """Both samples in ascending order, known to be finite."""

    scores_p: Scores
    scores_u: Scores

    @classmethod
    def of(cls, scores_p: Scores, scores_u: Scores) -> "Ranked":
        """Sort both samples; the ends show whether all scores are finite."""
        ranked_p, ranked_u = np.sort(scores_p), np.sort(scores_u)
        for scores, name in ((ranked_p, "scores_p"), (ranked_u, "scores_u")):
            if not np.isfinite(scores[[0, -1]]).all():
                check_scores(scores, name)
        return cls(ranked_p, ranked_u)

    def tails_at(self, places: Counts) -> Tails:
        """The cuts that the positives at these places have as scores."""
        starts = np.unique(np.searchsorted(self.scores_p, self.scores_p[places]))
        cuts = self.scores_p[starts] + 0.0  # −0.0 becomes the 0.0 it equals, as in full tails
        n_p, n_u = self.scores_p.size, self.scores_u.size
        return Tails(cuts, n_p - starts, n_u - np.searchsorted(self.scores_u, cuts), n_p, n_u)


def _best(ranked: Ranked, delta: float, gamma: float) -> int:
    """Where the cut with the smallest bound begins among the positives; of equal ones the lowest.

    A cell contains the positives between one known cut and the next. As long as it may hide a
    bound as small as the smallest known, it is split.
    """
    size = ranked.scores_p.size
    tails = ranked.tails_at(np.linspace(0, size - 1, FIRST).astype(np.int64))
    while True:
        bounds = upper_confidence(tails, delta=delta, gamma=gamma)
        starts = size - tails.above_p
        stops = np.searchsorted(ranked.scores_p, tails.cuts, side="right")  # ends of the ties
        inside = np.append(starts[1:], size) - stops
        cell = np.flatnonzero(inside)
        best_u = np.append(tails.above_u[1:], 0)[cell]
        ideal = Tails(tails.cuts[cell], size - stops[cell], best_u, tails.n_p, tails.n_u)
        cell = cell[upper_confidence(ideal, delta=delta, gamma=gamma) <= bounds.min()]
        if cell.size == 0:
            return int(starts[np.argmin(bounds)])
        split = stops[cell, None] + inside[cell, None] * np.arange(SPLIT) // SPLIT
        tails = ranked.tails_at(np.append(starts, split.ravel()))


def _check_ranks(ranks: Iterable[int], n_p: int) -> Counts:
    wanted = np.array([*ranks] or np.empty(0, np.int64))
    if wanted.dtype.kind not in "iu" or ((wanted < 1) | (wanted > n_p)).any():
        raise InputError(
            "TB008", f"ranks must be whole numbers from 1 to n_p = {n_p:,}; got {wanted}."
        )
    return wanted.astype(np.int64)
