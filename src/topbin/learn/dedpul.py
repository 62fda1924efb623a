"""The classifier of DEDPUL: min(1, α r) with r the ratio of two estimated score densities.

Ivanov, "DEDPUL: Difference-of-Estimated-Densities-based Positive-Unlabeled Learning", ICMLA 2020.
"""

import numpy as np

from topbin.core.checks import Scores
from topbin.learn.posterior import Posterior
from topbin.mpe.dedpul import capped, density_ratio, without_ties


def dedpul_curve(
    scores_p: Scores, scores_u: Scores, alpha: float, *, bandwidth: float = 0.2
) -> Posterior:
    """The posterior as a map from scores, with one knot for each distinct unlabeled score.

    >>> dedpul_curve(np.ones(1000), np.repeat([1.0, 0.0], 500), alpha=0.5)([0.0, 1.0]).round(2)
    array([0., 1.])
    """
    knots, ratio = without_ties(*density_ratio(scores_p, scores_u, bandwidth=bandwidth))
    scores = np.concatenate([scores_p, scores_u])
    return Posterior(
        knots=knots,
        values=capped(alpha, ratio),
        centre=float(scores.mean()),
        width=float(scores.std()) or 1.0,
    )
