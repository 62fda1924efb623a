"""Which models a job trains, by which plans, and how long that takes.

A model for text and vectors is linear or boosted trees, whichever separates held-out rows better.
The AUC of known positives against unlabeled rows orders models as the AUC of the classes does: it
is (1 − α) of that and α/2, whatever the model. So it needs no estimate of α, and unlike the
smallest bound it does not reward a model that is sure of a few rows. But the hidden positives make
it noisy: of a few hundred rows it often cannot tell which model is better. So one model is taken
only if it is clearly better. Otherwise vectors get the mean of both, and tables that can be
explained get the linear model. The choice is made once, by a short cross-fit of both.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from time import monotonic
from typing import Any

import numpy as np

from topbin.core.errors import InputError, option
from topbin.core.options import Labeling
from topbin.evaluate.metrics import auc_difference, pu_auc
from topbin.job.doubts import quick_evidence
from topbin.job.prepare import Prepared
from topbin.learn.classifiers import PvUClassifier, TEDnClassifier
from topbin.learn.crossfit import Plan
from topbin.learn.defaults import (
    FIRST,
    NET_FIRST,
    NET_PRESETS,
    PRESETS,
    coarse,
    default_model,
    net_plan,
    plan_for,
    text_models,
)
from topbin.learn.estimator import PUClassifier
from topbin.learn.labeling.propensity import SAREMClassifier, matrix_columns
from topbin.learn.labeling.subtypes import SubtypesClassifier
from topbin.learn.learners import PVU, TEDN
from topbin.learn.open_set import OpenSetClassifier

MOST_ROWS = 12_000  # for the choice
# On a tie: the model, and by how many standard errors another must be better than its rival. The
# mean of both is a safe answer, a single model is not (bench/results/choice.md).
TIES = {"vectors": ("both", 2.0), "explained": ("linear", 1.0)}
NUMBERS = ("number", "boolean", "date")


@dataclass(slots=True)
class Forecast:
    """When the careful estimate will be ready.

    At first from what the first estimate took, then from the steps that were run. `kept` steps
    were there before and took no time.
    """

    began: float
    kept: int = 0

    def after_first(self, first: Plan, careful: Plan) -> float | None:
        """Seconds for the careful plan, the first one being done; from here on steps are timed."""
        taken, self.began = monotonic() - self.began, monotonic()
        return None if self.kept else taken * work_of(careful) / work_of(first)

    def after_step(self, done: int, total: int) -> float | None:
        """Seconds for the steps that are not done."""
        ran = done - self.kept
        return (monotonic() - self.began) * (total - done) / ran if ran > 0 else None


def work_of(plan: Plan) -> float:
    """How many fits of all rows a plan is worth; a fit without a fold's rows is worth less.

    >>> work_of(Plan(outer=3, inner=2, repeats=1, warm=1, rounds=2))     # 3 × (3 · ⅔ + 1)
    9.0
    """
    per_round = plan.inner - 1 if plan.inner > 1 else 1
    return float(plan.repeats * (plan.warm + plan.rounds) * per_round * plan.outer)


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

    def add_note_to(self, classifier: Any) -> None:
        """Add the note to the estimate of a fitted classifier."""
        estimate = classifier.estimate_
        classifier.estimate_ = replace(estimate, notes=(*estimate.notes, self.note))


def choose_model(data: Prepared, memory: MutableMapping[str, Any]) -> Choice | None:
    """The model that is clearly better in a short cross-fit, or the one for ties; None: no choice.

    Large tables are judged by some of their rows, drawn at random. Other ways of labeling take the
    default model.
    """
    asked = data.request.labeling
    if asked.subtypes == "correct" or asked.labeled_by or data.classes is not None:
        return None
    if not data.encoder.scaled:
        return None
    rows, seed = np.flatnonzero(~data.labels.is_negative), data.request.certainty.seed
    if rows.size > MOST_ROWS:
        rows = np.sort(np.random.default_rng(seed).permutation(rows)[:MOST_ROWS])
    X, plan = data.X[rows], plan_for(PVU, data.X[rows], FIRST)
    weight = None if data.weight is None else data.weight[rows]
    plain = data.encoder.matrix_columns(lambda feature: feature.kind in NUMBERS)
    small = data.encoder.matrix_columns(lambda feature: feature.kind == "string" and feature.scale)
    models, scores = text_models(data.X, plain, small), {}
    for name in ("linear", "trees"):
        model, learner = models[name], replace(PVU, name=f"{PVU.name}-{name}")
        scores[name] = quick_evidence(
            data, rows, coarse(X, model), model, plan=plan, learner=learner, weight=weight,
            memory=memory,
        ).scores  # fmt: skip
    gain = auc_difference(scores["trees"], scores["linear"])
    name, clearly = TIES["vectors" if data.encoder.is_opaque else "explained"]
    if abs(gain.value) > clearly * gain.error:
        name = "trees" if gain.value > 0 else "linear"
    auc = {each: pu_auc(*own).value for each, own in scores.items()}
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
    """The quick classifier, the careful one, and plans that are worth as much work as each.

    `steps` is how many events the careful one sends for each of its chains.
    """

    quick: PUClassifier
    careful: TEDnClassifier
    work: tuple[Plan, Plan]
    steps: int = 1


def make_classifiers(data: Prepared, model: Any, memory: MutableMapping[str, Any]) -> Classifiers:
    """Both classifiers, with the default model for these rows unless one was chosen."""
    (quick, plan), asked = _plans(data), data.request

    def over(classifier: Callable[..., Any], plan: Plan, **labels: Any) -> Any:
        return classifier(
            plan=plan, estimator=model, memory=memory, confidence=asked.certainty.confidence,
            random_state=asked.certainty.seed, n_jobs=asked.budget.threads, **labels,
        )  # fmt: skip

    one_class = {"positive": 1, "negative": -1 if data.labels.is_negative.any() else None}
    own = one_class if data.classes is None else {}  # of known classes, no one is positive
    careful = over(classifier_for(data, asked.labeling), plan, **own)
    by_epoch = data.by_net and asked.budget.threads in (None, 1)
    steps = plan.warm + plan.rounds if by_epoch else 1
    work = _work(data, quick, plan)
    if data.by_net:
        import_module("topbin.learn.net_fitting")  # now, because forecasts time what follows
    return Classifiers(over(PvUClassifier, quick, **one_class), careful, work, steps)


def _plans(data: Prepared) -> tuple[Plan, Plan]:
    preset = data.request.budget.preset
    if data.by_net:
        return net_plan(NET_FIRST, len(data.X)), net_plan(NET_PRESETS[preset], len(data.X))
    careful = plan_for(TEDN, data.X, PRESETS[preset])
    return data.folds.plan(FIRST, data.labels), data.folds.plan(careful, data.labels)


def _work(data: Prepared, quick: Plan, careful: Plan) -> tuple[Plan, Plan]:
    """Plans that are worth as much work as both estimates: of nets none is for new rows."""
    if data.by_net:
        return replace(quick, outer=quick.outer - 1), replace(careful, outer=careful.outer - 1)
    return quick, careful


@dataclass(frozen=True, slots=True)
class StepsDone:
    """How many steps of each estimate are done; those of the choice of a model are of neither."""

    first: int
    careful: int


def steps_done(names: Iterable[str]) -> StepsDone:
    """The steps that a memory has, by name.

    >>> steps_done(["pvu-0-0", "pvu-linear-0-0", "pvu-trees-0-0", "tedn-0-0", "tedn-0-1"])
    StepsDone(first=1, careful=2)
    """
    learners = Counter(name.rsplit("-", 2)[0] for name in names)  # as `chain_name` writes them
    return StepsDone(learners[PVU.name], learners[TEDN.name])


def steps_of_first(data: Prepared) -> int:
    """How many steps the first estimate has; for tables one of them is for new rows."""
    return NET_FIRST.outer if data.by_net else FIRST.outer + 1


def foresee(data: Prepared) -> float:
    """Seconds that the fit of these rows will take, from the time that one model takes now.

    What is not training (encoding, counting, writing) is not in it; a cross-fit fits one model
    more per repeat, for new rows. Of a net it is an epoch on some of the rows.
    """
    data.check_enough()
    X, is_p, (quick, plan) = data.X, data.labels.is_positive, _work(data, *_plans(data))
    classifier_for(data, data.request.labeling)  # which refuses columns that explain nothing
    model, share = default_model(X), 1.0
    if data.by_net:
        some = np.union1d(np.arange(0, len(X), max(1, len(X) // 500)), np.flatnonzero(is_p)[:10])
        X, is_p, share = X[some], is_p[some], some.size / len(X)
        model.set_params(warm=1)
        model.fit(X[:64], is_p[:64].astype(int))  # the first also loads what it runs on
    began = monotonic()
    model.fit(X, is_p.astype(int))
    more = 1.0
    if not data.by_net:  # an epoch of a net is followed by the next one, and scores no row
        model.predict_proba(X)
        more += 1 / plan.outer
    return (monotonic() - began) / share * (work_of(quick) + work_of(plan) * more)
