"""The test of random labels for any fit: it reads scores that exist already, and trains no model.

`subtypes` trains a model for each cluster of known positives. Here each unlabeled row belongs to
the nearest cluster, and within a cluster the scores of all positives order rows as those of its own
would. What is likely positive is then read cluster by cluster: a kind that is rarely labeled has
low scores, and looks unlikely beside the others.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from topbin.core.checks import Floats, RowNumbers
from topbin.core.evidence import Evidence
from topbin.core.labels import Mask
from topbin.learn.folds import order_of
from topbin.learn.labeling.clusters import find_clusters, project
from topbin.learn.labeling.scar import FEWEST, ScarTest, scar_test
from topbin.learn.labeling.subtypes import CLUSTER_METHOD, LEAST, LIKELY, MOST
from topbin.learn.probabilities import fit_probabilities
from topbin.mpe.estimate import estimate_alpha

ROWS = 2_500  # of each side at most; the time of a fit must not grow by this test


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
    known = find_clusters(space[labeled], most=MOST, least=LEAST, seed=seed)
    members = np.zeros(rows.size, np.intp)
    members[labeled] = known.members
    members[~labeled] = _nearest(space[~labeled], space[labeled], known.members)
    likely = np.zeros(rows.size, bool)
    for k in range(known.sizes.size):
        is_k = members == k
        if min((is_k & labeled).sum(), (is_k & ~labeled).sum()) >= FEWEST:
            likely[is_k] = _likely(own[is_k], labeled[is_k])
    return scar_test(space[likely], labeled[likely], seed=seed)


def _drawn(X: Any, is_p: Mask, seed: int) -> RowNumbers:
    """At most so many rows of each side, in an order that depends on their content alone."""
    order, rng = order_of(X, is_p, None, None), np.random.default_rng(seed)
    sides = order[is_p[order]], order[~is_p[order]]
    return np.concatenate([side[np.sort(rng.permutation(side.size)[:ROWS])] for side in sides])


def _nearest(rows: Floats, positives: Floats, members: RowNumbers) -> RowNumbers:
    """The cluster with the nearest mean."""
    means = [positives[members == k].mean(axis=0) for k in range(members.max() + 1)]
    return np.asarray(np.argmin([((rows - mean) ** 2).sum(axis=1) for mean in means], axis=0))


def _likely(scores: Floats, labeled: Mask) -> Mask:
    """Which rows of a cluster are likely positive, if the others of it are taken at their word."""
    evidence = Evidence(scores[labeled], scores[~labeled], crossfitted=True)
    found = estimate_alpha(evidence, method=CLUSTER_METHOD, confidence=None)
    return np.asarray(fit_probabilities(evidence, replace(found, posterior=None))(scores) >= LIKELY)
