"""Exact counts at scale: how many scores of two samples lie at or above each positive score.

One sort does it. A score becomes an integer of the same order whose lowest bit names its sample;
a scan of the sorted integers then reads both counts off, ties included.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topbin.core.checks import Scores

Counts = NDArray[np.int64]
Codes = NDArray[np.unsignedinteger[Any]]

PIECE = 1 << 16  # rows at a time, so that temporaries stay in the cache
FEW = 1 << 15  # rows below which two plain sorts are quicker than coding
SPARSE = 8  # unlabeled rows per cut above which looking cuts up beats merging them in
RANKED = 1 << 18  # rows sorted at a time; more if looking up the cuts would cost more
TIED = 0.5  # the share of distinct scores, in a small sample, below which looking up is better
POSITIVE, UNLABELED = 0, 1  # the label bit: of equal scores, positives come first


class Merged(NamedTuple):
    """The distinct positive scores, ascending, and how many of each sample are at or above."""

    cuts: Scores
    above_p: Counts
    above_u: Counts


def merge(scores_p: Scores, scores_u: Scores) -> Merged | None:
    """Count both samples at every positive score by one sort; None if that is not worth it.

    It is not worth it for few rows, few positives or many ties, and it is impossible for scores
    that are not finite or too far apart. Otherwise it takes half the time of two sorts and a
    look-up.

    >>> scores = np.arange(20_000.0)
    >>> merged = merge(scores, scores - 500)
    >>> [column[19_000].item() for column in merged]
    [19000.0, 1000, 500]
    """
    rows = scores_p.size + scores_u.size
    if rows < FEW or scores_u.size >= SPARSE * scores_p.size or _tied(scores_p):
        return None
    kind = np.result_type(scores_p, scores_u)
    samples = [scores.astype(kind, copy=False) for scores in (scores_p, scores_u)]
    codes = np.empty(rows, f"u{kind.itemsize}")
    coding: Unsigned | Signed = Unsigned(kind)
    if not _fill(codes, samples, coding):
        signed = Signed.fitting(samples)
        if signed is None:
            return None
        coding = signed
        _fill(codes, samples, coding)
    codes.sort()
    cuts, above_p, above_u = _scan(codes, scores_p.size, coding)
    return Merged(cuts.astype(scores_p.dtype, copy=False), above_p, above_u)


def count_above(cuts: Scores, scores: Scores) -> Counts:
    """How many finite scores are at or above each of these distinct ascending cuts.

    >>> count_above(np.array([1.0, 2.0]), np.array([0.0, 1.5, 2.0, 3.0]))
    array([3, 2])
    """
    merged = merge(cuts, scores)
    if merged is not None:
        return merged.above_u
    above = np.zeros(cuts.size, np.int64)
    for part in np.array_split(scores, max(1, scores.size // max(RANKED, 32 * cuts.size))):
        ranked = np.sort(part)
        above += ranked.size - np.searchsorted(ranked, cuts)
    return above


def pieces(size: int, length: int = PIECE) -> Iterator[slice]:
    """Slices of at most `length` rows that cover `size` rows.

    >>> list(pieces(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return (slice(start, min(start + length, size)) for start in range(0, size, length))


def _tied(scores: Scores) -> bool:
    some = scores[:: max(1, scores.size // 4096)]
    return np.unique(some).size < TIED * some.size


def _fill(codes: Codes, samples: list[Scores], coding: "Unsigned | Signed") -> bool:
    """Code both samples, one after the other; False if some score does not fit."""
    start = 0
    for label, scores in zip((POSITIVE, UNLABELED), samples, strict=True):
        out = codes[start : start + scores.size]
        if not all(coding.encode(scores[at], label, out[at]) for at in pieces(scores.size)):
            return False
        start += scores.size
    return True


def _scan(codes: Codes, n_p: int, coding: "Unsigned | Signed") -> Merged:
    """Read the sorted codes; the cuts found so far overwrite the codes already read."""
    one = codes.dtype.type(1)
    above_p, above_u = np.empty(n_p, np.int64), np.empty(n_p, np.int64)
    rest_p, rest_u, found, last = n_p, codes.size - n_p, 0, one
    for piece in pieces(codes.size):
        read = codes[piece]
        at = np.flatnonzero((read & one) == POSITIVE)
        if at.size:
            positive = read.take(at)
            new = np.flatnonzero(np.append(positive[0] != last, positive[1:] != positive[:-1]))
            to = slice(found, found + new.size)
            np.subtract(rest_p, new, out=above_p[to])
            np.subtract(new, at.take(new), out=above_u[to])
            above_u[to] += rest_u
            last, found = positive[-1], to.stop
            codes[to] = coding.decode(positive.take(new)).view(codes.dtype)
        rest_p, rest_u = rest_p - at.size, rest_u - (read.size - at.size)
    del read  # a view of what is about to shrink
    for array in (codes, above_p, above_u):
        array.resize(found, refcheck=False)
    return Merged(codes.view(coding.kind), above_p, above_u)


@dataclass(frozen=True, slots=True)
class Unsigned:
    """Non-negative finite floats are ordered like their bits, and their sign bit is free.

    >>> codes = np.empty(2, "u8")
    >>> Unsigned(np.dtype("f8")).encode(np.array([0.5, 0.25]), 1, codes), codes[0] > codes[1]
    (True, np.True_)
    """

    kind: np.dtype[Any]

    def encode(self, scores: Scores, label: int, out: Codes) -> bool:
        """Write the code of each score, its lowest bit the label; False if some do not fit."""
        bits = scores.view(out.dtype)
        if bits.max() >= self.kind.type(np.inf).view(out.dtype):
            return False
        np.left_shift(bits, 1, out=out)
        out |= out.dtype.type(label)
        return True

    def decode(self, codes: Codes) -> Scores:
        """The score of each code with its lowest bit clear."""
        return (codes >> 1).view(self.kind)


@dataclass(frozen=True, slots=True)
class Signed:
    """Floats of both signs, coded as ±(bits − those of `origin`) about the middle of the range.

    `origin` is so small that adding it moves no score but zero. As no score then lies nearer to
    zero, leaving out the bit patterns below its own frees a bit.

    >>> scores, codes = np.array([2.0, -0.0, -3.0]), np.empty(3, "u8")
    >>> coding = Signed.fitting([scores])
    >>> coding.encode(scores, 0, codes), np.argsort(codes), coding.decode(codes)
    (True, array([2, 1, 0]), array([ 2.,  0., -3.]))
    """

    kind: np.dtype[Any]
    origin: np.floating[Any]

    @classmethod
    def fitting(cls, samples: list[Scores]) -> "Signed | None":
        """A coding for these scores; None if not all are finite, or they are too far apart."""
        kind = samples[0].dtype
        least, most = zip(*(_magnitudes(scores) for scores in samples if scores.size), strict=True)
        smallest = np.array(min(*least, max(most)), f"u{kind.itemsize}").view(kind)
        coding = cls(kind, kind.type(smallest * np.finfo(kind).eps / 16))
        infinite = int(kind.type(np.inf).view(coding._whole))
        reach = max(most) - coding._gap
        return coding if max(most) < infinite and reach < coding._middle else None

    def encode(self, scores: Scores, label: int, out: Codes) -> bool:
        """Write the code of each score, its lowest bit the label; always True."""
        whole = np.add(scores, self.origin, out=out.view(self.kind)).view(self._whole)
        minus = whole >> (8 * whole.itemsize - 1)  # −1 for negative scores, else 0
        whole ^= minus
        minus &= self._fold
        whole -= minus
        whole <<= 1
        out += out.dtype.type((2 * (self._middle - self._gap) + label) % (4 * self._middle))
        return True

    def decode(self, codes: Codes) -> Scores:
        """The score of each code with its lowest bit clear; zero has lost its sign."""
        whole = (codes >> 1).view(self._whole) - self._middle
        minus = whole >> (8 * whole.itemsize - 1)
        whole += self._gap + (minus & self._fold)
        whole ^= minus
        scores: Scores = whole.view(self.kind)
        scores -= self.origin
        return scores

    @property
    def _whole(self) -> type[np.signedinteger[Any]]:
        return np.int32 if self.kind.itemsize == 4 else np.int64

    @property
    def _middle(self) -> int:
        return 1 << (8 * self.kind.itemsize - 2)

    @property
    def _gap(self) -> int:
        return int(self.origin.view(self._whole))

    @property
    def _fold(self) -> int:
        """What to take from the flipped bits of a negative score to get gap − bits."""
        return 2 * self._middle - 1 - 2 * self._gap


def _magnitudes(scores: Scores) -> tuple[int, int]:
    """The bits of the smallest score that is not zero and of the largest, signs left out.

    If all are zero, the smallest is larger than any.
    """
    unsigned = np.dtype(f"u{scores.itemsize}").type
    least, most = [], []
    for piece in pieces(scores.size):
        bits = np.abs(scores[piece]).view(unsigned)
        most.append(int(bits.max()))
        bits -= unsigned(1)  # zero becomes the largest
        least.append(int(bits.min()))
    return min(least) + 1, max(most)
