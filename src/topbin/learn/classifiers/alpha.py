"""AlphaEstimator: the scikit-learn face of every mixture-proportion estimator."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from topbin.core.checks import check_count
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.hashing import find_twins
from topbin.core.labels import Mask
from topbin.learn.classifiers.face import PUEstimator, check_weight, code_of
from topbin.learn.classifiers.fitting import FitOptions, TrainingTable, run_crossfit
from topbin.learn.crossfit import Plan
from topbin.learn.elkan_noto import natural_pvu
from topbin.learn.pvu import PVU
from topbin.learn.select import Floats
from topbin.mpe.alarms import shared_rows
from topbin.mpe.estimate import add_alarms
from topbin.mpe.registry import DEFAULT_METHOD, METHODS, Method, find_method


@dataclass(eq=False, repr=False, kw_only=True)
class AlphaEstimator(PUEstimator):
    """Estimate α from a table of features and a label column.

    Methods that read scores get them from the same cross-fit as the classifiers: every row is
    scored by a model that never saw it. Methods that read features (`km1`, `km2`, `tice`) read
    the table itself.

    Parameters
    ----------
    method
        A name in `topbin.mpe.METHODS`.
    estimator
        A classifier that separates positives from unlabeled rows. None: the default model of the
        classifiers, boosted trees, or logistic regression for sparse tables.
    cv, repeats
        The number of folds of a cross-fit, and how many shuffled cross-fits are averaged.
    confidence, pure_fraction, kappa
        As in `topbin.estimate_alpha`.
    positive, negative
        Label values, where {1, 0}, {1, −1}, booleans or missing values do not say it.
    random_state, n_jobs
        Seed of folds and models, and folds fitted at once.

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

    method: str = field(default=DEFAULT_METHOD, kw_only=False)
    estimator: Any = None
    cv: int = 5
    repeats: int = 3
    pure_fraction: float | None = None
    kappa: float = 0.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "AlphaEstimator":
        """Learn α from features X and labels y; every row that is not positive is unlabeled."""
        method = find_method(self.method)
        check_count(self.cv, "cv", least=2)
        check_count(self.repeats, "repeats")
        self._check_confidence()
        X = self._check_table(X)
        labels = self._read_labels(y, X.shape[0])
        weight = check_weight(sample_weight, X.shape[0])
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
        """The summary of the estimate, and how the labels were read."""
        check_is_fitted(self, "estimate_")
        return f"{self.estimate_.summary()}\nlabels          {self.label_note_}"

    def _from_scores(
        self, method: Method, X: Any, is_positive: Mask, weight: Floats | None
    ) -> AlphaEstimate:
        scores = self._crossfit_scores(method, TrainingTable(X, is_positive, weight))
        self.evidence_ = Evidence(scores[is_positive], scores[~is_positive])
        tails = self.evidence_.tails
        found = method.read(self.evidence_)
        others = [other.read(self.evidence_) for other in METHODS.values() if other.referee]
        return add_alarms(found, tails, self.confidence, self.pure_fraction, self.kappa, others)

    def _crossfit_scores(self, method: Method, table: TrainingTable) -> Floats:
        """Out-of-fold scores; for methods that need them, probabilities of being labeled."""
        share_p = float(table.is_positive.mean())
        learner = natural_pvu(share_p) if method.needs == "probabilities" else PVU
        options = FitOptions(
            estimator=self.estimator,
            plan=Plan(outer=self.cv, repeats=self.repeats),
            seed=self._seed(),
            n_jobs=self.n_jobs,
        )
        ranks = method.needs == "tails"
        return run_crossfit(table, learner, options, ranks=ranks, new_rows=False).scores

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
                "TB004",
                "X is sparse and contains NaN, which sparse models do not take; fill them in.",
            )
        return checked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
