"""Twin rows: positive rows that are also among the unlabeled, equal in every feature."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
from scipy.sparse import issparse

BLOCK = 10_000  # rows copied at a time, so that a long table costs no second copy of itself


@dataclass(frozen=True, slots=True)
class Twins:
    """How many of `n_p` positive rows have a twin among the unlabeled.

    `distinct` counts different rows. `usual` is the share of unlabeled rows that have a twin among
    themselves: where features have few values, many rows are equal that are not the same cases.
    """

    n_p: int
    rows: int
    distinct: int
    usual: float

    @property
    def are_unusual(self) -> bool:
        """Whether positives have twins clearly more often than unlabeled rows have."""
        return self.rows / self.n_p > self.usual + 3 * sqrt(
            self.usual * (1 - self.usual) / self.n_p
        )


def find_twins(X_p: Any, X_u: Any) -> Twins:
    """Compare the rows of two dense or two sparse matrices; missing values are equal.

    >>> find_twins(np.eye(3), np.eye(3)[:2])
    Twins(n_p=3, rows=2, distinct=2, usual=0.0)
    """
    keys_p, keys_u = (np.fromiter(map(hash, _row_bytes(X)), np.int64) for X in (X_p, X_u))
    distinct, counts = np.unique(keys_u, return_counts=True)
    found = keys_p[np.isin(keys_p, distinct)]
    usual = float(counts[counts > 1].sum() / keys_u.size)
    return Twins(keys_p.size, found.size, np.unique(found).size, usual)


def _row_bytes(X: Any) -> Iterator[bytes]:
    if issparse(X):
        table: Any = X
        rows = table.tocsr().copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        for start, stop in pairwise(rows.indptr):
            yield rows.indices[start:stop].tobytes() + rows.data[start:stop].tobytes()
        return
    for start in range(0, len(X), BLOCK):
        block = X[start : start + BLOCK] + 0.0  # −0.0 becomes 0.0
        block[np.isnan(block)] = np.nan  # NaN has many bit patterns
        yield from (row.tobytes() for row in block)
