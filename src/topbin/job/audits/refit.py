"""A model that has learned from the answers of audits, beside the run that it came from.

Unlabeled rows count as positive in part, by the probability that the run gave them, and answered
rows count as what people said, with more weight. α is not estimated again: answers to candidates
are no random sample. The folder `refit` is a run folder of its own, so it can score new rows.
"""

import os
from collections.abc import Iterable, Mapping
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
from topbin.job.audits.rows import prepared_again, refuse_classes
from topbin.job.candidates import Ranking, ranked
from topbin.job.files import sum_of, unlabeled_rows
from topbin.job.prepare import Prepared
from topbin.learn.backends.sklearn import positive_scores
from topbin.learn.classifiers import fit_weighted
from topbin.learn.crossfit import Ensemble
from topbin.learn.defaults import coarse, default_model
from topbin.learn.folds import folds_of
from topbin.learn.probabilities import fit_probabilities
from topbin.learn.rows import TrainingTable
from topbin.store.answer import Answer, Candidates
from topbin.store.models import load, reading, save
from topbin.store.runs import (
    CANDIDATES,
    MODEL,
    REFIT,
    ROWS,
    WAIT,
    open_run,
    read_asked,
    read_result,
    write_result,
)
from topbin.store.scorer import after_audit

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
            f"trained with {self.answers:,} answers{by}: accuracy on them, each held out, "
            f"{100 * self.accuracy:.1f} % (before: {100 * self.accuracy_before:.1f} %); "
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
        result, state = read_result(folder), read_state(folder)
        refuse_classes(result, option("refit"))
        answered = {row: said for row, said in {**state.known, **state.answers, **new}.items()
                if said in (POSITIVE, NEGATIVE)}  # fmt: skip
        if not answered:
            raise InputError("TB001", NO_ANSWER)
        data = _read_again(folder, result, sources)
        model = load(folder / MODEL)
        with reading(folder / MODEL):
            before = model.probability_map_(model.evidence_.scores[1])
        rows = data.table.places[data.unlabeled_rows] + 1
        if before.size != rows.size:
            raise InputError("TB117", "the model has scored other rows than the run has.")
        at = _places(answered, rows)
        add_answers(folder, new, force=force, model_only=True)
        truth = np.array([said == POSITIVE for said in answered.values()])
        scores_p, scores_u, models = _crossfit(data, before, at, truth)
        model.evidence_ = Evidence(scores_p, scores_u)
        with reading(folder):
            likely = fit_probabilities(model.evidence_, _estimate_now(model, result))
        model.model_, model.probability_map_ = Ensemble((tuple(models),), ()), likely
        after = likely(scores_u)
        n = min(result.candidates.rows, rows.size)
        order = Ranking(scores_u).order(n)
        _write(folder, result, data, model, order, after)
    old = set(Ranking(before).order(n).tolist())
    return Refit(
        answers=at.size,
        accuracy_before=float(((before[at] > 0.5) == truth).mean()),
        accuracy=float(((after[at] > 0.5) == truth).mean()),
        candidates=n,
        moved=len(set(order.tolist()) - old),
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


def _estimate_now(model: Any, result: Answer) -> AlphaEstimate:
    """The estimate after the audits of a run; older ones left only an α."""
    audit = result.audit
    estimate: AlphaEstimate = after_audit(model, result).estimate_
    if audit is not None and audit.together is None:
        return replace(estimate, alpha=audit.alpha, posterior=None)
    return estimate


def _read_again(folder: Path, result: Answer, sources: Request) -> Prepared:
    """The table of the run, if it is all in memory and as it was."""
    if result.data.sample is not None:
        raise InputError(
            "TB117",
            "the run was fitted on a sample, so most answered rows are not in memory to train "
            "with. Fit again with the answers in the label column.",
        )
    if result.data.image is not None:
        raise InputError(
            "TB136",
            "the run was fitted on images, and runs on images cannot be trained again yet. Move "
            "the images that are positive to the known ones, and fit again.",
        )
    if os.path.lexists(folder / ROWS) and not result.data.files and sources.rows.main is None:
        raise InputError(
            "TB117",
            "the run was fitted on a frame, so no file has its known positives to train with. Fit "
            "the frame again with the answers in its label column.",
        )
    return prepared_again(folder, result.data, sources)


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


def _write(
    folder: Path, result: Answer, data: Prepared, model: Any, order: Any, probability: Any
) -> None:
    """A run folder inside the run: model, candidates, and the estimates of the run itself."""
    listed = unlabeled_rows(data).iloc[order].reset_index(drop=True)
    numbers = listed.pop("row")
    frame = ranked(listed, numbers, probability[order].round(4), result.data.id)
    threshold = float(model.evidence_.scores[1][order[-1]])
    with open_run(folder / REFIT, read_asked(folder), force=True) as made:
        save(model, made.folder / MODEL, encoder=data.encoder, force=True)
        write_table(made.folder / CANDIDATES, frame, force=True)
        listed = Candidates(
            rows=order.size, threshold=threshold, precision=None, precision_low=None,
            recall=float(min(1.0, probability[order].sum() / (probability.sum() or 1.0))),
            why=f"the {order.size:,} highest probabilities after learning from the answers",
            sum=sum_of(made.folder / CANDIDATES),
        )  # fmt: skip
        write_result(made.folder, replace(result, candidates=listed))
