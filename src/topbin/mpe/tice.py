"""TIcE: the label frequency from the purest subsets a decision tree finds (Bekker & Davis 2018)."""

from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.checks import check_count, check_fraction
from topbin.core.estimate import AlphaEstimate
from topbin.mpe import samples
from topbin.mpe.samples import FeatureSamples

Mask = NDArray[np.bool_]
Counts = NDArray[np.intp]
# Those of the code of the paper (Bekker & Davis, AAAI 2018).
BORDERS = (0.25, 0.5, 0.75)
FOLDS = 5
ROUNDS = 2
BEPP_ROWS = 5
MIN_ROWS = 10
TINY = float(np.finfo(float).tiny)


def tice(
    X_p: Any,
    X_u: Any,
    *,
    delta: float | None = None,
    max_splits: int = 500,
    max_rows: int = 100_000,
    n_components: int = 50,
    random_state: int = 0,
) -> AlphaEstimate:
    """Estimate α from the label frequency c = n_p / (n_p + α n_u) of both samples put together.

    In any subset of the feature space the share of labeled rows among all rows is at most c, and
    it is c where no negative falls. So every subset gives a lower bound of c, by Chebyshev's
    inequality at confidence 1 − δ, and a tree that keeps splitting toward labeled rows finds
    good subsets. The tree grows on one fifth of the rows and is read on the other four; c is the
    mean over the five choices of the largest bound. A first round takes the variance of c = ½, a
    second that of the first round's c.

    The paper draws one table in which each positive is labeled with probability c. Two samples
    drawn separately obey the same equation, because a subset A has n_p p(A) labeled and at least
    α n_u p(A) other rows. Either way α = (n_p / n_u)(1 − c)/c is the share among the UNLABELED.

    Because c is a lower bound, α̂ is too high: by 0.05 to 0.15 on Gaussians 4σ apart with 1,000
    to 10,000 rows per sample. With a few hundred the paper's δ is so lax that the largest of many
    bounds no longer holds, and α̂ errs either way.

    Features are mapped to [0, 1] and cut into quarters; a table wider than `n_components` is
    standardized and reduced to its principal components first.

    Parameters
    ----------
    X_p, X_u
        Features of the positives and of the unlabeled rows, with the same columns.
    delta
        The δ of the bound; None: by the number of rows.
    max_splits
        Of each tree.
    max_rows, random_state
        The most rows of each sample that are used, drawn with `random_state`.
    n_components
        A wider table is reduced to so many principal components.

    Returns
    -------
    AlphaEstimate
        α, without an interval.

    Examples
    --------
    >>> X_p, X_u = np.ones((2000, 1)), np.repeat([[1.0], [0.0]], [500, 1500], axis=0)
    >>> 0.25 <= tice(X_p, X_u).alpha < 0.35             # a quarter lie where the positives do
    True
    """
    check_count(max_splits, "max_splits")
    if delta is not None:
        check_fraction(delta, "delta")
    whole = samples.read_samples(X_p, X_u)
    pair = samples.subsample(whole, max_rows, random_state)
    if pair.p.shape[1] > n_components:
        pair = samples.standardize(pair)
    pair = samples.unit_range(samples.compress(pair, n_components, random_state))
    c = label_frequency(pair, delta=delta, max_splits=max_splits, random_state=random_state)
    n_p, n_u = pair.p.shape[0], pair.u.shape[0]
    alpha = min(1.0, max(0.0, (n_p / n_u) * (1 - c) / c))
    n_p, n_u = whole.p.shape[0], whole.u.shape[0]
    return AlphaEstimate(alpha=alpha, n_p=n_p, n_u=n_u, method="tice", notes=pair.notes)


def label_frequency(
    pair: FeatureSamples,
    *,
    delta: float | None = None,
    max_splits: int = 500,
    random_state: int = 0,
) -> float:
    """The lower bound of c from features in [0, 1]; never below the share of labeled rows."""
    quarters = np.digitize(pair.both, BORDERS).astype(np.int32)
    labeled = np.arange(len(quarters)) < len(pair.p)
    sizes = len(pair.p), len(pair.u)
    draws = [np.random.default_rng([random_state, i]).permutation(n) for i, n in enumerate(sizes)]
    fold = np.concatenate(draws) % FOLDS
    c = 0.5
    for _ in range(ROUNDS):
        bounds = []
        for k in range(FOLDS):
            read = fold != k
            risk = pick_delta(int(read.sum())) if delta is None else delta
            variance = c * (1 - c) * (1 - risk) / risk
            bounds.append(best_bound(quarters, labeled, read, variance, max_splits))
        c = sum(bounds) / FOLDS
    return max(c, sizes[0] / sum(sizes))


def pick_delta(rows: int) -> float:
    """The paper's rule: the more rows, the safer the bound.

    >>> pick_delta(250), pick_delta(1_000_000)
    (0.5, 0.025)
    """
    return max(0.025, 1 / (1 + 0.004 * rows))


def best_bound(
    quarters: NDArray[np.int32], labeled: Mask, read: Mask, variance: float, max_splits: int
) -> float:
    """The largest lower bound of c over the subsets of one tree, the most promising split first.

    Rows that are not `read` choose the splits; those that are give the bounds
    L/T − √(variance/T), with L of T rows labeled.
    """
    n, width = quarters.shape
    # 16·column + 8·read + 4·labeled + quarter: the tables of all columns are one bincount.
    kind = (8 * read + 4 * labeled).astype(np.int32)
    codes = quarters + kind[:, None] + 16 * np.arange(width, dtype=np.int32)
    best, fewest, ticket = labeled[read].sum() / max(1, read.sum()), 1.0, count()
    queue = [(0.0, 0, next(ticket), np.arange(n), np.ones(width, bool))]
    for _ in range(max_splits):
        if not queue:
            break
        *_, rows, columns = heappop(queue)
        # Rows by column, read or not, labeled or not, and quarter.
        tables = np.bincount(codes[rows].ravel(), minlength=16 * width).reshape(width, 2, 2, 4)
        columns = columns & (tables[:, 1, 1].max(axis=1) >= fewest)
        column = _purest_column(tables[:, 0], columns)
        if column is None or np.count_nonzero(tables[column, 1].sum(axis=0)) == 1:
            continue
        (grow_other, grow_labeled), (read_other, read_labeled) = tables[column]
        grow_rows, read_rows = grow_other + grow_labeled, read_other + read_labeled
        best = max(best, _bounds(read_labeled, read_rows, variance, MIN_ROWS).max())
        # A subset with fewer labeled rows cannot beat the best bound, even with no other row.
        fewest = variance / max((1 - best) ** 2, TINY)
        mixed = (grow_labeled > 0) & (grow_other > 0)
        promise = _bounds(grow_labeled, grow_rows, variance, 1)
        columns[column] = False
        for q in np.flatnonzero(mixed & (read_labeled > fewest) & (grow_rows > MIN_ROWS)):
            inside = rows[quarters[rows, column] == q]
            key = (-float(promise[q]), -int(grow_labeled[q]), next(ticket))
            heappush(queue, (*key, inside, columns))
    return float(best)


def _purest_column(tables: Counts, columns: Mask) -> int | None:
    """The column with the quarter of highest L/(T + 5), the paper's max-bepp; the first of ties."""
    other, labeled = tables[:, 0], tables[:, 1]
    score = np.where(columns, (labeled / (other + labeled + BEPP_ROWS)).max(axis=1), 0.0)
    column = int(np.argmax(score))
    return column if score[column] > 0 else None


def _bounds(labeled: Counts, rows: Counts, variance: float, least: int) -> NDArray[np.float64]:
    safe = np.maximum(rows, 1)
    return np.where(rows >= least, labeled / safe - np.sqrt(variance / safe), 0.0)
