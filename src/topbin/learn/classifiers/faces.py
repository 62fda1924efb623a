"""The classifiers that are a learner over any model: (TED)ⁿ, and PvU, CVIR, uPU and nnPU.

What each learner does is said in `topbin.learn.learners`.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from topbin.core import AlphaEstimate, Evidence, InputError
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.classifiers.fitting import Recipe, from_crossfit, judge, run_crossfit, weighted
from topbin.learn.crossfit import CrossFit
from topbin.learn.learners import CVIR, PVU, TEDN, UPU, cvir, nnpu
from topbin.learn.risk import Loss


@dataclass(eq=False, repr=False, kw_only=True)
class TEDnClassifier(PUClassifier):
    """How many of the unlabeled are positive, and which: α need not be known.

    Estimates α, discards that share of the unlabeled rows, the most positive ones, trains on the
    rest, and repeats. A scikit-learn model is refitted by nested cross-fitting; a net trains for
    another epoch. With `refit="cvir"` a fresh model is then trained by CVIR with the final α, as
    the paper suggests. For tables, `memory` is a mapping that keeps finished steps: a fit that was
    stopped continues if it gets the same mapping, data and parameters. Other parameters are those
    of every classifier: see `topbin.learn.classifiers.base`.

    >>> import numpy as np
    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> clf = TEDnClassifier().fit(X, y)      # half of the unlabeled are 1.0
    >>> 0.4 < clf.alpha_ < 0.6, clf.predict([[1.0], [0.0]])
    (True, array([1, 0]))
    """

    refit: Literal["cvir"] | None = None
    memory: MutableMapping[str, Any] | None = None

    def crossfit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        times: Any = None,
        *,
        sample_weight: Any = None,
        keep_chains: bool | Literal["first"] = False,
    ) -> CrossFit:
        """Run the cross-fit of `fit` on a table; `fit_from` makes a classifier of it."""
        options = self._options()
        table = self._given(X, y, sample_weight, groups, times).table
        table = self._weighted(table, options)
        return run_crossfit(table, self._recipe().learner, options, keep_chains=keep_chains)

    def fit_from(
        self,
        fit: CrossFit,
        X: Any,
        y: Any,
        *,
        estimate: AlphaEstimate | None = None,
        evidence: Evidence | None = None,
    ) -> Self:
        """Take a finished cross-fit of these rows instead of running one.

        An `estimate` of α that was made elsewhere, say from many more rows, replaces the one that
        the cross-fit gives; probabilities then average to it. `evidence` is what it was read from.
        """
        options, rows = self._options(), self._given(X, y)
        table = rows.table
        if hasattr(self, "labeling_"):  # as the cross-fit has found it
            table = weighted(table, self.labeling_)
        fitted = from_crossfit(fit, table, lambda own: estimate or judge(own, options))
        return self._store(replace(fitted, evidence=evidence or fitted.evidence), rows)

    def _recipe(self) -> Recipe:
        if self.refit not in (None, "cvir"):
            raise InputError("TB008", f'refit must be "cvir" or None; got {self.refit!r}.')
        return Recipe(TEDN, refit=None if self.refit is None else CVIR)


ImageClassifier = TEDnClassifier  # as earlier versions stored it


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

    def _recipe(self) -> Recipe:
        return Recipe(PVU, self._given_alpha())


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

    def _recipe(self) -> Recipe:
        return Recipe(cvir(weights=self.weights), self._given_alpha())


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

    def _recipe(self) -> Recipe:
        return Recipe(replace(UPU, loss=self.loss), self._given_alpha())


@dataclass(eq=False, repr=False, kw_only=True)
class NNPUClassifier(UPUClassifier):
    """The non-negative PU risk, minimized by a net (extra `torch`).

    `beta` is how far below zero the negative part can fall, and `gamma` the size of the step back.
    Other parameters are those of UPUClassifier.
    """

    beta: float = 0.0
    gamma: float = 1.0

    def _recipe(self) -> Recipe:
        learner = nnpu(beta=self.beta, gamma=self.gamma, loss=self.loss)
        return Recipe(learner, self._given_alpha())
