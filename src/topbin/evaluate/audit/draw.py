"""Drawing the rows of an audit: all equally often, by score strata, or the rarer class more often.

A simple draw never sees a score. A stratified draw cuts the unlabeled into strata of equal size by
score and takes the same share of each. A weighted draw knows each row's probability f, and takes
rows that look like the rarer class more often; each answer then counts by how often its row is
drawn. `reach` says how often: so that a single answer can move α as little as possible either way.
Rows that vary most (Neyman) are not favored beyond that: the rows that are left with few answers
would widen any valid interval.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.checks import Floats, check_count, check_scores
from topbin.core.errors import InputError

Rows = NDArray[np.int64]
STRATA = 10
LEAST_PER_STRATUM = 5
STEP = 1.1  # rows of one stratum of a weighted draw are wanted equally often, up to this factor
RAREST = 0.01  # a class that is rarer is drawn as if this were its share


@dataclass(frozen=True, slots=True, eq=False)
class AuditSample:
    """Which unlabeled rows to label: positions, in an order that says nothing about their score.

    `stratum` is the stratum of each drawn row, `sizes` how many unlabeled rows each stratum has.
    The strata of a weighted draw lie between `cuts` of the probability, and `expected` says how
    many rows of each it takes on average; both are empty where all rows are equally likely.
    """

    rows: Rows
    stratum: Rows
    sizes: tuple[int, ...]
    seed: int
    cuts: tuple[float, ...] = ()
    expected: tuple[float, ...] = ()

    @property
    def n(self) -> int:
        """How many rows are to be labeled."""
        return int(self.rows.size)

    @property
    def kind(self) -> str:
        """ "simple", "stratified" or "weighted"."""
        if self.expected:
            return "weighted"
        return "simple" if len(self.sizes) == 1 else "stratified"

    @property
    def drawn(self) -> Rows:
        """How many rows were drawn from each stratum."""
        return np.bincount(self.stratum, minlength=len(self.sizes)).astype(np.int64)

    @property
    def shares(self) -> Floats:
        """The weight of each stratum: its share of the unlabeled."""
        return np.asarray(self.sizes) / sum(self.sizes)

    def weights(self, f_u: Floats, at: Floats | None = None) -> Floats:
        """What an answer counts, for each unlabeled row, or for rows of the probabilities `at`.

        How often a plain draw would take the row, divided by how often this one does; 0 for rows
        that it cannot take. The mean over what is drawn is 1.

        >>> f_u = np.array([0.9, 0.1, 0.1, 0.1])
        >>> zeros = np.zeros(2, np.int64)
        >>> AuditSample(zeros, zeros, (3, 1), 0, (0.5,), (1.5, 0.5)).weights(f_u)
        array([1., 1., 1., 1.])
        >>> AuditSample(zeros, zeros, (3, 1), 0, (0.5,), (1.0, 1.0)).weights(f_u)
        array([0.5, 1.5, 1.5, 1.5])
        """
        if not self.expected:
            return np.ones((f_u if at is None else at).size)
        expected, stratum = np.asarray(self.expected), _strata(self.cuts, f_u)
        sizes = np.bincount(stratum, minlength=expected.size)
        counts = np.zeros(expected.size)
        np.divide(sizes, expected, out=counts, where=expected > 0)
        counts *= expected.sum() / f_u.size
        return np.asarray(counts[stratum if at is None else _strata(self.cuts, at)])


def draw(n_u: int, n: int, *, seed: int = 0) -> AuditSample:
    """Draw n of n_u unlabeled rows, each equally likely, without looking at anything else.

    Parameters
    ----------
    n_u
        How many unlabeled rows there are.
    n
        How many to draw.
    seed
        The same seed draws the same rows.

    Returns
    -------
    AuditSample
        Positions of the rows to label.

    Examples
    --------
    >>> draw(1000, 3, seed=1).n, draw(1000, 3).sizes
    (3, (1000,))
    """
    _check_size(n_u, n)
    rows = np.random.default_rng(seed).choice(n_u, n, replace=False)
    return AuditSample(rows.astype(np.int64), np.zeros(n, np.int64), (int(n_u),), seed)


def reach(alpha: float) -> tuple[float, float]:
    """How far an answer can move α up and down, as a multiple of 1/n, in a weighted draw.

    A row that is drawn (1 − f)/a + f/b times as often as in a plain draw moves it by a(1 − f) or
    less if it is positive, and by b·f or less if it is not. Draws of all rows sum up, so
    (1 − α)/a + α/b = 1, and a + b is least where a/b = √((1 − α)/α). A plain draw has a = b = 1.

    >>> [round(end, 2) for end in reach(0.05)], [round(end, 2) for end in reach(0.5)]
    ([1.17, 0.27], [1.0, 1.0])
    """
    alpha = min(1 - RAREST, max(RAREST, alpha))
    total = sqrt(alpha) + sqrt(1 - alpha)
    return sqrt(1 - alpha) * total, sqrt(alpha) * total


def how_often(f_u: Floats) -> Floats:
    """How often a weighted draw wants each row, compared with a plain one; the mean is 1."""
    up, down = reach(float(f_u.mean()))
    often = (1 - f_u) / up + f_u / down
    return np.asarray(often / often.mean())


def draw_weighted(
    probabilities: Any, n: int, *, seed: int = 0, taken: Sequence[int] = ()
) -> AuditSample:
    """Draw n unlabeled rows, those that look like the rarer class more often; see `reach`.

    Within a stratum all rows that are not `taken` are equally likely, so whatever the probabilities
    are, `judge` knows how often each is drawn.

    Parameters
    ----------
    probabilities
        Of all unlabeled rows.
    n
        How many to draw.
    seed
        The same seed draws the same rows.
    taken
        Positions of rows of earlier draws, which are not drawn again.

    Returns
    -------
    AuditSample
        Positions of the rows to label, and how often each stratum is drawn.

    Examples
    --------
    >>> f_u = np.repeat([0.0, 1.0], [950, 50])                    # 5 % look positive
    >>> sample = draw_weighted(f_u, 100)
    >>> sample.drawn[[0, -1]].tolist(), sample.weights(f_u)[[0, -1]].round(2).tolist()
    ([81, 19], [1.17, 0.27])
    """
    f_u = check_scores(probabilities, "probabilities").astype(np.float64)
    if f_u.min() < 0 or f_u.max() > 1:
        seen = f"{f_u.min():g} to {f_u.max():g}"
        raise InputError("TB008", f"probabilities must be between 0 and 1; got {seen}.")
    is_free = ~np.isin(np.arange(f_u.size), np.asarray(taken, np.int64))
    _check_size(int(is_free.sum()), n)
    random, cuts = np.random.default_rng(seed), _cuts(float(f_u.mean()))
    stratum = _strata(cuts, f_u)
    wanted = np.bincount(stratum, how_often(f_u), len(cuts) + 1).astype(np.float64)
    free = np.bincount(stratum[is_free], minlength=len(cuts) + 1)
    expected = _shared_out(n, wanted, free)
    # Fractions are rounded at random, so that each stratum gets its number on average.
    passed = np.floor(np.cumsum(expected).round(9) + random.random()).astype(np.int64)
    parts = (np.flatnonzero(is_free & (stratum == k)) for k in range(len(cuts) + 1))
    pairs = zip(parts, np.diff(passed, prepend=0), strict=True)
    rows = np.concatenate([random.choice(part, count, False) for part, count in pairs])
    rows = random.permutation(rows.astype(np.int64))
    sizes = tuple(np.bincount(stratum, minlength=len(cuts) + 1).tolist())
    return AuditSample(rows, stratum[rows], sizes, seed, cuts, tuple(expected.tolist()))


def merged(
    parts: Iterable[tuple[Sequence[float], Sequence[float], float]], f_u: Floats
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Cuts and expected numbers of several draws as of one, from theirs, oldest first.

    The third number of a draw is the share of its rows that were reached. A draw without cuts takes
    all rows that earlier draws have left equally often.

    >>> f_u = np.repeat([0.9, 0.1], [100, 300])
    >>> merged([((0.5,), (60.0, 50.0), 0.5), ((), (58.0,), 1.0)], f_u)
    ((0.5,), (78.0, 35.0))
    """
    drawn = list(parts)
    cuts = tuple(sorted({cut for own, _, _ in drawn for cut in own}))
    stratum = _strata(cuts, f_u)
    left = np.bincount(stratum, minlength=len(cuts) + 1).astype(np.float64)
    total = np.zeros(left.size)
    for own, expected, reached in drawn:
        within = _strata(own, f_u)
        often = np.asarray(expected) / np.bincount(within, minlength=len(expected)).clip(1)
        taken = np.bincount(stratum, often[within], left.size)
        taken = taken if own else left * (sum(expected) / left.sum())
        left = np.maximum(0, left - taken)
        total += reached * taken
    return cuts, tuple(total.round(9).tolist())


def _cuts(alpha: float) -> tuple[float, ...]:
    """Probabilities between which rows are wanted about equally often."""
    up, down = reach(alpha)
    strata = max(1, ceil(abs(log(up / down)) / log(STEP)))
    often = (up / down) ** (np.arange(1, strata) / strata)  # of a row with f = 0
    return tuple(np.sort((often - 1) / (up / down - 1)).tolist()) if strata > 1 else ()


def _strata(cuts: Sequence[float], f: Floats) -> Rows:
    return np.searchsorted(np.asarray(cuts, np.float64), f, "right").astype(np.int64)


def _shared_out(n: int, wanted: Floats, free: Rows) -> Floats:
    """n rows shared out by what is wanted, at most half of what a stratum has left if they can.

    A stratum that is never used up can still be seen by the next draw.
    """
    most = free * max(0.5, n / free.sum())
    given = np.zeros(wanted.size)
    for _ in range(wanted.size):
        open_to = np.where(given < most, wanted, 0)
        missing = n - given.sum()
        if missing <= 1e-9 or not open_to.any():
            break
        given = np.minimum(most, given + missing * open_to / open_to.sum())
    left = free - given
    return np.asarray(given + (n - given.sum()) * left / max(1e-300, left.sum()))


def draw_stratified(
    scores_u: Any, n: int, *, strata: int | None = None, seed: int = 0
) -> AuditSample:
    """Draw n unlabeled rows, the same share from each stratum of equally many rows by score.

    Tied scores go to neighboring strata at random. By default there are ten strata, or fewer so
    that each gives at least five rows.

    Parameters
    ----------
    scores_u
        Scores of all unlabeled rows.
    n
        How many to draw.
    strata
        How many strata; None: up to ten.
    seed
        The same seed draws the same rows.

    Returns
    -------
    AuditSample
        Positions of the rows to label, and their strata.

    Examples
    --------
    >>> sample = draw_stratified(np.arange(100.0), 10, strata=2)
    >>> sample.sizes, sample.drawn                      # rows 0–49 and rows 50–99
    ((50, 50), array([5, 5]))
    """
    scores = check_scores(scores_u, "scores_u")
    _check_size(scores.size, n)
    wanted = max(1, min(STRATA, n // LEAST_PER_STRATUM)) if strata is None else strata
    if check_count(wanted, "strata") > n:
        raise InputError("TB008", f"{n} rows cannot be drawn from {strata} strata; draw more rows.")
    random = np.random.default_rng(seed)
    shuffled = random.permutation(scores.size)
    ranked = shuffled[np.argsort(scores[shuffled], kind="stable")]
    parts = np.array_split(ranked, wanted)
    # array_split gives the first parts the row that is left over, in both splits alike.
    counts = [part.size for part in np.array_split(np.arange(n), wanted)]
    pairs = zip(parts, counts, strict=True)
    rows = np.concatenate([random.choice(part, count, False) for part, count in pairs])
    order = random.permutation(n)
    stratum = np.repeat(np.arange(wanted), counts)
    sizes = tuple(part.size for part in parts)
    return AuditSample(rows[order].astype(np.int64), stratum[order], sizes, seed)


def _check_size(n_u: int, n: int) -> None:
    check_count(n_u, "n_u")
    if check_count(n, "n") > n_u:
        raise InputError(
            "TB008",
            f"{n:,} rows cannot be drawn from {n_u:,} unlabeled ones; draw {n_u:,} or fewer.",
        )
