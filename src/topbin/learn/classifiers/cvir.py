"""CVIRClassifier: CVIR, algorithm 2 of Garg et al., NeurIPS 2021, over any model."""

from dataclasses import dataclass
from typing import Literal

from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.cvir import cvir
from topbin.learn.risk import Learner


@dataclass(eq=False, repr=False, kw_only=True)
class CVIRClassifier(PUClassifier):
    """Which of the unlabeled are positive, when their share α is known.

    Other parameters are those of every classifier: see `topbin.learn.classifiers.base`.

    Parameters
    ----------
    alpha
        The share of positives among the unlabeled. None: it is estimated first, by (TED)ⁿ, and
        `estimate_.notes` says so.
    weights
        "alpha" weights the two losses by α and 1 − α, as the paper does; "half" by ½ each.

    >>> import numpy as np
    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> CVIRClassifier(alpha=0.5).fit(X, y).predict([[1.0], [0.0]])
    array([1, 0])
    """

    alpha: float | None = None
    weights: Literal["alpha", "half"] = "alpha"

    def _learner(self) -> Learner:
        return cvir(weights=self.weights)
