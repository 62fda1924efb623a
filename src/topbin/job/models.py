"""Which models a job trains, and by which plans.

A model for text and vectors is linear or boosted trees, whichever separates held-out rows better.
The AUC of known positives against unlabeled rows orders models as the AUC of the classes does: it
is (1 − α) of that and α/2, whatever the model. So it needs no estimate of α, and unlike the
smallest bound it does not reward a model that is sure of a few rows. But the hidden positives make
it noisy: of a few hundred rows it often cannot tell which model is better. So one model is taken
only if it is clearly better. Otherwise vectors get the mean of both, and tables that can be
explained get the linear model. The choice is made once, by a short cross-fit of both.
"""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from topbin.core.checks import RowNumbers
from topbin.core.errors import InputError, option
from topbin.core.evidence import Evidence
from topbin.core.formatting import counted
from topbin.core.options import Labeling
from topbin.evaluate.metrics import auc_difference, pu_auc
from topbin.job.prepare import Prepared
from topbin.learn.classifiers import PvUClassifier, TEDnClassifier
from topbin.learn.crossfit import Plan, RunOptions, crossfit
from topbin.learn.defaults import (
    FIRST,
    NET_FIRST,
    NET_PRESETS,
    PRESETS,
    coarse,
    net_plan,
    plan_for,
    text_models,
)
from topbin.learn.estimator import PUClassifier
from topbin.learn.labeling.propensity import SAREMClassifier, matrix_columns
from topbin.learn.labeling.subtypes import SubtypesClassifier
from topbin.learn.learners import PVU, TEDN
from topbin.learn.open_set import OpenSetClassifier
from topbin.learn.risk import Learner

CHOICE_ROWS = 12_000  # at most, by which a model is chosen
# On a tie: the model, and by how many standard errors another must be better than its rival. The
# mean of both is a safe answer, a single model is not (bench/results/choice.md).
TIES = {"vectors": ("both", 2.0), "explained": ("linear", 1.0)}
NUMBERS = ("number", "boolean", "date")


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A model, its name, and how well each model separates known positives from unlabeled rows."""

    name: str
    model: Any
    auc: Mapping[str, float]
    error: float

    @property
    def note(self) -> str:
        """What a reader must know; `error` is the standard error of the difference.

        >>> print(Choice("linear", None, {"linear": 0.75, "trees": 0.7}, 0.012).note)
        model chosen: linear (in a short cross-fit a known positive scores above an unlabeled row
        in 75.0 % of pairs by the linear model, in 70.0 % by trees; the standard error of the
        difference is 1.2 %)
        """
        linear, trees = (f"{100 * self.auc[name]:.1f} %" for name in ("linear", "trees"))
        return (
            f"model chosen: {self.name} (in a short cross-fit a known positive scores above an "
            f"unlabeled row in {linear} of pairs by the linear model, in {trees} by trees; the "
            f"standard error of the difference is {100 * self.error:.1f} %)"
        )


def quick_evidence(
    data: Prepared,
    rows: RowNumbers,
    X: Any,
    model: Any,
    *,
    plan: Plan = FIRST,
    learner: Learner = PVU,
    memory: MutableMapping[str, Any] | None = None,
) -> Evidence:
    """What a short cross-fit says of some rows, of which the model reads X."""
    is_p = data.labels.is_positive[rows]
    fit = crossfit(
        model, coarse(X, model), is_p, learner, plan=data.folds.plan(plan, data.labels),
        sample_weight=None if data.weight is None else data.weight[rows],
        seed=data.request.certainty.seed, new_rows=False,
        run=RunOptions(n_jobs=data.request.budget.threads, memory=memory),
        **data.folds.at(rows).arrays,
    )  # fmt: skip
    return fit.evidence(is_p)


def choose_model(data: Prepared, memory: MutableMapping[str, Any]) -> Choice | None:
    """The model that is clearly better in a short cross-fit, or the one for ties; None: no choice.

    Large tables are judged by some of their rows, drawn at random. Other ways of labeling take the
    default model.
    """
    labeling = data.request.labeling
    if labeling.subtypes == "correct" or labeling.labeled_by or data.classes is not None:
        return None
    if not data.encoder.scaled:
        return None
    rows, seed = data.fitted_rows, data.request.certainty.seed
    if rows.size > CHOICE_ROWS:
        rows = np.sort(np.random.default_rng(seed).permutation(rows)[:CHOICE_ROWS])
    X, plan = data.X[rows], plan_for(PVU, data.X[rows], FIRST)
    plain = data.encoder.matrix_columns(lambda feature: feature.kind in NUMBERS)
    small = data.encoder.matrix_columns(lambda feature: feature.kind == "string" and feature.scale)
    models, scores = text_models(data.X, plain, small), {}
    for name in ("linear", "trees"):
        learner = replace(PVU, name=f"{PVU.name}-{name}")
        scores[name] = quick_evidence(
            data, rows, X, models[name], plan=plan, learner=learner, memory=memory
        ).scores
    gain = auc_difference(scores["trees"], scores["linear"])
    name, clearly = TIES["vectors" if data.encoder.is_opaque else "explained"]
    if abs(gain.value) > clearly * gain.error:
        name = "trees" if gain.value > 0 else "linear"
    auc = {each: pu_auc(*both).value for each, both in scores.items()}
    return Choice(name, models[name], auc, gain.error)


def classifier_for(data: Prepared, labeling: Labeling) -> Callable[..., TEDnClassifier]:
    """What makes the classifier of the careful estimate, with the parameters that are its own."""
    if data.classes is not None:
        return OpenSetClassifier
    named, corrects = labeling.labeled_by, labeling.subtypes == "correct"
    if not named and not corrects:
        return TEDnClassifier
    if data.rest is not None:
        raise InputError(
            "TB126",
            f"{option('labeled_by' if named else 'subtypes')} needs all rows in memory, and these "
            f"are a sample; leave out {option('sample')} and {option('engine')}.",
        )
    if corrects:
        return SubtypesClassifier
    if data.label in named:
        raise InputError(
            "TB126",
            f'"{data.label}" is the label itself; name the columns that decide who is labeled.',
        )
    places = {name: matrix_columns(data.encoder, [name]) for name in named}
    return partial(SAREMClassifier, labeled_by=places)


@dataclass(frozen=True, slots=True)
class Classifiers:
    """The quick classifier, the careful one, and the choice of their model, if there was one.

    `steps` is how many events the careful one sends for each of its chains.
    """

    quick: PUClassifier
    careful: TEDnClassifier
    choice: Choice | None = None
    steps: int = 1

    def add_note_to(self, fitted: Any) -> None:
        """Say in the estimate of a fitted classifier which model was chosen, if one was."""
        if self.choice is not None:
            notes = (*fitted.estimate_.notes, self.choice.note)
            fitted.estimate_ = replace(fitted.estimate_, notes=notes)


def make_classifiers(data: Prepared, memory: MutableMapping[str, Any]) -> Classifiers:
    """Both classifiers, with the default model for these rows unless another is chosen."""
    choice = choose_model(data, memory)
    (quick, plan), request = _plans(data), data.request

    def make(classifier: Callable[..., Any], plan: Plan, **labels: Any) -> Any:
        return classifier(
            plan=plan, estimator=None if choice is None else choice.model, memory=memory,
            confidence=request.certainty.confidence, random_state=request.certainty.seed,
            n_jobs=request.budget.threads, **labels,
        )  # fmt: skip

    one_class = {"positive": 1, "negative": -1 if data.labels.is_negative.any() else None}
    labels = one_class if data.classes is None else {}  # of known classes, no one is positive
    careful = make(classifier_for(data, request.labeling), plan, **labels)
    by_epoch = data.by_net and request.budget.threads in (None, 1)
    steps = plan.warm + plan.rounds if by_epoch else 1
    if data.by_net:
        import_module("topbin.learn.net_fitting")  # now, because forecasts time what follows
    return Classifiers(make(PvUClassifier, quick, **one_class), careful, choice, steps)


def _plans(data: Prepared) -> tuple[Plan, Plan]:
    preset = data.request.budget.preset
    if data.by_net:
        return net_plan(NET_FIRST, len(data.X)), net_plan(NET_PRESETS[preset], len(data.X))
    careful = plan_for(TEDN, data.X, PRESETS[preset])
    return data.folds.plan(FIRST, data.labels), data.folds.plan(careful, data.labels)


def timed_plans(data: Prepared) -> tuple[Plan, Plan]:
    """Plans that are worth as much work as both estimates: of nets none is for new rows."""
    quick, careful = _plans(data)
    if data.by_net:
        return replace(quick, outer=quick.outer - 1), replace(careful, outer=careful.outer - 1)
    return quick, careful


def steps_of(learner: str, names: Iterable[str]) -> int:
    """How many of these steps are of a learner; those that chose a model are of none.

    >>> steps_of("pvu", ["pvu-0-0", "pvu-linear-0-0", "pvu-trees-0-0", "tedn-0-0", "tedn-0-1"])
    1
    """
    return sum(name.rsplit("-", 2)[0] == learner for name in names)  # as `chain_name` writes them


def kept_sentence(steps: Sequence[str], *, by_net: bool) -> str:
    """What a resumed run, of a net or of a table, need not do again.

    >>> done = [f"pvu-0-{k}" for k in range(4)]
    >>> print(kept_sentence([*done, "tedn-0-0", "tedn-0-1"], by_net=False))
    the first estimate and 2 steps of the careful one, from before
    >>> chosen = [f"pvu-{model}-0-{k}" for model in ("linear", "trees") for k in range(4)]
    >>> print(kept_sentence([*done[:2], *chosen], by_net=False))  # a text: its model comes first
    a part of the first estimate, from before
    """
    if not steps:
        return "nothing: no step was finished on these rows; starting over"
    # For tables one of the steps is for new rows.
    if steps_of(PVU.name, steps) < (NET_FIRST.outer if by_net else FIRST.outer + 1):
        return "a part of the first estimate, from before"
    careful = steps_of(TEDN.name, steps)
    also = f" and {counted(careful, 'step')} of the careful one" if careful else ""
    return f"the first estimate{also}, from before"
