"""DEDPULClassifier: the posterior of DEDPUL (see `topbin.mpe.dedpul`) over any model."""

from dataclasses import dataclass, field, replace

import numpy as np

from topbin.core.checks import Scores
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.classifiers.fitting import FitOptions, FittedModel, TrainingTable, run_crossfit
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

    def _fit_table(self, table: TrainingTable, options: FitOptions) -> FittedModel:
        fit = run_crossfit(table, replace(PVU, name="dedpul"), options, ranks=False)
        evidence = fit.evidence(table.is_positive)
        found = METHODS["dedpul"].read(evidence, rule=self.rule, bandwidth=self.bandwidth)
        estimate = add_alarms(found, evidence, options.confidence)
        likely = dedpul_curve(*evidence.scores, estimate.alpha, bandwidth=self.bandwidth)
        oof = likely(fit.scores)
        return FittedModel(fit.ensemble, likely, estimate, fit.history, evidence, oof)


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
