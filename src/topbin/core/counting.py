"""Exact counts at scale: how many scores of two samples lie at or above each positive score.

One sort does it. A score becomes an integer of the same order whose lowest bit names its sample;
a scan of the sorted integers then reads both counts off, ties included.
"""

from collections.abc import Iterator
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


class Merged(NamedTuple):
    """The distinct positive scores, ascending, and how many of each sample are at or above."""

    cuts: Scores
    above_p: Counts
    above_u: Counts


def merge(scores_p: Scores, scores_u: Scores) -> Merged | None:
    """Count both samples at every positive score by one sort; None if that is not worth it.

    It is not worth it for few rows, few positives or many ties, and it is impossible for scores
    that are not finite. Otherwise it takes half the time of two sorts and a look-up.

    >>> scores = np.arange(20_000.0)
    >>> merged = merge(scores, scores - 500)
    >>> [column[19_000].item() for column in merged]
    [19000.0, 1000, 500]
    """
    n_p, n_u = scores_p.size, scores_u.size
    if n_p + n_u < FEW or n_u >= SPARSE * n_p or _tied(scores_p):
        return None
    high, seen = _merge_side(scores_p, scores_u, n_p + n_u, negative=False)
    if high is None or seen == n_p + n_u:
        return high
    low, rest = _merge_side(scores_p, scores_u, n_p + n_u - seen, negative=True)
    if low is None or seen + rest < n_p + n_u:  # NaN is on neither side
        return None
    # Below zero, sizes were counted: a score is at or above a cut unless its size is larger.
    larger_p = np.append(low.above_p[1:], 0)[: low.cuts.size]
    return Merged(
        np.append(-low.cuts[::-1], high.cuts),
        np.append(n_p - larger_p[::-1], high.above_p),
        np.append(n_u - low.above_u[::-1], high.above_u),
    )


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


def _merge_side(
    scores_p: Scores, scores_u: Scores, most: int, *, negative: bool
) -> tuple[Merged | None, int]:
    """Count the sizes of the scores on one side of zero, and say how many rows are there.

    The counts are None if a score is infinite.

    Sizes of finite floats are ordered like their bits, and their sign bit is free for the label.
    Of equal sizes the positives come first, so that equal unlabeled scores count as above; below
    zero they come last, because only larger sizes count there.
    """
    kind = np.result_type(scores_p, scores_u)
    codes, rows, n_p = np.empty(most, f"u{kind.itemsize}"), 0, 0
    for label, scores in ((negative, scores_p), (not negative, scores_u)):
        n_p, bit = rows, codes.dtype.type(label)
        for piece in pieces(scores.size):
            part = scores[piece]
            here = part < 0 if negative else part >= 0
            size = np.abs(part if here.all() else part.compress(here)).astype(kind, copy=False)
            out = codes[rows : rows + size.size]
            np.left_shift(size.view(codes.dtype), 1, out=out)
            out |= bit
            rows += size.size
    codes = codes[:rows]
    codes.sort()
    infinite = int(kind.type(np.inf).view(codes.dtype)) << 1
    if rows and codes[-1] >= infinite:
        return None, rows
    cuts, above_p, above_u = _scan(codes, n_p, codes.dtype.type(negative))
    return Merged(cuts.view(kind).astype(scores_p.dtype), above_p, above_u), rows


def _scan(
    codes: Codes, n_p: int, positive: np.unsignedinteger[Any]
) -> tuple[Codes, Counts, Counts]:
    """Read sorted codes; the cuts found so far, as bits, overwrite the codes already read."""
    one = codes.dtype.type(1)
    above_p, above_u = np.empty(n_p, np.int64), np.empty(n_p, np.int64)
    rest_p, rest_u, n_cuts, last = n_p, codes.size - n_p, 0, one - positive
    for piece in pieces(codes.size):
        read = codes[piece]
        at = np.flatnonzero((read & one) == positive)
        if at.size:
            codes_p = read.take(at)
            new = np.flatnonzero(np.append(codes_p[0] != last, codes_p[1:] != codes_p[:-1]))
            to = slice(n_cuts, n_cuts + new.size)
            np.subtract(rest_p, new, out=above_p[to])
            np.subtract(new, at.take(new), out=above_u[to])
            above_u[to] += rest_u
            last, n_cuts = codes_p[-1], to.stop
            np.right_shift(codes_p.take(new), 1, out=codes[to])
        rest_p, rest_u = rest_p - at.size, rest_u - (read.size - at.size)
    for array in (above_p, above_u):
        array.resize(n_cuts, refcheck=False)
    return codes[:n_cuts], above_p, above_u
