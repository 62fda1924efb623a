"""Rows that belong together, such as visits of one patient, and folds that never split them.

If copies of a row were in the training folds, the models would know its label: labeled positives
would score too high, hidden ones too low, and α̂ would be far too small. So a group is held out as
a whole, in outer and inner folds, also if it has labeled and unlabeled rows. Folds by time hold
out one stretch of time after another, whole groups again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.checks import unmasked
from topbin.core.errors import InputError
from topbin.core.figures import counted
from topbin.core.hashing import splitmix64
from topbin.core.labels import Mask
from topbin.learn.select import (
    Floats,
    RowNumbers,
    Split,
    content_keys,
    content_order,
    stratified_folds,
)


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """The group of each row, by a number, and its time if folds are to respect time."""

    groups: RowNumbers
    times: Floats | None = None

    def at(self, rows: Any) -> "Together":
        """The same of some rows; groups are numbered in the order in which they come."""
        codes, _ = pd.factorize(self.groups[rows])
        return Together(codes, None if self.times is None else self.times[rows])

    @property
    def grouped(self) -> RowNumbers | None:
        """The groups, if any has two rows."""
        is_alone = np.unique(self.groups).size == self.groups.size
        return None if is_alone else self.groups


def read_together(groups: Any, times: Any, rows: int) -> Together | None:
    """Groups and times as they were given, checked; None if no row belongs to another.

    A row whose group is missing is a group of its own.

    >>> read_together(["a", "b", "a", None, None], None, 5).groups
    array([0, 1, 0, 2, 3])
    """
    if groups is None and times is None:
        return None
    codes = np.arange(rows) if groups is None else _codes(_column(groups, "groups", rows))
    if rows > 1 and groups is not None and np.unique(codes).size == 1:
        raise InputError(
            "TB120",
            f"all {rows:,} rows are in one group, so that no fold could hold one out. Give a "
            "column that names patients, customers or the like, or leave groups out.",
        )
    found = Together(codes, None if times is None else _moments(_column(times, "times", rows)))
    return None if times is None and found.grouped is None else found


def _column(given: Any, name: str, rows: int) -> Any:
    values = np.asarray(unmasked(given))
    if values.shape != (rows,):
        raise InputError(
            "TB005", f"{name} needs one value for each of {rows:,} rows; got shape {values.shape}."
        )
    return values


def _codes(values: Any) -> RowNumbers:
    codes, _ = pd.factorize(values)
    alone = np.flatnonzero(codes < 0)
    codes[alone] = codes.max() + 1 + np.arange(alone.size)
    return np.asarray(codes, np.intp)


def _moments(values: Any) -> Floats:
    """Times as numbers; TB121 unless they are dates or numbers, without gaps."""
    kind = values.dtype.kind
    if kind == "M":
        gaps, values = np.isnat(values), values.astype("datetime64[us]").astype(np.int64)
    elif kind in "iuf":
        gaps = ~np.isfinite(values.astype(np.float64))
    else:
        seen = f"{values.ravel()[0]!r}" if values.size else "nothing"
        raise InputError(
            "TB121", f"times must be dates or numbers, one per row; got values such as {seen}."
        )
    if gaps.any():
        raise InputError(
            "TB121",
            f"{int(gaps.sum()):,} of {gaps.size:,} rows have no time, so that they belong in no "
            "stretch of time. Fill these in, or remove the rows.",
        )
    return np.asarray(values, np.float64)


def order_of(
    X: Any, is_positive: Mask, weight: Floats | None, together: Together | None
) -> RowNumbers:
    """An order of the rows that depends on their content, and on that of their groups.

    Equal rows of different groups are not exchangeable: what else their groups contain decides.
    The names of groups do not matter.
    """
    if together is None:
        return content_order(X, is_positive, weight)
    own = splitmix64(content_keys(X) + is_positive)
    sums = np.zeros(together.groups.max() + 1, np.uint64)
    np.add.at(sums, together.groups, own)
    times = () if together.times is None else (together.times,)
    return content_order(X, is_positive, weight, more=(sums[together.groups], *times))


def folds_of(
    is_positive: Mask, folds: int, seed: int, *, least: int = 2, together: Together | None = None
) -> Iterator[Split]:
    """Rows to train on and rows held out, per fold; groups stay whole.

    There are fewer folds where fewer groups have positives, or unlabeled rows. TB120 if fewer than
    `least` have.

    >>> is_positive, groups = np.arange(8) < 4, np.array([0, 0, 1, 1, 2, 2, 3, 3])
    >>> [held.size for _, held in folds_of(is_positive, 2, 0, together=Together(groups))]
    [4, 4]
    """
    if together is None:
        yield from stratified_folds(is_positive, folds, seed, least=least)
        return
    _, codes = np.unique(together.groups, return_inverse=True)
    sizes = np.column_stack([np.bincount(codes, side) for side in (is_positive, ~is_positive)])
    fewest = (sizes > 0).sum(axis=0)
    if fewest.min() < least:
        kind = "known positives" if fewest[0] < fewest[1] else "unlabeled rows"
        raise InputError(
            "TB120",
            f"{kind} are in {counted(int(fewest.min()), 'group')}, and cross-fitting "
            f"that keeps groups together needs at least {least}. Label rows of more groups, or "
            "score the rows with a model of your own and use topbin.estimate_alpha.",
        )
    folds = min(folds, int(fewest.min()))
    if together.times is None:
        fold = _dealt(sizes, folds, np.random.default_rng(seed))
    else:
        fold = _in_blocks(sizes, np.bincount(codes, together.times) / sizes.sum(axis=1), folds)
    for k in range(folds):
        held = fold[codes] == k
        yield np.flatnonzero(~held), np.flatnonzero(held)


def _dealt(sizes: Any, folds: int, rng: np.random.Generator) -> RowNumbers:
    """The fold of each group: large ones are dealt first, in rounds that give each fold one.

    Groups with rows of both kinds come first. Those with one kind only continue the same rounds, so
    that every fold gets positives and unlabeled rows.
    """
    mixed, only_p = (sizes > 0).all(axis=1), sizes[:, 1] == 0
    kinds = np.select([mixed, only_p], [0, 1], 2)
    order = np.lexsort((rng.permutation(kinds.size), -sizes.sum(axis=1), kinds))
    ends = np.cumsum(np.bincount(kinds, minlength=3))
    rank = np.empty(kinds.size, np.intp)
    rank[order] = np.arange(kinds.size)
    rank[kinds == 2] -= ends[1] - ends[0]
    rounds = np.tile(np.arange(folds), (1 + rank.max() // folds, 1))
    return np.asarray(rng.permuted(rounds, axis=1)[rank // folds, rank % folds], np.intp)


def _in_blocks(sizes: Any, times: Floats, folds: int) -> RowNumbers:
    """The fold of each group: one block of time after another, with about equal shares of rows.

    Positives count as much as unlabeled rows in all, so that no block gets all of a kind unless
    one kind is known for one short time only: TB121.
    """
    order = np.argsort(times, kind="stable")
    weight = (sizes / sizes.sum(axis=0)).sum(axis=1)[order] / 2
    middle = np.cumsum(weight) - weight / 2
    fold = np.empty(order.size, np.intp)
    fold[order] = np.minimum((middle * folds).astype(np.intp), folds - 1)
    inside = np.column_stack([np.bincount(fold, side, folds) for side in sizes.T])
    if (inside == inside.sum(axis=0)).any() or (inside.sum(axis=1) == 0).any():
        raise InputError(
            "TB121",
            f"the rows cannot be cut into {folds} blocks of time so that positives and unlabeled "
            "rows remain outside each: one kind is from one short time, or there are few groups. "
            "Leave the time out.",
        )
    return fold
