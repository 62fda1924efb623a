"""Thinned tails: of millions of cuts, the one that BBE will choose, and those of given ranks.

Between thresholds a < b every cut has at most the positives of a and at least the unlabeled rows
of b above it, so its bound (Garg et al. 2021, algorithm 1) is at least what these two counts give.
That rules out almost all cuts: first by a histogram, if the scores are spread well enough, so that
few are left to sort; then among the sorted ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from topbin.core.checks import Scores, check_scores
from topbin.core.counting import SPARSE, Counts, pieces
from topbin.core.errors import InputError
from topbin.core.tails import Tails
from topbin.mpe.bbe import upper_confidence

FEW = 1 << 17  # rows below which full tails are as quick
CELLS = 1 << 15  # few enough for the histogram to stay in the cache
CROWDED = 1 / 512  # the share of positives in one cell that makes a histogram useless
LOOKED_AT = 1 << 14  # positives that are tried on the grid to see whether they crowd
FIRST, SPLIT = 256, 4  # cells to begin with, and parts that a surviving cell is split in


def thin_tails(
    scores_p: Any,
    scores_u: Any,
    *,
    delta: float = 0.1,
    gamma: float = 0.01,
    ranks: Iterable[int] = (),
) -> Tails:
    """Tails at the cut that `bbe` chooses among all, and at the cuts of these ranks.

    Rank k is the cut that holds the k-th largest positive score. Small samples, or few positives,
    are not worth thinning and give full tails. Either way, `bbe` with the same `delta` and `gamma`
    returns the bits it returns for full tails, and so does all that reads only the given ranks.

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
    slab = Slab(scores_p, scores_u, 0, 0, scores_p.size, scores_u.size)
    grid = Grid.over(scores_p, scores_u) if wanted.size == 0 else None
    if grid is not None:
        slab = _narrowed(slab, grid, delta, gamma)
    slab = slab.ranked()
    places = np.append(slab.scores_p.size - wanted, _best(slab, delta, gamma))
    return slab.edges_at(places).tails


@dataclass(frozen=True, slots=True)
class Slab:
    """The rows with scores in some interval, and how many of all rows score above it."""

    scores_p: Scores
    scores_u: Scores
    above_p: int
    above_u: int
    n_p: int
    n_u: int

    def ranked(self) -> "Slab":
        """The same with its scores in ascending order, and known to be finite."""
        ranked_p, ranked_u = np.sort(self.scores_p), np.sort(self.scores_u)
        for scores, name in ((ranked_p, "scores_p"), (ranked_u, "scores_u")):
            if not np.isfinite(scores[:1]).all() or not np.isfinite(scores[-1:]).all():
                check_scores(scores, name)
        return Slab(ranked_p, ranked_u, self.above_p, self.above_u, self.n_p, self.n_u)

    def edges_at(self, places: Counts) -> "Edges":
        """The cuts that the positives at these places of the ranked slab have as scores."""
        starts = np.unique(np.searchsorted(self.scores_p, self.scores_p[places]))
        cuts = self.scores_p[starts] + 0.0  # −0.0 becomes the 0.0 it equals, as in full tails
        above_p = self.above_p + self.scores_p.size - starts
        above_u = self.above_u + self.scores_u.size - np.searchsorted(self.scores_u, cuts)
        stops = np.searchsorted(self.scores_p, cuts, side="right")
        return Edges(Tails(cuts, above_p, above_u, self.n_p, self.n_u), starts, stops)


@dataclass(frozen=True, slots=True)
class Edges:
    """Some cuts of a ranked slab, each with the places of the positives that equal it."""

    tails: Tails
    starts: Counts
    stops: Counts

    def with_more(self, more: "Edges") -> "Edges":
        """Both, still ascending and each once."""
        starts, order = np.unique(np.append(self.starts, more.starts), return_index=True)
        ours, theirs = self.tails, more.tails
        tails = Tails(
            np.append(ours.cuts, theirs.cuts)[order],
            np.append(ours.above_p, theirs.above_p)[order],
            np.append(ours.above_u, theirs.above_u)[order],
            ours.n_p,
            ours.n_u,
        )
        return Edges(tails, starts, np.append(self.stops, more.stops)[order])


def _best(slab: Slab, delta: float, gamma: float) -> int:
    """Where the cut with the smallest bound begins in the ranked slab; of equal ones the lowest.

    A cell holds the positives between one edge and the next. As long as it may hide a bound as
    small as the smallest known, it is split.
    """
    size = slab.scores_p.size
    edges = slab.edges_at(np.linspace(0, size - 1, FIRST).astype(np.int64))
    while True:
        tails = edges.tails
        bounds = upper_confidence(tails, delta=delta, gamma=gamma)
        inside = np.append(edges.starts[1:], size) - edges.stops
        cell = np.flatnonzero(inside)
        inner_p = slab.above_p + size - edges.stops[cell]
        inner_u = np.append(tails.above_u[1:], slab.above_u)[cell]
        ideal = Tails(tails.cuts[cell], inner_p, inner_u, slab.n_p, slab.n_u)
        cell = cell[upper_confidence(ideal, delta=delta, gamma=gamma) <= bounds.min()]
        if cell.size == 0:
            return int(edges.starts[np.argmin(bounds)])
        split = edges.stops[cell, None] + inside[cell, None] * np.arange(SPLIT) // SPLIT
        edges = edges.with_more(slab.edges_at(split.ravel()))


@dataclass(frozen=True, slots=True)
class Grid:
    """Equal cells from the lowest score to the highest; rounding does not change their order."""

    low: np.floating[Any]
    high: np.floating[Any]
    scale: np.floating[Any]

    @classmethod
    def over(cls, scores_p: Scores, scores_u: Scores) -> "Grid | None":
        """A grid over both samples; None if positives would crowd in few of its cells.

        A few rows show that sooner than all of them, but they may lack the outliers.
        """
        step = max(1, scores_p.size // LOOKED_AT)
        some_p, some_u = scores_p[::step], scores_u[::step]
        grid = None
        for samples in ((some_p, some_u), (scores_p, scores_u)):
            grid = cls.spanning(*samples)
            if grid is None or grid.histogram(some_p).max() > CROWDED * some_p.size:
                return None
        return grid

    @classmethod
    def spanning(cls, *samples: Scores) -> "Grid | None":
        """A grid from the lowest to the highest score; None if they are equal or not finite."""
        ends = np.array([_ends(scores) for scores in samples])
        kind = np.result_type(*samples)
        span, most = float(ends.max()) - float(ends.min()), float(np.finfo(kind).max)
        if not CELLS / most < span < most:
            return None
        return cls(kind.type(ends.min()), kind.type(ends.max()), kind.type(CELLS / span))

    def place(self, scores: Any) -> Any:
        """The cell of each score, as a real number whose whole part counts."""
        place = scores - self.low
        place *= self.scale
        return place

    def histogram(self, scores: Scores) -> Counts:
        """How many scores are in each cell."""
        counts = np.zeros(CELLS + 1, np.int64)
        for piece in pieces(scores.size):
            counts += np.bincount(self.place(scores[piece]).astype(np.intp), minlength=CELLS + 1)
        return counts

    def edge(self, cell: int) -> np.floating[Any]:
        """The smallest score of this cell or a higher one; infinity if there are none.

        >>> Grid(np.float32(0), np.float32(8), np.float32(1)).edge(3)
        np.float32(3.0)
        """
        if self.place(self.high) < cell:
            return type(self.high)(np.inf)
        below, reached = self.low, self.high
        while below < (middle := below / 2 + reached / 2) < reached:
            below, reached = (below, middle) if self.place(middle) >= cell else (middle, reached)
        return below if self.place(below) >= cell else reached


def _narrowed(slab: Slab, grid: Grid, delta: float, gamma: float) -> Slab:
    """The rows from the first to the last cell that may hold the cut with the smallest bound."""
    held_p, held_u = grid.histogram(slab.scores_p), grid.histogram(slab.scores_u)
    above_p, above_u = (np.append(np.cumsum(held[::-1])[::-1], 0) for held in (held_p, held_u))
    cell = np.flatnonzero(held_p)
    edges = Tails(cell.astype(float), above_p[cell], above_u[cell], slab.n_p, slab.n_u)
    ideal = Tails(edges.cuts, edges.above_p, above_u[cell + 1], slab.n_p, slab.n_u)
    reached = upper_confidence(edges, delta=delta, gamma=gamma).min()
    cell = cell[upper_confidence(ideal, delta=delta, gamma=gamma) <= reached]
    low, high = grid.edge(cell[0]), grid.edge(cell[-1] + 1)
    rest_p, rest_u = int(above_p[cell[-1] + 1]), int(above_u[cell[-1] + 1])
    inside_p, inside_u = _between(slab.scores_p, low, high), _between(slab.scores_u, low, high)
    return Slab(inside_p, inside_u, rest_p, rest_u, slab.n_p, slab.n_u)


def _between(scores: Scores, low: np.floating[Any], high: np.floating[Any]) -> Scores:
    found = []
    for piece in pieces(scores.size):
        part = scores[piece]
        found.append(part.take(np.flatnonzero((part >= low) & (part < high))))
    return np.concatenate(found)


def _ends(scores: Scores) -> tuple[np.floating[Any], np.floating[Any]]:
    """The lowest and the highest score, or NaN if there is one."""
    ends = [(scores[piece].min(), scores[piece].max()) for piece in pieces(scores.size)]
    lows, highs = np.array(ends).T
    return lows.min(), highs.max()


def _check_ranks(ranks: Iterable[int], n_p: int) -> Counts:
    wanted = np.array(list(ranks))
    if wanted.size == 0:
        return np.empty(0, np.int64)
    if wanted.dtype.kind not in "iu" or wanted.min() < 1 or wanted.max() > n_p:
        raise InputError(
            "TB008", f"ranks must be whole numbers from 1 to n_p = {n_p:,}; got {wanted}."
        )
    return wanted.astype(np.int64)
