"""DEDPULClassifier: the posterior of DEDPUL (Ivanov, ICMLA 2020), over any model."""

from dataclasses import dataclass, field, replace
from typing import Any

from topbin.core.evidence import Evidence
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.classifiers.fitting import FitOptions, FittedModel, TrainingTable, run_crossfit
from topbin.learn.classifiers.plans import no_net
from topbin.learn.dedpul import dedpul_curve
from topbin.learn.pvu import PVU
from topbin.mpe.dedpul import Rule
from topbin.mpe.estimate import add_alarms
from topbin.mpe.registry import METHODS


@dataclass(eq=False, repr=False, kw_only=True)
class DEDPULClassifier(PUClassifier):
    """Scores of positives against unlabeled, then the ratio of their densities in P and in U.

    Parameters
    ----------
    estimator, plan, preset, confidence, positive, negative, random_state, n_jobs, time_limit,
    on_event
        As in every classifier here: see `topbin.learn.classifiers.base.PUClassifier`.
    rule, bandwidth
        As in `topbin.mpe.dedpul`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(4, 1, (200, 2)), rng.normal(0, 1, (100, 2))]
    >>> s = np.r_[np.ones(100), np.zeros(200)]      # 100 of the 200 unlabeled are positive
    >>> DEDPULClassifier().fit(X, s).predict([[4.0, 4.0], [0.0, 0.0]])
    array([1., 0.])
    """

    rule: Rule = "auto"
    bandwidth: float = 0.2
    method: str = field(default="dedpul", init=False)  # no parameter: it is what the class is

    def _net(self) -> Any:
        return no_net(self.estimator, type(self).__name__)

    def _fit_table(self, table: TrainingTable, options: FitOptions) -> FittedModel:
        fit = run_crossfit(table, replace(PVU, name="dedpul"), options, ranks=False)
        evidence = Evidence(fit.scores[table.is_positive], fit.scores[~table.is_positive])
        found = METHODS["dedpul"].read(evidence, rule=self.rule, bandwidth=self.bandwidth)
        estimate = add_alarms(found, evidence.tails, options.confidence)
        posterior = dedpul_curve(*evidence.scores, estimate.alpha, bandwidth=self.bandwidth)
        oof = posterior(fit.scores)
        return FittedModel(fit.ensemble, posterior, estimate, fit.history, evidence, oof)
