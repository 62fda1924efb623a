"""Rows as each kind of model reads them: images and texts as tables, texts as inputs of a net."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from topbin_bench.tasks.split import Split

FLAT_COLUMNS = 50
DIRECTIONS = 300


def pooled(split: Split) -> tuple[Any, Any]:
    """All positives and all unlabeled rows, training and hold-out together."""
    return stack(split.X_p, split.held_p), stack(split.X_u, split.held_u)


def stack(first: Any, second: Any) -> Any:
    """Two tables as one, the rows of the first in front.

    >>> stack(np.zeros((2, 3)), np.ones((1, 3))).shape
    (3, 3)
    """
    both: Any = [first, second]
    return vstack(both, format="csr") if issparse(first) else np.concatenate(both)


def flat(X: Any) -> tuple[Any, Callable[[Any], Any]]:
    """These rows as a table with few columns, and the function that does the same to other rows."""
    if issparse(X):
        directions = Directions(X, FLAT_COLUMNS)
        return directions(X), directions
    if X.ndim == 2:
        return X, unchanged
    from sklearn.decomposition import PCA

    pca = PCA(FLAT_COLUMNS, random_state=0).fit(X.reshape(len(X), -1) / 255.0)

    def reduce(rows: Any) -> Any:
        return pca.transform(rows.reshape(len(rows), -1) / 255.0)

    return reduce(X), reduce


class Directions:
    """Sparse rows as their leading singular directions, each scaled to unit variance.

    Each table is reduced once, because nets score the same rows after every epoch.
    """

    def __init__(self, X: Any, columns: int = DIRECTIONS) -> None:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        kept = min(columns, X.shape[1] - 1)
        self.model = make_pipeline(TruncatedSVD(kept, random_state=0), StandardScaler()).fit(X)
        self.seen: list[tuple[Any, Any]] = []

    def __call__(self, X: Any) -> Any:
        """These rows, dense and in single precision."""
        for known, dense in self.seen:
            if known is X:
                return dense
        dense = self.model.transform(X).astype(np.float32)
        self.seen.append((X, dense))
        return dense


def for_net(split: Split, net: str) -> Callable[[Any], Any]:
    """How a net reads rows: sparse rows become dense, in a way learned from the training rows.

    Convolutions need to know that a digit has one channel.
    """
    if issparse(split.X_p):
        return Directions(stack(split.X_p, split.X_u))
    return one_channel if net.startswith("fast") and split.X_p.ndim == 3 else unchanged


def one_channel(X: Any) -> Any:
    """Gray images (n, height, width) as (n, 1, height, width)."""
    return X[:, None]


def for_default(X: Any) -> Callable[[Any], Any]:
    """How our default reads rows: images as a table, sparse rows unchanged."""
    return unchanged if issparse(X) else flat(X)[1]


def unchanged(X: Any) -> Any:
    """The rows themselves."""
    return X
