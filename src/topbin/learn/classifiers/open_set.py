"""OpenSetClassifier: k known classes, and unlabeled rows that may belong to none of them."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from topbin.core.checks import Floats
from topbin.core.errors import InputError
from topbin.learn.classifiers.estimator import check_weight, stack
from topbin.learn.classifiers.faces import TEDnClassifier
from topbin.learn.classifiers.fitting import (
    FitOptions,
    FittedModel,
    GivenRows,
    Recipe,
    TrainingTable,
)
from topbin.learn.folds import n_rows, read_together
from topbin.learn.open_set import KnownClasses, ReadClasses, find_classes, read_classes

LEAST = 1e-12  # a probability of exactly 0 has no logarithm


@dataclass(eq=False, repr=False, kw_only=True)
class OpenSetClassifier(TEDnClassifier):
    """Which known class each unlabeled row belongs to, or none; and how many belong to each.

    Labeled rows of k classes are from the past; the unlabeled ones are from now, where shares may
    have moved and a class may have appeared that nobody has labeled. See `topbin.learn.open_set`.
    It assumes that rows of a known class look now as they did. `novel` is the label of rows of no
    known class; None: -1 where classes are numbers, else "novel". Other parameters are those of
    TEDnClassifier, which it equals if there is one class.

    After `fit`, `shares_` has a `ClassShare` for each known class and `novel_` is a `NovelShare`;
    together they are 1. `classes_` are the known classes, sorted, and the novel one. `oof_proba_`
    has the probabilities of all training rows by models that never saw them: first those of X, then
    those of X_u. `alpha_` and `estimate_` are about what is *not* novel.

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
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each of `classes_`, for rows drawn as the unlabeled were."""
        check_is_fitted(self, "probability_map_")
        read = self._read(X, reset=False)
        p_known = self.probability_map_(self.model_.scores(read))
        return self._known.joint(p_known, self._known.models.probabilities(read))

    def decision_function(self, X: Any) -> Floats:
        """The logarithms of the probabilities."""
        return np.log(np.maximum(self.predict_proba(X), LEAST))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is found, for rows whose class is known, novel ones too."""
        return float(ClassifierMixin.score(self, X, y, sample_weight))

    def summary(self) -> str:
        """How many rows belong to no known class, and how many to each."""
        check_is_fitted(self, "novel_")
        lines = [str(self.novel_), *map(str, self.shares_)]
        return "\n".join(lines)

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
        return GivenRows(X, is_known, np.arange(n), weight, together, known.codes)

    def _recipe(self) -> Recipe:
        return replace(super()._recipe(), labeling=self._find)

    def _find(self, table: TrainingTable, options: FitOptions) -> KnownClasses:
        return find_classes(ReadClasses(self.classes_[:-1], table.classes), table, options)

    def _store(self, fitted: FittedModel, rows: GivenRows | None = None) -> Self:
        super()._store(fitted, rows)
        known, p_known = self._known, np.asarray(self.oof_proba_)
        self.oof_proba_ = known.joint(p_known, known.oof_of(p_known.size))
        self.labeling_ = replace(known, oof=None)  # which is in `oof_proba_` now
        self.shares_, self.novel_ = known.shares(self.estimate_), known.novel(self.estimate_)
        return self

    @property
    def _known(self) -> KnownClasses:
        found: Any = self.labeling_
        return found  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


def check_rows(X: Any, n: int) -> None:
    """TB005 unless X has as many rows as y has labels."""
    if (rows := n_rows(X)) != n:
        message = f"X and y have inconsistent numbers of samples: {rows:,} and {n:,}."
        raise InputError("TB005", message)


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
