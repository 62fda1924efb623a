"""α of each group of a column, by the models of a fit.

The scores must not depend on the column itself: a model that reads it may rank one group higher.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import hstack, issparse

from topbin.core.binomial import ranks_of
from topbin.core.checks import Floats
from topbin.core.errors import InputError, option
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.evaluate.parts import ByGroup, Groups, Whole, by_group
from topbin.job.grouping import read_groups
from topbin.job.prepare import Prepared
from topbin.learn.crossfit import Chain
from topbin.learn.labeling.propensity import matrix_columns

SEEN = (
    'the models also read "{}", and their scores may depend on it beyond the share of positives; '
    "fit again without it as a feature to be sure"
)
BLIND = 4  # other rows whose columns a row takes, where its own values must not matter


def by_column(
    data: Prepared, name: str, evidence: Evidence, estimate: AlphaEstimate, chains: Sequence[Chain]
) -> ByGroup:
    """α of each group of a column, by the models of a fit; nothing is fitted again."""
    if estimate.posterior is None or estimate.confidence is None:
        raise InputError(
            "TB126", f"{option('by')} needs an interval of α, and this estimate has none."
        )
    groups, rows = read_groups(data.table, data.label, name), data.fitted_rows
    is_p, scores, notes = data.labels.is_positive[rows], None, []
    if data.rest is not None:
        notes.append(f"groups are compared by the {is_p.size - is_p.sum():,} sampled rows")
    if name in data.encoder.columns and chains and not data.by_net:
        columns = matrix_columns(data.encoder, [name])
        z = blind_scores(chains, data.X[rows], columns, data.request.certainty.seed)
        scores = z[is_p], z[~is_p]
    elif name in data.encoder.columns:
        notes.append(SEEN.format(name))
    whole = Whole.of(evidence, estimate, scores)
    fitted = Groups(name, groups.names, groups.codes[rows], groups.notes)
    return by_group(whole, fitted, is_p, estimate.confidence, notes)


def blind_scores(chains: Sequence[Chain], X: Any, columns: Sequence[int], seed: int) -> Floats:
    """Scores of the rows that these chains held out, as if nobody knew some columns of theirs.

    Each row takes these columns from random other rows, several times. So what is left in its score
    is due to the others, and rows that differ in these columns can be compared. X is a matrix.
    """
    rng, scores = np.random.default_rng(seed), np.zeros(X.shape[0])
    orders = [rng.permutation(X.shape[0]) for _ in range(BLIND)]
    others = np.setdiff1d(np.arange(X.shape[1]), columns)
    as_before = np.argsort(np.append(others, columns))
    for chain in chains:
        rows, summed = chain.held_out, np.zeros(chain.held_out.size)
        for order in orders:
            parts = X[rows][:, others], X[order[rows]][:, columns]
            mixed = hstack(parts, format="csr") if issparse(X) else np.hstack(parts)
            summed += chain.score(mixed[:, as_before])
        scores[rows] = ranks_of(summed)
    return scores
