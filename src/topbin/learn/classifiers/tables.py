"""Tables as models take them: columns of any kind to numbers, one table from two samples."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from topbin.core.errors import InputError
from topbin.data.columns import Column, raw_columns, read_column
from topbin.learn.classifiers.face import code_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Code:
    """How one column becomes numbers: a text by its place in `texts`, all else as it is.

    >>> town = Code("town", ("Bern", "Lyon"))
    >>> town.apply(read_column("town", np.array(["Lyon", None, "Rome", "Bern"])))
    array([ 1., nan, nan,  0.])
    """

    name: str
    texts: tuple[str, ...] | None

    @classmethod
    def of(cls, column: Column) -> "Code":
        """Learn a column; texts are ordered, so that neighbours in the order split together."""
        if column.kind != "text":
            return cls(column.name, None)
        return cls(column.name, tuple(sorted({str(text) for text in column.texts})))

    def apply(self, column: Column) -> Floats:
        """The column's numbers; a text not seen before is missing."""
        if column.kind == "empty":
            return column.values
        if (column.kind == "text") != (self.texts is not None):
            raise InputError(
                "TB109",
                f"column {self.name!r} held {'numbers' if self.texts is None else 'text'} when "
                f"the model was fitted and now holds {column.kind}. Give it values of one kind.",
            )
        if self.texts is None:
            return column.values
        place = {text: float(i) for i, text in enumerate(self.texts)}
        found = np.array([place.get(str(text), np.nan) for text in column.texts])
        rows = np.where(column.missing, 0, column.values).astype(np.intp)
        return np.where(column.missing, np.nan, found[rows])


def learn_codes(X: Any) -> tuple[Code, ...]:
    """How each column of a pandas, polars or arrow table, or an array of objects, is coded."""
    return tuple(Code.of(read_column(name, array)) for name, array in raw_columns(X))


def encode(X: Any, codes: tuple[Code, ...]) -> Floats:
    """The table as one matrix of numbers, NaN where a value is missing or unknown."""
    columns = [read_column(name, array) for name, array in raw_columns(X)]
    matrix = np.column_stack([c.apply(column) for c, column in zip(codes, columns, strict=True)])
    with coded():
        return np.asarray(check_array(matrix, ensure_all_finite="allow-nan"), np.float64)


def is_table(X: Any) -> bool:
    """Whether rows are a table (frame, sparse matrix, list, two-dimensional array), not tensors.

    >>> is_table([[1, 2]]), is_table(np.zeros((4, 3, 8, 8)))
    (True, False)
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.Tensor):
        return False
    if isinstance(X, list) or issparse(X) or hasattr(X, "columns"):
        return True
    return hasattr(X, "__array__") and np.asarray(X).ndim <= 2


def has_kinds(X: Any) -> bool:
    """Whether columns may differ in kind: a data frame, or an array that holds texts."""
    if hasattr(X, "columns"):
        return True
    kind = X.dtype.kind if isinstance(X, np.ndarray) else ""
    return kind in ("U", "S") or (kind == "O" and any(isinstance(v, str) for v in X.flat))


def read_table(face: Any, X: Any, *, reset: bool, to_numbers: bool) -> Any:
    """The table as the face's model takes it: in numbers, or as it came.

    With `reset` the columns are learned (into `codes_`, where they are of several kinds), else
    they are compared with those learned.
    """
    if hasattr(X, "column_names"):
        X = as_pandas(X)  # scikit-learn cannot pick rows of arrow tables in all its versions
    kinds = has_kinds(X)
    if reset:
        face.codes_ = learn_codes(X) if kinds and to_numbers else None
    if face.codes_ is None:
        return _check_columns(face, X, reset=reset, numbers=to_numbers or not kinds)
    return encode(_check_columns(face, X, reset=reset, numbers=False), face.codes_)


def _check_columns(face: Any, X: Any, *, reset: bool, numbers: bool) -> Any:
    """X as it came, or with `numbers` an array or sparse matrix; its columns noted or compared."""
    rules: dict[str, Any] = {"skip_check_array": True}
    if numbers:
        rules = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": "allow-nan"}
        rules["ensure_min_samples"] = 2 if reset else 1
    with coded():
        checked: Any = validate_data(face, X, reset=reset, **rules)
    sparse = issparse(checked)
    if sparse and not np.isfinite(checked.data).all():
        raise InputError("TB004", "X is sparse and holds NaN or infinity; fill them in.")
    return checked


@contextmanager
def coded() -> Iterator[None]:
    """Give what scikit-learn's own checks complain of one of our codes."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        other = "features, but" in message or "feature names" in message
        raise InputError("TB109" if other else code_of(message), message) from error


def stack(X_p: Any, X_u: Any) -> Any:
    """One table from two samples, P's rows first; data frames become one pandas frame.

    >>> stack([[1.0, 2.0]], [[3.0, 4.0]])
    array([[1., 2.],
           [3., 4.]])
    """
    frames = [hasattr(X, "columns") for X in (X_p, X_u)]
    if all(frames):
        return _stack_frames(as_pandas(X_p), as_pandas(X_u))
    sparse = issparse(X_p)
    if any(frames) or sparse != issparse(X_u):
        kinds = f"X_p is a {type(X_p).__name__} and X_u a {type(X_u).__name__}"
        raise InputError("TB106", f"{kinds}; pass two tables of one kind.")
    if not sparse:
        X_p, X_u = np.asarray(X_p), np.asarray(X_u)
    if X_p.shape[1:] != X_u.shape[1:] or X_p.ndim < 2:
        raise InputError(
            "TB106",
            f"X_p has shape {X_p.shape} and X_u {X_u.shape}; both need a row a sample and the "
            "same columns.",
        )
    if sparse:
        return vstack([X_p.tocsr(), X_u.tocsr()])
    return np.concatenate([X_p, X_u])


def as_pandas(X: Any) -> Any:
    """A pandas frame of a polars or arrow table; a pandas frame as it is."""
    if hasattr(X, "iloc"):
        return X
    from pandas import DataFrame

    return DataFrame(dict(raw_columns(X)))


def _stack_frames(X_p: Any, X_u: Any) -> Any:
    from pandas import concat

    names_p, names_u = list(X_p.columns), list(X_u.columns)
    if names_p != names_u:
        only = [f"{n!r} only in X_p" for n in names_p if n not in names_u]
        only += [f"{n!r} only in X_u" for n in names_u if n not in names_p]
        seen = ", ".join(only[:5]) or "their order differs"
        raise InputError("TB106", f"X_p and X_u have other columns: {seen}.")
    return concat([X_p, X_u], ignore_index=True)
