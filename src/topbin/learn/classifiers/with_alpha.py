"""Classifiers that take α where it is known: PvU, CVIR, uPU and nnPU; their learners say more."""

from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.learners import UPU, cvir, nnpu
from topbin.learn.risk import Learner, Loss


@dataclass(eq=False, repr=False, kw_only=True)
class PvUClassifier(PUClassifier):
    """Separate positives from unlabeled rows, once, and correct the probabilities by α.

    `alpha` is the share of positives among the unlabeled; None: read from the model's own scores.
    `memory` keeps finished steps, as in `TEDnClassifier`. Other parameters are those of every
    classifier: see `topbin.learn.classifiers.base`.

    >>> import numpy as np
    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> PvUClassifier().fit(X, y).predict([[1.0], [0.0]])      # half of the unlabeled are 1.0
    array([1, 0])
    """

    alpha: float | None = None
    memory: MutableMapping[str, Any] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CVIRClassifier(PUClassifier):
    """Which of the unlabeled are positive, when their share α is known.

    Without `alpha` it is estimated first, by (TED)ⁿ, and `estimate_.notes` says so. The two losses
    have `weights` "alpha", α and 1 − α, as in the paper, or "half". Other parameters are those of
    every classifier: see `topbin.learn.classifiers.base`.

    >>> import numpy as np
    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> CVIRClassifier(alpha=0.5).fit(X, y).predict([[1.0], [0.0]])
    array([1, 0])
    """

    alpha: float | None = None
    weights: Literal["alpha", "half"] = "alpha"

    def _learner(self) -> Learner:
        return cvir(weights=self.weights)


@dataclass(eq=False, repr=False, kw_only=True)
class UPUClassifier(PUClassifier):
    """The unbiased PU risk, minimized by a net (extra `torch`).

    A flexible net drives this risk below zero by memorizing U; NNPUClassifier does not. The
    estimator is a net, or None for one that suits the rows; a scikit-learn model has no gradient
    to follow. Without `alpha` it is estimated first, by (TED)ⁿ, and `estimate_.notes` says so.
    `loss` is "sigmoid", as in the papers, or "logistic". Other parameters are those of every
    classifier: see `topbin.learn.classifiers.base`.
    """

    _nets = "only"

    alpha: float | None = None
    loss: Loss = "sigmoid"

    def _learner(self) -> Learner:
        return replace(UPU, loss=self.loss)


@dataclass(eq=False, repr=False, kw_only=True)
class NNPUClassifier(UPUClassifier):
    """The non-negative PU risk, minimized by a net (extra `torch`).

    `beta` is how far below zero the negative part can fall, and `gamma` the size of the step back.
    Other parameters are those of UPUClassifier.
    """

    beta: float = 0.0
    gamma: float = 1.0

    def _learner(self) -> Learner:
        return nnpu(beta=self.beta, gamma=self.gamma, loss=self.loss)
