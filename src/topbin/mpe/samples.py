"""Feature tables made ready for km1, km2 and tice: checked, ordered, thinned, scaled, compressed.

Rows are put in an order that depends only on their values, before anything is drawn or summed,
so that no estimate can depend on the order in which the rows arrived. Fifty principal components
for wide tables follow Garg et al. 2021, section 5.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import StandardScaler

from topbin.core.checks import as_real_array, check_count
from topbin.core.errors import InputError
from topbin.core.hashing import row_keys

Matrix = NDArray[np.float64]
DENSE_CELLS = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSamples:
    """Positive and unlabeled rows with the same columns, and what was done to them so far.

    >>> pair = read_samples([[1, 0], [2, 0]], [[3, 0]])
    >>> pair.p.shape, pair.u.shape
    ((2, 2), (1, 2))
    """

    p: Any  # a Matrix, or a CSR array while the table is sparse and wide
    u: Any
    notes: tuple[str, ...] = ()

    @property
    def both(self) -> Any:
        """One table: the positives above the unlabeled."""
        rows = [self.p, self.u]
        return sp.vstack(rows, format="csr") if is_sparse(self.p) else np.concatenate(rows)

    def with_rows(self, both: Any, *notes: str) -> "FeatureSamples":
        """The same two samples with other columns."""
        n_p = self.p.shape[0]
        return FeatureSamples(both[:n_p], both[n_p:], (*self.notes, *notes))


def read_samples(X_p: Any, X_u: Any) -> FeatureSamples:
    """Check both tables and put their rows in canonical order; the input is not touched."""
    p, u = _check_table(X_p, "X_p"), _check_table(X_u, "X_u")
    if p.shape[1] != u.shape[1]:
        raise InputError(
            "TB005",
            f"X_p has {p.shape[1]:,} columns and X_u has {u.shape[1]:,}; "
            "both need the same features in the same order.",
        )
    if is_sparse(p) != is_sparse(u):
        p, u = sp.csr_array(p), sp.csr_array(u)
    return _tame(FeatureSamples(p[row_order(p)], u[row_order(u)]))


def subsample(pair: FeatureSamples, max_rows: int, random_state: int) -> FeatureSamples:
    """At most `max_rows` rows of each sample, drawn without replacement.

    >>> subsample(read_samples(np.ones((9, 1)), np.ones((3, 1))), 4, 0).notes
    ('4 of 9 positives and 3 of 3 unlabeled rows, drawn with seed 0',)
    """
    check_count(max_rows, "max_rows")
    check_count(random_state, "random_state", least=0)
    n_p, n_u = pair.p.shape[0], pair.u.shape[0]
    if max(n_p, n_u) <= max_rows:
        return pair
    # One random stream per sample: the rows drawn from one do not depend on the other's size.
    p, u = (_draw(X, max_rows, [random_state, i]) for i, X in enumerate((pair.p, pair.u)))
    note = (
        f"{p.shape[0]:,} of {n_p:,} positives and {u.shape[0]:,} of {n_u:,} unlabeled rows, "
        f"drawn with seed {random_state}"
    )
    return replace(pair, p=p, u=u, notes=(*pair.notes, note))


def standardize(pair: FeatureSamples) -> FeatureSamples:
    """Divide every column by its standard deviation over both samples; drop constant ones.

    Nothing is centered: distances do not need it, and components are centered later.
    """
    both = pair.both
    low, high = _column_extremes(both)
    varies = np.flatnonzero(low < high)
    both = _dense(both[:, varies if varies.size else [0]])
    return pair.with_rows(StandardScaler(with_mean=False, copy=False).fit_transform(both))


def compress(pair: FeatureSamples, n_components: int, random_state: int) -> FeatureSamples:
    """A dense table: the principal components if there are more columns than `n_components`."""
    check_count(n_components, "n_components")
    check_count(random_state, "random_state", least=0)
    columns = pair.p.shape[1]
    if columns <= n_components:
        return pair.with_rows(pair.both.toarray()) if is_sparse(pair.p) else pair
    both = _dense(pair.both)
    rank = min(n_components, both.shape[0] - 1)  # centered rows span one dimension less
    kind, note = PCA, f"{rank} principal components of {columns:,} features"
    if is_sparse(both):  # centering would fill the table
        kind, note = TruncatedSVD, f"{rank} singular directions of {columns:,} features"
    return pair.with_rows(kind(rank, random_state=random_state).fit_transform(both), note)


def unit_range(pair: FeatureSamples) -> FeatureSamples:
    """Map every column's range over both samples to [0, 1]; a constant column becomes 0.

    >>> unit_range(read_samples([[1, 7]], [[3, 7], [5, 7]])).both.tolist()
    [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]]
    """
    both = pair.both
    low, high = _column_extremes(both)
    return pair.with_rows((both - low) / np.where(high > low, high - low, 1.0))


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy sparse array or matrix."""
    return bool(sp.issparse(X))


def row_order(X: Any) -> NDArray[np.intp]:
    """An order of the rows that depends on their values alone, the same for sparse and dense."""
    return np.argsort(row_keys(X), kind="stable")


def _check_table(X: Any, name: str) -> Any:
    if is_sparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        values = as_real_array(X.data, name)
        X = sp.csr_array((values.astype(np.float64), X.indices, X.indptr), X.shape)
    else:
        values = as_real_array(X, name)
        X = values.astype(np.float64)
    if X.ndim != 2 or X.shape[1] == 0:
        raise InputError(
            "TB005",
            f"{name} must have two dimensions, rows and features; got shape {X.shape}. "
            f"One feature is {name}.reshape(-1, 1).",
        )
    if X.shape[0] == 0:
        raise InputError("TB001", f"{name} has no rows; pass at least one.")
    bad = values.size - int(np.count_nonzero(np.isfinite(values)))
    if bad:
        raise InputError(
            "TB004",
            f"{name} has {bad:,} values that are NaN or infinite. "
            "Drop these rows or fill the gaps first; this method cannot skip them.",
        )
    return X


def _tame(pair: FeatureSamples) -> FeatureSamples:
    """Scale every column by a power of two, which is exact, so that no square can overflow."""
    both = pair.both
    exponents = np.frexp(np.maximum(*np.abs(_column_extremes(both))))[1]
    if not is_sparse(both):
        return pair.with_rows(np.ldexp(both, -exponents))
    both.data = np.ldexp(both.data, -exponents[both.indices])
    return pair.with_rows(both)


def _column_extremes(both: Any) -> tuple[Matrix, Matrix]:
    low, high = both.min(axis=0), both.max(axis=0)
    return (low.toarray(), high.toarray()) if is_sparse(both) else (low, high)


def _dense(both: Any) -> Any:
    """Rows with the same memory layout, however they came; a huge sparse table stays sparse."""
    if not is_sparse(both):
        return np.ascontiguousarray(both)
    return both.toarray() if both.shape[0] * both.shape[1] <= DENSE_CELLS else both


def _draw(X: Any, max_rows: int, seed: list[int]) -> Any:
    rows = min(max_rows, X.shape[0])
    return X[np.sort(np.random.default_rng(seed).choice(X.shape[0], rows, replace=False))]
