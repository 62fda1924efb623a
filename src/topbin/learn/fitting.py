"""From samples to a fitted classifier: a model that scores rows, α, and probabilities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np

from topbin.core import AlphaEstimate, Evidence
from topbin.core.checks import Floats
from topbin.core.options import CONFIDENCE, DEFAULT_METHOD
from topbin.core.posterior import AlphaPosterior
from topbin.learn.crossfit import CrossFit, RunOptions, crossfit_table
from topbin.learn.defaults import FIRST, NET_PRESETS, coarse, default_model, plan_for
from topbin.learn.learners import PVU, TEDN
from topbin.learn.loop import NEAR_ONE, Epoch, ReadAlpha
from topbin.learn.probabilities import ProbabilityMap, fit_probabilities
from topbin.learn.risk import Learner
from topbin.learn.rows import TrainingTable
from topbin.mpe.estimate import add_alarms
from topbin.mpe.registry import find_method
from topbin.mpe.samples import is_sparse

Notes = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How to fit any learner."""

    estimator: Any = None
    plan: Any = None
    method: str = DEFAULT_METHOD
    confidence: float | None = CONFIDENCE
    seed: int = 0
    run: RunOptions = RunOptions()

    @property
    def quick(self) -> "FitOptions":
        """The same for an estimate in seconds, which reports and keeps nothing."""
        run = replace(self.run, memory=None, on_event=None)
        return replace(self, plan=FIRST, confidence=None, run=run)


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """A model, the meaning of its scores, and the scores of held-out rows that show it.

    `oof` is the probability of each row of the training table; a net has none. `labeling` is how
    labels came about, if positives count by it.
    """

    model: Any  # `model.scores(X)` is one score per row
    probability_map: ProbabilityMap
    estimate: AlphaEstimate
    history: Sequence[Epoch]
    evidence: Evidence
    oof: Floats | None = None
    labeling: "Labeling | None" = None


class Labeling(Protocol):
    """How labeling depends on the rows: what each known positive counts, and what that means."""

    @property
    def weight_p(self) -> Floats:
        """How much each known positive counts, with mean 1."""

    @property
    def alpha(self) -> float | None:
        """α, if it was found with the weights."""

    @property
    def notes(self) -> Notes:
        """What a reader of an estimate with these weights must know."""

    def with_interval(
        self, estimate: AlphaEstimate, evidence: Evidence, confidence: float | None
    ) -> AlphaEstimate:
        """The estimate with an interval that knows of the weights."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a face learns: a learner, the α that the user knows, and what else it does.

    `refit` is a learner that trains a fresh model at the end, with the α that was found. `labeling`
    finds how much each positive counts. `fit_table` takes the place of `fitting.fit_table`.
    """

    learner: Learner = PVU
    alpha: float | None = None
    refit: Learner | None = None
    labeling: Callable[[TrainingTable, FitOptions], Labeling] | None = None
    fit_table: Callable[[TrainingTable, FitOptions], FittedModel] | None = None

    def learn(self, fit: Callable[[Learner, float | None], FittedModel]) -> FittedModel:
        """Fit the learner, and the second one if there is one."""
        first = fit(self.learner, self.alpha)
        if self.refit is None:
            return first
        second = fit(self.refit, as_known_alpha(first.estimate)[0])
        return replace(second, estimate=first.estimate, history=(*first.history, *second.history))


def fit_recipe(recipe: Recipe, table: TrainingTable, options: FitOptions) -> FittedModel:
    """Fit a recipe to a table, each positive counting as the recipe's labeling says."""
    if recipe.fit_table is not None:
        return recipe.fit_table(table, options)
    labeling = None if recipe.labeling is None else recipe.labeling(table, options)
    fitted = recipe.learn(partial(fit_table, weighted(table, labeling), options))
    return with_labeling(fitted, labeling, options.confidence)


def fit_table(
    table: TrainingTable, options: FitOptions, learner: Learner, alpha: float | None = None
) -> FittedModel:
    """Cross-fit a learner over a table; an α it needs and is not given is found by (TED)ⁿ first."""
    notes: Notes = ()
    if learner.needs_alpha and alpha is None:
        first = fit_table(table, replace(options, confidence=None), TEDN)
        alpha, notes = as_known_alpha(first.estimate)
    fit = run_crossfit(table, learner, options, alpha=alpha)
    return from_crossfit(fit, table, lambda own: read_estimate(own, options, alpha, notes))


def from_crossfit(fit: CrossFit, table: TrainingTable, read: ReadAlpha) -> FittedModel:
    """What a finished cross-fit of a table says, its α as `read` from the held-out scores."""
    evidence = replace(fit.evidence(table.is_positive), weight_p=table.weight_p)
    estimate = read(evidence)
    if table.alpha is not None:
        estimate = replace(estimate, alpha=table.alpha, cut=None, posterior=None)
    likely = fit_probabilities(evidence, estimate)
    return FittedModel(fit.ensemble, likely, estimate, fit.history, evidence, likely(fit.scores))


def quick_fit(table: TrainingTable, options: FitOptions) -> FittedModel:
    """What PvU says of a table in seconds; there is no model for new rows."""
    fit = run_crossfit(table, PVU, options.quick, new_rows=False)
    return from_crossfit(fit, table, lambda own: read_estimate(own, options.quick))


def weighted(table: TrainingTable, labeling: Labeling | None) -> TrainingTable:
    """The table with how much each positive counts."""
    # Equal weights are no weights, to the last bit.
    if labeling is None or (labeling.weight_p == labeling.weight_p[0]).all():
        return table
    return replace(table, weight_p=labeling.weight_p, alpha=labeling.alpha)


def with_labeling(
    fitted: FittedModel, labeling: Labeling | None, confidence: float | None
) -> FittedModel:
    """The same model, its estimate with the notes and the interval of how labels came about."""
    if labeling is None:
        return fitted
    estimate = replace(fitted.estimate, notes=(*labeling.notes, *fitted.estimate.notes))
    if fitted.evidence.weight_p is not None:
        estimate = labeling.with_interval(estimate, fitted.evidence, confidence)
    return replace(fitted, estimate=estimate, labeling=labeling)


def run_crossfit(
    table: TrainingTable,
    learner: Learner,
    options: FitOptions,
    *,
    alpha: float | None = None,
    ranks: bool = True,
    new_rows: bool = True,
    keep_chains: bool | Literal["first"] = False,
) -> CrossFit:
    """Cross-fit the model that the options name, or the default one, by their plan."""
    model = default_model(table.X) if options.estimator is None else options.estimator
    run = options.run
    new: bool | Literal["lean", "folds"] = new_rows
    plan = options.plan
    if hasattr(model, "planned"):
        # A net, which itself discards. Each fold is one fit, and the nets of folds score new rows.
        plan = plan or NET_PRESETS["good"]
        model, run = model.planned(plan, run, learner)
        learner, new = replace(PVU, name=learner.name), "folds"
    elif options.estimator is None and not is_sparse(table.X) and new_rows:
        new = "lean"  # of trees, which are slow to score
    return crossfit_table(
        model, replace(table, X=coarse(table.X, model)), learner,
        alpha=alpha, plan=plan_for(learner, table.X, plan), ranks=ranks, seed=options.seed,
        new_rows=new, keep_chains=keep_chains, run=run,
    )  # fmt: skip


def read_estimate(
    evidence: Evidence, options: FitOptions, alpha: float | None = None, notes: Notes = ()
) -> AlphaEstimate:
    """The estimate of α from held-out scores; a given α is taken, and judged by the same scores."""
    if alpha is None:
        # An interval of weighted positives must contain the error of the weights, which only the
        # one who made them can tell.
        confidence = options.confidence if evidence.weight_p is None else None
        estimate = find_method(options.method).read(evidence)
        estimate = add_alarms(estimate, evidence, confidence)
        return replace(estimate, notes=(*estimate.notes, *notes))
    tails = evidence.tails
    given = AlphaEstimate(
        alpha=alpha, n_p=tails.n_p, n_u=tails.n_u, method=options.method if notes else "given",
        notes=notes or ("α was given, not estimated",),
        caution=find_method(options.method).caution if notes else None,
    )  # fmt: skip
    judged = add_alarms(given, evidence, options.confidence)
    return judged if notes else replace(judged, posterior=AlphaPosterior.known(alpha))


def as_known_alpha(estimate: AlphaEstimate) -> tuple[float, Notes]:
    """An estimate as a learner's α, inside (0, 1), and a note that says where it came from."""
    note = f"α was estimated first, by (TED)ⁿ with {estimate.method}"
    alpha = float(np.clip(estimate.alpha, 1 / (1 + estimate.n_u), NEAR_ONE))
    cut = f"; {estimate.alpha:.3g} was moved to {alpha:.3g}" if alpha != estimate.alpha else ""
    return alpha, (note + cut,)
