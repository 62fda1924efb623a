"""Problems with an answer known by construction; they need no data and run in seconds.

Gaussians 4σ apart, Beta(8, 2) against Beta(2, 8), and the two triangles of Garg et al. 2021,
appendix "Toy setup", on which no linear PvU model ranks like the Bayes rule.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from topbin_bench.tasks.split import Pool, Sizes, Split, Truth, draw, standardize
from topbin_bench.tasks.task import Task

Matrix = NDArray[np.float64]
SIZES = Sizes(train=1000, holdout=500)
TESTED = 1000
TRIANGLES = (
    np.array([(-1.0, 0.1), (0.0, 4.0), (1.0, 0.1)]),
    np.array([(-1.0, -0.1), (4.0, -4.0), (1.0, -0.1)]),
)


def gaussians(n: int, positive: bool, rng: np.random.Generator) -> Matrix:
    """Five standard normal columns; the first is 4 higher for positives."""
    X = rng.normal(size=(n, 5))
    X[:, 0] += 4.0 * positive
    return X


def beta(n: int, positive: bool, rng: np.random.Generator) -> Matrix:
    """Beta(8, 2) for positives and Beta(2, 8) for negatives in each of two columns."""
    return rng.beta(*((8, 2) if positive else (2, 8)), size=(n, 2))


def triangles(n: int, positive: bool, rng: np.random.Generator) -> Matrix:
    """Uniform in one of two triangles that a horizontal line separates.

    >>> rng = np.random.default_rng(0)
    >>> bool(triangles(9, True, rng)[:, 1].min() > 0 > triangles(9, False, rng)[:, 1].max())
    True
    """
    corners = TRIANGLES[0 if positive else 1]
    return np.asarray(rng.dirichlet(np.ones(3), size=n) @ corners)


def make(
    sample: Callable[[int, bool, np.random.Generator], Matrix],
    alpha: float,
    rng: np.random.Generator,
) -> tuple[Split, Truth]:
    """A fresh sample of each class, enough for any α, with its own test set."""
    enough = 2 * (SIZES.train + SIZES.holdout)
    pools = []
    for n in (enough, TESTED):
        rows = [sample(n, positive, rng) for positive in (True, False)]
        pools.append(Pool(np.concatenate(rows), np.repeat([True, False], n)))
    return standardize(*draw(pools[0], SIZES, alpha, rng, test=pools[1]))


SYNTHETIC = (
    Task("gaussians", "synthetic", "table", "Gaussians 4σ apart", partial(make, gaussians)),
    Task("beta", "synthetic", "table", "Beta(8,2) against Beta(2,8)", partial(make, beta)),
    Task("triangles", "synthetic", "table", "the appendix's triangles", partial(make, triangles)),
)
