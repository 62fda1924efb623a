"""TEDnClassifier: (TED)ⁿ, algorithm 3 of Garg et al., NeurIPS 2021, over any model."""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from topbin.core import AlphaEstimate, Evidence, InputError
from topbin.learn.classifiers import fitting
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.classifiers.face import check_weight
from topbin.learn.classifiers.fitting import FitOptions, FittedModel, TrainingTable
from topbin.learn.crossfit import CrossFit
from topbin.learn.groups import read_together
from topbin.learn.learners import CVIR, TEDN
from topbin.learn.risk import Learner


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
        X, is_positive, known = self._read_all(X, y)
        together = read_together(groups, times, is_positive.size)
        weight = check_weight(sample_weight, is_positive.size)
        weight = None if weight is None else weight[known]
        table = self._weighted(self._table(X, is_positive, known, weight, together), options)
        return fitting.run_crossfit(table, self._learner(), options, keep_chains=keep_chains)

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
        options = self._options()
        X, is_positive, known = self._read_all(X, y)
        table = self._weighted(self._table(X, is_positive, known), options, again=True)
        fitted = fitting.from_crossfit(
            fit, table, lambda own: estimate or self._judge(own, options)
        )
        return self._store(replace(fitted, evidence=evidence or fitted.evidence), X, known)

    def _learner(self) -> Learner:
        return TEDN

    def _judge(self, evidence: Evidence, options: FitOptions) -> AlphaEstimate:
        """α from the held-out scores of a cross-fit."""
        return fitting.judge(evidence, options)

    def _weighted(
        self, table: TrainingTable, options: FitOptions, *, again: bool = False
    ) -> TrainingTable:
        """The table with how much each positive counts; `again`: as it was found before."""
        return table

    def _options(self) -> FitOptions:
        if self.refit not in (None, "cvir"):
            raise InputError("TB008", f'refit must be "cvir" or None; got {self.refit!r}.')
        return super()._options()

    def _learn(self, fit: Callable[[Learner, float | None], FittedModel]) -> FittedModel:
        first = super()._learn(fit)
        if self.refit is None:
            return first
        alpha, _ = fitting.usable(first.estimate)
        second = fit(CVIR, alpha)
        history = (*first.history, *second.history)
        return replace(second, estimate=first.estimate, history=history)
