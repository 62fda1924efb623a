"""What a job found: how many, how sure, which rows; as words, a table, a picture, files."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import topbin
from topbin.core.checks import RowNumbers, check_count
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.formatting import counted, figure
from topbin.core.options import Request
from topbin.data.batch import Batch, add_columns
from topbin.data.write import unused
from topbin.evaluate.audit.scored import Scored
from topbin.evaluate.parts import ByGroup
from topbin.evaluate.sensitivity import Sensitivity
from topbin.evaluate.verdict import Verdict, verdict_of
from topbin.job.by_group import by_column
from topbin.job.candidates import RankedRows, likely, order, ranked
from topbin.job.prepare import Prepared
from topbin.job.remedy import alarms_of, leaves_alpha_near_zero
from topbin.job.score_rest import Best
from topbin.learn.crossfit import Chain
from topbin.learn.explain import (
    Explanation,
    KnownPositives,
    Neighbors,
    explain_held_out,
    why_columns,
)
from topbin.learn.labeling.propensity import Propensity
from topbin.learn.labeling.scar import ScarTest
from topbin.learn.labeling.subtypes import Subtypes
from topbin.learn.probabilities import fit_probabilities
from topbin.show.rows import passage
from topbin.show.screen import summarize
from topbin.store.answer import (
    Answer,
    Candidates,
    Case,
    EpochRecord,
    Importance,
    LabelingFound,
    ModelName,
    Remedy,
)
from topbin.store.models import versions_of
from topbin.store.scorer import Scorer

EXPLAINED, SHOWN_COLUMNS = 1_000, 15  # rows of candidates.csv with reasons; columns in the report
PICTURE_ROWS = 100  # of either kind, from which it is read how much each column matters
PACKAGES = ("topbin", "numpy", "scipy", "scikit-learn", "lightgbm", "pandas", "duckdb")
IMAGE_PACKAGES = "torch", "pillow"


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The answer of `topbin.fit`, in the order people ask for it.

    `stopped` says why the job ended early, if it did; the estimate is then the best so far. `best`
    are the best rows of all files, if the rows in memory are a sample. `chains` have the models of
    one repeat that did not see the rows they held out; they explain these rows. `gamma` says what
    follows if positives are not labeled at random, if that was asked for. `random_labels` is a test
    of that, and `found_remedy` the estimate without what seems to be wrong with the columns.
    """

    data: Prepared
    classifier: Any
    first: AlphaEstimate
    methods: tuple[AlphaEstimate, ...]
    stopped: str | None = None
    best: Best | None = None
    chains: tuple[Chain, ...] = ()
    labeling: Subtypes | Propensity | LabelingFound | None = None  # if it was asked for
    gamma: Sensitivity | None = None
    random_labels: ScarTest | None = None
    found_remedy: Remedy | None = None
    folder: Path | None = field(default=None, init=False)  # where it was saved last

    @property
    def request(self) -> Request:
        """What was asked for."""
        return self.data.request

    @property
    def remedy(self) -> Remedy | None:
        """The remedy that was found, unless α is near 0 with it too, so that it answers nothing."""
        answers_nothing = leaves_alpha_near_zero(self.found_remedy, self.data.alarms)
        return None if answers_nothing else self.found_remedy

    @cached_property
    def estimate(self) -> AlphaEstimate:
        """α among the unlabeled, with interval, bound and alarms."""
        more = alarms_of(self.remedy, self.data.alarms)
        if not hasattr(self.classifier, "labeling_"):  # with it, labels need not be random
            tested = self.labeling or self.random_labels
            more += tested.alarms() if isinstance(tested, Subtypes | ScarTest) else ()
        estimate, remedy = self.classifier.estimate_, self.found_remedy
        if remedy is not None and leaves_alpha_near_zero(remedy, self.data.alarms):
            note = f"{remedy.sentence}, so either other columns leak the label too, or none does"
            estimate = replace(estimate, notes=(*estimate.notes, note))
        return self.data.with_alarms(estimate, self.methods, more)

    @cached_property
    def verdict(self) -> Verdict | None:
        """Whether to quote the answer, only its bound, or to audit first; and what to do next.

        None if the rows have known classes: a verdict is about positives.
        """
        if self.seeks_novel:
            return None
        scored = None
        if self.best is None:
            scores = self.evidence.scores
            scored = Scored(*scores, *map(self._probability_map, scores))
        return verdict_of(self.estimate, self.data.n_u, scored, remedy=self.remedy)

    @property
    def seeks_novel(self) -> bool:
        """Whether candidates are rows of no known class, not positives."""
        return self.data.classes is not None

    @property
    def evidence(self) -> Evidence:
        """What α was read from: tails, and the held-out scores of the rows in memory."""
        evidence: Evidence = self.classifier.evidence_
        return evidence

    @property
    def pi(self) -> float:
        """The share of positives among all rows, those known to be negative included."""
        return self._pi_at(self.estimate.alpha)

    @property
    def probabilities(self) -> Any:
        """p(positive) of each unlabeled row in memory, by models that never saw it, in order.

        Of rows of known classes: p(novel).
        """
        if self.seeks_novel:
            return likely(self._probability_map, self.evidence.scores[1], novel=True)
        return self.classifier.oof_proba_[self.data.unlabeled_rows]

    def _pi_at(self, alpha: float) -> float:
        return self.estimate.pi_at(alpha, n_u=self.data.n_u, negatives=self.data.n_n)

    def picked(self, n: int | None = None, *, min_precision: float | None = None) -> Candidates:
        """The top n unlabeled rows, or all down to a precision whose LOW end is `min_precision`."""
        if min_precision is not None:
            return self._ranked.down_to(min_precision)
        if n is not None:
            return self._ranked.first(check_count(n, "n"))
        return self._ranked.as_asked(self.request.listing)

    @cached_property
    def _ranked(self) -> RankedRows:
        """The best rows of all files, or of those in memory if there are no others."""
        scores, of, novel = self.evidence.scores[1], self.data.n_u, self.seeks_novel
        if self.best is None:
            scores, of = scores[order(scores, novel=novel)], scores.size
        else:
            scores = self.best.scores
        return RankedRows(scores, self.evidence, self.estimate, of, novel)

    @property
    def _probability_map(self) -> Any:
        return fit_probabilities(self.evidence, self.estimate)

    def _listed(self, rows: int) -> tuple[Batch, RowNumbers]:
        """So many of the best unlabeled rows, and where in memory they are (−1: nowhere)."""
        table, unlabeled = self.data.table, self.data.unlabeled_rows
        if self.best is None:
            first = unlabeled[order(self.evidence.scores[1], rows, novel=self.seeks_novel)]
            return table.take(first), first
        listed, places = self.best.rows.take(slice(rows)), table.places[unlabeled]
        sorter = np.argsort(places)
        nearest = sorter[
            np.searchsorted(places, listed.places, sorter=sorter).clip(max=sorter.size - 1)
        ]
        return listed, np.where(places[nearest] == listed.places, unlabeled[nearest], -1)

    @cached_property
    def known_positives(self) -> KnownPositives | None:
        """Known positives that rows are compared with, by name; None if models read no vectors.

        Nor if labels are known classes.
        """
        data, where = self.data, np.flatnonzero(self.data.labels.is_positive)
        if data.classes is not None or not data.encoder.vector_columns:
            return None
        vectors = data.encoder.vectors(data.X[where])
        return KnownPositives.of(_names(data, where), vectors, data.request.certainty.seed)

    def _nearest(self, rows: Batch, where: RowNumbers) -> Neighbors:
        if self.known_positives is None:
            return ()
        return self.known_positives.nearest(self.data.encoder.vectors(self._matrix(rows, where)))

    def _matrix(self, rows: Batch, where: RowNumbers) -> Any:
        if bool((where >= 0).all()):  # in memory
            return self.data.X[where]
        return self.data.encoder.encode(rows.select(self.data.encoder.columns))

    def _explained(self, rows: Batch, where: RowNumbers) -> Explanation:
        places = np.where(where < 0, -1, np.searchsorted(self.data.fitted_rows, where))
        frame = rows.select(self.data.encoder.columns).frame
        X = self._matrix(rows, where)
        return explain_held_out(self.chains, places, X, self.data.encoder, frame)

    def explain(self, n: int | None = None) -> Explanation:
        """What each column, or word, adds to the score of the best rows, as many as `candidates`.

        By models that never saw the row, so it explains the score that ranked it, not the world.
        `reasons()` has the strongest three of each row; TB013 if the model cannot be explained.
        Where models read vectors, of texts or images, `nearest` has the known positives that each
        row resembles.
        """
        listed = self._listed(self.picked(n).rows)
        return replace(self._explained(*listed), nearest=self._nearest(*listed))

    def importance(self) -> dict[str, float]:
        """How much each column or word moves the score, on average over held-out rows."""
        rng, labels = np.random.default_rng(self.request.certainty.seed), self.data.labels
        sides = (np.flatnonzero(side) for side in (labels.is_positive, labels.is_unlabeled))
        drawn = [rng.permutation(side)[:PICTURE_ROWS] for side in sides]
        where = np.sort(np.concatenate(drawn))
        return self._explained(self.data.table.take(where), where).importance()

    def candidates(
        self, n: int | None = None, *, min_precision: float | None = None, why: bool = False
    ) -> Any:
        """The unlabeled rows most likely positive, best first, as a pandas table.

        Its index is that of the frame that was given, so that `frame.loc[found.index]` are these
        rows as they were; rows of files are counted from 0. With `why`, three more columns say what
        moved the score of a row, of the first 1,000 rows; and where models read vectors, three
        name the known positives that it resembles.
        """
        frame = self.listed(n, min_precision=min_precision, why=why)
        places = frame.pop("row").to_numpy() - 1
        index = getattr(self.request.rows.main, "index", None)
        return frame.set_axis(index[places] if isinstance(index, pd.Index) else places)

    def listed(
        self, n: int | None = None, *, min_precision: float | None = None, why: bool = False
    ) -> Any:
        """The candidates as files have them: `row` counts the rows of the table from 1."""
        rows = self.picked(n, min_precision=min_precision).rows
        listed, where = self._listed(rows)
        frame = listed.readable.drop(columns=[self.data.label or ""], errors="ignore")
        scores, novel = self._ranked.scores[:rows], self.seeks_novel
        probability = likely(self._probability_map, scores, novel=novel).round(4)
        frame = ranked(frame, listed.places + 1, probability, self.data.id)
        if not why:
            return frame
        first = listed.take(slice(EXPLAINED)), where[:EXPLAINED]
        texts = why_columns(lambda: self._explained(*first), self._nearest(*first))
        blank = [""] * (rows - EXPLAINED)
        reasons = {unused(name, frame.columns): [*cells, *blank] for name, cells in texts.items()}
        return add_columns(frame, reasons)

    def by(self, column: str) -> ByGroup:
        """α of each group of a column of the rows, and against the rest; nothing is fitted again.

        Text, yes/no values and up to ten numbers are groups as they are; other numbers, and dates,
        are cut into quarters. The column need not be a feature.
        """
        return by_column(self.data, column, self.evidence, self.estimate, self.chains)

    @property
    def scorer(self) -> Scorer:
        """What scores new rows, as `topbin.load(run)` does once the result is saved."""
        given = self.request.read.encoder
        function = given if callable(given) else None
        return Scorer(self.classifier, self.data.encoder, self.known_positives, function)

    def score(self, frame: Any, *, embeddings: Any = None) -> Any:
        """New rows with their probability, as `topbin score` and `topbin.load(run).score` do."""
        return self.scorer.score(frame, embeddings=embeddings)

    def sensitivity(self) -> tuple[Case, ...]:
        """What follows if α is at the low or the high end of its interval, by size of α.

        Where the bound is the answer, it takes the place of the estimate.
        """
        est = self.estimate
        low, high = est.interval or (est.alpha, est.alpha)
        middle = ("estimate", est.alpha)
        if not low <= est.alpha <= high:  # methods that read one bin can be outside
            middle = ("estimate, outside the interval", est.alpha)
        if est.leading_bound is not None:
            middle = ("bound", est.leading_bound)
        cases = [("low end", low), middle, ("high end", high)] if est.interval else [middle]
        return tuple(
            Case(name, a, round(a * est.n_u), self._pi_at(a))
            for name, a in sorted(cases, key=lambda case: case[1])
        )

    def agreement(self) -> str:
        """How other methods read the same scores, in words.

        They agree if all of them are in the interval.
        """
        est = self.estimate
        points = sorted((other.alpha, other.method) for other in self.methods)
        read = [f"{method} {figure(alpha)}" for alpha, method in points]
        most = 1.0 if est.interval is None else est.interval[1] + 1 / est.n_u
        higher = sum(alpha > most for alpha, _ in points)
        if any(alarm.code == "methods-disagree" for alarm in est.alarms):
            return f"methods disagree: {', '.join(read)}"
        if not higher:
            return f"methods agree: {', '.join(read)}"
        above, others = ", ".join(read[-higher:]), ", ".join(read[:-higher])
        return f"above the interval, as methods that err upward can be: {above}; others: {others}"

    def summary(self, *, data: bool = True) -> str:
        """The answer as text, in the order in which people ask; `data`: and how it was read."""
        return summarize(self.answer, self.data.lines() if data else [])

    def plot(self) -> Any:
        """The top-bin picture beside the score histograms; returns the figure."""
        import matplotlib.pyplot as plt

        from topbin.show import ScoreDisplay, TopBinDisplay

        figure, axes = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained")
        TopBinDisplay.from_estimator(self.classifier, ax=axes[0])
        ScoreDisplay.from_estimator(self.classifier, ax=axes[1])
        return figure

    @cached_property
    def answer(self) -> Answer:
        """All that was found, as result.json has it; computed once."""
        return Answer(
            verdict=self.verdict,
            remedy=self.remedy,
            topbin=topbin.__version__,
            seed=self.request.certainty.seed,
            preset=self.request.budget.preset,
            stopped=self.stopped,
            data=self.data.about,
            estimate=self.estimate,
            first=self.first,
            methods=self.methods,
            agreement=self.agreement(),
            model=ModelName(type(self.classifier).__name__),
            importance=self._columns_that_matter(),
            labeling=LabelingFound.of(self.labeling),
            random_labels=self.random_labels,
            history=tuple(map(EpochRecord.of, self.classifier.history_)),
            sensitivity=self.sensitivity(),
            gamma=self.gamma,
            by=tuple(map(self.by, self.request.read.by)),
            candidates=self.picked(),
            versions=dict(packages(self.data)),
        )

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain Python values."""
        return self.answer.to_dict()

    def _columns_that_matter(self) -> tuple[Importance, ...]:
        """The first columns; none if the model cannot be explained."""
        try:
            importance = self.importance()
        except InputError as error:
            if error.code != "TB013":
                raise
            return ()
        first = list(importance.items())[:SHOWN_COLUMNS]
        return tuple(Importance(column=name, mean=mean) for name, mean in first)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Leave a run folder: result.json, candidates.csv, report.html and the model.

        Unlabeled rows in memory are kept too: an audit draws from them, and perhaps no file
        contains them. For a sample, the settings name the files to draw from.
        """
        from topbin.job.files import write_files
        from topbin.store.runs import open_run

        with open_run(folder, self.data.stored_request, force=force) as run:
            write_files(self, run, keep_rows=True)
        object.__setattr__(self, "folder", Path(folder))
        return Path(folder)

    def __repr__(self) -> str:
        # As much as fits on one line; the fields contain whole tables.
        est, model = self.estimate, type(self.classifier).__name__
        early = ", stopped early" if self.stopped else ""
        preset, seed = self.request.budget.preset, self.request.certainty.seed
        made = f"{model}, preset {preset}, seed {seed}{early}"
        return (
            f"<{type(self).__name__}: {est.in_short} of {est.n_u:,} unlabeled rows, "
            f"{counted(len(est.alarms), 'alarm')}; {made}; see .summary()>"
        )

    def _repr_html_(self) -> str:
        from topbin.show import fragment

        return fragment(self.answer, self.classifier)


def packages(data: Prepared) -> Mapping[str, str]:
    """The versions of what takes part in a job with these rows."""
    return versions_of((*PACKAGES, *(IMAGE_PACKAGES if data.image is not None else ())))


def _names(data: Prepared, where: Any) -> list[str]:
    """How people find each row: the path of its image, its id or its number, and how it begins."""
    rows = data.table.take(where)
    if data.image is not None:
        return [str(path) for path in rows.frame[data.image.name]]
    if data.id is not None:
        names = list(map(str, rows.frame[data.id]))
    elif data.label is None:  # in a source of their own
        names = [f"known positive {i + 1}" for i in range(rows.rows)]
    else:
        names = [f"row {place + 1}" for place in rows.places]
    texts = [f.name for f in data.encoder.features if f.kind == "text" or f.encoder]
    if not texts:
        return names
    return [f"{n}: {passage(text)}" for n, text in zip(names, rows.frame[texts[0]], strict=True)]
