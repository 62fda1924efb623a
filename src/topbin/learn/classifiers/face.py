"""What AlphaEstimator and all classifiers share: parameters, labels, weights, how α looks."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from topbin.core import InputError, Labels, read_labels
from topbin.core.checks import check_fraction, unmasked
from topbin.core.defaults import CONFIDENCE, DEFAULT_METHOD


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

    def _read_labels(self, y: Any, rows: int) -> Labels:
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
        if (n := labels.is_positive.size) != rows:
            raise InputError(
                "TB005", f"X and y have inconsistent numbers of samples: {rows:,} and {n:,}."
            )
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
        diagram = str(estimator_html_repr(self))
        estimate = getattr(self, "estimate_", None)
        if estimate is None:
            return diagram
        lines = estimate.summary().splitlines()
        shown = [line for line in lines if line.startswith("α") or "interval" in line] or lines[:1]
        return f"<pre>{escape(chr(10).join(shown))}</pre>{diagram}"


def two_classes(y: Any) -> str:
    """What kind of target y is, next to the kind that is needed."""
    try:
        with np.errstate(invalid="ignore"):
            kind = type_of_target(y)
    except (TypeError, ValueError):
        kind = "unclear"
    return f"y is {kind}; fit needs two classes, positive and unlabeled."


def classes_of(labels: Labels, negative: Any = None) -> NDArray[Any]:
    """The label of "not positive" and the label of "positive", in this order always.

    "Not positive" is the negative value if one is given, else the value of the unlabeled rows, else
    (if these are blank or have several values) 0, False or "not …".

    >>> classes_of(read_labels([1, -1, -1])), classes_of(read_labels([1.0, np.nan]))
    (array([-1,  1]), array([0., 1.]))
    """
    named = [value for value in labels.unlabeled if value is not None]
    other = named[0] if len(named) == 1 else _opposite(labels.positive)
    pair = [other if negative is None else negative, labels.positive]
    return np.array(pair, dtype=None if type(pair[0]) is type(pair[1]) else object)


def _opposite(positive: Any) -> Any:
    if isinstance(positive, bool):
        return not positive
    if isinstance(positive, int | float):
        return type(positive)(0 if positive else 1)
    return f"not {positive}"


def check_weight(sample_weight: Any, rows: int) -> NDArray[np.float64] | None:
    """Row weights as a vector of numbers ≥ 0, not all zero; None stays None."""
    if sample_weight is None:
        return None
    table = np.broadcast_to(0.0, (rows, 1))  # the check reads only how many rows it has
    try:
        weight = unmasked(sample_weight)
        weight = _check_sample_weight(weight, table, dtype=float, ensure_non_negative=True)
    except ValueError as error:
        raise InputError("TB012", str(error)) from error
    return np.asarray(weight, np.float64)
