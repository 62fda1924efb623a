"""A random sample of the rows to learn from, and one pass over all others with its models.

A row is sampled if the hash of its place among all rows is one of the smallest, which is a simple
random sample (bottom-k sampling; Cohen & Kaplan, PODC 2007) that one pass finds and that does not
depend on the engine or on how the files are cut into parts.

The rows that trained the models are left out of the tails. Each other row is scored by the models
of one fold, chosen by a hash of the row's place, just as a known positive is scored by the models
of the fold that held it out. So models that never saw them score all positives, known or not.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import sqrt
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from topbin.core.binomial import share_below
from topbin.core.checks import Floats
from topbin.core.errors import InputError
from topbin.core.evidence import Evidence
from topbin.core.hashing import mix
from topbin.core.labels import Mask
from topbin.core.tails import Counts, Tails
from topbin.data.batch import Batch, Part, Places, join
from topbin.data.features import Features
from topbin.engines.engine import Engine, total
from topbin.job.labeled import LabeledTable, Roles
from topbin.learn.backends.sklearn import mean_score
from topbin.learn.crossfit import Chain, CrossFit
from topbin.mpe.registry import cost_of_thinning
from topbin.mpe.thinning import thin

if TYPE_CHECKING:
    from topbin.job.prepare import Prepared

SAMPLING, AUDITING = 0, -1  # streams of hashes that decide which rows are drawn
FOLDS = 1  # the first stream of hashes that assigns folds, one for each repeat
Chains = Sequence[Sequence[Chain]]  # for each repeat, one per fold


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
    picked = total(engine, _pick, source.parts, (source.roles, limits)).batches
    positives = picked[0] if known is None else replace(known, picked=np.full(known.rows, -1))
    draws = []
    for batch, (seed, stream, rows) in zip(picked[1:], asked, strict=True):
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


def _pick(shared: tuple[Roles, list[tuple[int, int, Any]]], part: Part) -> Batches:
    roles, limits = shared
    held: list[list[Batch]] = []
    for batch in part.batches():
        is_p, is_u = roles.of(batch)
        drawn = [is_u & (mix(batch.places, seed, k) <= below) for seed, k, below in limits]
        held.append([batch.take(mask) for mask in (is_p, *drawn)])
    return Batches(tuple(join(batches) for batches in zip(*held, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """The models of a chain, and how they score the sampled rows that it held out, ascending."""

    models: tuple[Any, ...]
    known: Floats

    def place(self, z: Floats, *, own: bool = False) -> Floats:
        """The rank of z among held-out scores, from 0 to 1; between two of them z keeps its order.

        Known positives are not among them, so a positive's place does not depend on whether it is
        known. With `own`, z are the scores of these rows, and each is compared with the others.

        >>> Fold((), np.array([1.0, 2.0])).place(np.array([0.0, 1.5, 9.0])).round(2)
        array([0.17, 0.61, 1.  ])
        """
        size = self.known.size
        below = share_below(z, self.known) * size
        if own:
            below = (below - 0.5) * size / max(1, size - 1)
        return np.asarray((below + expit(z)) / (size + 1), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """For each repeat its folds; a row's score is the mean place over repeats."""

    repeats: tuple[tuple[Fold, ...], ...]
    seed: int

    @classmethod
    def of(cls, chains: Chains, is_positive: Mask, seed: int) -> "Folds":
        """The folds of these chains, each of which held some rows out."""

        def fold(chain: Chain) -> Fold:
            return Fold(chain.models, np.sort(chain.mean_scores[~is_positive[chain.held_out]]))

        return cls(tuple(tuple(map(fold, repeat)) for repeat in chains), seed)

    def scores(self, X: Any, places: Places) -> Floats:
        """Scores of rows that no model saw; in each repeat by the fold that the place names."""
        total = np.zeros(places.size)
        for repeat, folds in enumerate(self.repeats):
            fold = mix(places, self.seed, FOLDS + repeat) % np.uint64(len(folds))
            for k, own in enumerate(folds):
                rows = np.flatnonzero(fold == k)
                if rows.size:
                    total[rows] += own.place(mean_score(own.models, X[rows]))
        return total / len(self.repeats)

    def held_out(self, chains: Chains, is_positive: Mask) -> Floats:
        """Scores of the rows that took part, each by the folds that held it out."""
        total = np.zeros(is_positive.size)
        for repeat, folds in zip(chains, self.repeats, strict=True):
            for chain, fold in zip(repeat, folds, strict=True):
                z, side = chain.mean_scores, is_positive[chain.held_out]
                total[chain.held_out[side]] += fold.place(z[side])
                total[chain.held_out[~side]] += fold.place(z[~side], own=True)
        return total / len(self.repeats)


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The rows with the highest scores, best first; of equal ones those that come first."""

    scores: Floats
    rows: Batch
    most: int

    def __add__(self, other: "Best") -> "Best":
        rows = join([self.rows, other.rows])
        return Best(np.append(self.scores, other.scores), rows, self.most).cut()

    def cut(self) -> "Best":
        """Sorted, and no more than wanted."""
        order = np.lexsort((self.rows.places, -self.scores))[: self.most]
        return Best(self.scores[order], self.rows.take(order), self.most)


@dataclass(frozen=True, slots=True, eq=False)
class RestCounts:
    """Unlabeled rows above each cut, how many there are, and the best of them; parts add."""

    above: Counts
    n_u: int
    best: Best | None

    def __add__(self, other: "RestCounts") -> "RestCounts":
        bests = [one.best for one in (self, other) if one.best is not None]
        best = reduce(add, bests) if bests else None
        return RestCounts(self.above + other.above, self.n_u + other.n_u, best)

    def tails(self, cuts: Tails, n_u: int) -> Tails:
        """The tails of all n_u rows; TB102 if another number of rows was counted."""
        if self.n_u != n_u:
            raise InputError("TB102", "the files changed while they were read. Fit them again.")
        return replace(cuts, above_u=self.above, n_u=n_u)


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """What every part needs; it is sent to each worker once."""

    roles: Roles
    encoder: Features
    folds: Folds
    cuts: Tails
    sampled: Places
    most: int

    def over(self, batch: Batch) -> RestCounts:
        """Score the unlabeled rows of a batch that did not train the models."""
        _, is_u = self.roles.of(batch)
        here = np.searchsorted(self.sampled, [batch.first, batch.first + batch.rows])
        is_u[self.sampled[slice(*here)] - batch.first] = False
        if not is_u.any():
            return RestCounts(np.zeros(self.cuts.cuts.size, np.int64), 0, None)
        others = batch.take(is_u)
        scores = self.score(others)
        best = Best(scores, others, self.most).cut()
        return RestCounts(self.cuts.count(scores).above_u, others.rows, best)

    def score(self, rows: Batch) -> Floats:
        """The scores of rows that did not train the models."""
        X = self.encoder.encode(rows.select(self.encoder.columns))
        return self.folds.scores(X, rows.places)


@dataclass(frozen=True, slots=True, eq=False)
class Everything:
    """What all rows give: their tails beside the scores of the sample, the best rows, and notes."""

    evidence: Evidence
    best: Best
    notes: tuple[str, ...]


def count_rest(
    engine: Engine, data: "Prepared", fit: CrossFit, method: str, most: int
) -> Everything:
    """Score and count all rows outside the sample by the models of a cross-fit of the sample."""
    rest, is_p = data.rest, data.labels.is_positive
    assert rest is not None  # a source that was read whole has no other rows
    folds = Folds.of(fit.folds, is_p, rest.seed)
    scores = folds.held_out(fit.folds, is_p)
    full = Tails.of_positives(scores[is_p])
    shared = Sweep(rest.source.roles, data.encoder, folds, thin(full), rest.places, most)
    swept: RestCounts = total(engine, _sweep, rest.source.parts, shared)
    tails = swept.tails(shared.cuts, data.n_u - rest.places.size)
    best = Best(shared.score(rest.columns), rest.columns, most)
    best += Best(scores[~is_p], data.table.take(~is_p), most)
    return Everything(
        Evidence(scores[is_p], scores[~is_p], counted=tails),
        best if swept.best is None else best + swept.best,
        (*cost_of_thinning(tails, full.cuts.size, method), rest.note(is_counted=True)),
    )


def _sweep(shared: Sweep, part: Part) -> RestCounts:
    return reduce(add, (shared.over(batch) for batch in part.batches()))
