"""Known positives that a row resembles, by the vectors that the models read.

A vector has no parts that people can read, so no part of it is a reason. What can be shown is which
known positives are nearest to a row. They say what it resembles; the score does not follow from
them. A known positive counts as near if its distance is usual among known positives: 95 % of them
have another one at most as far away. Of a row that is unlike all of them, none is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

NEAREST = 3  # known positives that are named beside a row
MOST_KNOWN, MEASURED = 10_000, 1_000  # that rows are compared with, and with each other
USUAL = 0.95


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A known positive near a row: its name, and the distance between the vectors.

    >>> print(Neighbor("cats/017.jpg", 0.3))
    cats/017.jpg
    """

    name: str
    distance: float

    def __str__(self) -> str:
        return self.name


Neighbors = tuple[tuple[Neighbor, ...], ...]  # of each row, the nearest first


@dataclass(frozen=True, eq=False)
class KnownPositives:
    """Names and vectors of known positives, and the distance up to which one is near.

    >>> known = KnownPositives.of(["a", "b", "c"], np.array([[1.0, 0], [1.1, 0], [9, 9]]))
    >>> [[str(one) for one in row] for row in known.nearest(np.array([[1.05, 0], [0, 0]]), most=1)]
    [['a'], []]
    """

    names: tuple[str, ...]
    vectors: NDArray[np.float32]
    reach: float

    @classmethod
    def of(cls, names: Sequence[str], vectors: Any, seed: int = 0) -> "KnownPositives":
        """Those that have a vector; of very many, some that are drawn at random."""
        found = np.asarray(vectors, np.float32)
        kept = np.flatnonzero(found.any(axis=1))  # a row without a vector has zeros alone
        if kept.size > MOST_KNOWN:
            kept = np.sort(np.random.default_rng(seed).permutation(kept)[:MOST_KNOWN])
        known = cls(tuple(names[i] for i in kept.tolist()), found[kept], 0.0)
        if kept.size < 2:
            return known
        some = known.vectors[:: -(-kept.size // MEASURED)]
        apart, _ = known._search.kneighbors(some, 2)  # the first is the row itself, or a copy
        return cls(known.names, known.vectors, float(np.quantile(apart[:, 1], USUAL)))

    @cached_property
    def _search(self) -> Any:
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(algorithm="brute").fit(self.vectors)

    def nearest(self, vectors: Any, most: int = NEAREST) -> Neighbors:
        """For each row the near known positives, at most so many; none for a row without vector."""
        rows: Any = np.asarray(vectors, np.float32)
        if not len(rows) or not self.names:
            return ((),) * len(rows)
        apart, places = self._search.kneighbors(rows, min(most, len(self.names)))
        near = (apart <= self.reach) & rows.any(axis=1)[:, None]
        return tuple(
            tuple(Neighbor(self.names[j], float(d)) for d, j, is_near in zip(*row, strict=True)
                  if is_near)
            for row in zip(apart, places, near, strict=True)
        )  # fmt: skip


def nearest_columns(near: Neighbors) -> dict[str, list[str]]:
    """The names as columns of a table: nearest_1, nearest_2, …; blank where none is near.

    >>> nearest_columns(((Neighbor("a", 0.1),), ()))["nearest_1"]
    ['a', '']
    """
    if not near:
        return {}
    return {
        f"nearest_{k + 1}": [row[k].name if k < len(row) else "" for row in near]
        for k in range(NEAREST)
    }
