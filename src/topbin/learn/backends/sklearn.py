"""The scikit-learn backend: an epoch is a refit; a row is scored by models that never saw it.

The loop passes rows by their number in one table, so that it works with any table that scikit-learn
can index, and so that the backend knows which of its models may score which row.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from topbin.core.checks import Floats, RowNumbers, refuse_nan
from topbin.core.errors import InputError
from topbin.core.labels import Mask
from topbin.learn.loop import EpochLoss
from topbin.learn.risk import Risk, mean_risk

FEWEST = 1e-6  # a probability of exactly 0 or 1 has no logit


class FoldedModels:
    """Copies of one classifier, each fitted without the rows of its own fold.

    `fold` gives each row's fold; rows with fold −1 belong to none and are scored by the mean of
    all copies. With a single fold 0 one copy sees every row that is not −1. `is_positive` says
    which rows are: a model whose `fit` takes `held_out` watches those of fold −1 while it trains.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        fold: RowNumbers,
        *,
        seed: int = 0,
        sample_weight: Floats | None = None,
        is_positive: Mask | None = None,
    ) -> None:
        self.estimator, self.X, self.fold, self.seed = estimator, X, fold, seed
        self.sample_weight, self.is_positive = sample_weight, is_positive
        self.models: tuple[Any, ...] = ()
        self._scores = np.zeros(fold.size)

    def scores(self, X: RowNumbers) -> Floats:
        """Scores of the rows with these numbers, from the last refit; 0 before the first."""
        return self._scores[X]

    def epoch(
        self, X_p: RowNumbers, X_u: RowNumbers, risk: Risk, kept: RowNumbers | None = None
    ) -> EpochLoss:
        """Refit every copy on P against the kept rows of U, and score all rows again."""
        if risk.needs_gradient:
            raise InputError(
                "TB013",
                "this risk has a negative weight, which no refit of a scikit-learn model can "
                'minimize; it needs a gradient model. Pass a net (pip install "topbin[torch]"), '
                "or use TEDnClassifier or CVIRClassifier.",
            )
        rows_u = X_u if kept is None else X_u[kept]
        folds = range(int(self.fold.max()) + 1)
        self.models = tuple(self._fit(X_p, rows_u, risk, k, len(folds)) for k in folds)
        self._scores = self._score_all()
        z_p, z_u = self._scores[X_p], self._scores[rows_u]
        if hasattr(self.models[0], "predict_proba"):
            z_p, z_u = (logit(np.clip(p, FEWEST, 1 - FEWEST)) for p in (z_p, z_u))
        return EpochLoss(mean_risk(risk, z_p, z_u), float((z_p <= 0).mean() + (z_u > 0).mean()))

    def _fit(self, rows_p: RowNumbers, rows_u: RowNumbers, risk: Risk, k: int, folds: int) -> Any:
        p, u = (rows[self.fold[rows] != k] if folds > 1 else rows for rows in (rows_p, rows_u))
        if not u.size:
            u = rows_u  # all kept rows are in this fold; a model that saw them is better than none
        rows = np.concatenate([p, u])
        is_positive = np.arange(rows.size) < p.size
        model = seeded(self.estimator, self.seed + k)
        X, weights = _safe_indexing(self.X, rows), self._weights(rows, is_positive, risk)
        return model.fit(X, is_positive.astype(int), **weights, **self._held_out())

    def _held_out(self) -> dict[str, Any]:
        """The rows that no copy trains on, and which of them are positive, if `fit` takes them."""
        if self.is_positive is None or not has_fit_parameter(self.estimator, "held_out"):
            return {}
        rows = np.flatnonzero(self.fold == -1)
        return {"held_out": (_safe_indexing(self.X, rows), self.is_positive[rows])}

    def _weights(self, rows: RowNumbers, is_positive: Mask, risk: Risk) -> dict[str, Floats]:
        """Row weights that make a weighted fit minimize the risk, if fit takes any."""
        name = weight_name(self.estimator)
        if name is None:
            return {}
        share = is_positive.mean()
        weight = np.where(is_positive, risk.p_pos / share, risk.u_neg / (1 - share))
        weight /= risk.p_pos + risk.u_neg
        return {name: weight if self.sample_weight is None else weight * self.sample_weight[rows]}

    def _score_all(self) -> Floats:
        scores = np.zeros(self.fold.size)
        outside = np.flatnonzero(self.fold == -1)
        for k, model in enumerate(self.models):
            own = np.flatnonzero(self.fold == k)
            scores[own] = score_rows(model, self.X, own)
            scores[outside] += score_rows(model, self.X, outside) / len(self.models)
        return scores


def mean_score(models: Sequence[Any], X: Any) -> Floats:
    """The mean score of these models, for rows that none of them has seen."""
    return np.asarray(np.mean([positive_scores(model, X) for model in models], axis=0), np.float64)


def score_rows(model: Any, X: Any, rows: RowNumbers) -> Floats:
    """One model's scores of some rows; with no rows the model is not called."""
    return positive_scores(model, _safe_indexing(X, rows)) if rows.size else np.zeros(0)


def positive_scores(model: Any, X: Any) -> Floats:
    """The fitted model's score of class 1: its probability, or its decision function."""
    if hasattr(model, "predict_proba"):
        scores = np.asarray(model.predict_proba(X))[:, list(model.classes_).index(1)]
    elif hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X))
    else:
        raise InputError(
            "TB013",
            f"{type(model).__name__} has neither predict_proba nor decision_function, so it "
            "cannot score rows. Use a classifier that has one of them.",
        )
    last = getattr(model, "steps", [[model]])[-1][-1]  # of a pipeline
    return refuse_nan(scores.astype(np.float64, copy=False), last)


def seeded(estimator: Any, seed: int) -> Any:
    """A fresh copy; every `random_state` in it, at any depth, is this seed."""
    model = clone(estimator)
    named = {n: seed for n in model.get_params() if n.rpartition("__")[2] == "random_state"}
    return model.set_params(**named)


def weight_name(estimator: Any) -> str | None:
    """The name of row weights in `fit`, in a pipeline that of its last step; None if none."""
    steps = getattr(estimator, "steps", None)
    if isinstance(estimator, VotingClassifier):  # its `fit` does not name what its models take
        every = {weight_name(model) for _, model in estimator.estimators}
        return "sample_weight" if every == {"sample_weight"} else None
    if not steps:
        return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
    last, model = steps[-1]
    inner = weight_name(model)
    return None if inner is None else f"{last}__{inner}"
