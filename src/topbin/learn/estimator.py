"""What all estimators share: parameters, data in, α, labels and probabilities out.

A classifier is its parameters and a recipe. `fitting` fits a recipe to tables, and `net_fitting`
trains nets.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import monotonic
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, estimator_html_repr, get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from topbin.core.binomial import share_below
from topbin.core.checks import Floats, check_above_zero, check_fraction
from topbin.core.errors import InputError
from topbin.core.labels import Labels, read_labels
from topbin.core.options import CONFIDENCE, DEFAULT_METHOD
from topbin.data.batch import as_pandas
from topbin.data.images import Images
from topbin.learn import fitting
from topbin.learn.crossfit import Plan, Progress, RunOptions
from topbin.learn.defaults import PRESETS, NetPlan
from topbin.learn.explain import Explanation, explain, inner_models
from topbin.learn.fitting import FitOptions, FittedModel, Recipe
from topbin.learn.rows import (
    GivenRows,
    NetSamples,
    TrainingTable,
    as_matrix,
    check_rows,
    check_weight,
    classes_of,
    is_table,
    n_rows,
    read_together,
    stack,
    two_classes,
)
from topbin.mpe.registry import find_method
from topbin.mpe.samples import is_sparse


@dataclass(eq=False, repr=False, kw_only=True)
class PUEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The parameters that mean the same in every estimator, each stated once.

    The fields become the arguments of `__init__`, which only stores them, as scikit-learn demands.
    """

    method: str = DEFAULT_METHOD
    confidence: float | None = CONFIDENCE
    positive: Any = None
    negative: Any = None
    random_state: Any = 0
    n_jobs: int | None = None

    @property
    def scores_p_(self) -> Any:
        """Scores of held-out positives."""
        return self.evidence_.scores_p

    @property
    def scores_u_(self) -> Any:
        """Scores of held-out unlabeled rows."""
        return self.evidence_.scores_u

    def _check_confidence(self) -> None:
        if self.confidence is not None:
            check_fraction(self.confidence, "confidence")

    def _given(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, times: Any = None
    ) -> GivenRows:
        """The rows that are to be learned from, read and checked."""
        X = self._read(X, reset=True)
        labels = self._read_labels(X, y)
        self._note(labels)
        weight = check_weight(sample_weight, n_rows(X))
        together = read_together(groups, times, n_rows(X))
        table = TrainingTable(X, labels.is_positive, weight, together)
        return GivenRows(table, np.flatnonzero(~labels.is_negative))

    def _read(self, X: Any, *, reset: bool) -> Any:
        """The rows as the model takes them."""
        raise NotImplementedError

    def _note(self, labels: Labels) -> None:
        """Keep how the labels were read."""
        self.label_note_ = labels.note

    def _read_labels(self, X: Any, y: Any) -> Labels:
        if y is None:
            raise InputError(
                "TB001",
                "the labels are missing: fit requires y to be passed, but the target y is None.",
            )
        try:
            if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
                column_or_1d(y, warn=True)  # scikit-learn's usual warning
            labels = read_labels(y, positive=self.positive, negative=self.negative)
        except InputError as error:
            if error.code != "TB003":
                raise
            raise InputError("TB003", f"{error.message} {two_classes(y)}") from error
        check_rows(X, labels.is_positive.size)
        return labels

    def _seed(self) -> int:
        """The seed as a number, drawn where `random_state` is a generator or None."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def _html_repr(self) -> str:
        """In a notebook: α and its interval once they are known, above scikit-learn's diagram."""
        estimate = getattr(self, "estimate_", None)
        shown = "" if estimate is None else estimate._repr_html_()
        return f"{shown}{estimator_html_repr(self)}"


@dataclass(eq=False, repr=False, kw_only=True)
class PUClassifier(ClassifierMixin, PUEstimator):  # type: ignore[misc]
    """The shared face; each classifier adds its parameters and the recipe that they make.

    Parameters
    ----------
    estimator
        A scikit-learn classifier or pipeline; an `nn.Module` or the name of a net in
        `topbin.learn.NETS` ("auto": one that suits the rows). None: the default model.
    plan, preset
        How much work: a `topbin.learn.Plan` (folds, repeats, rounds) for scikit-learn models, a
        `topbin.learn.NetPlan` for nets. None: the plan of the preset "fast", "good" (by the size
        of the table) or "best".
    method, confidence
        How α is read from scores, and the level of its interval, as in `topbin.estimate_alpha`.
    positive, negative
        Label values, where {1, 0}, {1, −1}, booleans or missing values do not say it. Rows
        known to be negative are not used in training.
    random_state, n_jobs
        Seed of folds, models and initial weights, and how many folds are fitted at once.
    time_limit, on_event
        Seconds after which no repeat, round or epoch begins that is not needed; and a function
        that is called with a `topbin.learn.Progress` after each step.

    Attributes
    ----------
    alpha_, estimate_
        The share of positives among the unlabeled, and the whole `AlphaEstimate`.
    history_
        One `topbin.learn.Epoch` for each epoch of a net or round of refitting.
    oof_proba_
        For tables: each training row's probability of being positive, by models that never saw
        it. For these rows it is better than `predict_proba`.
    classes_
        The labels of "not positive" and of "positive", in this order. scikit-learn's own scorers,
        such as "roc_auc", assume sorted labels: there the positive label must sort last, as 1 does.
    evidence_, features_
        Scores of held-out rows, from which α and the probabilities were read (also `scores_p_` and
        `scores_u_`); and, for frames, the `topbin.data.Features` that encode them.
    """

    _nets: ClassVar[Literal["never", "allowed", "only"]] = "allowed"

    estimator: Any = field(default=None, kw_only=False)
    plan: Any = None
    preset: str = "good"
    time_limit: float | None = None
    on_event: Callable[[Progress], object] | None = None

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, times: Any = None
    ) -> Self:
        """Learn from one table and its labels; every row that is not positive is unlabeled.

        Weights shape the models; α counts rows. `groups` has one value per row: rows with the same
        value, such as visits of one patient, are held out together, and intervals count groups. A
        row with a missing value is a group of its own. `times` asks for folds that are blocks of
        time: see `topbin.learn.crossfit`.
        """
        options = self._options()
        return self._fit(self._given(X, y, sample_weight, groups, times), options)

    def fit_pu(self, X_p: Any, X_u: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from two samples: known positives, and unlabeled rows.

        Weights and groups are those of the rows of X_p, then those of the rows of X_u.
        """
        options = self._options()
        n_p, n_u = n_rows(X_p), n_rows(X_u)
        labels = read_labels(np.repeat([1, 0], [n_p, n_u]), positive=1)
        given = (self.negative, 0), (self.positive, 1)
        self.classes_ = np.array([usual if value is None else value for value, usual in given])
        self.label_note_ = labels.note
        weight = check_weight(sample_weight, n_p + n_u)
        together = read_together(groups, None, n_p + n_u)
        if is_table(X_p) or is_table(X_u):
            X = self._read(stack(X_p, X_u), reset=True)
            table = TrainingTable(X, labels.is_positive, weight, together)
            return self._fit(GivenRows(table, np.arange(n_p + n_u)), options)
        X_p = self._read(X_p, reset=True)  # refused unless a net can take it as it is
        weights = None if weight is None else (weight[:n_p], weight[n_p:])
        return self._fit_net(NetSamples(X_p, X_u, weights, together), options)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of the kind that the classifier was fitted with."""
        is_positive = self._proba(X) > 0.5  # first, because it checks that there was a fit
        return np.asarray(self.classes_[is_positive.astype(int)])

    def predict_proba(self, X: Any) -> Floats:
        """p(not positive | x) and p(positive | x) of rows drawn as the unlabeled were."""
        p = self._proba(X)
        return np.column_stack([1 - p, p])

    def decision_function(self, X: Any) -> Floats:
        """The logit of p(positive | x): above 0 a row is called positive."""
        return np.asarray(logit(self._proba(X)), np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """How often a positive of y scores above an unlabeled row: `topbin.metrics.pu_auc`.

        Accuracy would count every hidden positive that is found as a mistake. This orders models
        as the true AUC does, so that GridSearchCV chooses well; its ceiling is 1 − α/2. It is not
        corrected by α because each model has its own: one that overestimates α would win.
        """
        p = self._proba(X)
        labels = read_labels(y, positive=self.classes_[1], negative=self.negative)
        weight = check_weight(sample_weight, p.size)
        is_p, is_u = labels.is_positive, np.flatnonzero(labels.is_unlabeled)
        order = is_u[np.argsort(p[is_u])]
        wins = share_below(p[is_p], p[order], None if weight is None else weight[order])
        return float(np.average(wins, weights=None if weight is None else weight[is_p]))

    @property
    def feature_importances_(self) -> Floats:
        """How much each column of the matrix is used, where the models say so; the sum is 1.

        The columns are those of X, or `features_.names` if X was a frame. See also `explain`.
        """
        check_is_fitted(self, "probability_map_")
        groups = getattr(self.model_, "groups", ())
        used = [model.feature_importances_ for group in groups for model in group]
        if not used:
            raise AttributeError(f"{type(self.model_).__name__} has no feature importances")
        total = np.sum([each / max(each.sum(), 1e-12) for each in used], axis=0)
        return np.asarray(total / max(total.sum(), 1e-12), np.float64)

    def explain(self, X: Any) -> Explanation:
        """What each column, or word, adds to the score of each row, by all inner models.

        For rows that the models never saw; of those they saw, it explains what was learned by
        heart too. TB013 if the models cannot be explained: LightGBM, XGBoost, CatBoost and logistic
        regression can.
        """
        check_is_fitted(self, "probability_map_")
        models, read = inner_models(self.model_), self._read(X, reset=False)
        return explain(models, read, self.features_, self._as_frame(X))

    def _as_frame(self, X: Any) -> Any:
        """The rows as a pandas frame; columns without a name are x0, x1, …, as in scikit-learn."""
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            return as_pandas(X)
        make = DataFrame.sparse.from_spmatrix if is_sparse(X) else DataFrame
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        return make(X, columns=list(names))

    def _proba(self, X: Any) -> Floats:
        check_is_fitted(self, "probability_map_")
        return self.probability_map_(self.model_.scores(self._read(X, reset=False)))

    def _recipe(self) -> Recipe:
        """How this face learns: everything that distinguishes it from the others."""
        raise NotImplementedError

    def _net(self) -> Any:
        """The net to train, a default one where it must be a net; None for a table model."""
        if self.estimator is None:
            return "auto" if self._nets == "only" else None
        net, name = is_net(self.estimator), type(self).__name__
        if net and self._nets == "never":
            raise InputError(
                "TB013",
                f"{name} cross-fits scikit-learn classifiers and takes no net; got "
                f"{self.estimator!r}. Pass a classifier, or use TEDnClassifier, which takes nets.",
            )
        if not net and self._nets == "only":
            raise InputError(
                "TB013",
                f"{name} has a negative weight in its risk, so it needs a gradient model; "
                f"{type(self.estimator).__name__} cannot follow one. Pass a net (pip install "
                '"topbin[torch]"), or use TEDnClassifier or CVIRClassifier, which take this model.',
            )
        return self.estimator if net else None

    def _given_alpha(self) -> float | None:
        """The α that the user knows, for the learners that take one."""
        alpha = getattr(self, "alpha", None)
        return None if alpha is None else check_fraction(alpha, "alpha")

    def _note(self, labels: Labels) -> None:
        self.classes_, self.label_note_ = classes_of(labels, self.negative), labels.note

    def _fit(self, rows: GivenRows, options: FitOptions) -> Self:
        if self._net() is not None:
            return self._fit_net(rows.samples, options)
        return self._store(fitting.fit_recipe(self._recipe(), rows.table, options), rows)

    def _fit_net(self, samples: NetSamples, options: FitOptions) -> Self:
        from topbin.learn.net_fitting import fit_net

        return self._store(self._recipe().learn(partial(fit_net, self._net(), samples, options)))

    def _store(self, fitted: FittedModel, rows: GivenRows | None = None) -> Self:
        """Keep what was fitted; rows known to be negative get probabilities as new rows do."""
        if fitted.labeling is not None:
            self.labeling_ = fitted.labeling
        self.model_, self.probability_map_ = fitted.model, fitted.probability_map
        self.estimate_, self.alpha_ = fitted.estimate, fitted.estimate.alpha
        self.history_, self.evidence_ = list(fitted.history), fitted.evidence
        if rows is None:
            return self
        self.oof_proba_ = fitted.oof
        if rows.has_negatives:
            self.oof_proba_ = fitted.probability_map(fitted.model.scores(rows.given.X))
            self.oof_proba_[rows.known] = fitted.oof
        return self

    def _read(self, X: Any, *, reset: bool) -> Any:
        """The table in numbers, or as it came if the user's own model is to read it."""
        net = self._net() is not None
        if isinstance(X, Images) or (net and not is_table(X)):
            return X
        if not (is_table(X) or hasattr(X, "__array__")):
            raise InputError(
                "TB013",
                f"rows of type {type(X).__name__} are not a table, so they need a net; pass an "
                "nn.Module, or the name of a net, as estimator.",
            )
        return as_matrix(self, X, reset=reset, to_numbers=net or self.estimator is None)

    def _options(self) -> FitOptions:
        """The parameters, checked; time runs from here."""
        self._check_confidence()
        if "method" in self._get_param_names() and not find_method(self.method).reads_scores:
            raise InputError(
                "TB007", f"method must read scores on any scale, as bbe does; got {self.method!r}."
            )
        plan = check_plan(self.plan, self.preset, net=self._net() is not None)
        self._given_alpha()
        limit = self.time_limit
        run = RunOptions(
            n_jobs=self.n_jobs,
            deadline=inf if limit is None else monotonic() + check_above_zero(limit, "time_limit"),
            memory=getattr(self, "memory", None),
            on_event=self.on_event,
        )
        return FitOptions(self.estimator, plan, self.method, self.confidence, self._seed(), run)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # Where every unlabeled row is negative it rightly calls no row positive, so scikit-learn's
        # own accuracy checks, which fit such rows, must not expect otherwise.
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = self.estimator is None and self._nets != "only"
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        return tags


def is_net(estimator: Any) -> bool:
    """Whether this is a net (a module or a name) rather than a scikit-learn classifier."""
    torch = sys.modules.get("torch")
    if isinstance(estimator, str) or (torch and isinstance(estimator, torch.nn.Module)):
        return True
    scores = hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")
    usable = hasattr(estimator, "fit") and scores and not isinstance(estimator, type)
    if not usable and estimator is not None:
        raise InputError(
            "TB013",
            f"estimator must be a scikit-learn classifier with predict_proba or "
            f"decision_function, an nn.Module or the name of a net; got {estimator!r}.",
        )
    return False


def check_plan(plan: Any, preset: str, *, net: bool) -> Any:
    """The plan given, or that of the preset; a plan of the other backend is refused."""
    kind = NetPlan if net else Plan
    if plan is not None and not isinstance(plan, kind):
        raise InputError(
            "TB008", f"plan must be a {kind.__name__} or None for this estimator; got {plan!r}."
        )
    if preset not in PRESETS:
        raise InputError("TB008", f"preset must be one of {', '.join(PRESETS)}; got {preset!r}.")
    if net and PRESETS[preset] is not None:
        raise InputError(
            "TB008",
            f"preset is for scikit-learn models; got {preset!r} with a net. Use plan=NetPlan(...).",
        )
    return plan or PRESETS[preset]
