"""Rows that are held out: folds, their order, and groups that folds never split.

If copies of a row, such as visits of one patient, were in the training folds, the models would know
its label: labeled positives would score too high, hidden ones too low, and α̂ would be far too
small. So a group is held out as a whole, in outer and inner folds, also if it has labeled and
unlabeled rows. Folds by time hold out one stretch of time after another, whole groups again.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from topbin.core.checks import Floats, RowNumbers, check_count, check_fraction
from topbin.core.errors import InputError
from topbin.core.formatting import counted
from topbin.core.hashing import Bits, row_keys, splitmix64
from topbin.core.labels import Mask
from topbin.data.batch import row_hashes
from topbin.data.images import Images
from topbin.learn.rows import Together
from topbin.mpe.samples import is_sparse

Split = tuple[RowNumbers, RowNumbers]  # to train on, and held out


def content_keys(X: Any) -> Bits:
    """One number per row that depends on its values alone, also where these are not numbers."""
    if isinstance(X, Images):
        return X.row_keys
    is_numeric = is_sparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf")
    return row_keys(X) if is_numeric else row_hashes(X)


def order_of(
    X: Any, is_positive: Mask, weight: Floats | None = None, together: Together | None = None
) -> RowNumbers:
    """An order of the rows that depends on their content, not on where they are in the table.

    Equal rows stay in the order that they have, which is harmless because they are exchangeable.
    Those of different groups are not: what else their groups contain decides. The names of groups
    do not matter.

    >>> order_of(np.array([[3.0], [1.0], [2.0]]), np.array([False, False, True]))
    array([0, 2, 1])
    >>> order_of(np.array([[1.0], [2.0], [3.0]]), np.array([False, True, False]))
    array([2, 1, 0])
    """
    keys = content_keys(X)
    columns: list[Any] = [np.zeros(keys.size) if weight is None else weight, is_positive, keys]
    if together is not None:
        sums = np.zeros(together.groups.max() + 1, np.uint64)
        np.add.at(sums, together.groups, splitmix64(keys + is_positive))
        times = [] if together.times is None else [together.times]
        columns = [sums[together.groups], *times, *columns]
    return np.lexsort(columns)


def split_rows(n: int, rng: np.random.Generator, *, share: float = 0.2) -> Split:
    """Rows to train on, at least one, and a random share of n rows held out, at least one."""
    check_fraction(share, "share")
    if check_count(n, "n", least=0) < 2:
        raise InputError("TB001", f"a hold-out needs at least 2 rows to divide; got {n}.")
    n_out = min(n - 1, max(1, round(share * n)))
    order = rng.permutation(n)
    return np.sort(order[n_out:]), np.sort(order[:n_out])


def folds_of(
    is_positive: Mask, folds: int, seed: int, *, least: int = 2, together: Together | None = None
) -> Iterator[Split]:
    """Rows to train on and rows held out, per fold; groups stay whole.

    There are fewer folds where fewer rows, or groups, are positive, or unlabeled. TB003 or TB120 if
    fewer than `least` are.

    >>> is_positive, groups = np.arange(8) < 4, np.array([0, 0, 1, 1, 2, 2, 3, 3])
    >>> [held.size for _, held in folds_of(is_positive, 2, 0, together=Together(groups))]
    [4, 4]
    """
    if together is None:
        n_p = int(is_positive.sum())
        smaller = min(n_p, is_positive.size - n_p)
        if smaller < least:
            raise InputError(
                "TB003",
                f"cross-fitting needs {least} positives and {least} unlabeled rows; got n_samples "
                f"= {is_positive.size} with {n_p} positive. Score the rows with a model of your "
                "own and use topbin.estimate_alpha.",
            )
        splitter = StratifiedKFold(min(folds, smaller), shuffle=True, random_state=seed)
        yield from splitter.split(np.zeros(is_positive.size), is_positive)
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
