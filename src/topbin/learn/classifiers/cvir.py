"""CVIRClassifier: CVIR, algorithm 2 of Garg et al., NeurIPS 2021, over any model."""

from collections.abc import Callable
from typing import Any, Literal

from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.crossfit import Progress
from topbin.learn.cvir import cvir
from topbin.learn.risk import Learner


class CVIRClassifier(PUClassifier):
    """Which of the unlabeled are positive, when their share α is known.

    Parameters
    ----------
    estimator, plan, method, confidence, positive, negative
        As in every classifier here: see `topbin.learn.classifiers.base.PUClassifier`.
    random_state, time_limit, n_jobs, on_event
        Likewise.
    alpha
        The share of positives among the unlabeled. None: it is estimated first, by (TED)ⁿ, and
        `estimate_.notes` says so.
    weights
        "alpha" weights the two losses by α and 1 − α, as the paper does; "half" by ½ each.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(4, 1, (200, 2)), rng.normal(0, 1, (100, 2))]
    >>> s = np.r_[np.ones(100), np.zeros(200)]      # 100 of the 200 unlabeled are positive
    >>> CVIRClassifier(alpha=0.5).fit(X, s).predict([[4.0, 4.0], [0.0, 0.0]])
    array([1., 0.])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        alpha: float | None = None,
        weights: Literal["alpha", "half"] = "alpha",
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
        self.weights = weights

    def _learner(self) -> Learner:
        return cvir(weights=self.weights)
