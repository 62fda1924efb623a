"""The rows to learn from: all of a table, or its known positives and a random sample of the rest.

A row is sampled if the hash of its place among all rows is one of the smallest, which is a simple
random sample (bottom-k sampling; Cohen & Kaplan, PODC 2007) that one pass finds and that does not
depend on the engine or on how the files are cut into parts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.errors import InputError, option
from topbin.core.formatting import counted
from topbin.core.hashing import mix
from topbin.core.labels import Labels, LabelValues, Mask, resolve_labels
from topbin.core.options import Read, Rows
from topbin.data.batch import Batch, Part, Places, join
from topbin.data.encoders import GivenEncoder
from topbin.data.encoders.images import ImageEncoder
from topbin.data.findings import Finding, find_in_files, find_shared
from topbin.data.images import Images
from topbin.data.images.cache import ABOUT, write_store
from topbin.data.paths import paths_from
from topbin.data.table import Table, leave_out_shared, open_pair, open_table
from topbin.engines.engine import Engine, total
from topbin.learn.open_set import ReadClasses, read_classes
from topbin.store.runs import IMAGES

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
    row: str = "row"  # how people call one
    classes: ReadClasses | None = None

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
            f"{counted(n_u, f'unlabeled {self.row}')} in {self.table.name}"
        )
        if self.classes is not None:
            k = len(self.classes.values)
            note += f"; positive means: of one of {k:,} known classes"
        return LabelValues(counts, True, None, note)

    def whole(self) -> Batch:
        """All rows; of two tables, the known positives first."""
        batch = self.table.whole()
        if self.known is None:
            return batch
        return replace(join([self.known, batch]), name=f"{self.known.name} with {batch.name}")

    def labels(self, batch: Batch, n_p: int, positive: Any = None, negative: Any = None) -> Labels:
        """The labels of some of all rows; of two tables, the first `n_p` are known positives."""
        if self.known is not None:
            values = self.resolve({True: n_p, False: batch.rows - n_p}, None, None)
            return positives_first(values, n_p, batch.rows)
        coded = batch.coded(str(self.label))
        return self.resolve(coded.counts(), positive, negative).read(coded)


@dataclass(frozen=True, slots=True, eq=False)
class Rest:
    """What is not in memory, if the rows to learn from are a sample.

    `columns` are the rows that showed which values the columns have, and `places` those of all
    unlabeled rows that were drawn.
    """

    source: LabeledTable
    columns: Batch
    places: Places
    seed: int

    def note(self, *, is_counted: bool) -> str:
        """What every reader of an estimate must know."""
        n_u, drawn = self.source.values.n_u, self.places.size
        which = f"{n_u - drawn:,} others" if is_counted else "these rows alone"
        return (
            f"trained on {drawn // 2:,} of {n_u:,} unlabeled rows, drawn at random "
            f"(seed {self.seed}); α is of {which}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class PathColumn:
    """A column of images, of which each row has one: names, pixels for people, and their files.

    `root` is the folder that paths in a table are relative to. `paths` is None for an array.
    """

    name: str
    images: Images
    paths: Sequence[str] | None = None
    root: str | None = None

    def keep(self, table: Batch, run: Path) -> None:
        """Leave the pixels in a run folder, if they are not there already."""
        if not (run / IMAGES / ABOUT).exists():
            names = paths_from(table.frame[self.name], self.name, self.root)
            write_store(run / IMAGES, self.images, names)


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """Rows that are in memory, with their labels, before anything is learned from them.

    `opened` is the table that they come from, if they come from one, and `encoder` makes vectors
    of the images.
    """

    table: Batch
    labels: Labels
    label: str | None
    rest: Rest | None = None
    opened: LabeledTable | None = None
    found: tuple[Finding, ...] = ()
    image: PathColumn | None = None
    encoder: ImageEncoder | GivenEncoder | None = None


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


def refuse_both(rows: Rows) -> None:
    """TB008 for a label beside known positives."""
    if rows.positives is not None and rows.label is not None:
        raise InputError(
            "TB008",
            f"{option('label')} and {option('positives')} cannot both be given; leave one out.",
        )


def open_labeled(rows: Rows, read: Read) -> LabeledTable:
    """Open a table with a label column, or one of positives beside one of unlabeled rows.

    Columns are compared before any row is read; then the table of positives is read whole.
    """
    how: Any = {"dates": read.dates, "decimal": read.decimal, "partitions": read.partitions}
    if rows.positives is None:
        table = open_table(rows.main, sql=read.sql, **how)
        named = str(rows.label)
        return LabeledTable(table.check([named]), named, found=find_in_files(table.files))
    known, table = open_pair(rows.positives, rows.main, apart=rows.classes, **how)
    table, shared = leave_out_shared(known, table)
    found = (*find_shared(shared, known.name), *find_in_files([*known.files, *table.files]))
    batch, classes = known.whole(), None
    if rows.classes is not None:
        classes = read_classes(batch.frame[rows.classes].tolist()).check_labeled()
        batch = batch.select([name for name in batch.kinds if name != rows.classes])
    return LabeledTable(table, None, batch, found=found, classes=classes)


def read_whole(
    source: LabeledTable, positive: Any = None, negative: Any = None
) -> tuple[Batch, Labels]:
    """All rows and their labels."""
    batch = source.whole()
    n_p = 0 if source.known is None else source.known.rows
    return batch, source.labels(batch, n_p, positive, negative)


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
