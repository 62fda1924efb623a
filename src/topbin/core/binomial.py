"""Exact limits of a share of rows: Clopper & Pearson, Biometrika 1934."""

from typing import Any

import numpy as np
from scipy.special import betaincinv


def exact_upper(hits: Any, n: Any, doubt: float) -> Any:
    """The largest share under which so few hits have a probability of at least `doubt`.

    >>> round(float(exact_upper(0, 59, 0.05)), 3)       # "none in 59": at most 5 %
    0.05
    """
    misses = np.asarray(n - hits, np.float64)
    # Without a miss the limit is 1, which betaincinv calls undefined.
    return np.where(misses > 0, betaincinv(hits + 1, np.where(misses > 0, misses, 1), 1 - doubt), 1)


def exact_lower(hits: Any, n: Any, doubt: float) -> Any:
    """The smallest share under which so many hits have a probability of at least `doubt`.

    >>> round(float(exact_lower(59, 59, 0.05)), 3), float(exact_lower(0, 59, 0.05))
    (0.95, 0.0)
    """
    hits = np.asarray(hits, np.float64)
    return np.where(hits > 0, betaincinv(np.where(hits > 0, hits, 1), n - hits + 1, doubt), 0)
