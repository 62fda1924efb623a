"""All known positives and a random sample of the unlabeled rows, from files of any size.

A row is sampled if the hash of its place among all rows is one of the smallest, which is a simple
random sample (bottom-k sampling; Cohen & Kaplan, PODC 2007) that one pass finds and that does not
depend on the engine or on how the files are cut into parts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import sqrt
from operator import add
from typing import Any

import numpy as np

from topbin.core.errors import InputError
from topbin.core.labels import Labels, Mask, read_labels
from topbin.core.optional import require
from topbin.data.files import SourceLike, find_files, open_files
from topbin.data.find import check_columns
from topbin.data.parts import arrow_coded
from topbin.data.rows import Places, RowPart, find_row_parts, mix, read_rows
from topbin.data.scan import merge_types
from topbin.data.tables import read_table
from topbin.engines.engine import Engine
from topbin.engines.outcome import total_of
from topbin.job.prepare import note_of_two

SAMPLING = 0  # the stream of hashes that decides who is sampled


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Arrow rows and their places among all rows; parts add."""

    places: Places
    table: Any

    def __add__(self, other: "Rows") -> "Rows":
        arrow = require("pyarrow", extra="dask", caller="a sampled fit")
        table = arrow.concat_tables([self.table, other.table], promote_options="permissive")
        return Rows(np.append(self.places, other.places), table)

    def at(self, index: Any) -> "Rows":
        """Some of the rows, in this order."""
        return Rows(self.places[index], self.table.take(np.arange(self.places.size)[index]))

    def in_order(self) -> "Rows":
        """The same rows in the order of their places."""
        return self.at(np.argsort(self.places, kind="stable"))


@dataclass(frozen=True, slots=True)
class Roles:
    """Which rows are positive and which unlabeled; without a label column, all are unlabeled."""

    label: str | None = None
    positive: Any = None
    unlabeled: frozenset[Any] = frozenset()

    def of(self, batch: Any) -> tuple[Mask, Mask]:
        """The positive and the unlabeled rows of a batch."""
        if self.label is None:
            return np.zeros(batch.num_rows, bool), np.ones(batch.num_rows, bool)
        coded = arrow_coded(batch.column(self.label))
        is_p = coded.where(lambda value: value == self.positive)
        return is_p, coded.where(self.unlabeled.__contains__)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Files whose columns fit together, their parts, and what their labels mean."""

    paths: tuple[str, ...]
    parts: list[RowPart]
    roles: Roles
    labels: Labels
    n_u: int
    known: Any = None  # the positives, where they come from a table of their own
    n_n: int = 0  # rows known to be negative


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The positives, the rows to train on, and others that only show what values columns have."""

    positives: Rows
    sample: Rows
    columns: Rows

    @property
    def places(self) -> Places:
        """The places of all unlabeled rows that were drawn, ascending."""
        return np.sort(np.append(self.sample.places, self.columns.places))


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The positives and the unlabeled rows with small hashes; parts add."""

    positives: Rows
    unlabeled: Rows

    def __add__(self, other: "Found") -> "Found":
        return Found(self.positives + other.positives, self.unlabeled + other.unlabeled)


def open_source(
    engine: Engine,
    source: SourceLike,
    *,
    label: str | None = None,
    positive: Any = None,
    negative: Any = None,
    known: SourceLike | None = None,
) -> Source:
    """Compare the files' columns before any work, then count the labels.

    With `known`, a table of positives read whole, all rows of `source` are unlabeled.
    """
    paths = find_files(source)
    files, _ = open_files(paths)
    types = merge_types([(f'"{file.path}"', file.types) for file in files])
    parts = find_row_parts(paths)
    if not parts:
        raise InputError("TB001", "the files have columns but no rows.")
    rows = sum(part.rows for part in parts)
    if known is not None:
        arrow = require("pyarrow", extra="dask", caller="a sampled fit")
        table = read_table(known)
        merge_types([(table.name, dict.fromkeys(table.kinds, "BLANK")), ("the files", types)])
        where = f'"{paths[0]}"' if len(paths) == 1 else f"{len(paths):,} files"
        note = note_of_two(table.rows, table.name, rows, where)
        labels = replace(read_labels([1, 0], counts=[table.rows, rows]), note=note)
        positives = arrow.Table.from_pandas(table.frame, preserve_index=False)
        return Source(tuple(paths), parts, Roles(), labels, rows, positives)
    check_columns([str(label)], list(types), f'"{paths[0]}"')
    counted = total_of(engine, _count_labels, parts, label)
    if counted.bad:
        raise counted.first_error()
    seen: Counter[Any] = counted.value
    counts = list(seen.values())
    labels = read_labels(list(seen), counts=counts, positive=positive, negative=negative)
    unlabeled = frozenset(labels.unlabeled)
    n_u = sum(count for value, count in seen.items() if value in unlabeled)
    roles = Roles(label, labels.positive, unlabeled)
    n_n = sum(count for count, n in zip(counts, labels.is_negative, strict=True) if n)
    return Source(tuple(paths), parts, roles, labels, n_u, n_n=n_n)


def draw(engine: Engine, source: Source, rows: int, seed: int) -> Drawn:
    """All positives and twice `rows` unlabeled rows in one pass; the order is that of the files."""
    # A little more than wanted, so that one pass is enough; of these the smallest hashes count.
    share = min(1.0, (2 * rows + 6 * sqrt(2 * rows) + 20) / source.n_u)
    below = np.uint64(min(2**64 - 1, int(share * 2.0**64)))
    found = total_of(engine, _draw, source.parts, (source.roles, seed, below))
    if found.bad:
        raise found.first_error()
    positives, unlabeled = found.value.positives, found.value.unlabeled
    if source.known is not None:
        positives = Rows(np.full(len(source.known), -1), source.known)
    order = np.lexsort((unlabeled.places, mix(unlabeled.places, seed, SAMPLING)))
    samples = unlabeled.at(order[:rows]), unlabeled.at(order[rows : 2 * rows])
    return Drawn(positives.in_order(), *(sample.in_order() for sample in samples))


def _count_labels(label: str, part: RowPart) -> "Counter[Any]":
    seen: Counter[Any] = Counter()
    for _, batch in read_rows(part, [label]):
        seen.update(arrow_coded(batch.column(label)).counts())
    return seen


def _draw(given: tuple[Roles, int, Any], part: RowPart) -> Found:
    roles, seed, below = given
    held: list[Found] = []
    for places, batch in read_rows(part):
        is_p, is_u = roles.of(batch)
        is_drawn = is_u & (mix(places, seed, SAMPLING) <= below)
        held.append(Found(*(_some(places, batch, mask) for mask in (is_p, is_drawn))))
    return reduce(add, held)


def _some(places: Places, batch: Any, mask: Mask) -> Rows:
    arrow = require("pyarrow", extra="dask", caller="a sampled fit")
    table = arrow.Table.from_batches([batch]).filter(arrow.array(mask))
    return Rows(places[mask], table)


def frame_of(rows: Sequence[Any]) -> Any:
    """Arrow tables one after another, as a pandas frame."""
    arrow = require("pyarrow", extra="dask", caller="a sampled fit")
    return arrow.concat_tables(list(rows), promote_options="permissive").to_pandas()
