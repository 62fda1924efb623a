"""ElkanNotoClassifier: the two classifiers of Elkan & Noto, KDD 2008, over any model."""

from dataclasses import dataclass, field, replace
from typing import Any

from topbin.core.evidence import Evidence
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.classifiers.fitting import FitOptions, FittedModel, TrainingTable, run_crossfit
from topbin.learn.classifiers.plans import no_net
from topbin.learn.crossfit import Ensemble
from topbin.learn.defaults import calibrated_model
from topbin.learn.elkan_noto import (
    as_posterior,
    fit_weighted,
    from_labeled,
    from_positive,
    labeled_share,
    natural_pvu,
)
from topbin.mpe.estimate import estimate_alpha


@dataclass(eq=False, repr=False, kw_only=True)
class ElkanNotoClassifier(PUClassifier):
    """Probabilities of being labeled, turned into probabilities of being positive.

    The model must give calibrated probabilities; the default one is wrapped in
    `CalibratedClassifierCV`, and your own may need it too.

    Parameters
    ----------
    estimator, plan, preset, confidence, positive, negative, random_state, n_jobs, time_limit,
    on_event
        As in every classifier here: see `topbin.learn.classifiers.base.PUClassifier`.
    weighted
        True: train once more, each unlabeled row counting as positive in part (section 3 of the
        paper). False: rescale the first model (section 2).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(4, 1, (200, 2)), rng.normal(0, 1, (100, 2))]
    >>> s = np.r_[np.ones(100), np.zeros(200)]      # 100 of the 200 unlabeled are positive
    >>> ElkanNotoClassifier().fit(X, s).predict([[4.0, 4.0], [0.0, 0.0]])
    array([1., 0.])
    """

    weighted: bool = False
    method: str = field(default="elkan_noto", init=False)  # no parameter: it is what the class is

    def _net(self) -> Any:
        return no_net(self.estimator, type(self).__name__)

    def _fit_table(self, table: TrainingTable, options: FitOptions) -> FittedModel:
        if options.estimator is None:
            model = calibrated_model(table.X, table.is_positive)
            options = replace(options, estimator=model)
        is_p = table.is_positive
        share_p = float(is_p.mean())
        fit = run_crossfit(table, natural_pvu(share_p), options, ranks=False)
        evidence = Evidence(fit.scores[is_p], fit.scores[~is_p], share_p)
        estimate = estimate_alpha(evidence, method="elkan_noto", confidence=options.confidence)
        c = labeled_share(estimate.alpha, share_p)
        model, posterior = fit.ensemble, as_posterior(from_labeled, c)
        oof = posterior(fit.scores)
        if self.weighted:
            f = fit_weighted(
                options.estimator, table.X, is_p, from_labeled(evidence.scores_u, c),
                seed=options.seed, sample_weight=table.weight,
            )  # fmt: skip
            model, posterior = Ensemble(((f,),), ()), as_posterior(from_positive, c)
        return FittedModel(model, posterior, estimate, fit.history, evidence, oof)
