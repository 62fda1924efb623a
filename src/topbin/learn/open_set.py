"""Shares of known classes among unlabeled rows that may hold a class nobody has labeled.

Labeled rows of k classes come from the past. Unlabeled rows come from now: their shares have moved,
and some may belong to none of the classes. The share of each class is read from its labeled rows
against all of U; each labeled row then counts by the ratio of its class's share now to its share
then, so that the labeled rows are like the known part of U; and their α by (TED)ⁿ is what is not
novel. That is PULSE (Garg, Balakrishnan & Lipton, NeurIPS 2022), in two ways changed. A novel row
can look like a certain member of some class, so a class's rows are ranked by p(j | x) times the
probability that a row is known at all, by a quick estimate. And shares are read by the posterior of
`topbin.mpe.overlap`, not by BBE. Both were measured: bench/results/open_set.md.
"""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, column_or_1d

from topbin.core import AlphaEstimate, Evidence, InputError
from topbin.core.binomial import ranks_of
from topbin.core.checks import Floats, RowNumbers, unmasked
from topbin.core.estimate import Interval
from topbin.core.formatting import counted, percent
from topbin.core.options import CONFIDENCE
from topbin.learn.backends.sklearn import seeded, weight_name
from topbin.learn.classifiers import TEDnClassifier
from topbin.learn.defaults import coarse, default_model
from topbin.learn.fitting import FitOptions, FittedModel, quick_fit
from topbin.learn.folds import folds_of, order_of
from topbin.learn.labeling.subtypes import HALF_A_ROW
from topbin.learn.rows import (
    GivenRows,
    TrainingTable,
    check_rows,
    check_weight,
    n_rows,
    read_together,
    stack,
)
from topbin.mpe.bound import upper_bound
from topbin.mpe.estimate import add_alarms
from topbin.mpe.overlap import alpha_posterior
from topbin.mpe.registry import find_method

FOLDS = 3  # and at least as many labeled rows of each class
LEAST = 1e-9  # a probability of exactly 0 or 1 has no odds
LEAST_LOG = 1e-12  # and one of exactly 0 no logarithm
ASSUMES = "if rows of a known class look now as they did, and overlap as in data sets seen before"


@dataclass(frozen=True, slots=True, eq=False)
class ReadClasses:
    """The known classes, sorted, and the place of each row's class among them; −1: unlabeled."""

    values: Any
    codes: RowNumbers

    def check_labeled(self) -> "ReadClasses":
        """The same, or TB003 if a row that should be labeled has no class."""
        if missing := int((self.codes < 0).sum()):
            raise InputError(
                "TB003",
                f"{missing:,} of {self.codes.size:,} labeled rows have no class. Remove them, or "
                "move them to the unlabeled rows.",
            )
        return self

    def hash(self, rows: str) -> str:
        """SHA-256 of the hash of the rows, and of their classes."""
        digest = hashlib.sha256(f"{rows}\0{self.values.tolist()!r}\0".encode())
        digest.update(np.ascontiguousarray(self.codes, np.int64).tobytes())
        return f"sha256:{digest.hexdigest()}"

    def with_unlabeled(self, rows: int) -> "ReadClasses":
        """The same, and so many unlabeled rows after them."""
        return replace(self, codes=np.append(self.codes, np.full(rows, -1)))


@dataclass(frozen=True, slots=True)
class ClassShare:
    """A known class, how many rows of it are labeled, and its share among the unlabeled rows.

    >>> print(ClassShare("sport", 200, 0.25, (0.2, 0.3)))
    sport: 25 % (20 % to 30 %)
    """

    label: Any
    n: int
    share: float
    interval: Interval | None = None

    def __str__(self) -> str:
        return f"{self.label}: {_share(self)}"


def _share(one: "ClassShare | NovelShare") -> str:
    """A share and its interval as percentages."""
    ends = "" if one.interval is None else " ({} % to {} %)".format(*map(percent, one.interval))
    return f"{percent(one.share)} %{ends}"


@dataclass(frozen=True, slots=True)
class NovelShare:
    """The share of the unlabeled rows that belong to no known class.

    Attributes
    ----------
    share, n_u
        The share, and the number of unlabeled rows.
    interval, confidence
        The interval of the share, and its level.
    at_least
        A one-sided bound that holds for any overlap and any shift of the classes' shares: 1 minus
        the sum of their bounds.

    >>> print(NovelShare(0.12, 1000, (0.05, 0.2), at_least=0.02, confidence=0.95))
    About 12 % (5 % to 20 %) of the 1,000 unlabeled rows belong to no known class.
    """

    share: float
    n_u: int
    interval: Interval | None = None
    at_least: float | None = None
    confidence: float | None = None

    def __str__(self) -> str:
        return f"About {_share(self)} of the {self.n_u:,} unlabeled rows belong to no known class."


@dataclass(frozen=True, slots=True, eq=False)
class ClassModels:
    """Models of the k known classes, one per fold; none if k is 1."""

    models: tuple[Any, ...]
    k: int

    def probabilities(self, X: Any) -> Floats:
        """p(j | x) as in the labeled rows, by the mean of all models."""
        if not self.models:
            return np.ones((X.shape[0], 1))
        return np.asarray(np.mean([_proba(m, X, self.k) for m in self.models], axis=0), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class KnownClasses:
    """The known classes, with their shares then and now.

    `parts` are the estimates of each class against all unlabeled rows, on its own. `ratio` is how
    many times as frequent a class is now, among rows of known classes, and `weight_p` that of each
    labeled row. `oof` has p(j | x) of each row, by a model that never saw it.
    """

    labels: tuple[Any, ...]
    parts: tuple[AlphaEstimate, ...]
    ratio: Floats
    weight_p: Floats
    models: ClassModels
    at_least: float | None = None
    oof: Floats | None = None
    alpha: ClassVar[None] = None  # it is read from all labeled rows, by these weights

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of an estimate with these weights must know."""
        if len(self.parts) == 1:
            return ()
        return (f"rows of {len(self.parts)} known classes count as their shares have moved",)

    def with_interval(
        self, estimate: AlphaEstimate, evidence: Evidence, confidence: float | None
    ) -> AlphaEstimate:
        """The estimate with the interval of all labeled rows, weighted.

        It leaves out the error of the weights, and still held the truth in as many fits as it says.
        """
        if confidence is None:
            return estimate
        effective = evidence.effective
        posterior = estimate.posterior or alpha_posterior(evidence.tails, effective=effective)
        interval = posterior.interval(confidence)
        wide = replace(estimate, posterior=posterior, interval=interval, confidence=confidence)
        return replace(wide.moved_to(estimate.alpha), interval_assumes=ASSUMES)

    def shares(self, estimate: AlphaEstimate) -> tuple[ClassShare, ...]:
        """The share of each class; together they are α, and each is inside its interval."""
        now = self.ratio * np.array([part.n_p for part in self.parts])
        shares = (estimate.alpha * (now / now.sum())).tolist()
        own = (estimate,) if len(self.parts) == 1 else self.parts
        moved = (part.moved_to(share) for part, share in zip(own, shares, strict=True))
        pairs = zip(self.labels, moved, strict=True)
        return tuple(ClassShare(label, p.n_p, p.alpha, p.interval) for label, p in pairs)

    def novel(self, estimate: AlphaEstimate) -> NovelShare:
        """What is left: the low end comes from the high end of what is known."""
        ends, bound = estimate.interval, estimate.upper_bound
        if ends is None:
            return NovelShare(1 - estimate.alpha, estimate.n_u)
        least = self.at_least if bound is None else 1 - bound
        interval = (1 - ends[1], 1 - ends[0])
        return NovelShare(1 - estimate.alpha, estimate.n_u, interval, least, estimate.confidence)

    def joint(self, p_known: Floats, p_class: Floats) -> Floats:
        """p(j | x) of the k classes now, and that of none: the columns of `predict_proba`."""
        now = p_class * self.ratio
        now /= np.maximum(now.sum(axis=1, keepdims=True), LEAST)
        return np.column_stack([now * p_known[:, None], 1 - p_known])


def find_classes(classes: ReadClasses, table: TrainingTable, options: FitOptions) -> KnownClasses:
    """The shares of the classes of a table."""
    labels, codes = classes.values.tolist(), classes.codes
    k = len(labels)
    counts = np.bincount(codes[codes >= 0], minlength=k)
    if k == 1:  # (TED)ⁿ alone, to the last bit
        n_p, n_u = int(counts[0]), codes.size - int(counts[0])
        alone = AlphaEstimate(alpha=1.0, n_p=n_p, n_u=n_u, method=options.method)
        return KnownClasses(
            labels=tuple(labels), parts=(alone,), ratio=np.ones(1), weight_p=np.ones(n_p),
            models=ClassModels((), 1),
        )  # fmt: skip
    oof, models, fold = crossfit_classes(classes, table, options)
    # p(of a known class | x), by a quick estimate that ignores which class it is.
    scores = oof * np.asarray(quick_fit(table, options).oof)[:, None]
    level = options.confidence or CONFIDENCE
    read = (_read_class(scores[:, j], codes, j, fold, options) for j in range(k))
    evidence, parts = zip(*read, strict=True)
    each = 1 - (1 - level) / k  # so that all bounds hold together
    most = sum(upper_bound(one.independent, each) for one in evidence)
    # A class of which no row is seen now may have half a row: no labeled row counts nothing.
    now = np.maximum([part.alpha for part in parts], HALF_A_ROW / parts[0].n_u)
    ratio = (now / now.sum()) / (counts / counts.sum())
    weight_p = ratio[codes[codes >= 0]]
    return KnownClasses(
        labels=tuple(labels), parts=parts, ratio=ratio, weight_p=weight_p, models=models,
        at_least=max(0.0, 1 - most), oof=oof,
    )  # fmt: skip


def crossfit_classes(
    classes: ReadClasses, table: TrainingTable, options: FitOptions
) -> tuple[Floats, ClassModels, RowNumbers]:
    """p(j | x) of every row by a model that never saw it; the models; and the fold of each row.

    An unlabeled row trains no model, but belongs to one fold too: were it scored by all models, its
    scores would be unlike those of labeled rows.
    """
    codes, k = classes.codes, len(classes.values)
    fold, order = _folds(classes, table, options.seed)
    model = default_model(table.X) if options.estimator is None else options.estimator
    X, weight, name = coarse(table.X, model), table.weight, weight_name(model)

    def fit(number: int) -> tuple[Any, Floats]:
        rows = order[(fold[order] != number) & (codes[order] >= 0)]
        own = {} if weight is None or name is None else {name: weight[rows]}
        fresh = seeded(model, options.seed + number)
        fitted = fresh.fit(_safe_indexing(X, rows), codes[rows], **own)
        return fitted, _proba(fitted, _safe_indexing(X, np.flatnonzero(fold == number)), k)

    fits = (delayed(fit)(number) for number in range(int(fold.max()) + 1))
    models, probas = zip(*Parallel(n_jobs=options.run.n_jobs)(fits), strict=True)
    oof = np.zeros((codes.size, k))
    for number, proba in enumerate(probas):
        oof[fold == number] = proba
    return oof, ClassModels(models, k), fold


def _folds(classes: ReadClasses, table: TrainingTable, seed: int) -> tuple[RowNumbers, RowNumbers]:
    """The fold of each row, and an order of the rows that depends on their content alone."""
    codes, together = classes.codes, table.together
    order = order_of(table.X, table.is_positive, table.weight, together)
    order = order[np.argsort(codes[order], kind="stable")]
    if together is None:
        splits = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(codes, codes[order])
    else:
        splits = folds_of(table.is_positive[order], FOLDS, seed, together=together.at(order))
    fold = np.empty(codes.size, np.intp)
    for number, (_, held) in enumerate(splits):
        fold[order[held]] = number
    for j, label in enumerate(classes.values.tolist()):
        if np.unique(fold[codes == j]).size < 2:
            raise InputError(
                "TB120",
                f"all labeled rows of class {label!r} are in one group, so that no fold could hold "
                "some of them out. Label rows of more groups, or leave the class out.",
            )
    return fold, order


def _proba(model: Any, X: Any, k: int) -> Floats:
    """The probabilities of all k classes; 0 for those that a model has not seen."""
    if not hasattr(model, "predict_proba"):
        raise InputError(
            "TB013",
            f"{type(model).__name__} has no predict_proba, which tells the known classes apart. "
            "Use a classifier that has it.",
        )
    proba = np.zeros((X.shape[0], k))
    if X.shape[0]:
        proba[:, np.asarray(model.classes_, int)] = model.predict_proba(X)
    return proba


def _read_class(
    scores: Floats, codes: RowNumbers, j: int, fold: RowNumbers, options: FitOptions
) -> tuple[Evidence, AlphaEstimate]:
    """The share of class j from its labeled rows against all of U, ranked within each fold."""
    ranked = np.empty(scores.size)
    for number in range(int(fold.max()) + 1):
        own = fold == number
        ranked[own] = ranks_of(scores[own])
    evidence = Evidence(ranked[codes == j], ranked[codes < 0], crossfitted=True)
    read = find_method(options.method).read(evidence)
    return evidence, add_alarms(read, evidence, options.confidence)


def read_classes(y: Any) -> ReadClasses:
    """Labels of any kind as classes; a missing label is an unlabeled row.

    >>> read_classes(["b", "a", None, "b", "a", "b", "a"]).codes
    array([ 1,  0, -1,  1,  0,  1,  0])
    """
    if isinstance(y, ReadClasses):
        return y
    if y is None:
        message = "the classes are missing: fit requires y to be passed, but the target y is None."
        raise InputError("TB001", message)
    given = unmasked(y)
    given = np.array(given, object) if isinstance(given, list | tuple) else given
    given = given if hasattr(given, "dtype") else np.asarray(given)
    if given.ndim == 2 and given.shape[1] == 1:
        given = column_or_1d(given, warn=True)  # scikit-learn's usual warning
    if given.ndim != 1 or not len(given):
        message = f"y needs the class of each labeled row; got shape {given.shape}."
        raise InputError("TB001", message)
    codes, labels = pd.factorize(given, sort=True)
    if any(isinstance(value, float) and np.isinf(value) for value in labels):
        raise InputError("TB003", "infinity is not a class; fix the rows of y that have it.")
    if len({isinstance(value, str) for value in labels}) > 1:
        raise InputError("TB006", "some classes in y are text, some are not; make them all text.")
    values = np.array(labels.tolist())  # of None beside numbers, numbers
    if not values.size:
        raise InputError("TB003", "y has no class: all labels are missing. Label some rows.")
    counts = np.bincount(codes[codes >= 0], minlength=values.size)
    if counts.min() < FOLDS:
        few = int(counts.argmin())
        raise InputError(
            "TB003",
            f"class {values.tolist()[few]!r} has "
            f"{counted(int(counts[few]), 'labeled row')}, and each class needs {FOLDS}: one is "
            "held out while others train. Label more of its rows, or leave the class out.",
        )
    return ReadClasses(values, np.asarray(codes, np.intp))


@dataclass(eq=False, repr=False, kw_only=True)
class OpenSetClassifier(TEDnClassifier):
    """Which known class each unlabeled row belongs to, or none; and how many belong to each.

    Labeled rows of k classes are from the past; the unlabeled ones are from now, where shares may
    have moved and a class may have appeared that nobody has labeled. See `topbin.learn.open_set`.
    It assumes that rows of a known class look now as they did.

    Parameters
    ----------
    novel
        The label of rows of no known class; None: -1 where classes are numbers, else "novel".
    estimator, plan, preset, …
        As in TEDnClassifier, which it equals if there is one class.

    Attributes
    ----------
    shares_, novel_
        A `ClassShare` for each known class, and a `NovelShare`; together they are 1.
    classes_
        The known classes, sorted, and the novel one.
    oof_proba_
        The probabilities of all training rows by models that never saw them: first those of X, then
        those of X_u.
    alpha_, estimate_
        About what is *not* novel.

    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b"], 100)
    >>> X, X_u = (rng.normal(np.repeat(means, 100))[:, None] for means in ([-8, 8], [-8, 0, 8]))
    >>> clf = OpenSetClassifier(preset="fast").fit(X, y, X_u)          # a third of X_u is around 0
    >>> 0.25 < clf.novel_.share < 0.45, clf.predict([[-8.0], [0.0], [8.0]])
    (True, array(['a', 'novel', 'b'], dtype='<U5'))
    """

    novel: Any = None
    positive: Any = field(default=None, init=False)
    negative: Any = field(default=None, init=False)
    _nets = "never"

    def fit(  # type: ignore[override]  # the unlabeled rows come before the weights
        self,
        X: Any,
        y: Any,
        X_u: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        times: Any = None,
    ) -> Self:
        """Learn from labeled rows X with classes y, and unlabeled rows X_u.

        Without X_u, rows whose y is missing are the unlabeled ones. Weights, groups and times are
        those of the rows of X, then those of the rows of X_u.
        """
        if X_u is not None:
            known = read_classes(y).check_labeled()
            X, X_u = (one if hasattr(one, "__len__") else np.asarray(one) for one in (X, X_u))
            check_rows(X, known.codes.size)
            X, y = stack(X, X_u, "X"), known.with_unlabeled(n_rows(X_u))
        return super().fit(X, y, sample_weight, groups, times)

    def fit_pu(self, X_p: Any, X_u: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from rows of one known class, and unlabeled rows."""
        return self.fit(X_p, np.ones(n_rows(X_p), int), X_u, sample_weight, groups)

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest of `classes_`."""
        likeliest = self.predict_proba(X).argmax(axis=1)  # first: it checks that there was a fit
        return np.asarray(self.classes_[likeliest])

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each of `classes_`, for rows drawn as the unlabeled were."""
        check_is_fitted(self, "probability_map_")
        read = self._read(X, reset=False)
        p_known = self.probability_map_(self.model_.scores(read))
        return self._known.joint(p_known, self._known.models.probabilities(read))

    def decision_function(self, X: Any) -> Floats:
        """The logarithms of the probabilities."""
        return np.log(np.maximum(self.predict_proba(X), LEAST_LOG))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is found, for rows whose class is known, novel ones too."""
        return float(ClassifierMixin.score(self, X, y, sample_weight))

    def summary(self) -> str:
        """How many rows belong to no known class, and how many to each."""
        check_is_fitted(self, "novel_")
        return "\n".join(map(str, (self.novel_, *self.shares_)))

    def _given(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, times: Any = None
    ) -> GivenRows:
        known = read_classes(y)
        X, n = self._read(X, reset=True), known.codes.size
        check_rows(X, n)
        self.classes_ = with_novel(known.values, self.novel)
        is_known = known.codes >= 0
        labeled = int(is_known.sum())
        self.label_note_ = f"{len(known.values):,} known classes ({labeled:,} labeled rows)"
        if labeled == n:
            raise InputError(
                "TB003",
                "all rows have a class, so none is unlabeled. Pass the unlabeled rows as X_u.",
            )
        weight, together = check_weight(sample_weight, n), read_together(groups, times, n)
        table = TrainingTable(X, is_known, weight, together, classes=known.codes)
        return GivenRows(table, np.arange(n))

    def _labeling_of(self, table: TrainingTable, options: FitOptions) -> KnownClasses:
        return find_classes(ReadClasses(self.classes_[:-1], table.classes), table, options)

    def _store(self, fitted: FittedModel, rows: GivenRows | None = None) -> Self:
        super()._store(fitted, rows)
        known, p_known = self._known, np.asarray(self.oof_proba_)
        p_class = np.ones((p_known.size, 1)) if known.oof is None else known.oof
        self.oof_proba_ = known.joint(p_known, p_class)
        self.labeling_ = replace(known, oof=None)  # which is in `oof_proba_` now
        self.shares_, self.novel_ = known.shares(self.estimate_), known.novel(self.estimate_)
        return self

    @property
    def _known(self) -> KnownClasses:
        return cast(KnownClasses, self.labeling_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


def with_novel(known: NDArray[Any], novel: Any) -> NDArray[Any]:
    """The known classes and, last, the label of the novel one; TB008 if a known class has it.

    >>> with_novel(np.array([3, 7]), None), with_novel(np.array(["a", "b"]), "new")
    (array([ 3,  7, -1]), array(['a', 'b', 'new'], dtype='<U3'))
    """
    label = novel if novel is not None else -1 if known.dtype.kind in "iuf" else "novel"
    if label in known.tolist():
        raise InputError("TB008", f"novel={label!r} is a known class; give novel another label.")
    is_same_kind = isinstance(label, str) == (known.dtype.kind == "U")
    both = known if is_same_kind and known.dtype.kind != "b" else known.astype(object)
    return np.append(both, np.array([label], None if both is known else object))
