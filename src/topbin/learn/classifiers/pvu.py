"""PvUClassifier: positives against unlabeled, the plain baseline, over any model."""

from collections.abc import Callable
from typing import Any

from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.crossfit import Progress


class PvUClassifier(PUClassifier):
    """Tell positives from unlabeled rows, once, and correct the probabilities by α.

    Parameters
    ----------
    estimator, plan, method, confidence, positive, negative
        As in every classifier here: see `topbin.learn.classifiers.base.PUClassifier`.
    random_state, time_limit, n_jobs, on_event
        Likewise.
    alpha
        The share of positives among the unlabeled. None: read from the classifier's own scores.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(4, 1, (200, 2)), rng.normal(0, 1, (100, 2))]
    >>> s = np.r_[np.ones(100), np.zeros(200)]      # 100 of the 200 unlabeled are positive
    >>> PvUClassifier().fit(X, s).predict([[4.0, 4.0], [0.0, 0.0]])
    array([1., 0.])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        alpha: float | None = None,
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
        self.alpha = alpha
