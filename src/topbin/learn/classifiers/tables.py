"""Tables as models take them: frames encoded by `Features`, one table from two samples."""

import re
import sys
import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.utils.validation import validate_data

from topbin.core.checks import unmasked
from topbin.core.errors import InputError
from topbin.data.batch import as_pandas
from topbin.data.features import fit_features


def is_table(X: Any) -> bool:
    """Whether rows are a table (frame, sparse matrix, list, two-dimensional array), not tensors."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.Tensor):
        return False
    if isinstance(X, list) or issparse(X) or hasattr(X, "columns"):
        return True
    return hasattr(X, "__array__") and np.asarray(X).ndim <= 2


def has_kinds(X: Any) -> bool:
    """Whether columns can differ in kind: a data frame, or an array of strings."""
    if hasattr(X, "columns"):
        return True
    kind = X.dtype.kind if isinstance(X, np.ndarray) else ""
    return kind in ("U", "S") or (kind == "O" and any(isinstance(v, str) for v in X.flat))


def read_table(face: Any, X: Any, *, reset: bool, to_numbers: bool) -> Any:
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
        return check_columns(face, X, reset=reset, numbers=to_numbers or not kinds)
    X = check_columns(face, X, reset=reset, numbers=False)
    if not hasattr(X, "columns") and hasattr(face, "feature_names_in_"):
        from pandas import DataFrame

        X = DataFrame(X, columns=face.feature_names_in_)
    if reset:
        face.features_ = fit_features(X).by_name()
        if dropped := face.features_.dropped:
            reasons = " ".join(column.reason for column in dropped)
            warnings.warn(
                f"{type(face).__name__} does not read {len(dropped):,} of "
                f"{face.n_features_in_:,} columns. {reasons}",
                stacklevel=5,  # the line that called fit
            )
    return face.features_.encode(X)


def check_columns(face: Any, X: Any, *, reset: bool, numbers: bool = True) -> Any:
    """X as it came, or with `numbers` an array or sparse matrix; its columns noted or compared."""
    rules: dict[str, Any] = {"skip_check_array": True}
    if numbers:
        rules = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": "allow-nan"}
        rules["ensure_min_samples"] = 2 if reset else 1
    try:
        checked: Any = validate_data(face, X, reset=reset, **rules)
    except ValueError as error:
        raise InputError(_code_of(str(error)), str(error)) from error
    sparse = issparse(checked)
    if sparse and not np.isfinite(checked.data).all():
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


def stack(X_p: Any, X_u: Any) -> Any:
    """One table from two samples, P's rows first; data frames become one pandas frame."""
    frames = [hasattr(X, "columns") for X in (X_p, X_u)]
    if all(frames):
        return _stack_frames(as_pandas(X_p), as_pandas(X_u))
    sparse = issparse(X_p)
    if any(frames) or sparse != issparse(X_u):
        kinds = f"X_p is a {type(X_p).__name__} and X_u a {type(X_u).__name__}"
        raise InputError("TB106", f"{kinds}; pass two tables of one kind.")
    if not sparse:
        X_p, X_u = np.asarray(unmasked(X_p)), np.asarray(unmasked(X_u))
    if X_p.shape[1:] != X_u.shape[1:] or X_p.ndim < 2:
        raise InputError(
            "TB106",
            f"X_p has shape {X_p.shape} and X_u {X_u.shape}; both need one row per sample and "
            "the same columns.",
        )
    if sparse:
        return vstack([X_p.tocsr(), X_u.tocsr()])
    return np.concatenate([X_p, X_u])


def _stack_frames(X_p: Any, X_u: Any) -> Any:
    from pandas import concat

    names_p, names_u = list(X_p.columns), list(X_u.columns)
    if names_p != names_u:
        only = [f"{n!r} only in X_p" for n in names_p if n not in names_u]
        only += [f"{n!r} only in X_u" for n in names_u if n not in names_p]
        seen = ", ".join(only[:5]) or "their order differs"
        raise InputError("TB106", f"X_p and X_u have different columns: {seen}.")
    return concat([X_p, X_u], ignore_index=True)
