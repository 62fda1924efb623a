"""Signs that rows belong together although nobody said so: near-copies, and columns of names.

Take the rows nearest to a known positive. If rows are independent, the share of unlabeled rows
among them changes slowly with the distance. If labels are given to whole patients with several
similar visits, the nearest rows are visits of the same patient and labeled too, and the next ones
are not: the share jumps. Such rows tell the models each other's labels, and α̂ is too low. This
compares rows, so it also works if the column that names the patient was left out.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.neighbors import NearestNeighbors

from topbin.core.binomial import share_below
from topbin.core.labels import Mask
from topbin.data.columns import Column
from topbin.data.findings import Finding

QUERIES, SEED = 200, 0
SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32)  # of groups that are tried
KNOTS = 1_000  # quantiles by which a column is turned into ranks
FEWEST = 20  # known positives
# A jump of the share of unlabeled rows: by so much, to so many times as much, and so many standard
# errors. None of the 60 tables of independent rows in tests/data/test_near_copies.py has one.
JUMP, TIMES, SURE, WHOLE, NEARLY = 0.2, 4.0, 4.0, 0.7, 0.1
GROUP_NAME = re.compile(
    r"(^|.*[^a-z])(id|ids|uuid|guid|key|code|no|nr)$|"
    r"(.*[^a-z])?(patient|subject|person|customer|client|user|member|household|account|device|owner)"
    r"s?([^a-z]*(id|key|code|no|nr|number|name))?$"
)
FEWEST_VALUES, LARGEST_MEAN = 10, 100


@dataclass(frozen=True, slots=True)
class Jump:
    """The share of unlabeled rows among the nearest rows of a positive, and among the next."""

    near: float
    next: float


def find_jump(X: Any, is_p: Mask, is_u: Mask, groups: Any = None) -> Jump | None:
    """Where labels look like those of groups of near-copies; None where they do not.

    With `groups`, rows of the same group are known to belong together and do not count as near.

    >>> rng = np.random.default_rng(0)
    >>> X, is_p = rng.normal(size=(300, 4)), np.arange(300) < 100
    >>> find_jump(X, is_p, ~is_p) is None
    True
    >>> visits = np.repeat(X, 4, axis=0) + 0.01 * rng.normal(size=(1200, 4))
    >>> find_jump(visits, np.repeat(is_p, 4), np.repeat(~is_p, 4)).near
    0.0
    """
    n_p = int(is_p.sum())
    if issparse(X) or n_p < FEWEST or is_u.sum() < FEWEST:
        return None
    sizes = [size for size in SIZES if 2 * size <= min(n_p, is_u.sum())]
    rows = np.flatnonzero(is_p | is_u)
    drawn = np.random.default_rng(SEED).permutation(np.flatnonzero(is_p[rows]))[:QUERIES]
    own = None if groups is None else groups[rows]
    unlabeled = is_u[rows][_nearest(_ranks(X[rows]), drawn, 2 * sizes[-1] - 1, own)]
    jumps = []
    for size in sizes:
        near, following = unlabeled[:, : size - 1], unlabeled[:, size - 1 : 2 * size - 1]
        jump = following.mean(axis=1) - near.mean(axis=1)
        noise = max(jump.std(), 1e-9) / np.sqrt(jump.size)
        is_sharp = following.mean() >= TIMES * near.mean() and jump.mean() >= SURE * noise
        # In dense clusters whose rows are labeled one by one, few such sets are nearly all labeled.
        is_whole = (near.mean(axis=1) <= NEARLY).mean() >= WHOLE
        if jump.mean() >= JUMP and is_sharp and is_whole:
            jumps.append(Jump(float(near.mean()), float(following.mean())))
    return max(jumps, key=lambda jump: jump.next - jump.near, default=None)


def _nearest(R: Any, drawn: Any, count: int, groups: Any) -> Any:
    """For each drawn row the numbers of the nearest other rows, of other groups, nearest first."""
    group = np.arange(len(R)) if groups is None else groups
    most = min(len(R), count + np.unique(group, return_counts=True)[1].max())
    search = NearestNeighbors(n_neighbors=most, algorithm="brute").fit(R)
    near = search.kneighbors(R[drawn], return_distance=False)
    is_own = group[near] == group[drawn][:, None]
    return np.take_along_axis(near, np.argsort(is_own, axis=1, kind="stable")[:, :count], axis=1)


def _ranks(X: Any) -> Any:
    """Each column as ranks of equal spread, so that no column outweighs the others."""
    ranks = np.zeros(X.shape, np.float32)
    for j, column in enumerate(np.asarray(X, np.float64).T):
        known = np.isfinite(column)
        values = column[known]
        if not values.size or values.min() == values.max():
            continue
        at = np.unique(np.quantile(values, np.linspace(0, 1, KNOTS)))
        rank = np.interp(values, at, share_below(at, np.sort(values[:: 1 + values.size // 10_000])))
        ranks[known, j] = (rank - rank.mean()) / max(rank.std(), 1e-9)
    return ranks


def find_groups(columns: Iterable[Column], *, by_name: bool = True) -> tuple[Finding, ...]:
    """Columns whose name and values say that they name what rows belong to.

    Without `by_name` the name does not count, and values must be words.

    >>> ids = np.repeat(np.arange(30.0), 4)
    >>> [finding.column for finding in find_groups([Column("patient_id", "number", ids)])]
    ['patient_id']
    >>> find_groups([Column("amount", "number", ids)])
    ()
    """
    found = (_group_finding(column, by_name) for column in columns)
    return tuple(finding for finding in found if finding is not None)


def _group_finding(column: Column, by_name: bool) -> Finding | None:
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", column.name).lower()
    if by_name and not GROUP_NAME.match(words):
        return None
    if column.kind != "string" and not (by_name and column.is_whole):
        return None
    _, counts = np.unique(column.values[~column.missing], return_counts=True)
    mean = counts.mean() if counts.size else 0.0
    if counts.size < FEWEST_VALUES or mean > LARGEST_MEAN or (counts > 1).mean() < 1 / 2:
        return None
    sentence = (
        f'"{column.name}" looks like the name of what rows belong to: {counts.size:,} values, '
        f"{mean:.1f} rows each on average. If rows of one value belong together, say so: "
        f'--group {column.name} (group="{column.name}").'
    )
    return Finding("group", column.name, float(counts.size), sentence)


def labels_are_shared(column: Column, is_p: Mask, is_u: Mask) -> bool:
    """Whether rows of one value are labeled together, or not at all, far more often than others.

    >>> ids, is_p = np.repeat(np.arange(30.0), 4), np.arange(120) < 40
    >>> labels_are_shared(Column("patient_id", "number", ids), is_p, ~is_p)
    True
    """
    _, codes = np.unique(column.values[~column.missing], return_inverse=True)
    p, u = (np.bincount(codes, side[~column.missing]) for side in (is_p, is_u))
    others = p @ (p + u - 1)
    return bool(others > 0 and p @ u / others * TIMES <= is_u.sum() / (is_p | is_u).sum())
