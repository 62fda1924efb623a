"""The rows to learn from: all of a table, or its known positives and a random sample of the rest.

A row is sampled if the hash of its place among all rows is one of the smallest, which is a simple
random sample (bottom-k sampling; Cohen & Kaplan, PODC 2007) that one pass finds and that does not
depend on the engine or on how the files are cut into parts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from topbin.core.figures import counted
from topbin.core.hashing import mix
from topbin.core.labels import Labels, LabelValues, Mask, resolve_labels
from topbin.core.options import Read, Rows
from topbin.data.batch import Batch, Part, Places, join
from topbin.data.findings import Finding, find_in_files, find_shared
from topbin.data.table import Table, leave_out_shared, open_pair, open_table
from topbin.engines.engine import Engine
from topbin.engines.outcome import total

SAMPLING, AUDITING = 0, -1  # streams of hashes that decide which rows are drawn
UNCOUNTED = LabelValues({}, None, None, "")


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
    """A table and its label column, or a table of unlabeled rows and the known positives.

    `parts` and `values` (what the labels mean) are there once the labels are counted. `found` is
    what to know about the files.
    """

    table: Table
    label: str | None
    known: Batch | None = None
    parts: Sequence[Part] = ()
    values: LabelValues = UNCOUNTED
    found: tuple[Finding, ...] = ()

    @property
    def roles(self) -> Roles:
        """Which rows are positive and which unlabeled."""
        return Roles(self.label, self.values)

    def resolve(self, counts: Any, positive: Any, negative: Any) -> LabelValues:
        """What the values of the label column mean, from the number of rows that have each."""
        if self.known is None:
            named = f'column "{self.label}"'
            return resolve_labels(counts, positive=positive, negative=negative, name=named)
        n_p, n_u = counts[True], counts[False]
        note = (
            f"{counted(n_p, 'known positive')} in {self.known.name}, "
            f"{counted(n_u, 'unlabeled row')} in {self.table.name}"
        )
        return LabelValues(counts, True, None, note)


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


def open_labeled(rows: Rows, read: Read) -> LabeledTable:
    """Open a table with a label column, or one of positives beside one of unlabeled rows.

    Columns are compared before any row is read; then the table of positives is read whole.
    """
    how: Any = {"dates": read.dates, "decimal": read.decimal, "partitions": read.partitions}
    if rows.positives is None:
        table = open_table(rows.main, sql=read.sql, **how)
        named = str(rows.label)
        return LabeledTable(table.check([named]), named, found=find_in_files(table.files))
    known, table = open_pair(rows.positives, rows.main, **how)
    table, shared = leave_out_shared(known, table)
    found = (*find_shared(shared, known.name), *find_in_files([*known.files, *table.files]))
    return LabeledTable(table, None, known.whole(), found=found)


def read_whole(
    source: LabeledTable, positive: Any = None, negative: Any = None
) -> tuple[Batch, Labels]:
    """All rows and their labels; of two tables, the positives first."""
    batch = source.table.whole()
    if source.known is None:
        coded = batch.coded(str(source.label))
        return batch, source.resolve(coded.counts(), positive, negative).read(coded)
    values = source.resolve({True: source.known.rows, False: batch.rows}, None, None)
    both = join([source.known, batch])
    name = f"{source.known.name} with {batch.name}"
    return replace(both, name=name), positives_first(values, source.known.rows, both.rows)


def positives_first(values: LabelValues, n_p: int, rows: int) -> Labels:
    """The labels of rows of which the first ones are positive and all others unlabeled."""
    is_positive = np.arange(rows) < n_p
    nobody = np.zeros(rows, bool)
    return Labels(is_positive, nobody, values.positive, values.unlabeled, values.note)


def count_labels(
    engine: Engine, source: LabeledTable, positive: Any = None, negative: Any = None
) -> LabeledTable:
    """Count the label values in one pass over the label column alone."""
    parts = source.table.placed_parts()
    if source.known is not None:
        counts: Any = {True: source.known.rows, False: sum(part.count() for part in parts)}
    else:
        counts = total(engine, _count_labels, parts, source.label)
    return replace(source, parts=parts, values=source.resolve(counts, positive, negative))


def draw(engine: Engine, source: LabeledTable, rows: int, seed: int) -> Drawn:
    """All positives and twice `rows` unlabeled rows in one pass; the order is that of the files."""
    positives, both = pick(engine, source, (seed, SAMPLING, 2 * rows))
    return split_sample(positives, both, rows)


def split_sample(positives: Batch, both: Batch, rows: int) -> Drawn:
    """The two samples of which `both` consists, in the order of the files."""
    batches = positives, both.take(slice(rows)), both.take(slice(rows, None))
    return Drawn(*(b.take(np.argsort(b.places, kind="stable")) for b in batches))


def pick(engine: Engine, source: LabeledTable, *asked: tuple[int, int, int]) -> tuple[Batch, ...]:
    """All positives, and for each (seed, stream, rows) as many random unlabeled rows; one pass.

    The rows of each draw are in the order of their hashes, which is random too.
    """
    n_u, known = source.values.n_u, source.known
    limits = [(seed, stream, _highest_hash(rows, n_u)) for seed, stream, rows in asked]
    found = total(engine, _pick, source.parts, (source.roles, limits)).batches
    positives = found[0] if known is None else replace(known, picked=np.full(known.rows, -1))
    draws = []
    for batch, (seed, stream, rows) in zip(found[1:], asked, strict=True):
        order = np.lexsort((batch.places, mix(batch.places, seed, stream)))
        draws.append(batch.take(order[:rows]))
    return positives, *draws


def _highest_hash(rows: int, n_u: int) -> Any:
    """A little more than wanted stay below it, so that one pass is enough."""
    share = min(1.0, (rows + 6 * sqrt(rows) + 20) / n_u)
    return np.uint64(min(2**64 - 1, int(share * 2.0**64)))


def _count_labels(label: str, part: Part) -> "Counter[Any]":
    seen: Counter[Any] = Counter()
    for batch in part.batches([label]):
        seen.update(batch.coded(label).counts())
    return seen


def _pick(given: tuple[Roles, list[tuple[int, int, Any]]], part: Part) -> Batches:
    roles, limits = given
    held: list[list[Batch]] = []
    for batch in part.batches():
        is_p, is_u = roles.of(batch)
        drawn = [is_u & (mix(batch.places, seed, k) <= below) for seed, k, below in limits]
        held.append([batch.take(mask) for mask in (is_p, *drawn)])
    return Batches(tuple(join(batches) for batches in zip(*held, strict=True)))
