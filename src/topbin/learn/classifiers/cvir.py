"""CVIRClassifier: CVIR, algorithm 2 of Garg et al., NeurIPS 2021, over any model."""

from dataclasses import dataclass
from typing import Literal

from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.cvir import cvir
from topbin.learn.risk import Learner


@dataclass(eq=False, repr=False, kw_only=True)
class CVIRClassifier(PUClassifier):
    """Which of the unlabeled are positive, when their share α is known.

    Parameters
    ----------
    estimator, plan, preset, method, confidence, positive, negative, random_state, n_jobs,
    time_limit, on_event
        As in every classifier here: see `topbin.learn.classifiers.base.PUClassifier`.
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

    alpha: float | None = None
    weights: Literal["alpha", "half"] = "alpha"

    def _learner(self) -> Learner:
        return cvir(weights=self.weights)
