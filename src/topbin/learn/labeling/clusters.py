"""Clusters of the known positives: a Gaussian mixture whose size is chosen by BIC.

Rows are compared by the columns that tell positives from unlabeled rows, as in PULSNAR (Kumar &
Lambert, PeerJ Computer Science 2024): columns are scaled, weighted by their importance in a forest,
and reduced to the principal components of the positives.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from topbin.core.checks import Floats, RowNumbers
from topbin.core.labels import Mask
from topbin.mpe.samples import is_sparse

COMPONENTS = 10
FAR = 3.0  # standard deviations; what is further off counts as much, so that no row is a cluster
TREES, DEPTH, LEAF = 50, 8, 5
FOREST_ROWS, MIXTURE_ROWS = 20_000, 5_000  # more rows show the same columns and clusters
GROUPS = 2  # of a cluster at least, where rows are in groups, so that one can be held out
RIDGE = 1e-3  # added to variances, so that equal rows do not make an infinitely narrow cluster


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The cluster of each positive, by number, and how many small ones were merged into others."""

    members: RowNumbers
    merged: int = 0

    @property
    def sizes(self) -> RowNumbers:
        """How many positives each cluster has."""
        return np.bincount(self.members)


def project(X: Any, is_positive: Mask, seed: int = 0) -> Floats:
    """All rows in the space in which the positives are clustered."""
    if is_sparse(X):
        components = min(COMPONENTS, X.shape[1] - 1, int(is_positive.sum()) - 1)
        if components < 1:
            return np.asarray(X.toarray(), np.float64)
        reduced = TruncatedSVD(components, random_state=seed).fit(X[is_positive])
        return np.asarray(reduced.transform(X), np.float64)
    scaled = _scaled(np.asarray(X, np.float64))
    scaled = scaled * column_weights(scaled, is_positive, seed)
    components = min(COMPONENTS, scaled.shape[1], max(1, int(is_positive.sum()) // LEAF))
    reduced = PCA(components, random_state=seed, svd_solver="full").fit(scaled[is_positive])
    return np.asarray(reduced.transform(scaled), np.float64)


def column_weights(X: Floats, is_positive: Mask, seed: int = 0) -> Floats:
    """How much each column says about being positive, relative to the one that says most.

    >>> rng = np.random.default_rng(0)
    >>> is_positive = np.arange(200) < 100
    >>> column_weights(np.column_stack([is_positive + rng.random(200), rng.random(200)]),
    ...     is_positive).round(1)
    array([1., 0.])
    """
    rows = np.random.default_rng(seed).permutation(is_positive.size)[:FOREST_ROWS]
    if np.unique(is_positive[rows]).size < 2:
        return np.ones(X.shape[1])
    forest = ExtraTreesClassifier(
        TREES, max_depth=DEPTH, min_samples_leaf=LEAF, class_weight="balanced", random_state=seed
    )
    importance = forest.fit(X[rows], is_positive[rows]).feature_importances_
    most = importance.max()
    return np.asarray(importance / most if most > 0 else np.ones_like(importance), np.float64)


def find_clusters(
    positives: Floats, *, most: int, least: int, seed: int = 0, groups: RowNumbers | None = None
) -> Clusters:
    """Cluster rows; clusters with fewer than `least` rows are merged into the nearest one.

    So are those that lie in one of the groups.

    >>> rows = np.random.default_rng(0).normal(np.repeat([0.0, 9.0], [30, 60])[:, None])
    >>> find_clusters(rows, most=3, least=10).sizes.tolist()
    [30, 60]
    """
    n = positives.shape[0]
    drawn = np.random.default_rng(seed).permutation(n)[:MIXTURE_ROWS]
    sample = positives[np.sort(drawn)]
    mixtures = [_mixture(sample, k, seed) for k in range(1, 1 + max(1, min(most, n // least)))]
    best = min(mixtures, key=lambda mixture: float(mixture.bic(sample)))
    return merge_small(positives, best.predict(positives), least, groups)


def merge_small(
    positives: Floats, members: RowNumbers, least: int, groups: RowNumbers | None = None
) -> Clusters:
    """Merge the smallest cluster into the one with the nearest mean until none is too small.

    >>> merge_small(np.array([[0.0], [1.0], [5.0], [6.0], [7.0]]), np.array([0, 1, 2, 2, 2]), 2)
    Clusters(members=array([0, 0, 1, 1, 1]), merged=1)
    """
    members = np.unique(members, return_inverse=True)[1].astype(np.intp)
    before = int(members.max()) + 1
    while (sizes := _sizes(members, groups)).size > 1 and sizes.min() < least:
        means = np.array([positives[members == k].mean(axis=0) for k in range(sizes.size)])
        small = int(np.argmin(sizes))
        distance = ((means - means[small]) ** 2).sum(axis=1)
        distance[small] = np.inf
        members = np.where(members == small, np.argmin(distance), members)
        members = np.unique(members, return_inverse=True)[1].astype(np.intp)
    members, _ = pd.factorize(members)  # numbered in the order in which they appear
    return Clusters(members, before - int(members.max()) - 1)


def _sizes(members: RowNumbers, groups: RowNumbers | None) -> RowNumbers:
    """How many rows each cluster has; none if they are in too few groups.

    >>> _sizes(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 6]))
    array([0, 2])
    """
    sizes = np.bincount(members)
    if groups is None:
        return sizes
    held = np.unique(np.column_stack([members, groups]), axis=0)[:, 0]
    return np.where(np.bincount(held) < GROUPS, 0, sizes)


def _scaled(X: Floats) -> Floats:
    """Columns with mean 0 and standard deviation 1, missing values at the mean, none far off."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column may be empty
        center, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return np.asarray(np.nan_to_num(np.clip((X - center) / spread, -FAR, FAR)), np.float64)


def _mixture(rows: Floats, size: int, seed: int) -> Any:
    mixture = GaussianMixture(size, reg_covar=RIDGE, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # BIC judges it as it is
        return mixture.fit(rows)
