"""DEDPULClassifier: the posterior of DEDPUL (see `topbin.mpe.dedpul`) over any model."""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from topbin.core.checks import Scores
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.classifiers.fitting import (
    FitOptions,
    FittedModel,
    Recipe,
    TrainingTable,
    run_crossfit,
)
from topbin.learn.learners import PVU
from topbin.learn.probabilities import ProbabilityMap, probabilities_through
from topbin.mpe.dedpul import Rule, capped, density_ratio, without_ties
from topbin.mpe.estimate import add_alarms
from topbin.mpe.registry import METHODS


@dataclass(eq=False, repr=False, kw_only=True)
class DEDPULClassifier(PUClassifier):
    """Scores of positives against unlabeled, then the ratio of their densities in P and in U.

    `rule` and `bandwidth` are those of `topbin.mpe.dedpul`, which is also the method.
    Other parameters are those of every classifier: see `topbin.learn.classifiers.base`.

    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> DEDPULClassifier().fit(X, y).predict([[1.0], [0.0]])      # half of the unlabeled are 1.0
    array([1, 0])
    """

    rule: Rule = "auto"
    bandwidth: float = 0.2
    method: str = field(default="dedpul", init=False)  # no parameter: it is what the class is
    _nets = "never"

    def _recipe(self) -> Recipe:
        return Recipe(fit_table=partial(fit_dedpul, rule=self.rule, bandwidth=self.bandwidth))


def fit_dedpul(
    table: TrainingTable, options: FitOptions, *, rule: Rule, bandwidth: float
) -> FittedModel:
    """Cross-fit P against U, and read α and the probabilities from the ratio of densities."""
    fit = run_crossfit(table, replace(PVU, name="dedpul"), options, ranks=False)
    evidence = fit.evidence(table.is_positive)
    estimate = METHODS["dedpul"].read(evidence, rule=rule, bandwidth=bandwidth)
    estimate = add_alarms(estimate, evidence, options.confidence)
    curve = dedpul_curve(*evidence.scores, estimate.alpha, bandwidth=bandwidth)
    return FittedModel(fit.ensemble, curve, estimate, fit.history, evidence, curve(fit.scores))


def dedpul_curve(
    scores_p: Scores, scores_u: Scores, alpha: float, *, bandwidth: float = 0.2
) -> ProbabilityMap:
    """min(1, α·r), r the ratio of two estimated densities, at each distinct unlabeled score.

    >>> dedpul_curve(np.ones(1000), np.repeat([1.0, 0.0], 500), alpha=0.5)([0.0, 1.0]).round(2)
    array([0., 1.])
    """
    knots, ratio = without_ties(*density_ratio(scores_p, scores_u, bandwidth=bandwidth))
    scores = np.concatenate([scores_p, scores_u])
    return probabilities_through(knots, capped(alpha, ratio), scores)
