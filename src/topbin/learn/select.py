"""Choosing rows: which of U an epoch keeps, and which rows are held out."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.model_selection import StratifiedKFold

from topbin.core.checks import check_count, check_fraction, check_scores
from topbin.core.errors import InputError
from topbin.core.hashing import Bits, row_keys
from topbin.core.labels import Mask
from topbin.data.batch import row_hashes
from topbin.data.images.rows import Images

Floats = NDArray[np.float64]
RowNumbers = NDArray[np.intp]
Split = tuple[RowNumbers, RowNumbers]  # to train on, and held out


def keep_lowest(scores_u: Any, alpha: float, *, least: int = 1) -> RowNumbers:
    """Rows of U that remain when the top α by score are discarded, in row order.

    The loss of calling a row negative grows with its score, so ranking by score is the paper's
    ranking by loss. At least `least` rows remain; of equal scores at the cut, the first ones do.

    >>> keep_lowest([0.9, 0.1, 0.8, 0.2], alpha=0.5)
    array([1, 3])
    """
    scores = check_scores(scores_u, "scores_u")
    check_fraction(alpha, "alpha", low_open=False, high_open=False)
    n_kept = max(min(least, scores.size), scores.size - round(alpha * scores.size))
    return np.sort(np.argsort(scores, kind="stable")[:n_kept])


def split_rows(n: int, rng: np.random.Generator, *, share: float = 0.2) -> Split:
    """Rows to train on, at least one, and a random share of n rows held out, at least one."""
    check_fraction(share, "share")
    if check_count(n, "n", least=0) < 2:
        raise InputError("TB001", f"a hold-out needs at least 2 rows to divide; got {n}.")
    n_out = min(n - 1, max(1, round(share * n)))
    order = rng.permutation(n)
    return np.sort(order[n_out:]), np.sort(order[:n_out])


def stratified_folds(
    is_positive: Mask, folds: int, seed: int, *, least: int = 2
) -> Iterator[Split]:
    """Rows to train on and rows held out, per fold; fewer folds where a side has fewer rows.

    TB003 if a side has fewer than `least` rows.
    """
    n_p = int(is_positive.sum())
    fewest = min(n_p, is_positive.size - n_p)
    if fewest < least:
        raise InputError(
            "TB003",
            f"cross-fitting needs {least} positives and {least} unlabeled rows; got n_samples = "
            f"{is_positive.size} with {n_p} positive. Score the rows with a model of your own and "
            "use topbin.estimate_alpha.",
        )
    splitter = StratifiedKFold(min(folds, fewest), shuffle=True, random_state=seed)
    yield from splitter.split(np.zeros(is_positive.size), is_positive)


def content_keys(X: Any) -> Bits:
    """One number per row that depends on its values alone, also where these are not numbers."""
    if isinstance(X, Images):
        return X.row_keys
    is_numeric = issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf")
    return row_keys(X) if is_numeric else row_hashes(X)


def content_order(
    X: Any, is_positive: Mask, weight: Floats | None = None, *, more: Sequence[Any] = ()
) -> RowNumbers:
    """An order of the rows that depends on their content, not on where they are in the table.

    Equal rows come in the order of `more`, the last one first, and then in the order that they
    have, which is harmless because they are exchangeable.

    >>> content_order(np.array([[3.0], [1.0], [2.0]]), np.array([False, False, True]))
    array([0, 2, 1])
    >>> content_order(np.array([[1.0], [2.0], [3.0]]), np.array([False, True, False]))
    array([2, 1, 0])
    """
    keys = content_keys(X)
    weight = np.zeros(keys.size) if weight is None else weight
    return np.lexsort((*more, weight, is_positive, keys))


def n_rows(X: Any) -> int:
    """How many rows: arrays, tensors, sparse matrices, Datasets, or a tuple of these."""
    if isinstance(X, tuple):
        return n_rows(X[0])
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
