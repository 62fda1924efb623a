"""AlphaEstimator: the scikit-learn face of every mixture-proportion estimator."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from topbin.core.checks import check_count, check_fraction
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.labels import Labels, Mask, read_labels
from topbin.core.twins import find_twins
from topbin.mpe.alarms import shared_rows
from topbin.mpe.crossfit import Floats, crossfit_scores
from topbin.mpe.estimate import add_alarms
from topbin.mpe.registry import DEFAULT_METHOD, METHODS, Method, find_method


class WithScores:
    """The scores of an estimator that keeps the evidence it was fitted on."""

    evidence_: Evidence

    @property
    def scores_p_(self) -> Any:
        """Scores of held-out positives."""
        return self.evidence_.scores_p

    @property
    def scores_u_(self) -> Any:
        """Scores of held-out unlabeled rows."""
        return self.evidence_.scores_u


class AlphaEstimator(WithScores, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Estimate α from a table of features and a label column.

    Score-level methods get scores by cross-fitting: every row is scored by a model that never saw
    it. Feature-level methods (`km1`, `km2`, `tice`) read the table itself.

    Parameters
    ----------
    method
        A name in `topbin.mpe.METHODS`.
    estimator
        A classifier that tells positives from unlabeled rows. None: boosted trees, or logistic
        regression for sparse tables.
    cv, repeats
        Folds of a cross-fit, and how many shuffled cross-fits are averaged.
    confidence, pure_fraction, kappa
        As in `topbin.estimate_alpha`.
    positive, negative
        Label values, where {1, 0}, {1, −1}, booleans or missing values do not say it.

    Attributes
    ----------
    alpha_, estimate_
        The share of positives among the unlabeled, and the whole `AlphaEstimate`.
    evidence_
        The cross-fitted scores of both samples and their tails, for methods that read scores;
        displays read it. `scores_p_` and `scores_u_` are its scores.

    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(4, 1, (300, 1)), rng.normal(0, 1, (300, 1))]
    >>> s = np.r_[np.ones(200), np.zeros(400)]      # 100 of the 400 unlabeled are positive
    >>> 0.15 < AlphaEstimator().fit(X, s).alpha_ < 0.35
    True
    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        *,
        estimator: Any = None,
        cv: int = 5,
        repeats: int = 3,
        confidence: float | None = 0.95,
        pure_fraction: float | None = None,
        kappa: float = 0.0,
        positive: Any = None,
        negative: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.estimator = estimator
        self.cv = cv
        self.repeats = repeats
        self.confidence = confidence
        self.pure_fraction = pure_fraction
        self.kappa = kappa
        self.positive = positive
        self.negative = negative
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, s: Any, sample_weight: Any = None) -> "AlphaEstimator":
        """Learn α from features X and labels s, in which all that is not positive is unlabeled."""
        method = find_method(self.method)
        self._check_parameters()
        X = self._check_table(X)
        labels = check_labels(s, X.shape[0], self.positive, self.negative)
        weight = check_weight(sample_weight, X)
        known = ~labels.is_negative
        X, is_positive = X[known], labels.is_positive[known]
        if method.needs == "features":
            found = method.read(Evidence(X_p=X[is_positive], X_u=X[~is_positive]))
        else:
            weight = None if weight is None else weight[known]
            found = self._from_scores(method, X, is_positive, weight)
        twins = shared_rows(find_twins(X[is_positive], X[~is_positive]))
        self.estimate_ = replace(found, alarms=(*found.alarms, *twins))
        self.alpha_ = self.estimate_.alpha
        self.label_note_ = labels.note
        return self

    def summary(self) -> str:
        """What `estimate_.summary()` says, after how the labels were read."""
        check_is_fitted(self, "estimate_")
        return f"{self.estimate_.summary()}\nlabels          {self.label_note_}"

    def _from_scores(
        self, method: Method, X: Any, is_positive: Mask, weight: Floats | None
    ) -> AlphaEstimate:
        scores = crossfit_scores(
            default_scorer(X) if self.estimator is None else self.estimator,
            X,
            is_positive,
            cv=self.cv,
            repeats=self.repeats,
            random_state=self.random_state,
            ranks=method.needs == "tails",
            sample_weight=weight,
            n_jobs=self.n_jobs,
        )
        self.evidence_ = Evidence(scores[is_positive], scores[~is_positive])
        tails = self.evidence_.tails
        found = method.read(self.evidence_)
        others = [other.read(self.evidence_) for other in METHODS.values() if other.referee]
        return add_alarms(found, tails, self.confidence, self.pure_fraction, self.kappa, others)

    def _check_parameters(self) -> None:
        check_count(self.cv, "cv", least=2)
        check_count(self.repeats, "repeats")
        if self.confidence is not None:
            check_fraction(self.confidence, "confidence")

    def _check_table(self, X: Any) -> Any:
        try:
            checked = validate_data(
                self, X, accept_sparse="csr", dtype="numeric", ensure_all_finite="allow-nan",
                ensure_min_samples=2,
            )  # fmt: skip
        except ValueError as error:
            raise InputError(code_of(str(error)), str(error)) from error
        cells: Any = checked.data if hasattr(checked, "indptr") else ()
        if np.isnan(cells).any():
            raise InputError(
                "TB004", "X is sparse and holds NaN, which sparse models do not take; fill them in."
            )
        return checked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def default_scorer(X: Any) -> Any:
    """The scorer used when none is given: trees for dense tables, a linear model for sparse."""
    if issparse(X):
        return LogisticRegression(max_iter=1000)
    return HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=15, learning_rate=0.15, early_stopping=False
    )


def check_labels(s: Any, rows: int, positive: Any, negative: Any) -> Labels:
    """The labels read, one for each row of the table."""
    if s is None:
        raise InputError(
            "TB001", "the labels s are missing: requires y to be passed, but the target y is None."
        )
    labels = read_labels(s, positive=positive, negative=negative)
    if labels.is_positive.size != rows:
        raise InputError(
            "TB005",
            f"X and s have inconsistent numbers of samples: {rows:,} and "
            f"{labels.is_positive.size:,}.",
        )
    return labels


def check_weight(sample_weight: Any, X: Any) -> Floats | None:
    """Row weights as a vector of numbers ≥ 0; None stays None."""
    if sample_weight is None:
        return None
    try:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    except ValueError as error:
        raise InputError("TB012", str(error)) from error
    return np.asarray(weight, np.float64)


def code_of(message: str) -> str:
    """Which of our codes fits what scikit-learn's own check complains of."""
    if "infinity" in message or "NaN" in message:
        return "TB004"
    if "minimum of" in message:
        return "TB001"
    return "TB006" if "convert" in message or "numeric" in message else "TB005"
