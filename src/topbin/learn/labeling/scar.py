"""Are the labeled positives a random sample of all? Clusters of them, and a test of their labels.

Among rows that are surely positive, labels at random are exchangeable. So the labels of these rows
are redrawn many times, and the labeled rows are compared with the others by the mean ranks of their
components, in the data and in every redraw. The test sees only rows that look like some labeled
ones: a kind of positive that is never labeled is invisible to it, as to everything else.

Some likely rows are negative, and they lie toward the other negatives. So unlabeled rows lie more
that way, whatever the labels are, and what components have of that direction is left out.

Rows in groups are not tested. With one row per group, random labels raised an alarm in about 40 %
of fits to rows like those of docs/how-to/groups.md.

Clusters are a Gaussian mixture whose size is chosen by BIC. Rows are compared by the columns that
tell positives from unlabeled rows, as in PULSNAR (Kumar & Lambert, PeerJ Computer Science 2024):
columns are scaled, weighted by their importance in a forest, and reduced to the principal
components of the positives.
"""

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from topbin.core.checks import Floats, RowNumbers
from topbin.core.estimate import Alarm
from topbin.core.labels import Mask
from topbin.mpe.samples import is_sparse

REDRAWS, TRIALS = 999, 200
LEVEL, TILT = 0.05, 2.0
WEAK = 0.2  # a power below which a test without a finding says nothing
# The models that call a row likely were trained on the labels of others like it, so labels vary
# more among them than chance alone lets them: by this factor, on the sd. It was chosen on 182 fits
# with random labels, and other fits check it (bench/results/alarms.md).
VARY = 1.1
STRATA = 4
FEW_VALUES = 30
FLAT = 1e-6  # a component with less spread, as a part of the rows, has nothing left to compare
FEWEST = 20  # likely positives, labeled or not; with fewer the test says nothing


@dataclass(frozen=True, slots=True)
class ScarTest:
    """How surprising these labels would be if labels were random, and what the test can find.

    Attributes
    ----------
    p_value, level
        The share of redrawn labels that differ as much, and the value below which it is an alarm.
    power, tilt
        How often the test would find labels for which positives of one half have `tilt` times the
        odds.
    n_p, n_u
        The likely positives that were compared, labeled and not.
    in_groups
        Whether rows are in groups, which are not tested.

    >>> test = ScarTest(p_value=0.4, power=0.6, tilt=3.0, n_p=100, n_u=80)
    >>> test.is_alarm, test.alarms()
    (False, ())
    >>> ScarTest(p_value=0.4, power=0.02, tilt=3.0, n_p=30, n_u=20).says_nothing
    True
    """

    p_value: float | None
    power: float | None
    tilt: float
    n_p: int
    n_u: int
    level: float = LEVEL
    in_groups: bool = False

    @property
    def is_alarm(self) -> bool:
        """Whether random labels would rarely look like these."""
        return self.p_value is not None and self.p_value < self.level

    @property
    def says_nothing(self) -> bool:
        """Whether there was no test, or one that could hardly find anything and did not."""
        if self.p_value is None or self.power is None:
            return True
        return self.power < WEAK and not self.is_alarm

    @property
    def sentence(self) -> str:
        """The result in words, which never say that labels are random."""
        if self.in_groups:
            return "not tested: rows are in groups, and the test needs labels drawn row by row"
        seen = f"{self.n_p:,} labeled and {self.n_u:,} unlabeled rows that are likely positive"
        if self.p_value is None or self.power is None:
            return f"no test: {seen} are too few to compare"
        p = f"p = {self.p_value:.3f}, {seen}"
        if self.is_alarm:
            return f"the labels do not look random ({p})"
        # An audit can find bias among positives that do not look like it; both are true then.
        outcome = f"no sign of biased labels among rows that look positive ({p}), which is no proof"
        if self.says_nothing:
            outcome = f"the test could not show anything ({p})"
        return (
            f"{outcome}: if some positives had "
            f"{self.tilt:g} times the odds of others to be labeled, at best "
            f"{100 * self.power:.0f} % of such tests would show it"
        )

    def alarms(self) -> tuple[Alarm, ...]:
        """An alarm for an estimate that takes labels as random, if this speaks against it."""
        if not self.is_alarm:
            return ()
        return (Alarm("biased-labels", f"{self.sentence}; look at the subtypes.", "down"),)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {**asdict(self), "sentence": self.sentence}


def scar_test(
    rows: Floats,
    is_labeled: Mask,
    *,
    likely: Floats | None = None,
    toward: Floats | None = None,
    vary: float = VARY,
    seed: int = 0,
) -> ScarTest:
    """Compare the labeled among likely positives with the others, by redrawing the labels.

    `rows` are the likely positives, in any space of few columns. `likely` says how likely each is,
    if they differ: less likely ones are less often labeled, so only rows that are about equally
    likely are compared with each other. What they share with the columns of `toward`, along which
    negatives differ from positives, is not compared.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(200, 2))
    >>> scar_test(rows, rows[:, 0] > 0).p_value                   # only one half is labeled
    0.001
    """
    n_p, n_u = int(is_labeled.sum()), int((~is_labeled).sum())
    if min(n_p, n_u) < FEWEST:
        return ScarTest(p_value=None, power=None, tilt=TILT, n_p=n_p, n_u=n_u)
    rng, ranks = np.random.default_rng(seed), rankdata(rows, axis=0)
    strata = np.zeros(n_p + n_u, np.intp) if likely is None else _alike(likely)
    ranks = _centered(ranks, strata)
    if toward is not None:
        common = _centered(toward, strata)
        ranks -= common @ np.linalg.lstsq(common, ranks, rcond=None)[0]
    spread = np.sqrt((ranks**2).mean(axis=0))
    ranks = (ranks / np.where(spread > 0, spread, 1.0))[:, spread > FLAT * len(ranks)]
    counts = np.bincount(strata[is_labeled], minlength=strata.max() + 1)

    def distance_of(keys: Floats) -> float:
        return _distance(ranks, _lowest(keys, strata, counts))

    redrawn = [distance_of(rng.random(n_p + n_u)) for _ in range(REDRAWS)]
    seen = _distance(ranks, np.flatnonzero(is_labeled)) / vary**2
    p_value = (1 + np.count_nonzero(np.array(redrawn) >= seen)) / (1 + REDRAWS)
    critical = vary**2 * np.quantile(redrawn, 1 - LEVEL)
    is_seen = [distance_of(_tilted(ranks, rng)) > critical for _ in range(TRIALS)]
    power = float(np.mean(is_seen))
    return ScarTest(p_value=float(p_value), power=power, tilt=TILT, n_p=n_p, n_u=n_u)


def _centered(values: Floats, strata: RowNumbers) -> Floats:
    """Columns less their means in each stratum."""
    means = np.array([values[strata == k].mean(axis=0) for k in range(strata.max() + 1)])
    return np.asarray(values - means[strata])


def _alike(likely: Floats) -> RowNumbers:
    """Strata of about equally likely rows, none of them small."""
    parts = max(1, min(STRATA, likely.size // (2 * FEWEST)))
    strata = (rankdata(likely, "min") - 1) * parts // likely.size
    return np.asarray(np.unique(strata, return_inverse=True)[1], np.intp)  # ties can empty some


def _lowest(keys: Floats, strata: RowNumbers, counts: RowNumbers) -> RowNumbers:
    """The rows with the lowest keys, so many in each stratum."""
    order = np.lexsort((keys, strata))
    starts = np.searchsorted(strata[order], np.arange(counts.size))
    place = np.arange(order.size) - starts[strata[order]]
    return order[place < counts[strata[order]]]


def _distance(ranks: Floats, labeled: RowNumbers) -> float:
    """The sum of squared standardized differences of mean ranks, over the components.

    Ranks are centered, so the sum over the labeled rows is minus that over the others.
    """
    n_p, n = labeled.size, ranks.shape[0]
    total = ranks[labeled].sum(axis=0)
    return float((total**2).sum() * n / (n_p * (n - n_p)))


def _tilted(ranks: Floats, rng: np.random.Generator) -> Floats:
    """Keys for which one half of the rows, in a random direction, has `TILT` times the odds."""
    along = ranks @ rng.normal(size=ranks.shape[1])
    odds = np.where(along > np.median(along), TILT, 1.0)
    return np.asarray(rng.exponential(size=along.size) / odds)


COMPONENTS = 10
FAR = 3.0  # standard deviations; what is further off counts as much, so that no row is a cluster
TREES, DEPTH, LEAF = 50, 8, 5
FOREST_ROWS, MIXTURE_ROWS = 20_000, 5_000  # more rows show the same columns and clusters
GROUPS = 2  # of a cluster at least, where rows are in groups, so that one can be held out
RIDGE = 1e-3  # added to variances, so that equal rows do not make an infinitely narrow cluster


def toward_positives(
    space: Floats, members: RowNumbers, likely: Mask, unlikely: Mask, *, of_all: bool = False
) -> Floats:
    """How far likely rows lie from the unlikely ones of their cluster, in one column per cluster.

    The direction is that of a linear discriminant, and the distance a rank. Rows of other clusters
    have 0. `of_all` adds a column for all rows as one cluster, or zeros where clusters lie on
    different sides of the unlikely rows.

    >>> space, likely = np.array([[0.0], [0.1], [1.0], [2.0]]), np.array([False, False, True, True])
    >>> toward_positives(space, np.zeros(4, np.intp), likely, ~likely)
    array([[-0.5],
           [ 0.5]])
    """
    columns, parts = [], [members == k for k in np.unique(members[likely])]
    for own in [*parts, np.ones(likely.size, bool)] if of_all else parts:
        near, far = space[own & likely], space[own & unlikely]
        column = np.zeros(int(likely.sum()))
        if min(len(near), len(far)) > 1:
            off = np.vstack([near - near.mean(axis=0), far - far.mean(axis=0)])
            spread = off.T @ off / len(off)
            spread += np.eye(len(spread)) * (RIDGE * np.trace(spread) / len(spread) or 1.0)
            direction = np.linalg.solve(spread, near.mean(axis=0) - far.mean(axis=0))
            along, ranks = (near - far.mean(axis=0)) @ direction, rankdata(near @ direction)
            clusters = members[own & likely]
            if all(along[clusters == k].mean() > 0 for k in np.unique(clusters)):
                column[own[likely]] = ranks - ranks.mean()
        columns.append(column)
    return np.column_stack(columns) if columns else np.zeros((0, 0))  # no row is likely


def has_few_values(X: Any) -> bool:
    """Whether some column has so few values that each of them can be a cluster.

    >>> has_few_values(np.arange(200.0).reshape(-1, 2)), has_few_values(np.eye(3))
    (False, True)
    """
    return is_sparse(X) or any(np.unique(column).size <= FEW_VALUES for column in X.T)


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
    positives: Floats,
    *,
    most: int,
    least: int,
    seed: int = 0,
    groups: RowNumbers | None = None,
    floor: float = 0.0,
) -> Clusters:
    """Cluster rows; clusters with fewer than `least` rows are merged into the nearest one.

    So are those that lie in one of the groups. `floor` is the least variance of a cluster, as a
    part of that of all rows: without one, each value of a column with few values can be a cluster.

    >>> rows = np.random.default_rng(0).normal(np.repeat([0.0, 9.0], [30, 60])[:, None])
    >>> find_clusters(rows, most=3, least=10).sizes.tolist()
    [30, 60]
    """
    n = positives.shape[0]
    drawn = np.random.default_rng(seed).permutation(n)[:MIXTURE_ROWS]
    sample = positives[np.sort(drawn)]
    floor = max(RIDGE, floor * float(sample.var(axis=0).mean()))
    mixtures = [
        _mixture(sample, k, seed, floor) for k in range(1, 1 + max(1, min(most, n // least)))
    ]
    best = min(mixtures, key=lambda mixture: float(mixture.bic(sample)))
    return merge_small(positives, best.predict(positives), least, groups)


def merge_small(
    positives: Floats, members: RowNumbers, least: int, groups: RowNumbers | None = None
) -> Clusters:
    """Merge the smallest cluster into the one with the nearest mean until none is too small.

    >>> merge_small(np.array([[0.0], [1.0], [5.0], [6.0], [7.0]]), np.array([0, 1, 2, 2, 2]), 2)
    Clusters(members=array([0, 0, 1, 1, 1]), merged=1)
    """
    before, members = np.unique(members, return_inverse=True)  # numbered without gaps
    while (sizes := _sizes(members, groups)).size > 1 and sizes.min() < least:
        means = np.array([positives[members == k].mean(axis=0) for k in range(sizes.size)])
        small = int(np.argmin(sizes))
        distance = ((means - means[small]) ** 2).sum(axis=1)
        distance[small] = np.inf
        members = np.where(members == small, np.argmin(distance), members)
        members -= members > small
    members, _ = pd.factorize(members)  # numbered in the order in which they appear
    return Clusters(members, before.size - int(members.max()) - 1)


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
    largest = np.fmax.reduce(np.abs(X), axis=0, initial=0.0)
    X = np.ldexp(X, -np.frexp(largest)[1])  # to the bit, and no square is too large for a float
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column may be empty
        center, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return np.asarray(np.nan_to_num(np.clip((X - center) / spread, -FAR, FAR)), np.float64)


def _mixture(rows: Floats, size: int, seed: int, floor: float) -> Any:
    mixture = GaussianMixture(size, reg_covar=floor, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # BIC judges it as it is
        return mixture.fit(rows)
