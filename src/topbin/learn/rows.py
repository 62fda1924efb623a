"""Rows as given and as models take them: tables, labels, weights, groups and times, two samples.

Frames are encoded by `Features`, and two samples become one table.
"""

import re
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import vstack
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, validate_data

from topbin.core import InputError, Labels
from topbin.core.checks import Floats, RowNumbers, unmasked
from topbin.core.labels import Mask
from topbin.data.batch import as_pandas
from topbin.data.features import fit_features
from topbin.mpe.samples import is_sparse


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """The group of each row, by a number, and its time if folds are to respect time."""

    groups: RowNumbers
    times: Floats | None = None

    def at(self, rows: Any) -> "Together":
        """The same of some rows; groups are numbered in the order in which they come."""
        codes, _ = pd.factorize(self.groups[rows])
        return Together(codes, None if self.times is None else self.times[rows])

    @property
    def grouped(self) -> RowNumbers | None:
        """The groups, if any has two rows."""
        is_alone = np.unique(self.groups).size == self.groups.size
        return None if is_alone else self.groups


def read_together(groups: Any, times: Any, rows: int) -> Together | None:
    """Groups and times as they were given, checked; None if no row belongs to another.

    A row whose group is missing is a group of its own.

    >>> read_together(["a", "b", "a", None, None], None, 5).groups
    array([0, 1, 0, 2, 3])
    """
    if groups is None and times is None:
        return None
    codes = np.arange(rows) if groups is None else _codes(_column(groups, "groups", rows))
    if rows > 1 and groups is not None and np.unique(codes).size == 1:
        raise InputError(
            "TB120",
            f"all {rows:,} rows are in one group, so that no fold could hold one out. Give a "
            "column that names patients, customers or the like, or leave groups out.",
        )
    together = Together(codes, None if times is None else _moments(_column(times, "times", rows)))
    return None if times is None and together.grouped is None else together


def _column(given: Any, name: str, rows: int) -> Any:
    values = np.asarray(unmasked(given))
    if values.shape != (rows,):
        raise InputError(
            "TB005", f"{name} needs one value for each of {rows:,} rows; got shape {values.shape}."
        )
    return values


def _codes(values: Any) -> RowNumbers:
    codes, _ = pd.factorize(values)
    alone = np.flatnonzero(codes < 0)
    codes[alone] = codes.max() + 1 + np.arange(alone.size)
    return np.asarray(codes, np.intp)


def _moments(values: Any) -> Floats:
    """Times as numbers; TB121 unless they are dates or numbers, without gaps."""
    kind = values.dtype.kind
    if kind == "M":
        gaps, values = np.isnat(values), values.astype("datetime64[us]").astype(np.int64)
    elif kind in "iuf":
        gaps = ~np.isfinite(values.astype(np.float64))
    else:
        seen = f"{values.ravel()[0]!r}" if values.size else "nothing"
        raise InputError(
            "TB121", f"times must be dates or numbers, one per row; got values such as {seen}."
        )
    if gaps.any():
        raise InputError(
            "TB121",
            f"{int(gaps.sum()):,} of {gaps.size:,} rows have no time, so they cannot be placed in "
            "a block of time. Fill in the times, or remove the rows.",
        )
    return np.asarray(values, np.float64)


def n_rows(X: Any) -> int:
    """How many rows: arrays, tensors, sparse matrices, Datasets, or a tuple of these."""
    if isinstance(X, tuple):
        return n_rows(X[0])
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def pick(X: Any, rows: RowNumbers) -> Any:
    """Some rows of an array, tensor, Dataset or groups, or of a tuple of these; None stays None.

    >>> pick((np.array([5, 6, 7]), None), np.array([2, 0]))
    (array([7, 5]), None)
    """
    if isinstance(X, tuple):
        return tuple(pick(part, rows) for part in X)
    if X is None or isinstance(X, Together):
        return None if X is None else X.at(rows)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.utils.data.Dataset):
        return torch.utils.data.Subset(X, rows.tolist())
    return X[rows]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingTable:
    """Rows of a table, which of them are positive, their weights, and which belong together.

    `weight_p` is how much each positive counts, in α as well as in the models; `weight` shapes the
    models only. `alpha` is the α that was found with these weights, if it is not to be read again.
    `classes` is the class of each positive, by a number, and −1 of the others, if it matters.
    """

    X: Any
    is_positive: Mask
    weight: Floats | None = None
    together: Together | None = None
    weight_p: Floats | None = None
    alpha: float | None = None
    classes: Any = None

    def at(self, rows: RowNumbers) -> "TrainingTable":
        """Some of the rows, in this order, each positive counting the same."""
        weight, together, classes = pick((self.weight, self.together, self.classes), rows)
        X, is_positive = _safe_indexing(self.X, rows), self.is_positive[rows]
        return TrainingTable(X, is_positive, weight, together, classes=classes)

    @property
    def row_weight(self) -> Floats | None:
        """The weights that models are fitted with."""
        if self.weight_p is None:
            return self.weight
        weight = np.ones(self.is_positive.size) if self.weight is None else self.weight.copy()
        weight[self.is_positive] *= self.weight_p / self.weight_p.mean()
        return weight


@dataclass(frozen=True, slots=True, eq=False)
class NetSamples:
    """Rows of P and rows of U as a net takes them, and the weights of both.

    `together` has the groups of the rows of P, then those of the rows of U.
    """

    X_p: Any
    X_u: Any
    weights: tuple[Floats, Floats] | None = None
    together: Together | None = None

    def at(self, rows: RowNumbers) -> "NetSamples":
        """Some of the rows; those of P are numbered before those of U."""
        n_p = n_rows(self.X_p)
        p, u = rows[rows < n_p], rows[rows >= n_p] - n_p
        weights = None if self.weights is None else (self.weights[0][p], self.weights[1][u])
        return NetSamples(pick(self.X_p, p), pick(self.X_u, u), weights, pick(self.together, rows))


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """All rows that a face was given; models see those that are `known` not to be negative."""

    given: TrainingTable
    known: RowNumbers

    @property
    def has_negatives(self) -> bool:
        """Whether some rows are known to be negative."""
        return self.known.size < self.given.is_positive.size

    @property
    def table(self) -> TrainingTable:
        """The rows that models see, as one table."""
        return self.given.at(self.known) if self.has_negatives else self.given

    @property
    def samples(self) -> NetSamples:
        """The rows that models see, as a net takes them."""
        X, weight, side = self.given.X, self.given.weight, self.given.is_positive[self.known]
        p, u = self.known[side], self.known[~side]
        weights = None if weight is None else (weight[p], weight[u])
        together = pick(self.given.together, np.concatenate([p, u]))
        return NetSamples(pick(X, p), pick(X, u), weights, together)


def check_rows(X: Any, n: int) -> None:
    """TB005 unless X has as many rows as y has labels."""
    if (rows := n_rows(X)) != n:
        message = f"X and y have inconsistent numbers of samples: {rows:,} and {n:,}."
        raise InputError("TB005", message)


def check_numbers(table: TrainingTable, owner: object) -> None:
    """TB013 for a frame that is not encoded: rows are compared as numbers."""
    if hasattr(table.X, "columns"):
        raise InputError(
            "TB013",
            f"{type(owner).__name__} compares rows as numbers, and with your own estimator "
            "a frame is not encoded. Pass an array of numbers, or leave the estimator out.",
        )


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

    >>> from topbin.core import read_labels
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


def is_table(X: Any) -> bool:
    """Whether rows are a table (frame, sparse matrix, list, two-dimensional array), not tensors."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.Tensor):
        return False
    if isinstance(X, list) or is_sparse(X) or hasattr(X, "columns"):
        return True
    return hasattr(X, "__array__") and np.asarray(X).ndim <= 2


def has_kinds(X: Any) -> bool:
    """Whether columns can differ in kind: a data frame, or an array of strings."""
    if hasattr(X, "columns"):
        return True
    kind = X.dtype.kind if isinstance(X, np.ndarray) else ""
    return kind in ("U", "S") or (kind == "O" and any(isinstance(v, str) for v in X.flat))


def as_matrix(face: Any, X: Any, *, reset: bool, to_numbers: bool) -> Any:
    """The table as the face's model takes it: as a matrix of numbers, or as it came.

    With `reset` the columns are learned (into `features_` if they can differ in kind), else they
    are compared with those learned.
    """
    if hasattr(X, "column_names"):
        X = as_pandas(X)  # scikit-learn cannot pick rows of arrow tables in all its versions
    X = unmasked(X)
    kinds = has_kinds(X)
    if reset:
        face.features_ = None
    if not (to_numbers and (kinds if reset else face.features_ is not None)):
        return check_like_fit(face, X, reset=reset, numbers=to_numbers or not kinds)
    X = check_like_fit(face, X, reset=reset, numbers=False)
    if not hasattr(X, "columns") and hasattr(face, "feature_names_in_"):
        X = pd.DataFrame(X, columns=face.feature_names_in_)
    if reset:
        face.features_ = fit_features(X).by_name()
        if dropped := face.features_.dropped:
            reasons = " ".join(column.reason for column in dropped)
            warnings.warn(
                f"{type(face).__name__} does not read {len(dropped):,} of "
                f"{face.n_features_in_:,} columns. {reasons}",
                stacklevel=_callers_level(),
            )
    return face.features_.encode(X)


def _callers_level() -> int:
    """The `stacklevel` of the line that called topbin, whichever method it called."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("topbin."):
        frame, level = frame.f_back, level + 1
    return level


def check_like_fit(face: Any, X: Any, *, reset: bool, numbers: bool = True) -> Any:
    """X as it came, or with `numbers` an array or sparse matrix; its columns noted or compared."""
    rules: dict[str, Any] = {"skip_check_array": True}
    if numbers:
        rules = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": "allow-nan"}
        rules["ensure_min_samples"] = 2 if reset else 1
    try:
        checked: Any = validate_data(face, X, reset=reset, **rules)
    except ValueError as error:
        raise InputError(_code_of(str(error)), str(error)) from error
    if is_sparse(checked) and not np.isfinite(checked.data).all():
        raise InputError("TB004", "X is sparse and has NaN or infinity; replace these values.")
    return checked


def _code_of(message: str) -> str:
    """Which of our codes fits the message of one of scikit-learn's own checks."""
    codes = {
        r"features, but|feature names": "TB109",
        r"infinity|NaN": "TB004",
        r"minimum of": "TB001",
        r"convert|numeric": "TB006",
    }
    return next((code for words, code in codes.items() if re.search(words, message)), "TB005")


def stack(X_p: Any, X_u: Any, first: str = "X_p") -> Any:
    """One table from two samples, P's rows first; data frames become one pandas frame.

    `first` is what the caller calls the first one.
    """
    frames = [hasattr(X, "columns") for X in (X_p, X_u)]
    if all(frames):
        return _stack_frames(as_pandas(X_p), as_pandas(X_u), first)
    if any(frames) or is_sparse(X_p) != is_sparse(X_u):
        kinds = f"{first} is a {type(X_p).__name__} and X_u a {type(X_u).__name__}"
        raise InputError("TB106", f"{kinds}; pass two tables of one kind.")
    if not is_sparse(X_p):
        X_p, X_u = np.asarray(unmasked(X_p)), np.asarray(unmasked(X_u))
    if X_p.shape[1:] != X_u.shape[1:] or X_p.ndim < 2:
        raise InputError(
            "TB106",
            f"{first} has shape {X_p.shape} and X_u {X_u.shape}; both need one row per sample and "
            "the same columns.",
        )
    if is_sparse(X_p):
        return vstack([X_p.tocsr(), X_u.tocsr()])
    return np.concatenate([X_p, X_u])


def _stack_frames(X_p: Any, X_u: Any, first: str) -> Any:
    names_p, names_u = list(X_p.columns), list(X_u.columns)
    if names_p != names_u:
        only = [f"{n!r} only in {first}" for n in names_p if n not in names_u]
        only += [f"{n!r} only in X_u" for n in names_u if n not in names_p]
        seen = ", ".join(only[:5]) or "their order differs"
        raise InputError("TB106", f"{first} and X_u have different columns: {seen}.")
    return pd.concat([X_p, X_u], ignore_index=True)
