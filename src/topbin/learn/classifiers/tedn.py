"""TEDnClassifier: (TED)ⁿ, algorithm 3 of Garg et al., NeurIPS 2021, over any model."""

from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.learn.classifiers.base import PUClassifier
from topbin.learn.classifiers.fitting import (
    FitOptions,
    FittedModel,
    TrainingTable,
    fit_table,
    from_crossfit,
    run_crossfit,
    usable,
)
from topbin.learn.crossfit import CrossFit
from topbin.learn.cvir import CVIR
from topbin.learn.risk import Learner
from topbin.learn.select import Floats
from topbin.learn.tedn import TEDN


@dataclass(eq=False, repr=False, kw_only=True)
class TEDnClassifier(PUClassifier):
    """How many of the unlabeled are positive, and which: α need not be known.

    Estimates α, discards that share of the unlabeled rows, the most positive ones, trains on the
    rest, and repeats. A scikit-learn model is refitted by nested cross-fitting; a net trains for
    another epoch.

    Parameters
    ----------
    estimator, plan, preset, method, confidence, positive, negative, random_state, n_jobs,
    time_limit, on_event
        As in every classifier here: see `topbin.learn.classifiers.base.PUClassifier`.
    refit
        "cvir" trains a fresh model by CVIR with the final α, as the paper suggests; None does not.
    memory
        For tables: a mapping that keeps finished steps. A fit that was stopped continues from
        there if it gets the same mapping, data and parameters. It is not saved with the model.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(4, 1, (200, 2)), rng.normal(0, 1, (100, 2))]
    >>> s = np.r_[np.ones(100), np.zeros(200)]      # 100 of the 200 unlabeled are positive
    >>> clf = TEDnClassifier().fit(X, s)
    >>> 0.4 < clf.alpha_ < 0.6, clf.predict([[4.0, 4.0], [0.0, 0.0]])
    (True, array([1., 0.]))
    """

    refit: Literal["cvir"] | None = None
    memory: MutableMapping[str, Any] | None = None

    def crossfit(self, X: Any, y: Any, *, keep_chains: bool = False) -> CrossFit:
        """Run the cross-fit of `fit` on a table and return it; `fit_from` makes a classifier of it.

        With `keep_chains`, rows outside the table can be scored by the models of a single fold.
        """
        options = self._options()
        X, is_positive, known = self._read_all(X, y)
        table = TrainingTable(self._rows(X, known), is_positive[known])
        return run_crossfit(table, self._learner(), options, keep_chains=keep_chains)

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
        found = from_crossfit(
            fit, is_positive[known], options, estimate=estimate, evidence=evidence
        )
        return self._store(found, X, known)

    def _learner(self) -> Learner:
        return TEDN

    def _options(self) -> FitOptions:
        if self.refit not in (None, "cvir"):
            raise InputError("TB008", f'refit must be "cvir" or None; got {self.refit!r}.')
        return super()._options()

    def _fit_table(self, table: TrainingTable, options: FitOptions) -> FittedModel:
        first = super()._fit_table(table, options)
        if self.refit is None:
            return first
        alpha, _ = usable(first.estimate)
        return _joined(first, fit_table(table, CVIR, options, alpha=alpha))

    def _fit_two(
        self, X_p: Any, X_u: Any, options: FitOptions, weights: tuple[Floats, Floats] | None
    ) -> FittedModel:
        first = super()._fit_two(X_p, X_u, options, weights)
        if self.refit is None:
            return first
        from topbin.learn.classifiers.nets import fit_net

        alpha, _ = usable(first.estimate)
        second = fit_net(self._net(), X_p, X_u, CVIR, options, alpha=alpha, weights=weights)
        return _joined(first, second)


def _joined(first: FittedModel, second: FittedModel) -> FittedModel:
    """The second's model with the first's α, and both histories."""
    history = (*first.history, *second.history)
    return replace(second, estimate=first.estimate, history=history)
