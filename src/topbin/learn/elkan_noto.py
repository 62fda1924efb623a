"""The classifiers of Elkan & Noto, "Learning classifiers from only positive and unlabeled data".

KDD 2008. From g(x), the probability that a row like x is labeled, and c, the labeled share of the
positives. The paper's f(x) = g(x)/c is for all rows; probabilities here are for the unlabeled ones.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from topbin.core.errors import InputError
from topbin.core.labels import Mask
from topbin.learn.backends.sklearn import seeded, weight_name
from topbin.learn.posterior import Posterior
from topbin.learn.pvu import PVU
from topbin.learn.risk import Learner, Risk
from topbin.learn.select import Floats

NEVER_ONE = 1 - 1e-9


def natural_pvu(share_p: float) -> Learner:
    """P against U in the proportions they come in, so that the score is the probability g."""
    return replace(PVU, name="elkan_noto", risk=lambda _: Risk(share_p, 0.0, 1 - share_p))


def labeled_share(alpha: float, share_p: float) -> float:
    """c, the share of the positives that carry a label.

    >>> labeled_share(alpha=0.5, share_p=0.5)      # 2 labeled for each unlabeled positive
    0.6666666666666666
    """
    return share_p / (share_p + (1 - share_p) * alpha)


def from_labeled(g: Any, c: float) -> Floats:
    """p(positive | x, unlabeled) = (1 − c)/c · g/(1 − g), section 3 of the paper, cut to 1.

    >>> from_labeled([0.0, 0.5, 0.8], c=0.8).round(9)
    array([0.  , 0.25, 1.  ])
    """
    g = np.minimum(np.asarray(g, np.float64), NEVER_ONE)
    return np.asarray(np.minimum(1.0, (1 - c) / c * g / (1 - g)), np.float64)


def from_positive(f: Any, c: float) -> Floats:
    """p(positive | x, unlabeled) = (1 − c) f/(1 − c f), from f(x), that of all rows.

    >>> from_positive([0.0, 0.5, 1.0], c=0.5).round(3)      # half of .25 unlabeled in .75
    array([0.   , 0.333, 1.   ])
    """
    f = np.minimum(np.asarray(f, np.float64), NEVER_ONE)
    return np.asarray((1 - c) * f / (1 - c * f), np.float64)


def as_posterior(curve: Callable[[Any, float], Floats], c: float) -> Posterior:
    """One of the two maps above, on a fine grid of probabilities."""
    grid = np.linspace(0, 1, 2001)
    return Posterior(knots=grid, values=curve(grid, c), centre=0.5, width=0.25)


def fit_weighted(
    estimator: Any,
    X: Any,
    is_positive: Mask,
    w_u: Floats,
    *,
    seed: int = 0,
    sample_weight: Floats | None = None,
) -> Any:
    """Fit f: each unlabeled row counts as positive with weight w, as negative with 1 − w."""
    name = weight_name(estimator)
    if name is None:
        raise InputError(
            "TB013",
            f"{type(estimator).__name__} takes no sample_weight, which the weighted variant needs; "
            "use weighted=False or another classifier.",
        )
    p, u = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
    rows = np.concatenate([p, u, u])
    weight = np.concatenate([np.ones(p.size), w_u, 1 - w_u])
    if sample_weight is not None:
        weight = weight * sample_weight[rows]
    y = np.arange(rows.size) < p.size + u.size
    return seeded(estimator, seed).fit(_safe_indexing(X, rows), y.astype(int), **{name: weight})
