"""DEDPUL, AlphaMax and Elkan-Noto from binned scores, which add like tails.

These methods read every score. Here the unlabeled scores are counted in 65,536 cells between the
lowest and the highest score, even in logits if all are probabilities, and the same functions that
serve scores in memory read them back as that many cells' middles.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, logit

from topbin.core.checks import Floats, Scores
from topbin.core.defaults import CONFIDENCE
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.labels import LabelValues
from topbin.core.tails import Counts, Tails
from topbin.engines.count import Chunk, Counted, Sums, Task, count_cuts, over_chunks
from topbin.engines.engine import Engine, total
from topbin.mpe.estimate import add_alarms
from topbin.mpe.registry import find_method

CELLS = 1 << 16
ROWS = 1 << 20  # at most so many scores represent all; quantiles, if there are more


@dataclass(frozen=True, slots=True)
class Ends:
    """The lowest and highest score, of all and of those strictly between 0 and 1; parts add."""

    low: float = np.inf
    high: float = -np.inf
    inner_low: float = np.inf
    inner_high: float = -np.inf

    @classmethod
    def of(cls, scores: Scores) -> "Ends":
        """The ends of these scores."""
        inner = scores[(scores > 0) & (scores < 1)]
        low, inner_low = (float(some.min(initial=np.inf)) for some in (scores, inner))
        high, inner_high = (float(some.max(initial=-np.inf)) for some in (scores, inner))
        return cls(low, high, inner_low, inner_high)

    def __add__(self, other: "Ends") -> "Ends":
        low, inner_low = min(self.low, other.low), min(self.inner_low, other.inner_low)
        high, inner_high = max(self.high, other.high), max(self.inner_high, other.inner_high)
        return Ends(low, high, inner_low, inner_high)

    def cells(self) -> tuple[Floats, Floats]:
        """The lower edge of each cell, ascending, and its middle; the last one is a point.

        >>> edges, middles = Ends(-1.0, 3.0).cells()
        >>> edges[[0, -1]], middles[[0, -1]].round(3)
        (array([-1.,  3.]), array([-1.,  3.]))
        """
        if self.low < 0 or self.high > 1:
            edges = np.linspace(self.low, self.high, CELLS + 1)
            return edges, np.append((edges[:-1] + edges[1:]) / 2, self.high)
        if self.inner_low > self.inner_high:
            edges = np.unique([self.low, self.high])
            return edges, edges
        z = np.linspace(logit(self.inner_low), logit(self.inner_high), CELLS + 1)
        # Rounding must not put an edge beyond the ends, or before the one below it.
        inside = np.clip(np.maximum.accumulate(expit(z[1:-1])), self.inner_low, self.inner_high)
        below, above = [0.0] * (self.low == 0), [self.inner_high] + [1.0] * (self.high == 1)
        edges = np.concatenate([below, [self.inner_low], inside, above])
        return edges, np.concatenate([below, expit((z[:-1] + z[1:]) / 2), above])


@dataclass(frozen=True, slots=True, eq=False)
class Binned:
    """The cells' lower edges and middles, their unlabeled scores, and the exact tails."""

    edges: Scores
    middles: Floats
    counts: Counts
    tails: Tails

    def scores(self) -> tuple[Floats, Floats]:
        """Scores that represent both samples; positives move to middles too, so ties stay ties."""
        cells = np.searchsorted(self.edges, self.tails.cuts, side="right") - 1
        return self._repeated(self.middles[cells]), _spread(self.middles, self.counts)

    def _repeated(self, values: Any) -> Any:
        """A value per cut, repeated for every positive whose score is that cut."""
        return _spread(values, -np.diff(np.append(self.tails.above_p, 0)))

    def estimate(
        self, method: str, confidence: float | None = CONFIDENCE, share_p: float | None = None
    ) -> AlphaEstimate:
        """α by a method that reads scores, with interval, bound and alarms of the exact tails."""
        chosen, n_p, n_u = find_method(method), self.tails.n_p, self.tails.n_u
        scores_p, scores_u = self.scores()
        if chosen.needs == "probabilities":
            scores_p = self._repeated(self.tails.cuts)  # the mean over the positives needs no bins
        share_p = n_p / (n_p + n_u) if share_p is None else share_p
        evidence = Evidence(scores_p, scores_u, share_p, self.tails)
        estimate = chosen.read(evidence)
        note = f"unlabeled scores binned to {self.middles.size:,} cells"
        if n_u > ROWS:
            note += f", of which {ROWS:,} quantiles stand for {n_u:,} scores"
        notes = (*estimate.notes, note)
        estimate = replace(estimate, method=f"{method} (binned)", n_p=n_p, n_u=n_u, notes=notes)
        return add_alarms(estimate, evidence, confidence)


def bin_scores(engine: Engine, counted: Counted) -> Binned:
    """Two more passes over what was counted: the ends of the scores, then the cells.

    Parameters
    ----------
    engine
        Which reads the files again.
    counted
        What `count_from` gave, without groups.

    Returns
    -------
    Binned
        Counts in cells, from which every method can be read.
    """
    if counted.columns.by is not None:
        raise InputError(
            "TB007", "methods that read every score are not computed by group; use bbe or bbe_cp."
        )
    tails, columns, labels = counted.tails[None], counted.columns, counted.labels
    task = Task(columns, partial(_ends, labels), Ends.of(tails.cuts))
    edges, middles = total(engine, over_chunks, counted.parts, task).cells()
    # Edges that are equal in float32 are one cell, with the last middle of them.
    cast = edges.astype(columns.dtype)
    last = np.append(cast[1:] != cast[:-1], True)
    cast, middles = cast[last], middles[last]
    task = Task(columns, partial(count_cuts, {None: cast}, labels), Sums())
    above = total(engine, over_chunks, counted.parts, task)[None]
    if above[0] != tails.n_u:
        raise InputError("TB102", "the files changed while they were read. Count them again.")
    return Binned(cast, middles, -np.diff(np.append(above[:-1], 0)), tails)


def _ends(labels: LabelValues, chunk: Chunk) -> Ends:
    """The ends of the unlabeled scores of a chunk."""
    return Ends.of(chunk.scores[np.isfinite(chunk.scores) & labels.is_unlabeled(chunk.labels)])


def _spread(values: Any, counts: Counts) -> Any:
    """Each value repeated by its count; if that is too many, evenly spaced quantiles instead.

    >>> _spread(np.array([1.0, 2.0]), np.array([1, 3]))
    array([1., 2., 2., 2.])
    """
    rows = int(counts.sum())
    if rows <= ROWS:
        return np.repeat(values, counts)
    wanted = ((np.arange(ROWS) + 0.5) * (rows / ROWS)).astype(np.int64)
    return values[np.searchsorted(np.cumsum(counts), wanted, side="right")]
