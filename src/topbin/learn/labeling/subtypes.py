"""Subtypes of positives that are labeled with different frequency, in the manner of PULSNAR.

The known positives are clustered, and α_k, the share of the unlabeled rows that are positives like
those of cluster k, is estimated from that cluster against all of U (Kumar & Lambert, PeerJ Computer
Science 2024). Then c_k = n_k/(n_k + α_k·n_u) is how many of such positives are labeled.

PULSNAR adds up the α_k. Each errs upward where classes overlap, and clusters that overlap count the
same rows twice. We use only their ratios: each known positive counts by the inverse of the odds
that its subtype is labeled, so that the known positives are like the unlabeled ones, and one
estimate is read from all of them. What clusters share is then counted once. They count the same as
long as a test finds no sign of bias, so that nothing is lost where labels are random.

`random_labels_test` is that test for any fit: it reads scores that exist already, and trains no
model. Each unlabeled row belongs to the nearest cluster, and within a cluster the scores of all
positives order rows as those of its own would. What is likely positive is then read cluster by
cluster: a kind that is rarely labeled has low scores, and looks unlikely beside the others.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from topbin.core import Alarm, AlphaEstimate, Evidence, InputError
from topbin.core.binomial import ranks_of
from topbin.core.checks import Floats, RowNumbers, check_count
from topbin.core.evidence import VARIANCE_FACTOR
from topbin.core.formatting import counted, percent
from topbin.core.labels import Mask
from topbin.core.options import CONFIDENCE
from topbin.learn.classifiers import TEDnClassifier
from topbin.learn.fitting import FitOptions, run_crossfit
from topbin.learn.folds import order_of
from topbin.learn.labeling.scar import (
    FEWEST,
    TILT,
    Clusters,
    ScarTest,
    find_clusters,
    has_few_values,
    merge_small,
    project,
    scar_test,
    toward_positives,
)
from topbin.learn.learners import PVU
from topbin.learn.probabilities import fit_probabilities
from topbin.learn.rows import TrainingTable, check_numbers
from topbin.mpe.alarms import few_positives
from topbin.mpe.estimate import estimate_alpha
from topbin.mpe.overlap import alpha_posterior

MOST = 8  # subtypes
LEAST = 25  # positives of a subtype
LIKELY = 0.9  # the probability from which on a row is likely positive
# Only ratios between clusters count, and a known bias cancels in them (bench/results/subtypes.md).
CLUSTER_METHOD = "bbe"
HALF_A_ROW = 0.5  # hidden positives at least, so that odds are finite
ASSUMES = "if labels are random within subtypes, and classes overlap as in data sets seen before"
LIMIT = "a subtype that is never labeled stays invisible"
# The least variance of a cluster in the test where columns have few values. Clusters that are these
# values hold more or fewer negatives each, which looks like bias: 44 of 72 fits raised an alarm.
BROAD = 0.1
# Who asks for subtypes expects bias, and a test that leaves out the direction of the negatives
# misses a quarter of it: intervals then covered .73 instead of .97 (bench/results/subtypes.md).
# With 1.15, 6 of 29 fits with random labels raised an alarm; where classes overlap, more.
OWN_VARY = 1.3
ROWS = 2_500  # of each side at most; the time of a fit must not grow by this test


@dataclass(frozen=True, slots=True)
class Subtype:
    """Known positives that are alike, and how many of all positives like them are labeled.

    Attributes
    ----------
    n_p
        How many known positives.
    alpha, interval
        The share of the unlabeled rows that are such positives.
    labeled, labeled_interval
        n_p/(n_p + α·n_u), the share of such positives that are labeled.

    >>> part = Subtype(60, 0.1, (0.05, 0.2), labeled=0.5, labeled_interval=(0.33, 0.67))
    >>> part.n_p, part.labeled
    (60, 0.5)
    """

    n_p: int
    alpha: float
    interval: tuple[float, float]
    labeled: float
    labeled_interval: tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Subtypes:
    """The subtypes that the known positives show, and how selective labeling was among them.

    Attributes
    ----------
    parts, members
        The subtypes, and the subtype of each known positive.
    gamma, gamma_interval
        The odds ratio of being labeled between the subtypes that are labeled most and least often,
        after noise is allowed for, and what the intervals of the subtypes allow.
    n_u, confidence
        The number of unlabeled rows, and the level of the intervals.
    merged
        How many clusters were too small to be a subtype of their own.
    weight_p
        The inverse of the odds that each known positive was labeled, with mean 1.
    test
        Whether labels look random.

    >>> part = Subtype(60, 0.1, (0.05, 0.2), labeled=0.5, labeled_interval=(0.33, 0.67))
    >>> subtypes = Subtypes((part,), 1.0, (1.0, 1.0), 600, 0.95, 2, np.zeros(60, int), np.ones(60),
    ...     ScarTest(None, None, 2.0, 9, 9))
    >>> print(subtypes.summary().splitlines()[0])
    subtypes        1 among the known positives (2 small clusters merged into others)
    """

    parts: tuple[Subtype, ...]
    gamma: float
    gamma_interval: tuple[float, float]
    n_u: int
    confidence: float
    merged: int
    members: RowNumbers
    weight_p: Floats
    test: ScarTest
    alpha: ClassVar[None] = None  # it is read from all known positives, by these weights

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of an estimate with these weights must know."""
        low, high = self.weight_p.min(), self.weight_p.max()
        if len(self.parts) == 1:
            note = "one subtype of known positives was found, so all count the same"
        elif low < high:
            kinds = f"{len(self.parts)} subtypes of known positives"
            note = f"{kinds} count by how rarely they are labeled, {low:.2f} to {high:.2f} times"
        elif self.test.says_nothing:
            note = "labels could not be tested for bias, so all known positives count the same"
        else:
            note = "labels show no sign of bias among the subtypes, so all positives count the same"
        return note, LIMIT

    def with_interval(
        self, estimate: AlphaEstimate, evidence: Evidence, confidence: float | None
    ) -> AlphaEstimate:
        """The estimate with the smallest interval that contains two: of all, and of the sum.

        The interval of all known positives, weighted, leaves out the error of the weights. That of
        the sum of the α_k, whose limits are combined by Zou & Donner's rule (Statistics in Medicine
        2008), contains it, but counts twice what subtypes share.
        """
        if confidence is None:
            return estimate
        alphas = np.array([part.alpha for part in self.parts])
        lows, highs = np.array([part.interval for part in self.parts]).T
        total = float(alphas.sum())
        both = (
            *alpha_posterior(evidence.tails, effective=evidence.effective).interval(confidence),
            max(0.0, total - float(np.sqrt(((alphas - lows) ** 2).sum()))),
            min(1.0, total + float(np.sqrt(((highs - alphas) ** 2).sum()))),
        )
        wide = replace(estimate, interval=(min(both), max(both)), confidence=confidence)
        # The alarm about few positives says what to trust, so it must know of the interval.
        others = (alarm for alarm in estimate.alarms if alarm.code != "few-positives")
        alarms = (*few_positives(wide, evidence.tails), *others)
        return replace(wide.moved_to(estimate.alpha), interval_assumes=ASSUMES, alarms=alarms)

    def alarms(self) -> tuple[Alarm, ...]:
        """Alarms for an estimate that takes labels as random."""
        return self.test.alarms()

    def summary(self) -> str:
        """How often each subtype is labeled, and what that says, as text."""
        level, merged = f"{100 * self.confidence:g} %", ""
        if self.merged:
            merged = f" ({counted(self.merged, 'small cluster')} merged into others)"
        lines = [f"subtypes        {len(self.parts)} among the known positives{merged}"]
        for k, part in enumerate(self.parts, 1):
            low, high = part.labeled_interval
            lines.append(
                f"  {k}             {part.n_p:,} known; about {percent(part.labeled)} % of "
                f"positives like these are labeled ({percent(low)} % to {percent(high)} %)"
            )
        least, most = self.gamma_interval
        ends = f"{least:.2f} to {'any value' if np.isinf(most) else f'{most:.2f}'}"
        selectivity = f"Γ = {self.gamma:.2f} between subtypes, {level} interval {ends}"
        if len(self.parts) == 1:
            selectivity = "one subtype, so nothing to compare"
        lines.append(f"selectivity     {selectivity}")
        lines += [f"random labels?  {self.test.sentence}", f"limit           {LIMIT}"]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; an open end of the interval of Γ is None."""
        low, high = self.gamma_interval
        return {
            "parts": [asdict(part) for part in self.parts],
            "gamma": self.gamma,
            "gamma_interval": [low, None if np.isinf(high) else high],
            "confidence": self.confidence,
            "merged": self.merged,
            "test": self.test.to_dict(),
            "limit": LIMIT,
        }


def read_subtypes(
    table: TrainingTable, options: FitOptions, *, most: int = MOST, least: int = LEAST
) -> Subtypes:
    """Cluster the positives of a table and estimate how often each cluster is labeled."""
    check_count(most, "most")
    check_count(least, "least", least=LEAST)
    is_p, n_p = table.is_positive, int(table.is_positive.sum())
    if n_p < 2 * least:
        raise InputError(
            "TB125",
            f"subtypes need at least {2 * least} known positives, {least} for each of two; got "
            f"{n_p:,}. Leave the subtypes out, or label more rows.",
        )
    # In an order of their content, so that the answer does not depend on theirs.
    order = order_of(table.X, is_p, table.weight, table.together)
    rows = replace(table, weight=None).at(order)
    space, labeled = project(rows.X, rows.is_positive, options.seed), rows.is_positive
    groups = None if rows.together is None else rows.together.grouped
    clusters = find_clusters(
        space[labeled], most=most, least=least, seed=options.seed,
        groups=None if groups is None else groups[labeled],
    )  # fmt: skip
    read = _read_all(rows, clusters, options)
    likely = np.any([one.likely for one in read], axis=0)
    test = _test(rows, space, likely, options.seed)
    if test.is_alarm:
        # Kinds that are rarely labeled are better seen among likely positives than among known.
        both = find_clusters(space[labeled | likely], most=most, least=least, seed=options.seed)
        known = merge_small(space[labeled], both.members[labeled[labeled | likely]], least)
        clusters = replace(known, merged=both.merged + known.merged)
        read = _read_all(rows, clusters, options)
    members = np.empty(n_p, np.intp)
    members[np.searchsorted(np.flatnonzero(is_p), order[labeled])] = clusters.members
    return _gather(read, members, clusters.merged, test, options.confidence or CONFIDENCE)


def _test(rows: TrainingTable, space: Floats, likely: Mask, seed: int) -> ScarTest:
    """The test of the likely positives; rows in groups are not tested."""
    is_p = rows.is_positive[likely]
    if rows.together is not None and rows.together.grouped is not None:
        n_p = int(is_p.sum())
        n_u = is_p.size - n_p
        return ScarTest(p_value=None, power=None, tilt=TILT, n_p=n_p, n_u=n_u, in_groups=True)
    return scar_test(space[likely], is_p, vary=OWN_VARY, seed=seed)


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """What one cluster against all of U says; `likely` marks rows of the whole table."""

    estimate: AlphaEstimate
    variance: float  # of log α
    likely: Mask


def _read_all(rows: TrainingTable, clusters: Clusters, options: FitOptions) -> list[_Reading]:
    return [_read_one(rows, clusters.members == k, options) for k in range(clusters.sizes.size)]


def _read_one(rows: TrainingTable, is_member: Mask, options: FitOptions) -> _Reading:
    """Cross-fit one cluster of positives against the unlabeled rows, and read its α."""
    of_cluster = np.zeros(rows.is_positive.size, bool)
    of_cluster[np.flatnonzero(rows.is_positive)[is_member]] = True
    taken = np.flatnonzero(of_cluster | ~rows.is_positive)
    table = replace(rows.at(taken), is_positive=of_cluster[taken])
    fit = run_crossfit(table, PVU, options.quick, new_rows=False)
    evidence = fit.evidence(table.is_positive)
    level = options.confidence or CONFIDENCE
    estimate = estimate_alpha(evidence, method=CLUSTER_METHOD, confidence=level)
    cut = -np.inf if estimate.cut is None else estimate.cut
    above = [int((scores >= cut).sum()) for scores in evidence.scores]
    likely = np.zeros(rows.is_positive.size, bool)
    at_point = fit_probabilities(evidence, replace(estimate, posterior=None))
    likely[taken] = at_point(fit.scores) >= LIKELY
    variance = VARIANCE_FACTOR * sum(1 / max(count, 1) for count in above)
    return _Reading(estimate, variance, likely)


def _gather(
    read: Sequence[_Reading], members: RowNumbers, merged: int, test: ScarTest, confidence: float
) -> Subtypes:
    """The subtypes as a value: shares that are labeled, weights, and Γ."""
    n_u = read[0].estimate.n_u
    parts = tuple(subtype_of(one.estimate) for one in read)
    alpha, n_p = np.array([part.alpha for part in parts]), np.bincount(members)
    log_odds = np.log(n_p / np.maximum(alpha * n_u, HALF_A_ROW))
    log_odds = shrunken(log_odds, np.array([one.variance for one in read]))
    odds = np.exp(log_odds)
    # Weights add noise, so they must be called for: by the test, not by differences that are luck.
    weight = (1 / odds)[members] if test.is_alarm else np.ones(members.size)
    ends = np.array([part.labeled_interval for part in parts])
    with np.errstate(divide="ignore"):
        low, high = (ends / (1 - ends)).T
    gamma = float(odds.max() / odds.min())
    allowed = (max(1.0, float(low.max() / high.min())), float(high.max() / low.min()))
    if len(parts) == 1:
        allowed = (1.0, 1.0)
    return Subtypes(
        parts=parts, gamma=gamma, gamma_interval=allowed, n_u=n_u, confidence=confidence,
        merged=merged, members=members, weight_p=weight / weight.mean(), test=test,
    )  # fmt: skip


def subtype_of(estimate: AlphaEstimate) -> Subtype:
    """A subtype from the α of its cluster.

    >>> estimate = AlphaEstimate(alpha=0.1, n_p=50, n_u=500, method="bbe", interval=(0.05, 0.3))
    >>> subtype_of(estimate).labeled, subtype_of(estimate).labeled_interval
    (0.5, (0.25, 0.6666666666666666))
    """
    n_p, n_u = estimate.n_p, estimate.n_u
    low, high = estimate.moved_to(estimate.alpha).interval or (estimate.alpha, estimate.alpha)
    labeled, least, most = (n_p / (n_p + alpha * n_u) for alpha in (estimate.alpha, high, low))
    return Subtype(n_p, estimate.alpha, (low, high), labeled, (least, most))


def shrunken(values: Floats, variances: Floats) -> Floats:
    """Values moved toward their mean by as much as noise explains their spread.

    The spread between values is estimated as in DerSimonian & Laird (Controlled Clinical Trials
    1986). Where noise explains all of it, all values become the mean.

    >>> shrunken(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    array([0.5, 0.5])
    >>> shrunken(np.array([0.0, 9.0]), np.array([0.01, 0.01])).round(2)
    array([0., 9.])
    """
    precision = 1 / variances
    mean = (precision * values).sum() / precision.sum()
    excess = (precision * (values - mean) ** 2).sum() - (values.size - 1)
    scale = precision.sum() - (precision**2).sum() / precision.sum()
    between = max(0.0, excess / scale) if scale > 0 else 0.0
    return np.asarray(mean + between / (between + variances) * (values - mean), np.float64)


def random_labels_test(X: Any, is_p: Mask, scores: Floats, *, seed: int = 0) -> ScarTest | None:
    """Compare the labels of rows that are likely positive, by held-out scores of all rows.

    None where rows are too few for any finding.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(np.repeat([8.0, -8.0, 0.0], 300))[:, None]
    >>> is_p = rng.random(900) < np.repeat([0.8, 0.2, 0.0], 300)   # one kind is labeled more often
    >>> random_labels_test(X, is_p, abs(X[:, 0])).is_alarm
    True
    """
    rows = _drawn(X, is_p, seed)
    labeled, own = is_p[rows], scores[rows]
    if labeled.sum() < 2 * FEWEST or (~labeled).sum() < 2 * FEWEST:
        return None
    space = project(X[rows], labeled, seed)
    is_coarse = has_few_values(X[rows])
    floor = BROAD if is_coarse else 0.0
    known = find_clusters(space[labeled], most=MOST, least=LEAST, seed=seed, floor=floor)
    members = _members(space, labeled, known)
    likely, place = np.zeros(rows.size, bool), np.zeros(rows.size)
    for k in range(known.sizes.size):
        is_k = members == k
        if min((is_k & labeled).sum(), (is_k & ~labeled).sum()) >= FEWEST:
            likely[is_k] = _likely(own[is_k], labeled[is_k])
            # Within a cluster: all scores of one that is rarely labeled are lower.
            place[likely & is_k] = ranks_of(own[likely & is_k])
    toward = toward_positives(space, members, likely, ~(likely | labeled), of_all=is_coarse)
    return scar_test(space[likely], labeled[likely], likely=place[likely], toward=toward, seed=seed)


def _drawn(X: Any, is_p: Mask, seed: int) -> RowNumbers:
    """At most so many rows of each side, in an order that depends on their content alone."""
    order, rng = order_of(X, is_p, None, None), np.random.default_rng(seed)
    sides = order[is_p[order]], order[~is_p[order]]
    return np.concatenate([side[np.sort(rng.permutation(side.size)[:ROWS])] for side in sides])


def _members(space: Floats, labeled: Mask, known: Clusters) -> RowNumbers:
    """The cluster of each row; of an unlabeled one, that with the nearest mean."""
    means = [space[labeled][known.members == k].mean(axis=0) for k in range(known.sizes.size)]
    members = np.asarray(
        np.argmin([((space - mean) ** 2).sum(axis=1) for mean in means], axis=0), np.intp
    )
    members[labeled] = known.members
    return members


def _likely(scores: Floats, labeled: Mask) -> Mask:
    """Which rows of a cluster are likely positive, if the others of it are taken at their word."""
    evidence = Evidence(scores[labeled], scores[~labeled], crossfitted=True)
    found = estimate_alpha(evidence, method=CLUSTER_METHOD, confidence=None)
    return np.asarray(fit_probabilities(evidence, replace(found, posterior=None))(scores) >= LIKELY)


@dataclass(eq=False, repr=False, kw_only=True)
class SubtypesClassifier(TEDnClassifier):
    """How many and which, if some kinds of positives are labeled more often than others.

    The known positives are clustered, it is estimated how often each cluster is labeled, and
    clusters that are rarely labeled then count more: see `topbin.learn.labeling.subtypes`. A
    subtype that is never labeled stays invisible.

    Parameters
    ----------
    most
        The largest number of subtypes.
    estimator, plan, preset, …
        All others are those of TEDnClassifier.

    Attributes
    ----------
    labeling_
        The `Subtypes` that were found.
    alpha_, estimate_, …
        As in TEDnClassifier.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(np.repeat([6.0, -6.0, 0.0], [200, 200, 200]))[:, None]
    >>> y = rng.random(600) < np.repeat([0.8, 0.3, 0.0], 200)       # two kinds of positives
    >>> clf = SubtypesClassifier(preset="fast", most=2).fit(X, y)
    >>> sorted(round(part.labeled, 1) for part in clf.labeling_.parts)
    [0.3, 0.8]
    >>> 0.35 < clf.alpha_ < 0.6                                     # 180 of 380 are positive
    True
    """

    most: int = MOST
    _nets = "never"

    def _labeling_of(self, table: TrainingTable, options: FitOptions) -> Subtypes:
        check_numbers(table, self)
        return read_subtypes(table, options, most=self.most)


def subtypes(
    X: Any,
    y: Any,
    *,
    positive: Any = None,
    negative: Any = None,
    most: int = MOST,
    confidence: float = CONFIDENCE,
    random_state: int = 0,
    n_jobs: int | None = None,
    groups: Any = None,
    times: Any = None,
) -> Subtypes:
    """Which kinds of positives are labeled, how often, and how selective that is.

    Parameters
    ----------
    X, y
        A table and its labels; every row that is not positive is unlabeled.
    most
        The largest number of subtypes.
    positive, negative, confidence, random_state, n_jobs
        As in TEDnClassifier.
    groups, times
        As in its `fit`.

    Returns
    -------
    Subtypes
        A value with `parts`, `gamma`, `test`, `summary()` and `to_dict()`.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(np.repeat([6.0, -6.0, 0.0], [200, 200, 200]))[:, None]
    >>> y = rng.random(600) < np.repeat([0.8, 0.3, 0.0], 200)       # two kinds of positives
    >>> sorted(round(part.labeled, 1) for part in subtypes(X, y, most=2).parts)
    [0.3, 0.8]
    """
    face = SubtypesClassifier(
        most=most, positive=positive, negative=negative, confidence=confidence,
        random_state=random_state, n_jobs=n_jobs,
    )  # fmt: skip
    rows = face._given(X, y, groups=groups, times=times)
    return read_subtypes(rows.table, face._options(), most=most)
