"""A random sample of the rows to learn from.

A row is sampled if the hash of its place among all rows is one of the smallest, which is a simple
random sample (bottom-k sampling; Cohen & Kaplan, PODC 2007) that one pass finds and that does not
depend on the engine or on how the files are cut into parts.
"""

from collections import Counter
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from topbin.core.hashing import mix
from topbin.data.batch import Batch, Part, Places, join
from topbin.engines.engine import Engine, total
from topbin.job.labeled import LabeledTable, Roles

SAMPLING, AUDITING = 0, -1  # streams of hashes that decide which rows are drawn


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRows:
    """The positives, the rows to train on, and others that only show what values columns have."""

    positives: Batch
    sample: Batch
    columns: Batch

    @property
    def places(self) -> Places:
        """The places of all unlabeled rows that were drawn, ascending."""
        return np.sort(np.append(self.sample.places, self.columns.places))

    @property
    def table(self) -> Batch:
        """The rows to learn from, positives first."""
        return join([self.positives, self.sample])


@dataclass(frozen=True, slots=True, eq=False)
class Batches:
    """The rows that one pass picks, one batch per draw; parts add."""

    batches: tuple[Batch, ...]

    def __add__(self, other: "Batches") -> "Batches":
        return Batches(tuple(join(two) for two in zip(self.batches, other.batches, strict=True)))


def count_labels(
    engine: Engine, source: LabeledTable, positive: Any = None, negative: Any = None
) -> LabeledTable:
    """Count the label values in one pass over the label column alone."""
    parts = source.table.placed_parts()
    if source.positives is not None:
        counts: Any = {True: source.positives.rows, False: sum(part.count() for part in parts)}
    else:
        counts = total(engine, _count_labels, parts, source.label)
    return replace(source, parts=parts, values=source.resolve(counts, positive, negative))


def draw(engine: Engine, source: LabeledTable, rows: int, seed: int) -> DrawnRows:
    """All positives and twice `rows` unlabeled rows in one pass; the order is that of the files."""
    positives, both = pick(engine, source, (seed, SAMPLING, 2 * rows))
    return split_sample(positives, both, rows)


def split_sample(positives: Batch, both: Batch, rows: int) -> DrawnRows:
    """The two samples of which `both` consists, in the order of the files."""
    batches = positives, both.take(slice(rows)), both.take(slice(rows, None))
    return DrawnRows(*(b.take(np.argsort(b.places, kind="stable")) for b in batches))


def pick(engine: Engine, source: LabeledTable, *draws: tuple[int, int, int]) -> tuple[Batch, ...]:
    """All positives, and for each (seed, stream, rows) as many random unlabeled rows; one pass.

    The rows of each draw are in the order of their hashes, which is random too.
    """
    n_u, apart = source.values.n_u, source.positives
    limits = [(seed, stream, _highest_hash(rows, n_u)) for seed, stream, rows in draws]
    picked = total(engine, _pick, source.parts, (source.roles, limits)).batches
    positives = picked[0] if apart is None else replace(apart, picked=np.full(apart.rows, -1))
    drawn = []
    for batch, (seed, stream, rows) in zip(picked[1:], draws, strict=True):
        order = np.lexsort((batch.places, mix(batch.places, seed, stream)))
        drawn.append(batch.take(order[:rows]))
    return positives, *drawn


def _highest_hash(rows: int, n_u: int) -> Any:
    """A little more than wanted stay below it, so that one pass is enough."""
    share = min(1.0, (rows + 6 * sqrt(rows) + 20) / n_u)
    return np.uint64(min(2**64 - 1, int(share * 2.0**64)))


def _count_labels(label: str, part: Part) -> "Counter[Any]":
    counts: Counter[Any] = Counter()
    for batch in part.batches([label]):
        counts.update(batch.coded(label).counts())
    return counts


def _pick(shared: tuple[Roles, list[tuple[int, int, Any]]], part: Part) -> Batches:
    roles, limits = shared
    picked: list[list[Batch]] = []
    for batch in part.batches():
        is_p, is_u = roles.of(batch)
        drawn = [is_u & (mix(batch.places, seed, k) <= below) for seed, k, below in limits]
        picked.append([batch.take(mask) for mask in (is_p, *drawn)])
    return Batches(tuple(join(batches) for batches in zip(*picked, strict=True)))
