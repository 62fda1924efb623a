"""The scikit-learn classes: AlphaEstimator, and the classifiers that need no more than a recipe.

What each learner does is said in `topbin.learn.learners`. The classifiers of Elkan & Noto, KDD
2008, start from g(x), the probability that a row like x is labeled, and c, the labeled share of the
positives. The paper's f(x) = g(x)/c is for all rows; probabilities here are for the unlabeled ones.
"""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from topbin.core import AlphaEstimate, Evidence, InputError
from topbin.core.checks import Floats, Scores, check_count
from topbin.core.hashing import find_twins
from topbin.core.options import DEFAULT_METHOD
from topbin.learn.backends.sklearn import seeded, weight_name
from topbin.learn.crossfit import CrossFit, Ensemble, Plan, RunOptions
from topbin.learn.defaults import calibrated_model
from topbin.learn.estimator import PUClassifier, PUEstimator
from topbin.learn.fitting import (
    FitOptions,
    FittedModel,
    Recipe,
    from_crossfit,
    read_estimate,
    run_crossfit,
    weighted,
    with_labeling,
)
from topbin.learn.learners import CVIR, PVU, TEDN, UPU, cvir, nnpu
from topbin.learn.probabilities import ProbabilityMap
from topbin.learn.risk import Learner, Loss, Risk
from topbin.learn.rows import TrainingTable, check_like_fit
from topbin.mpe.alarms import shared_rows
from topbin.mpe.dedpul import Rule, capped, density_ratio, without_ties
from topbin.mpe.estimate import add_alarms, estimate_alpha
from topbin.mpe.registry import METHODS, Method, find_method

NEVER_ONE = 1 - 1e-9
NO_FOLDS = "groups change nothing here: {} makes no folds and gives no interval"
NO_WEIGHTS = "sample_weight changes nothing here: {} fits no model that could take weights"


@dataclass(eq=False, repr=False, kw_only=True)
class AlphaEstimator(PUEstimator):
    """Estimate α from a table of features and a label column.

    Methods that read scores get them from the same cross-fit as the classifiers: every row is
    scored by a model that never saw it. Methods that read features (`km1`, `km2`, `tice`) read the
    table itself.

    Parameters
    ----------
    method
        A name in `topbin.mpe.METHODS`.
    estimator, positive, negative, random_state, n_jobs
        As in every classifier, but no nets: see `topbin.learn.estimator.PUClassifier`.
    cv, repeats
        The number of folds of a cross-fit, and how many shuffled cross-fits are averaged.
    confidence
        As in `topbin.estimate_alpha`.

    Attributes
    ----------
    alpha_, estimate_
        The share of positives among the unlabeled, and the whole `AlphaEstimate`.
    evidence_
        For methods that read scores, the cross-fitted scores.

    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> 0.4 < AlphaEstimator().fit(X, y).alpha_ < 0.6      # half of the unlabeled are 1.0
    True
    """

    method: str = field(default=DEFAULT_METHOD, kw_only=False)
    estimator: Any = None
    cv: int = 5
    repeats: int = 3

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn α from features X and labels y; every row that is not positive is unlabeled.

        Rows with the same of `groups` are held out together, and intervals count groups.
        """
        method = find_method(self.method)
        check_count(self.cv, "cv", least=2)
        check_count(self.repeats, "repeats")
        self._check_confidence()
        table = self._given(X, y, sample_weight, groups).table
        X, is_positive = table.X, table.is_positive
        if method.needs == "features":
            estimate = method.read(Evidence(X_p=X[is_positive], X_u=X[~is_positive]))
            unread = {NO_FOLDS: table.together, NO_WEIGHTS: table.weight}
            notes = (note.format(self.method) for note, g in unread.items() if g is not None)
            estimate = replace(estimate, notes=(*estimate.notes, *notes))
        else:
            estimate = self._from_scores(method, table)
        twins = shared_rows(find_twins(X[is_positive], X[~is_positive]))
        self.estimate_ = replace(estimate, alarms=(*estimate.alarms, *twins))
        self.alpha_ = self.estimate_.alpha
        return self

    def summary(self) -> str:
        """The summary of the estimate, and how the labels were read."""
        check_is_fitted(self, "estimate_")
        return f"{self.estimate_.summary()}\nlabels          {self.label_note_}"

    def _read(self, X: Any, *, reset: bool) -> Any:
        return check_like_fit(self, X, reset=reset)

    def _from_scores(self, method: Method, table: TrainingTable) -> AlphaEstimate:
        """α from out-of-fold scores; some methods need probabilities of being labeled."""
        is_p = table.is_positive
        learner = natural_pvu(float(is_p.mean())) if method.needs == "probabilities" else PVU
        plan = Plan(outer=self.cv, repeats=self.repeats)
        run = RunOptions(n_jobs=self.n_jobs)
        options = FitOptions(self.estimator, plan, seed=self._seed(), run=run)
        fit = run_crossfit(table, learner, options, ranks=method.needs == "tails", new_rows=False)
        self.evidence_ = fit.evidence(is_p)
        estimate = method.read(self.evidence_)
        others = [other.read(self.evidence_) for other in METHODS.values() if other.referee]
        return add_alarms(estimate, self.evidence_, self.confidence, others)


@dataclass(eq=False, repr=False, kw_only=True)
class TEDnClassifier(PUClassifier):
    """How many of the unlabeled are positive, and which: α need not be known.

    Estimates α, discards that share of the unlabeled rows, the most positive ones, trains on the
    rest, and repeats. A scikit-learn model is refitted by nested cross-fitting; a net trains for
    another epoch.

    Parameters
    ----------
    refit
        "cvir" trains a fresh model by CVIR at the end, with the final α, as the paper suggests.
    memory
        For tables, a mapping that keeps finished steps: a fit that was stopped continues if it gets
        the same mapping, data and parameters.
    estimator, plan, preset, …
        All others, and the attributes, are those of `topbin.learn.estimator.PUClassifier`.

    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> clf = TEDnClassifier().fit(X, y)      # half of the unlabeled are 1.0
    >>> 0.4 < clf.alpha_ < 0.6, clf.predict([[1.0], [0.0]])
    (True, array([1, 0]))
    """

    _labeling_of: ClassVar[Any] = None  # a subclass finds how much each positive counts

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
        options, recipe = self._options(), self._recipe()
        table = self._given(X, y, sample_weight, groups, times).table
        if recipe.labeling is not None:
            self.labeling_ = recipe.labeling(table, options)
            table = weighted(table, self.labeling_)
        return run_crossfit(table, recipe.learner, options, keep_chains=keep_chains)

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
        labeling = getattr(self, "labeling_", None)  # as `crossfit` found it
        table = weighted(rows.table, labeling)
        fitted = from_crossfit(fit, table, lambda own: estimate or read_estimate(own, options))
        fitted = replace(fitted, evidence=evidence or fitted.evidence)
        return self._store(with_labeling(fitted, labeling, self.confidence), rows)

    def _recipe(self) -> Recipe:
        if self.refit not in (None, "cvir"):
            raise InputError("TB008", f'refit must be "cvir" or None; got {self.refit!r}.')
        return Recipe(TEDN, refit=None if self.refit is None else CVIR, labeling=self._labeling_of)


ImageClassifier = TEDnClassifier  # as earlier versions stored it


@dataclass(eq=False, repr=False, kw_only=True)
class PvUClassifier(PUClassifier):
    """Separate positives from unlabeled rows, once, and correct the probabilities by α.

    Parameters
    ----------
    alpha
        The share of positives among the unlabeled; None: read from the model's own scores.
    memory
        Keeps finished steps, as in `TEDnClassifier`.
    estimator, plan, preset, …
        All others, and the attributes, are those of `topbin.learn.estimator.PUClassifier`.

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

    Parameters
    ----------
    alpha
        The share; None: it is estimated first, by (TED)ⁿ, and `estimate_.notes` says so.
    weights
        Of the two losses: "alpha", α and 1 − α, as in the paper, or "half".
    estimator, plan, preset, …
        All others, and the attributes, are those of `topbin.learn.estimator.PUClassifier`.

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
    estimator is a net, or None for one that suits the rows; a scikit-learn model has no gradient to
    follow.

    Parameters
    ----------
    alpha
        The share of positives among the unlabeled; None: it is estimated first, by (TED)ⁿ, and
        `estimate_.notes` says so.
    loss
        "sigmoid", as in the papers, or "logistic".
    estimator, plan, preset, …
        All others, and the attributes, are those of `topbin.learn.estimator.PUClassifier`.

    >>> from topbin.learn import NetPlan
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(2, 1, (200, 2)), rng.normal(-2, 1, (100, 2))]
    >>> y = np.arange(300) < 100                       # 100 of the 200 unlabeled are positive
    >>> clf = UPUClassifier("uci-mlp", alpha=0.5, plan=NetPlan(epochs=5)).fit(X, y)
    >>> clf.predict([[3.0, 3.0], [-3.0, -3.0]])
    array([ True, False])
    """

    _nets = "only"

    alpha: float | None = None
    loss: Loss = "sigmoid"

    def _recipe(self) -> Recipe:
        return Recipe(replace(UPU, loss=self.loss), self._given_alpha())


@dataclass(eq=False, repr=False, kw_only=True)
class NNPUClassifier(UPUClassifier):
    """The non-negative PU risk, minimized by a net (extra `torch`).

    Parameters
    ----------
    alpha, loss
        As in UPUClassifier.
    beta, gamma
        How far below zero the negative part can fall, and the size of the step back.
    estimator, plan, preset, …
        All others, and the attributes, are those of `topbin.learn.estimator.PUClassifier`.

    >>> from topbin.learn import NetPlan
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(2, 1, (200, 2)), rng.normal(-2, 1, (100, 2))]
    >>> y = np.arange(300) < 100                       # 100 of the 200 unlabeled are positive
    >>> clf = NNPUClassifier("uci-mlp", alpha=0.5, plan=NetPlan(epochs=5)).fit(X, y)
    >>> clf.predict([[3.0, 3.0], [-3.0, -3.0]])
    array([ True, False])
    """

    beta: float = 0.0
    gamma: float = 1.0

    def _recipe(self) -> Recipe:
        return Recipe(nnpu(beta=self.beta, gamma=self.gamma, loss=self.loss), self._given_alpha())


@dataclass(eq=False, repr=False, kw_only=True)
class DEDPULClassifier(PUClassifier):
    """Scores of positives against unlabeled, then the ratio of their densities in P and in U.

    Parameters
    ----------
    rule, bandwidth
        Those of `topbin.mpe.dedpul`, which is also the method.
    estimator, plan, preset, …
        All others, and the attributes, are those of `topbin.learn.estimator.PUClassifier`.

    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> DEDPULClassifier().fit(X, y).predict([[1.0], [0.0]])      # half of the unlabeled are 1.0
    array([1, 0])
    """

    rule: Rule = "auto"
    bandwidth: float = 0.2
    method: str = field(default="dedpul", init=False)  # no parameter: it is what the class is
    _nets = "never"

    def _recipe(self) -> Recipe:
        return Recipe(fit_table=partial(fit_dedpul, rule=self.rule, bandwidth=self.bandwidth))


def fit_dedpul(
    table: TrainingTable, options: FitOptions, *, rule: Rule, bandwidth: float
) -> FittedModel:
    """Cross-fit P against U, and read α and the probabilities from the ratio of densities."""
    fit = run_crossfit(table, replace(PVU, name="dedpul"), options, ranks=False)
    evidence = fit.evidence(table.is_positive)
    estimate = METHODS["dedpul"].read(evidence, rule=rule, bandwidth=bandwidth)
    estimate = add_alarms(estimate, evidence, options.confidence)
    curve = dedpul_curve(*evidence.scores, estimate.alpha, bandwidth=bandwidth)
    return FittedModel(fit.ensemble, curve, estimate, fit.history, evidence, curve(fit.scores))


def dedpul_curve(
    scores_p: Scores, scores_u: Scores, alpha: float, *, bandwidth: float = 0.2
) -> ProbabilityMap:
    """min(1, α·r), r the ratio of two estimated densities, at each distinct unlabeled score.

    >>> dedpul_curve(np.ones(1000), np.repeat([1.0, 0.0], 500), alpha=0.5)([0.0, 1.0]).round(2)
    array([0., 1.])
    """
    knots, ratio = without_ties(*density_ratio(scores_p, scores_u, bandwidth=bandwidth))
    scores = np.concatenate([scores_p, scores_u])
    centre, width = float(scores.mean()), float(scores.std()) or 1.0
    return ProbabilityMap(knots, capped(alpha, ratio), centre, width)


@dataclass(eq=False, repr=False, kw_only=True)
class ElkanNotoClassifier(PUClassifier):
    """Probabilities of being labeled, turned into probabilities of being positive.

    The model must give calibrated probabilities; the default one is wrapped in
    `CalibratedClassifierCV`, and your own may need it too.

    Parameters
    ----------
    weighted
        Whether to train once more, each unlabeled row counting as positive in part (section 3 of
        the paper); without it the first model is rescaled (section 2).
    estimator, plan, preset, …
        All others, and the attributes, are those of `topbin.learn.estimator.PUClassifier`.

    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> ElkanNotoClassifier().fit(X, y).predict([[1.0], [0.0]])   # half of the unlabeled are 1.0
    array([1, 0])
    """

    weighted: bool = False
    method: str = field(default="elkan_noto", init=False)  # no parameter: it is what the class is
    _nets = "never"

    def _recipe(self) -> Recipe:
        return Recipe(fit_table=partial(fit_elkan_noto, weighted=self.weighted))


def fit_elkan_noto(table: TrainingTable, options: FitOptions, *, weighted: bool) -> FittedModel:
    """Cross-fit g, read c from it, and turn g, or a second model, into probabilities."""
    is_p = table.is_positive
    if options.estimator is None:
        if table.together is not None:
            raise InputError(
                "TB122",
                "the default model of ElkanNotoClassifier is calibrated on folds that would "
                "split groups. Pass an estimator with probabilities of its own, or use "
                "TEDnClassifier.",
            )
        options = replace(options, estimator=calibrated_model(table.X, is_p))
    share_p = float(is_p.mean())
    fit = run_crossfit(table, natural_pvu(share_p), options, ranks=False)
    evidence = fit.evidence(is_p, share_p=share_p)
    estimate = estimate_alpha(evidence, method=options.method, confidence=options.confidence)
    c = labeled_share(estimate.alpha, share_p)
    model, curve = fit.ensemble, as_map(from_labeled, c)
    oof = curve(fit.scores)
    if weighted:
        w_u = from_labeled(evidence.scores_u, c)
        f = fit_weighted(options.estimator, table, w_u, seed=options.seed)
        model, curve = Ensemble(((f,),), ()), as_map(from_positive, c)
    return FittedModel(model, curve, estimate, fit.history, evidence, oof)


def natural_pvu(share_p: float) -> Learner:
    """P against U in the proportions they come in, so that the score is the probability g."""
    return replace(PVU, name="elkan_noto", risk=lambda _: Risk(share_p, 0.0, 1 - share_p))


def labeled_share(alpha: float, share_p: float) -> float:
    """c, the share of the positives that are labeled."""
    return share_p / (share_p + (1 - share_p) * alpha)


def from_labeled(g: Any, c: float) -> Floats:
    """p(positive | x, unlabeled) = (1 − c)/c · g/(1 − g), section 3 of the paper, cut to 1."""
    g = np.minimum(np.asarray(g, np.float64), NEVER_ONE)
    return np.asarray(np.minimum(1.0, (1 - c) / c * g / (1 - g)), np.float64)


def from_positive(f: Any, c: float) -> Floats:
    """p(positive | x, unlabeled) = (1 − c) f/(1 − c f), from f(x), that of all rows."""
    f = np.minimum(np.asarray(f, np.float64), NEVER_ONE)
    return np.asarray((1 - c) * f / (1 - c * f), np.float64)


def as_map(curve: Callable[[Any, float], Floats], c: float) -> ProbabilityMap:
    """One of the two maps above, on a fine grid of probabilities."""
    grid = np.linspace(0, 1, 2001)
    return ProbabilityMap(knots=grid, values=curve(grid, c), centre=0.5, width=0.25)


def fit_weighted(estimator: Any, table: TrainingTable, w_u: Floats, *, seed: int = 0) -> Any:
    """Fit f: each unlabeled row counts as positive with weight w, as negative with 1 − w."""
    name = weight_name(estimator)
    if name is None:
        raise InputError(
            "TB013",
            f"{type(estimator).__name__} takes no sample_weight, which the weighted variant needs; "
            "use weighted=False or another classifier.",
        )
    p, u = np.flatnonzero(table.is_positive), np.flatnonzero(~table.is_positive)
    rows = np.concatenate([p, u, u])
    weight = np.concatenate([np.ones(p.size), w_u, 1 - w_u])
    if table.weight is not None:
        weight = weight * table.weight[rows]
    y = (np.arange(rows.size) < p.size + u.size).astype(int)
    return seeded(estimator, seed).fit(_safe_indexing(table.X, rows), y, **{name: weight})
