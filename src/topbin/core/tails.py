"""Tails: how many positives and how many unlabeled rows score at or above each cut.

These counts are all that the paper's estimator, its bounds and its pictures need
(Garg et al. 2021, section 3), and counts of parts of the unlabeled data add.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.binomial import effective_rows
from topbin.core.checks import Scores, check_scores
from topbin.core.errors import InputError

Shares = NDArray[np.float64]
Counts = NDArray[np.int64]
RATIO = 1.05  # between neighboring geometric ranks
PIECE = 1 << 16  # rows at a time, so that temporaries stay in the cache
SPARSE = 8  # unlabeled rows per positive above which looking cuts up beats sorting both samples
RANKED = 1 << 18  # rows sorted at a time; more if looking up the cuts would cost more


@dataclass(frozen=True, slots=True, eq=False)
class Tails:
    """Counts above each cut; a cut is a distinct positive score, ascending.

    Between two neighboring positive scores q_p does not change and q_u only grows as the cut
    falls, so no other threshold can have a smaller ratio or a smaller bound.

    >>> tails = Tails.from_scores([1.0, 2.0, 2.0], [0.0, 1.5, 2.0, 3.0])
    >>> tails.cuts, tails.above_p, tails.above_u
    (array([1., 2.]), array([3, 2]), array([3, 2]))
    >>> tails.ratio            # (3/4)/(3/3) and (2/4)/(2/3)
    array([0.75, 0.75])
    """

    cuts: Scores
    above_p: Counts
    above_u: Counts
    n_p: int
    n_u: int

    def __repr__(self) -> str:
        rows = f"{self.n_p:,} positives, {self.n_u:,} unlabeled"
        return f"<Tails: {self.cuts.size:,} cuts of {rows}>"

    @classmethod
    def from_scores(cls, scores_p: Any, scores_u: Any) -> "Tails":
        """Count both samples exactly; ties are kept together."""
        return cls.of_positives(scores_p).count(scores_u)

    @classmethod
    def from_chunks(cls, scores_p: Any, chunks_u: Iterable[Any]) -> "Tails":
        """Count unlabeled scores that arrive in chunks; memory use does not grow with their number.

        >>> Tails.from_chunks([1.0], [[0.0, 2.0], [], [1.0]]) == Tails.from_scores([1.0], [0, 2, 1])
        True
        """
        total = cls.of_positives(scores_p)
        for chunk in _batches(chunks_u, max(PIECE, SPARSE * total.cuts.size)):
            total = total + total.count(chunk)
        return total

    @classmethod
    def weighted(cls, scores_p: Any, scores_u: Any, weight_p: Any) -> "Tails":
        """Count the positives by weights; `n_p` is as many equal ones as they are worth.

        That is Kish's effective number, (Σw)²/Σw², rounded, and the counts are shares of it.

        >>> tails = Tails.weighted([1.0, 2.0, 2.0], [0.0, 1.5, 2.0, 3.0], [2.0, 1.0, 1.0])
        >>> tails.n_p, tails.q_p
        (3, array([1. , 0.5]))
        """
        plain, weight = cls.from_scores(scores_p, scores_u), np.asarray(weight_p, np.float64)
        order = np.argsort(scores_p)
        below = np.concatenate([[0.0], np.cumsum(weight[order])])
        first = np.searchsorted(np.asarray(scores_p)[order], plain.cuts)
        share = 1 - below[first] / below[-1]
        n_p = max(1, round(effective_rows(weight)))
        return replace(plain, above_p=n_p * share, n_p=n_p)

    @classmethod
    def of_positives(cls, scores_p: Any) -> "Tails":
        """Cuts and positive counts, with no unlabeled row counted yet."""
        ranked = np.sort(check_scores(scores_p, "scores_p"))
        ranked += 0.0  # −0.0 becomes the 0.0 it equals: the cut does not depend on row order
        first = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        above_p, above_u = ranked.size - first, np.zeros(first.size, np.int64)
        return cls(ranked[first], above_p, above_u, ranked.size, 0)

    def count(self, scores_u: Any) -> "Tails":
        """Tails of these unlabeled scores alone, at this object's cuts."""
        scores = check_scores(scores_u, "scores_u", allow_empty=True)
        return replace(self, above_u=count_above(self.cuts, scores), n_u=scores.size)

    def __add__(self, other: "Tails") -> "Tails":
        """The same positives, the unlabeled rows of both."""
        if not isinstance(other, Tails):
            return NotImplemented
        if not self.same_positives(other):
            raise InputError(
                "TB010",
                "these tails have different positives, so their cuts differ. "
                "Count every part with the same Tails.of_positives(scores_p).count(part).",
            )
        return replace(self, above_u=self.above_u + other.above_u, n_u=self.n_u + other.n_u)

    def __radd__(self, other: int) -> "Tails":
        return self if other == 0 else NotImplemented  # what sum() starts with

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tails):
            return NotImplemented
        same_u = self.n_u == other.n_u and np.array_equal(self.above_u, other.above_u)
        return same_u and self.same_positives(other)

    __hash__ = None  # type: ignore[assignment]  # contains arrays

    def same_positives(self, other: "Tails") -> bool:
        """Whether both count against the same cuts and positives."""
        pairs = ((self.cuts, other.cuts), (self.above_p, other.above_p))
        same = all(mine is theirs or np.array_equal(mine, theirs) for mine, theirs in pairs)
        return self.n_p == other.n_p and same

    def at(self, index: Any) -> "Tails":
        """The same samples seen only at some of the cuts."""
        counts = self.cuts[index], self.above_p[index], self.above_u[index]
        return Tails(*counts, self.n_p, self.n_u)

    @property
    def q_p(self) -> Shares:
        """Share of the positives at or above each cut."""
        share: Shares = self.above_p / self.n_p
        return share

    @property
    def q_u(self) -> Shares:
        """Share of the unlabeled at or above each cut."""
        self.require_unlabeled()
        share: Shares = self.above_u / self.n_u
        return share

    @property
    def ratio(self) -> Shares:
        """q_u / q_p: at least α at every cut, and α where the top bin is pure."""
        return self.q_u / self.q_p

    def require_unlabeled(self) -> None:
        """Refuse an empty unlabeled sample."""
        if self.n_u == 0:
            raise InputError("TB001", "scores_u is empty; pass at least one unlabeled score.")


def count_above(cuts: Scores, scores: Scores) -> Counts:
    """How many finite scores are at or above each of these distinct ascending cuts.

    >>> count_above(np.array([1.0, 2.0]), np.array([0.0, 1.5, 2.0, 3.0]))
    array([3, 2])
    """
    above = np.zeros(cuts.size, np.int64)
    for part in np.array_split(scores, max(1, scores.size // max(RANKED, 32 * cuts.size))):
        ranked = np.sort(part)
        above += ranked.size - np.searchsorted(ranked, cuts)
    return above


def _batches(chunks: Iterable[Any], rows: int) -> Iterator[Scores]:
    """The same scores in chunks of at least `rows`: counting a chunk costs as much as its cuts.

    >>> list(_batches([[1.0], [], [2.0], [3.0]], 2))
    [array([1., 2.]), array([3.])]
    """
    held: list[Scores] = []
    missing = rows
    for chunk in chunks:
        scores = check_scores(chunk, "scores_u", finite=False, allow_empty=True)
        held.append(scores if scores.size >= missing else scores.copy())  # readers reuse buffers
        missing -= scores.size
        if missing <= 0:
            yield np.concatenate(held)
            held, missing = [], rows
    if held:
        yield np.concatenate(held)


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
