"""TEDnClassifier: (TED)ⁿ, algorithm 3 of Garg et al., NeurIPS 2021, over any model."""

from collections.abc import Callable, MutableMapping
from dataclasses import replace
from typing import Any, Literal

from topbin.core.errors import InputError
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.classifiers.fitting import Fitted, Sample, Settings, fit_table, usable
from topbin.learn.crossfit import Progress
from topbin.learn.cvir import CVIR
from topbin.learn.risk import Learner
from topbin.learn.tedn import TEDN


class TEDnClassifier(PUClassifier):
    """How many of the unlabeled are positive, and which: α need not be known.

    Estimates α, discards as many of the unlabeled as seem positive, trains on the rest, and again.
    A scikit-learn model is refitted by nested cross-fitting; a net goes on for another epoch.

    Parameters
    ----------
    estimator, plan, method, confidence, positive, negative
        As in every classifier here: see `topbin.learn.classifiers.base.PUClassifier`.
    random_state, time_limit, n_jobs, on_event
        Likewise.
    refit
        "cvir" trains a fresh model by CVIR with the final α, as the paper suggests; None does not.
    memory
        A mapping that keeps what is done, for tables: a fit that was stopped goes on from there
        if it is given the same mapping, data and parameters. It is not saved with the model.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(4, 1, (200, 2)), rng.normal(0, 1, (100, 2))]
    >>> s = np.r_[np.ones(100), np.zeros(200)]      # 100 of the 200 unlabeled are positive
    >>> clf = TEDnClassifier().fit(X, s)
    >>> 0.4 < clf.alpha_ < 0.6, clf.predict([[4.0, 4.0], [0.0, 0.0]])
    (True, array([1., 0.]))
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        refit: Literal["cvir"] | None = None,
        memory: MutableMapping[str, Any] | None = None,
        plan: Any = None,
        method: str = "bbe",
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
            method=method,
            confidence=confidence,
            positive=positive,
            negative=negative,
            random_state=random_state,
            time_limit=time_limit,
            n_jobs=n_jobs,
            on_event=on_event,
        )
        self.refit = refit
        self.memory = memory

    def _learner(self) -> Learner:
        return TEDN

    def _settings(self) -> Settings:
        if self.refit not in (None, "cvir"):
            raise InputError("TB008", f'refit must be "cvir" or None; got {self.refit!r}.')
        return super()._settings()

    def _fit_sample(self, sample: Sample, settings: Settings) -> Fitted:
        first = super()._fit_sample(sample, settings)
        if self.refit is None:
            return first
        alpha, _ = usable(first.estimate)
        return _joined(first, fit_table(sample, CVIR, settings, alpha=alpha))

    def _fit_two(self, X_p: Any, X_u: Any, settings: Settings) -> Fitted:
        first = super()._fit_two(X_p, X_u, settings)
        if self.refit is None:
            return first
        from topbin.learn.classifiers.nets import fit_net

        alpha, _ = usable(first.estimate)
        return _joined(first, fit_net(self._net(), X_p, X_u, CVIR, settings, alpha=alpha))


def _joined(first: Fitted, second: Fitted) -> Fitted:
    """The second's model with the first's α, and both histories."""
    history = (*first.history, *second.history)
    return replace(second, estimate=first.estimate, history=history)
