"""Rows as each kind of model reads them: images and texts as tables, texts as a net's inputs."""

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
    """Two tables as one, the first's rows in front.

    >>> stack(np.zeros((2, 3)), np.ones((1, 3))).shape
    (3, 3)
    """
    both: Any = [first, second]
    return vstack(both, format="csr") if issparse(first) else np.concatenate(both)


def flat(X: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A table of these rows with few columns, and the map that makes one of others."""
    if issparse(X):
        directions = Directions(X, FLAT_COLUMNS)
        return directions(X), directions
    if X.ndim == 2:
        return X, as_it_is
    from sklearn.decomposition import PCA

    pca = PCA(FLAT_COLUMNS, random_state=0).fit(X.reshape(len(X), -1) / 255.0)

    def reduce(rows: Any) -> Any:
        return pca.transform(rows.reshape(len(rows), -1) / 255.0)

    return reduce(X), reduce


class Directions:
    """Sparse rows as their leading singular directions, each scaled to unit spread.

    A table is reduced once: nets score the same rows after every epoch.
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


def for_net(split: Split) -> Callable[[Any], Any]:
    """What a net reads of any row, learned from the training rows: sparse ones are made dense."""
    return Directions(stack(split.X_p, split.X_u)) if issparse(split.X_p) else as_it_is


def for_default(X: Any) -> Callable[[Any], Any]:
    """What our default reads of any row: images as a table, sparse rows as they are."""
    return as_it_is if issparse(X) else flat(X)[1]


def as_it_is(X: Any) -> Any:
    """The rows themselves."""
    return X
