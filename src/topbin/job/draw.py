"""All known positives and a random sample of the unlabeled rows, from files of any size.

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
from topbin.core.labels import LabelValues, Mask, resolve_labels
from topbin.data.batch import Batch, Part, Places, join
from topbin.data.schema import merge_types
from topbin.data.table import Table, open_table
from topbin.engines.engine import Engine
from topbin.engines.outcome import total_of
from topbin.job.prepare import note_of_two

SAMPLING = 0  # the stream of hashes that decides which rows are sampled


@dataclass(frozen=True, slots=True)
class Roles:
    """Which rows are positive and which unlabeled; without a label column, all are unlabeled."""

    label: str | None
    values: LabelValues

    def of(self, batch: Batch) -> tuple[Mask, Mask]:
        """The positive and the unlabeled rows of a batch."""
        if self.label is None:
            return np.zeros(batch.rows, bool), np.ones(batch.rows, bool)
        coded = batch.coded(self.label)
        return self.values.is_positive(coded), self.values.is_unlabeled(coded)


@dataclass(frozen=True, slots=True, eq=False)
class LabeledTable:
    """A table, its parts, and what its labels mean.

    `known` are the positives, where they come from a table of their own.
    """

    table: Table
    parts: list[Part]
    roles: Roles
    known: Batch | None = None

    @property
    def labels(self) -> LabelValues:
        """What the label values mean, and how many rows have each."""
        return self.roles.values


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The positives, the rows to train on, and others that only show what values columns have."""

    positives: Batch
    sample: Batch
    columns: Batch

    @property
    def places(self) -> Places:
        """The places of all unlabeled rows that were drawn, ascending."""
        return np.sort(np.append(self.sample.places, self.columns.places))


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The positives and the unlabeled rows with small hashes; parts add."""

    positives: Batch
    unlabeled: Batch

    def __add__(self, other: "Found") -> "Found":
        return Found(self.positives + other.positives, self.unlabeled + other.unlabeled)


def open_labeled(
    engine: Engine,
    source: Any,
    *,
    label: str | None = None,
    positive: Any = None,
    negative: Any = None,
    known: Any = None,
) -> LabeledTable:
    """Compare the files' columns before any work, then count the labels.

    With `known`, a table of positives that is read whole, all rows of `source` are unlabeled.
    """
    table = open_table(source)
    if known is not None:
        return _beside(open_table(known), table)
    table.check([str(label)])
    parts = table.placed_parts()
    counted = total_of(engine, _count_labels, parts, label)
    if counted.bad:
        raise counted.first_error()
    named = f'column "{label}"'
    values = resolve_labels(counted.value, positive=positive, negative=negative, name=named)
    return LabeledTable(table, parts, Roles(label, values))


def _beside(positives: Table, unlabeled: Table) -> LabeledTable:
    """A table of positives beside one of unlabeled rows, with the same columns."""
    types = merge_types([(one.name, one.types) for one in (positives, unlabeled)])
    known, table = positives.read_as(types).whole(), unlabeled.read_as(types)
    parts = table.placed_parts()
    counts = {True: known.rows, False: sum(part.count() for part in parts)}
    note = note_of_two(counts[True], known.name, counts[False], table.name)
    return LabeledTable(table, parts, Roles(None, LabelValues(counts, True, None, note)), known)


def draw(engine: Engine, source: LabeledTable, rows: int, seed: int) -> Drawn:
    """All positives and twice `rows` unlabeled rows in one pass; the order is that of the files."""
    # A little more than wanted, so that one pass is enough; the smallest of these hashes count.
    share = min(1.0, (2 * rows + 6 * sqrt(2 * rows) + 20) / source.labels.n_u)
    below = np.uint64(min(2**64 - 1, int(share * 2.0**64)))
    found = total_of(engine, _draw, source.parts, (source.roles, seed, below))
    if found.bad:
        raise found.first_error()
    positives, unlabeled = found.value.positives, found.value.unlabeled
    if source.known is not None:
        positives = replace(source.known, picked=np.full(source.known.rows, -1))
    order = np.lexsort((unlabeled.places, mix(unlabeled.places, seed, SAMPLING)))
    samples = unlabeled.take(order[:rows]), unlabeled.take(order[rows : 2 * rows])
    return Drawn(*(_in_order(batch) for batch in (positives, *samples)))


def _in_order(batch: Batch) -> Batch:
    return batch.take(np.argsort(batch.places, kind="stable"))


def _count_labels(label: str, part: Part) -> "Counter[Any]":
    seen: Counter[Any] = Counter()
    for batch in part.batches([label]):
        seen.update(batch.coded(label).counts())
    return seen


def _draw(given: tuple[Roles, int, Any], part: Part) -> Found:
    roles, seed, below = given
    held: list[tuple[Batch, Batch]] = []
    for batch in part.batches():
        is_p, is_u = roles.of(batch)
        is_drawn = is_u & (mix(batch.places, seed, SAMPLING) <= below)
        held.append((batch.take(is_p), batch.take(is_drawn)))
    return Found(*(join(batches) for batches in zip(*held, strict=True)))
