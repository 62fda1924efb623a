"""ElkanNotoClassifier: the two classifiers of Elkan & Noto, KDD 2008, over any model."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline

from topbin.core.evidence import Evidence
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.classifiers.fitting import Fitted, Sample, Settings, run_crossfit
from topbin.learn.classifiers.plans import no_net
from topbin.learn.crossfit import Ensemble, Progress
from topbin.learn.default_model import default_model
from topbin.learn.elkan_noto import (
    as_posterior,
    fit_weighted,
    from_labeled,
    from_positive,
    labeled_share,
    natural_pvu,
)
from topbin.mpe.estimate import estimate_alpha

FEWEST = 10


class ElkanNotoClassifier(PUClassifier):
    """Probabilities of being labeled, turned into probabilities of being positive.

    The model must give calibrated probabilities; the default one is wrapped in
    `CalibratedClassifierCV`, and your own may need it too.

    Parameters
    ----------
    estimator, plan, confidence, positive, negative, random_state, time_limit, n_jobs, on_event
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

    def __init__(
        self,
        estimator: Any = None,
        *,
        weighted: bool = False,
        plan: Any = None,
        confidence: float | None = 0.95,
        positive: Any = None,
        negative: Any = None,
        random_state: Any = 0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        on_event: Callable[[Progress], object] | None = None,
    ) -> None:
        super().__init__(
            estimator,
            plan=plan,
            confidence=confidence,
            positive=positive,
            negative=negative,
            random_state=random_state,
            time_limit=time_limit,
            n_jobs=n_jobs,
            on_event=on_event,
        )
        self.weighted = weighted

    def _net(self) -> Any:
        return no_net(self.estimator, type(self).__name__)

    def _fit_sample(self, sample: Sample, settings: Settings) -> Fitted:
        if settings.estimator is None:
            settings = replace(settings, estimator=default_scorer_of(sample))
        is_p = sample.is_positive
        share_p = float(is_p.mean())
        fit = run_crossfit(sample, natural_pvu(share_p), settings, ranks=False)
        evidence = Evidence(fit.scores[is_p], fit.scores[~is_p], share_p)
        estimate = estimate_alpha(evidence, method="elkan_noto", confidence=settings.confidence)
        c = labeled_share(estimate.alpha, share_p)
        model, posterior = fit.ensemble, as_posterior(from_labeled, c)
        oof = posterior(fit.scores)
        if self.weighted:
            f = fit_weighted(
                settings.estimator, sample.X, is_p, from_labeled(evidence.scores_u, c),
                seed=settings.seed, sample_weight=sample.weight,
            )  # fmt: skip
            model, posterior = Ensemble(((f,),), ()), as_posterior(from_positive, c)
        return Fitted(model, posterior, estimate, fit.history, evidence, oof)


def default_scorer_of(sample: Sample) -> Any:
    """The default model with Platt's scaling, as in the paper: trees are too sure of themselves.

    A handful of rows cannot be scaled; they get the model as it is.
    """
    model = default_model(sample.X)
    fewest = min(sample.is_positive.sum(), (~sample.is_positive).sum())
    if fewest < FEWEST:
        return model
    if isinstance(model, Pipeline):  # around a pipeline the scaling would hold back row weights
        return make_pipeline(model[0], CalibratedClassifierCV(model[1], method="sigmoid", cv=3))
    return CalibratedClassifierCV(model, method="sigmoid", cv=3)
