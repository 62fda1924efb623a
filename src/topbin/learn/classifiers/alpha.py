"""AlphaEstimator: the scikit-learn face of every mixture-proportion estimator."""

from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from topbin.core import AlphaEstimate, Evidence
from topbin.core.checks import check_count
from topbin.core.hashing import find_twins
from topbin.core.options import DEFAULT_METHOD
from topbin.learn.classifiers.elkan_noto import natural_pvu
from topbin.learn.classifiers.estimator import PUEstimator, check_columns, check_weight
from topbin.learn.classifiers.fitting import FitOptions, TrainingTable, run_crossfit
from topbin.learn.crossfit import Plan, RunOptions
from topbin.learn.folds import read_together
from topbin.learn.learners import PVU
from topbin.mpe.alarms import shared_rows
from topbin.mpe.estimate import add_alarms
from topbin.mpe.registry import METHODS, Method, find_method

NO_FOLDS = "groups change nothing here: {} makes no folds and gives no interval"


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
    estimator, positive, negative, random_state, n_jobs
        As in the classifiers, but no nets: see `topbin.learn.classifiers.base`.
    cv, repeats
        The number of folds of a cross-fit, and how many shuffled cross-fits are averaged.
    confidence
        As in `topbin.estimate_alpha`.

    After `fit`, `alpha_` is the share of positives among the unlabeled, `estimate_` the whole
    `AlphaEstimate`, and, for methods that read scores, `evidence_` the cross-fitted scores.

    >>> import numpy as np
    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> 0.4 < AlphaEstimator().fit(X, y).alpha_ < 0.6      # half of the unlabeled are 1.0
    True
    """

    method: str = field(default=DEFAULT_METHOD, kw_only=False)
    estimator: Any = None
    cv: int = 5
    repeats: int = 3

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> "AlphaEstimator":
        """Learn α from features X and labels y; every row that is not positive is unlabeled.

        Rows with the same of `groups` are held out together, and intervals count groups.
        """
        method = find_method(self.method)
        check_count(self.cv, "cv", least=2)
        check_count(self.repeats, "repeats")
        self._check_confidence()
        X = check_columns(self, X, reset=True)
        labels = self._read_labels(y, X.shape[0])
        weight = check_weight(sample_weight, X.shape[0])
        together = read_together(groups, None, X.shape[0])
        known = ~labels.is_negative
        X, is_positive = X[known], labels.is_positive[known]
        if method.needs == "features":
            estimate = method.read(Evidence(X_p=X[is_positive], X_u=X[~is_positive]))
            if together is not None:
                estimate = replace(estimate, notes=(*estimate.notes, NO_FOLDS.format(self.method)))
        else:
            weight = None if weight is None else weight[known]
            own = None if together is None else together.at(known)
            estimate = self._from_scores(method, TrainingTable(X, is_positive, weight, own))
        twins = shared_rows(find_twins(X[is_positive], X[~is_positive]))
        self.estimate_ = replace(estimate, alarms=(*estimate.alarms, *twins))
        self.alpha_ = self.estimate_.alpha
        self.label_note_ = labels.note
        return self

    def summary(self) -> str:
        """The summary of the estimate, and how the labels were read."""
        check_is_fitted(self, "estimate_")
        return f"{self.estimate_.summary()}\nlabels          {self.label_note_}"

    def _from_scores(self, method: Method, table: TrainingTable) -> AlphaEstimate:
        """α from out-of-fold scores; some methods need probabilities of being labeled."""
        is_p = table.is_positive
        learner = natural_pvu(float(is_p.mean())) if method.needs == "probabilities" else PVU
        plan = Plan(outer=self.cv, repeats=self.repeats)
        run = RunOptions(n_jobs=self.n_jobs)
        options = FitOptions(self.estimator, plan, seed=self._seed(), run=run)
        ranks = method.needs == "tails"
        fit = run_crossfit(table, learner, options, ranks=ranks, new_rows=False)
        self.evidence_ = fit.evidence(is_p)
        estimate = method.read(self.evidence_)
        others = [other.read(self.evidence_) for other in METHODS.values() if other.referee]
        return add_alarms(estimate, self.evidence_, self.confidence, others)
