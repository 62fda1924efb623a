"""From labeled rows to a PU problem: what estimators may see and, separately, the truth.

A split depends only on the task, α and the seed, so all methods share it.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin_bench.errors import BenchError

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Rows with their true labels, to draw a split from."""

    X: Any
    positive: Bools

    def deal(self, rng: np.random.Generator) -> tuple["Deck", "Deck"]:
        """The row numbers of positives and of negatives, shuffled."""
        sides = (np.flatnonzero(self.positive == side) for side in (True, False))
        p, n = (Deck(rng.permutation(rows)) for rows in sides)
        return p, n


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Everything that an estimator gets: training rows and held-out rows, without true labels."""

    X_p: Any
    X_u: Any
    held_p: Any
    held_u: Any

    @property
    def holdout(self) -> tuple[Any, Any]:
        """The held-out positives and unlabeled rows."""
        return self.held_p, self.held_u


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What only the judge sees: true labels of U, and a test set that nothing else has seen.

    `alpha` is None if nobody knows it; then there is no test set either.
    """

    alpha: float | None
    y_u: Bools | None
    y_held_u: Bools | None
    X_test: Any = None
    y_test: Bools | None = None


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of rows: `train` of P and the same of U; `holdout` of each, kept from training."""

    train: int
    holdout: int


class Deck:
    """Row numbers that are dealt from the front, none twice."""

    def __init__(self, rows: NDArray[np.intp]) -> None:
        self.rows = rows

    def take(self, n: int) -> NDArray[np.intp]:
        """The next n rows; too few rows left means that the sizes of the task are wrong."""
        if n > self.rows.size:
            raise BenchError(f"{n:,} rows are needed, but only {self.rows.size:,} are left.")
        dealt, self.rows = self.rows[:n], self.rows[n:]
        return dealt


def thirds(pool: Pool) -> Sizes:
    """The paper's sizes for UCI tables: of keep = min(|P|, |N|), a third and a sixth.

    >>> thirds(Pool(None, np.repeat([True, False], [490, 540])))
    Sizes(train=163, holdout=81)
    """
    keep = int(min(pool.positive.sum(), (~pool.positive).sum()))
    return Sizes(keep // 3, keep // 6)


def fitting(sizes: Sizes, alpha: float, pool: Pool) -> Sizes:
    """The sizes, both scaled down alike if a class is too small for them at this α.

    >>> fitting(Sizes(100, 20), 0.5, Pool(None, np.repeat([True, False], [90, 500])))
    Sizes(train=50, holdout=10)
    """
    total = sizes.train + sizes.holdout
    n_positive = int(pool.positive.sum())
    n_negative = pool.positive.size - n_positive
    shrink = min(1.0, n_positive / ((1 + alpha) * total))
    if alpha < 1:
        shrink = min(shrink, n_negative / ((1 - alpha) * total))
    return Sizes(int(sizes.train * shrink), int(sizes.holdout * shrink))


def draw(
    pool: Pool,
    sizes: Sizes,
    alpha: float,
    rng: np.random.Generator,
    *,
    test: Pool | None = None,
    hold_out_of_test: bool = False,
) -> tuple[Split, Truth]:
    """Deal P and a U with a share α of positives; the rows left, or `test`, are the test set.

    U is shuffled, so that the place of a row does not reveal its class.
    """
    if not 0 < alpha <= 1:
        raise BenchError(f"alpha must be above 0 and at most 1; got {alpha}.")
    p, n = pool.deal(rng)
    X_p, (X_u, y_u) = p.take(sizes.train), _mix(p, n, sizes.train, alpha, rng)
    held_from = pool
    if test is not None and hold_out_of_test:
        held_from = test
        p, n = test.deal(rng)
    held_p, (held_u, y_held_u) = p.take(sizes.holdout), _mix(p, n, sizes.holdout, alpha, rng)
    split = Split(pool.X[X_p], pool.X[X_u], held_from.X[held_p], held_from.X[held_u])
    if test is None or hold_out_of_test:
        left = np.concatenate([p.rows, n.rows])
        tested = Pool(held_from.X[left], held_from.positive[left])
    else:
        tested = test
    return split, Truth(alpha, y_u, y_held_u, tested.X, tested.positive)


def _mix(
    p: Deck, n: Deck, size: int, alpha: float, rng: np.random.Generator
) -> tuple[NDArray[np.intp], Bools]:
    n_p = round(alpha * size)
    rows = np.concatenate([p.take(n_p), n.take(size - n_p)])
    order = rng.permutation(size)
    return rows[order], (np.arange(size) < n_p)[order]


def standardize(split: Split, truth: Truth) -> tuple[Split, Truth]:
    """Columns with mean 0 and standard deviation 1 over the training rows, as float32."""
    seen = np.concatenate([split.X_p, split.X_u])
    mean, scale = seen.mean(0), seen.std(0)
    scale[scale == 0] = 1.0

    def scaled(X: Any) -> Any:
        return None if X is None else ((X - mean) / scale).astype(np.float32)

    return mapped(split, truth, scaled)


def mapped(split: Split, truth: Truth, read: Callable[[Any], Any]) -> tuple[Split, Truth]:
    """The same problem with this function applied to every sample."""
    shown = Split(**{f.name: read(getattr(split, f.name)) for f in fields(Split)})
    return shown, replace(truth, X_test=read(truth.X_test))
