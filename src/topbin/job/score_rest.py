"""One pass over the rows outside a sample, with the models that the sample trained.

The rows that trained the models are left out of the tails. Each other row is scored by the models
of one fold, chosen by a hash of the row's place, just as a known positive is scored by the models
of the fold that held it out. So models that never saw them score all positives, known or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

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
from topbin.job.labeled import Roles
from topbin.job.prepare import Prepared
from topbin.learn.backends.sklearn import mean_score
from topbin.learn.crossfit import Chain, CrossFit
from topbin.mpe.registry import cost_of_thinning
from topbin.mpe.thinning import thin

FOLD_STREAM = 1  # the first stream of hashes that assigns folds, one for each repeat
Chains = Sequence[Sequence[Chain]]  # for each repeat, one per fold


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """The models of a chain, and how they score the sampled rows that it held out, ascending."""

    models: tuple[Any, ...]
    held_out_scores: Floats

    def place(self, z: Floats, *, is_held_out: bool = False) -> Floats:
        """The rank of z among held-out scores, from 0 to 1; between two of them z keeps its order.

        Known positives are not among them, so a positive's place does not depend on whether it is
        known. With `is_held_out`, z are these scores, and each is compared with the others.

        >>> Fold((), np.array([1.0, 2.0])).place(np.array([0.0, 1.5, 9.0])).round(2)
        array([0.17, 0.61, 1.  ])
        """
        size = self.held_out_scores.size
        below = share_below(z, self.held_out_scores) * size
        if is_held_out:
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
        summed = np.zeros(places.size)
        for repeat, folds in enumerate(self.repeats):
            fold_of_row = mix(places, self.seed, FOLD_STREAM + repeat) % np.uint64(len(folds))
            for k, fold in enumerate(folds):
                rows = np.flatnonzero(fold_of_row == k)
                if rows.size:
                    summed[rows] += fold.place(mean_score(fold.models, X[rows]))
        return summed / len(self.repeats)

    def held_out(self, chains: Chains, is_positive: Mask) -> Floats:
        """Scores of the rows that took part, each by the folds that held it out."""
        summed = np.zeros(is_positive.size)
        for repeat, folds in zip(chains, self.repeats, strict=True):
            for chain, fold in zip(repeat, folds, strict=True):
                z, side = chain.mean_scores, is_positive[chain.held_out]
                summed[chain.held_out[side]] += fold.place(z[side])
                summed[chain.held_out[~side]] += fold.place(z[~side], is_held_out=True)
        return summed / len(self.repeats)


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
        bests = [counts.best for counts in (self, other) if counts.best is not None]
        best = reduce(add, bests) if bests else None
        return RestCounts(self.above + other.above, self.n_u + other.n_u, best)

    def tails(self, cuts: Tails, n_u: int) -> Tails:
        """The tails of all n_u rows; TB102 if another number of rows was counted."""
        if self.n_u != n_u:
            raise InputError("TB102", "the files changed while they were read. Fit them again.")
        return replace(cuts, above_u=self.above, n_u=n_u)


@dataclass(frozen=True, slots=True, eq=False)
class RestScorer:
    """Scores and counts the rows of a part that are in no sample; each worker gets it once."""

    roles: Roles
    encoder: Features
    folds: Folds
    cuts: Tails
    sampled: Places
    most: int

    def count(self, batch: Batch) -> RestCounts:
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
class AllRows:
    """What all rows give: their tails beside the scores of the sample, the best rows, and notes."""

    evidence: Evidence
    best: Best
    notes: tuple[str, ...]


def count_rest(
    engine: Engine, data: Prepared, crossfit: CrossFit, method: str, most: int
) -> AllRows:
    """Score and count all rows outside the sample by the models of a cross-fit of the sample."""
    rest, is_p = data.rest, data.labels.is_positive
    assert rest is not None  # a source that was read whole has no other rows
    folds = Folds.of(crossfit.folds, is_p, rest.seed)
    scores = folds.held_out(crossfit.folds, is_p)
    full = Tails.of_positives(scores[is_p])
    scorer = RestScorer(rest.source.roles, data.encoder, folds, thin(full), rest.places, most)
    counts: RestCounts = total(engine, _count_part, rest.source.parts, scorer)
    tails = counts.tails(scorer.cuts, data.n_u - rest.places.size)
    best = Best(scorer.score(rest.columns), rest.columns, most)
    best += Best(scores[~is_p], data.table.take(~is_p), most)
    return AllRows(
        Evidence(scores[is_p], scores[~is_p], counted=tails),
        best if counts.best is None else best + counts.best,
        (*cost_of_thinning(tails, full.cuts.size, method), rest.note(is_counted=True)),
    )


def _count_part(scorer: RestScorer, part: Part) -> RestCounts:
    return reduce(add, map(scorer.count, part.batches()))
