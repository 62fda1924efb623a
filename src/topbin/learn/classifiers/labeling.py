"""Classifiers for labels that are not random: by subtype, or by columns that the user names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from topbin.core.errors import InputError
from topbin.core.options import CONFIDENCE
from topbin.data.schema import check_columns
from topbin.learn.classifiers.faces import TEDnClassifier
from topbin.learn.classifiers.fitting import FitOptions, Recipe, TrainingTable
from topbin.learn.labeling.propensity import Propensity, fit_propensity
from topbin.learn.labeling.subtypes import MOST, Subtypes, find_subtypes


@dataclass(eq=False, repr=False, kw_only=True)
class SubtypesClassifier(TEDnClassifier):
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
    _nets = "never"

    def _recipe(self) -> Recipe:
        return replace(super()._recipe(), labeling=self._find)

    def _find(self, table: TrainingTable, options: FitOptions) -> Subtypes:
        check_numbers(table, self)
        return find_subtypes(table, options, most=self.most)


@dataclass(eq=False, repr=False, kw_only=True)
class SAREMClassifier(TEDnClassifier):
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
    _nets = "never"

    def _recipe(self) -> Recipe:
        return replace(super()._recipe(), labeling=self._find)

    def _find(self, table: TrainingTable, options: FitOptions) -> Propensity:
        check_numbers(table, self)
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


def check_numbers(table: TrainingTable, face: TEDnClassifier) -> None:
    """TB013 for a frame that is not encoded: rows are compared as numbers."""
    if hasattr(table.X, "columns"):
        raise InputError(
            "TB013",
            f"{type(face).__name__} compares rows as numbers, and with your own estimator "
            "a frame is not encoded. Pass an array of numbers, or leave the estimator out.",
        )


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
    places: list[int] = []
    place = 0
    for feature in features.features:
        width = len(feature.names(scaled=features.scaled))
        places += range(place, place + width) if feature.name in names else ()
        place += width
    return places


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
    rows = face._given(X, y, groups=groups, times=times)
    return find_subtypes(rows.table, face._options(), most=most)
