"""Score models given by their ROC curve, from which tails of any size are drawn in no time.

Only the order of scores matters, so a score model is the curve h: the share q_n = h(q_p) of the
negatives above the cut that leaves the share q_p of the positives above it. The tails at the ranks
that are read are drawn exactly: the positives' shares are order statistics of uniforms, and the
counts of hidden positives and of negatives between cuts are multinomial. There are round(α·n_u)
hidden positives, because α is the share of these very rows. `hidden` is the same curve for them:
their share above the cut, which is q_p if positives are labeled at random.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, logit, ndtr, ndtri

from topbin.core import Tails
from topbin.core.tails import geometric_ranks

Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def gauss(sigmas: float) -> Curve:
    return lambda q: ndtr(ndtri(q) - sigmas)


def pure_region(share: float) -> Curve:
    """The top `share` of the positives is free of negatives; below, both lie alike."""
    return lambda q: np.maximum(0.0, (q - share) / (1 - share))


CURVES: dict[str, Curve] = {
    "separated": lambda q: 0.0 * q,
    "Gaussians 4σ": gauss(4),
    "Gaussians 3σ": gauss(3),
    "Gaussians 2σ": gauss(2),
    "Gaussians 1σ": gauss(1),
    "Beta(8,2)/(2,8)": lambda q: 1 - betainc(2, 8, betaincinv(8, 2, 1 - q)),
    "pure 20 %": pure_region(0.2),
    "pure 5 %": pure_region(0.05),
}
# Gaussians 3σ apart, cut into steps of equal width: of the score, or of p(positive | score).
STEPS = {
    "3σ, 20 score levels": np.linspace(-3, 6, 20),
    "3σ, 20 probability levels": (logit(np.arange(1, 20) / 20) + 4.5) / 3,
    "3σ, 100 probability levels": (logit(np.arange(1, 100) / 100) + 4.5) / 3,
}
MODELS = (*CURVES, *STEPS)


def labeled_at_random(q: NDArray[np.float64]) -> NDArray[np.float64]:
    return q


def tilted(gamma: float, top: float, *, rare: bool) -> Curve:
    """Γ times as selective in two steps: hidden positives are rare, or frequent, in the top bin.

    Their density over that of labeled positives takes two values, one among the best `top` of the
    labeled ones and one below, Γ times higher or lower.
    """
    above, below = (1.0, gamma) if rare else (gamma, 1.0)
    total = above * top + below * (1 - top)

    def share(q: NDArray[np.float64]) -> NDArray[np.float64]:
        return (above * np.minimum(q, top) + below * np.maximum(0.0, q - top)) / total

    return share


def draw_tails(
    model: str,
    n_p: int,
    n_u: int,
    alpha: float,
    *,
    repeats: int,
    seed: int,
    hidden: Curve = labeled_at_random,
) -> Iterator[Tails]:
    """Independent tails of this model, at the ranks that estimators and intervals read."""
    rng = np.random.default_rng([seed, n_p, n_u, int(1e6 * alpha), MODELS.index(model)])
    draw = _tied if model in STEPS else _continuous
    for _ in range(repeats):
        yield draw(rng, model, n_p, n_u, alpha, hidden)


def _continuous(
    rng: np.random.Generator, model: str, n_p: int, n_u: int, alpha: float, hidden: Curve
) -> Tails:
    ranks = geometric_ranks(n_p)
    gaps = rng.standard_gamma(np.diff(np.concatenate([[0], ranks, [n_p + 1]])))
    q_p = np.cumsum(gaps)[:-1] / gaps.sum()
    above_u = _unlabeled(rng, n_u, alpha, hidden(q_p), CURVES[model](q_p))
    return Tails(1 - q_p[::-1], ranks[::-1], above_u[::-1], n_p, n_u)


def _tied(
    rng: np.random.Generator, model: str, n_p: int, n_u: int, alpha: float, hidden: Curve
) -> Tails:
    q_p, q_n = (np.append(ndtr(mean - STEPS[model])[::-1], 1.0) for mean in (3.0, 0.0))
    above_p = _counts(rng, n_p, q_p)
    above_u = _unlabeled(rng, n_u, alpha, hidden(q_p), q_n)
    # A level that holds no positive is not a cut.
    held = np.diff(above_p, prepend=0) > 0
    return Tails(1 - q_p[held][::-1], above_p[held][::-1], above_u[held][::-1], n_p, n_u)


def _unlabeled(
    rng: np.random.Generator,
    n_u: int,
    alpha: float,
    q_hidden: NDArray[np.float64],
    q_n: NDArray[np.float64],
) -> NDArray[np.int64]:
    """The counts of the hidden positives, whose number is fixed, and of the negatives."""
    n_hidden = round(alpha * n_u)
    return _counts(rng, n_hidden, q_hidden) + _counts(rng, n_u - n_hidden, q_n)


def _counts(rng: np.random.Generator, n: int, shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many of n rows fall above each cut, given the growing shares above the cuts."""
    rings = np.maximum(np.diff(shares, prepend=0.0), 0.0)
    return np.cumsum(rng.multinomial(n, np.append(rings, max(0.0, 1 - rings.sum()))))[:-1]
