"""A model that has learned from the answers of audits, beside the run that it came from.

Unlabeled rows count as positive in part, by the probability that the run gave them, and answered
rows count as what people said, with more weight. α is not estimated again: answers to candidates
are no random sample. The folder `refit` is a run folder of its own, so it can score new rows.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from topbin.core.atomic import lock
from topbin.core.errors import InputError, option
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.options import Request
from topbin.data.write import write_table
from topbin.evaluate.audit import NEGATIVE, POSITIVE
from topbin.job.audits.answers import NO_ANSWER, add_answers, read_state, understood
from topbin.job.candidates import order, ranked
from topbin.job.files import StoredRun, sum_of, unlabeled_rows
from topbin.job.prepare import Prepared
from topbin.learn.backends.sklearn import positive_scores
from topbin.learn.classifiers import fit_weighted
from topbin.learn.crossfit import Ensemble
from topbin.learn.defaults import coarse, default_model
from topbin.learn.folds import folds_of
from topbin.learn.probabilities import fit_probabilities
from topbin.learn.rows import TrainingTable
from topbin.store.answer import Candidates
from topbin.store.models import reading, save
from topbin.store.runs import (
    CANDIDATES,
    MODEL,
    REFIT,
    WAIT,
    open_run,
    read_asked,
    write_result,
)

FOLDS = 5
# Of an answer. 1 to 20 made little difference on spambase and landsat; where only one kind of
# positive was labeled, 10 raised the accuracy on other rows from 71 to 80 %, and 1 to 74 %.
WEIGHT = 10.0


@dataclass(frozen=True, slots=True)
class Refit:
    """What the answers changed, on held-out rows: no model is judged on an answer it has seen."""

    answers: int
    accuracy_before: float
    accuracy: float
    candidates: int
    moved: int
    folder: str
    weight: str | None = None  # the column whose weights rows have in training, if there is one

    def __str__(self) -> str:
        by = "" if self.weight is None else f', rows weighted by "{self.weight}"'
        return (
            f"trained with {self.answers:,} answers{by}: accuracy on the answered rows, each held "
            f"out: {100 * self.accuracy:.1f} % (before: {100 * self.accuracy_before:.1f} %); "
            f"{self.moved:,} of {self.candidates:,} candidates are new, in {self.folder}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(self)


def refit_audit(
    run: str | Path,
    answers: Mapping[int, Any] = MappingProxyType({}),
    *,
    force: bool = False,
    sources: Request = Request(),
) -> Refit:
    """Train with every answer so far, and leave the model and its candidates in RUN/refit.

    New `answers`, by row number, are saved first, also those to rows that were not drawn: these
    never count for α. None is saved if a row is not an unlabeled one of this run.
    """
    folder, new = Path(run), understood(answers)
    with lock(folder, wait=WAIT):
        stored, state = StoredRun.open(folder, sources), read_state(folder)
        stored.refuse_classes(option("refit"))
        said_of = {**state.all_answers, **new}
        answered = {row: said for row, said in said_of.items() if said in (POSITIVE, NEGATIVE)}
        if not answered:
            raise InputError("TB001", NO_ANSWER)
        data, model = _read_again(stored), copy(stored.fitted)
        with reading(folder / MODEL):
            before = model.probability_map_(model.evidence_.scores[1])
        rows = data.table.places[data.unlabeled_rows] + 1
        if before.size != rows.size:
            raise stored.other_rows()
        at = _places(answered, rows)
        add_answers(folder, new, force=force, model_only=True)
        truth = np.array([said == POSITIVE for said in answered.values()])
        scores_p, scores_u, models = _crossfit(data, before, at, truth)
        model.evidence_ = Evidence(scores_p, scores_u)
        with reading(folder):
            likely = fit_probabilities(model.evidence_, _estimate_now(stored))
        model.model_, model.probability_map_ = Ensemble((tuple(models),), ()), likely
        after = likely(scores_u)
        n = min(stored.answer.candidates.rows, rows.size)
        best = order(scores_u, n)
        _write(stored, data, model, best, after)
    old = set(order(before, n).tolist())
    return Refit(
        answers=at.size,
        accuracy_before=float(((before[at] > 0.5) == truth).mean()),
        accuracy=float(((after[at] > 0.5) == truth).mean()),
        candidates=n,
        moved=len(set(best.tolist()) - old),
        folder=str(folder / REFIT),
        weight=data.request.read.weight,
    )


def _places(numbers: Iterable[int], rows: Any) -> Any:
    """Where these row numbers are among the unlabeled rows; TB117 if one is not."""
    place = {int(row): i for i, row in enumerate(rows)}
    for row in numbers:
        if row not in place:
            raise InputError(
                "TB117", f"row {row:,} has an answer and is not an unlabeled row of this run."
            )
    return np.array([place[row] for row in numbers])


def _estimate_now(run: StoredRun) -> AlphaEstimate:
    """The estimate after the audits of a run; older ones left only an α."""
    audit = run.answer.audit
    estimate: AlphaEstimate = run.model().estimate_
    if audit is not None and audit.together is None:
        return replace(estimate, alpha=audit.alpha, posterior=None)
    return estimate


def _read_again(run: StoredRun) -> Prepared:
    """The table of the run, if it is all in memory and as it was."""
    run.refuse_sample(
        "so most answered rows are not in memory to train with. Fit again with the answers in the "
        "label column."
    )
    if run.answer.data.image is not None:
        raise InputError(
            "TB136",
            "the run was fitted on images, and runs on images cannot be trained again yet. Move "
            "the images that are positive to the known ones, and fit again.",
        )
    if run.keeps_rows and not run.answer.data.files and run.sources.rows.main is None:
        raise InputError(
            "TB117",
            "the run was fitted on a frame, so no file has its known positives to train with. Fit "
            "the frame again with the answers in its label column.",
        )
    return run.prepared()


def _crossfit(data: Prepared, f: Any, at: Any, truth: Any) -> tuple[Any, Any, list[Any]]:
    """Held-out scores of known positives and unlabeled rows, and the models of all folds."""
    took_part = data.fitted_rows
    is_p, X = data.labels.is_positive[took_part], data.X[took_part]
    estimator = default_model(X)
    X = coarse(X, estimator)
    share, weight = np.ones(took_part.size), np.ones(took_part.size)
    given = np.ones(1) if data.weight is None else data.weight[took_part]
    unlabeled = np.flatnonzero(~is_p)
    share[unlabeled] = f
    share[unlabeled[at]], weight[unlabeled[at]] = truth, WEIGHT
    weight = weight * given
    scores, models = np.empty(took_part.size), []
    # `share` of a held-out row, and so its answer, is not in the table that its model learns from.
    for train, held in _folds(data, is_p, took_part):
        table = TrainingTable(X[train], is_p[train], weight[train])
        model = fit_weighted(estimator, table, share[train][~is_p[train]])
        scores[held] = positive_scores(model, X[held])
        models.append(model)
    return scores[is_p], scores[~is_p], models


def _folds(data: Prepared, is_p: Any, took_part: Any) -> Any:
    if data.folds.row_groups is None:
        return KFold(FOLDS, shuffle=True, random_state=0).split(is_p)
    return folds_of(is_p, FOLDS, 0, together=data.folds.row_groups.at(took_part))


def _write(run: StoredRun, data: Prepared, model: Any, best: Any, probability: Any) -> None:
    """A run folder inside the run: model, candidates, and the estimates of the run itself."""
    listed = unlabeled_rows(data).iloc[best].reset_index(drop=True)
    numbers = listed.pop("row")
    frame = ranked(listed, numbers, probability[best].round(4), run.answer.data.id)
    threshold = float(model.evidence_.scores[1][best[-1]])
    with open_run(run.folder / REFIT, read_asked(run.folder), force=True) as made:
        save(model, made.folder / MODEL, encoder=data.encoder, force=True)
        write_table(made.folder / CANDIDATES, frame, force=True)
        listed = Candidates(
            rows=best.size, threshold=threshold, precision=None, precision_low=None,
            recall=float(min(1.0, probability[best].sum() / (probability.sum() or 1.0))),
            why=f"the {best.size:,} highest probabilities after learning from the answers",
            sum=sum_of(made.folder / CANDIDATES),
        )  # fmt: skip
        write_result(made.folder, replace(run.answer, candidates=listed))
