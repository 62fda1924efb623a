"""Classifiers for labels that are not random: by subtype, or by columns that the user names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from topbin.core.defaults import CONFIDENCE
from topbin.core.errors import InputError
from topbin.data.schema import check_columns
from topbin.learn.classifiers.fitting import FitOptions, FittedModel, TrainingTable
from topbin.learn.classifiers.tedn import TEDnClassifier
from topbin.learn.groups import read_together
from topbin.learn.labeling.propensity import fit_propensity
from topbin.learn.labeling.subtypes import MOST, Subtypes, find_subtypes
from topbin.learn.select import RowNumbers


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedClassifier(TEDnClassifier):
    """(TED)ⁿ whose known positives count by the inverse of the odds that they were labeled."""

    _nets = "never"

    def _find(self, table: TrainingTable, options: FitOptions) -> Any:
        """How labeling depends on the rows: a value with `weight_p` and `notes`."""
        raise NotImplementedError

    def _weighted(
        self, table: TrainingTable, options: FitOptions, *, again: bool = False
    ) -> TrainingTable:
        if hasattr(table.X, "columns"):
            raise InputError(
                "TB013",
                f"{type(self).__name__} compares rows as numbers, and with your own estimator "
                "a frame is not encoded. Pass an array of numbers, or leave the estimator out.",
            )
        if not again:
            self.labeling_ = self._find(table, options)
        weight = self.labeling_.weight_p
        # Equal weights are no weights, to the last bit.
        return table if (weight == weight[0]).all() else replace(table, weight_p=weight)

    def _fit_table(self, table: TrainingTable, options: FitOptions) -> FittedModel:
        return super()._fit_table(self._weighted(table, options), options)

    def _store(self, fitted: FittedModel, X: Any = None, known: RowNumbers | None = None) -> Self:
        estimate, evidence = fitted.estimate, fitted.evidence
        told = replace(estimate, notes=(*self.labeling_.notes, *estimate.notes))
        if evidence.weight_p is not None and self.confidence is not None:
            told = self.labeling_.with_interval(told, evidence, self.confidence)
        return super()._store(replace(fitted, estimate=told), X, known)


@dataclass(eq=False, repr=False, kw_only=True)
class SubtypesClassifier(WeightedClassifier):
    """How many and which, if some kinds of positives are labeled more often than others.

    The known positives are clustered, it is estimated how often each cluster is labeled, and
    clusters that are rarely labeled then count more: see `topbin.learn.labeling.subtypes`. At most
    `most` subtypes are used. After `fit`, `labeling_` is the `Subtypes` that were found. A subtype
    that is never labeled stays invisible. Other parameters are those of TEDnClassifier.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(np.repeat([6.0, -6.0, 0.0], [200, 200, 200]))[:, None]
    >>> y = rng.random(600) < np.repeat([0.8, 0.3, 0.0], 200)       # two kinds of positives
    >>> clf = SubtypesClassifier(preset="fast", most=2).fit(X, y)
    >>> sorted(round(part.labeled, 1) for part in clf.labeling_.parts)
    [0.3, 0.8]
    >>> 0.35 < clf.alpha_ < 0.6                                     # 180 of 380 are positive
    True
    """

    most: int = MOST

    def _find(self, table: TrainingTable, options: FitOptions) -> Subtypes:
        return find_subtypes(table, options, most=self.most)


@dataclass(eq=False, repr=False, kw_only=True)
class SAREMClassifier(WeightedClassifier):
    """How many and which, if labeling depends on columns that you can name.

    `labeled_by` names columns of a frame, or has positions of columns of an array: the site, the
    year. A mapping from names to positions says how an array came from a frame. After `fit`,
    `labeling_` is the `Propensity` that was found: see `topbin.learn.labeling.propensity`. It
    assumes that labeling depends on nothing else. Other parameters are those of TEDnClassifier.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> is_positive, site = np.arange(600) < 400, np.arange(600) % 2
    >>> X = np.column_stack([rng.normal(np.where(is_positive, 6, 0)), site])
    >>> y = is_positive & (rng.random(600) < np.where(site, 0.8, 0.2))
    >>> clf = SAREMClassifier(labeled_by=[1], preset="fast").fit(X, y)
    >>> round(clf.labeling_.low, 1), round(clf.labeling_.high, 1), round(clf.alpha_, 1)
    (0.2, 0.8, 0.5)
    """

    labeled_by: Mapping[str, Sequence[int]] | Sequence[str | int] | str | int = ()

    def _find(self, table: TrainingTable, options: FitOptions) -> Any:
        columns, names = self._attributes(table.X.shape[1])
        return fit_propensity(table, options, columns, names)

    def _attributes(self, width: int) -> tuple[list[int], list[str]]:
        """The columns of the matrix that the named attributes became, and their names."""
        given = self.labeled_by
        if isinstance(given, Mapping):
            return [place for places in given.values() for place in places], list(given)
        named: list[Any] = [given] if isinstance(given, str | int) else list(given)
        if not named:
            raise InputError("TB126", "labeled_by is empty; name the columns that drive labeling.")
        if all(isinstance(name, str) for name in named):
            return matrix_columns(self.features_, named), named
        wrong = [name for name in named if not (isinstance(name, int) and -width <= name < width)]
        if wrong:
            raise InputError("TB103", f"X has {width:,} columns; labeled_by has {wrong[0]!r}.")
        return [name % width for name in named], [f"column {name}" for name in named]


def matrix_columns(features: Any, names: Sequence[str]) -> list[int]:
    """Where the columns of a table are in its matrix; TB103 or TB126 if they are not there."""
    if features is None:
        raise InputError(
            "TB126", "labeled_by has names, and X is an array: give positions of its columns."
        )
    dropped = {column.name: column.reason for column in features.dropped}
    for name in names:
        if name in dropped:
            raise InputError("TB126", f'labeling cannot be explained by "{name}": {dropped[name]}')
    check_columns(names, features.columns, "the table that models read")
    found: list[int] = []
    place = 0
    for feature in features.features:
        width = len(feature.names(scaled=features.scaled))
        found += range(place, place + width) if feature.name in names else ()
        place += width
    return found


def subtypes(
    X: Any,
    y: Any,
    *,
    positive: Any = None,
    negative: Any = None,
    most: int = MOST,
    confidence: float = CONFIDENCE,
    random_state: int = 0,
    n_jobs: int | None = None,
    groups: Any = None,
    times: Any = None,
) -> Subtypes:
    """Which kinds of positives are labeled, how often, and how selective that is.

    `most` is the largest number of subtypes. Other parameters are those of TEDnClassifier and of
    its `fit`. The result is a value with `parts`, `gamma`, `test`, `summary()` and `to_dict()`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(np.repeat([6.0, -6.0, 0.0], [200, 200, 200]))[:, None]
    >>> y = rng.random(600) < np.repeat([0.8, 0.3, 0.0], 200)       # two kinds of positives
    >>> sorted(round(part.labeled, 1) for part in subtypes(X, y, most=2).parts)
    [0.3, 0.8]
    """
    face = SubtypesClassifier(
        most=most, positive=positive, negative=negative, confidence=confidence,
        random_state=random_state, n_jobs=n_jobs,
    )  # fmt: skip
    X, is_positive, known = face._read_all(X, y)
    together = read_together(groups, times, is_positive.size)
    return face._find(face._table(X, is_positive, known, None, together), face._options())
