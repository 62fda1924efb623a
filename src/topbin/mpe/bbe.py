"""Best Bin Estimation: Algorithm 1 of Garg et al., NeurIPS 2021."""

from math import log, sqrt

import numpy as np

from topbin.core.checks import check_above_zero, check_fraction
from topbin.core.estimate import AlphaEstimate
from topbin.core.tails import Shares, Tails


def bbe(tails: Tails, *, delta: float = 0.1, gamma: float = 0.01) -> AlphaEstimate:
    """Estimate α by the ratio q_u/q_p at the cut with the smallest upper confidence bound.

    >>> bbe(Tails.from_scores(np.ones(1000), np.repeat([1.0, 0.0], 500))).alpha
    0.5
    """
    best = tails.at(int(np.argmin(upper_confidence(tails, delta=delta, gamma=gamma))))
    return AlphaEstimate(
        alpha=min(1.0, float(best.ratio)),
        cut=float(best.cuts),
        n_p=tails.n_p,
        n_u=tails.n_u,
        method="bbe",
    )


def upper_confidence(tails: Tails, *, delta: float = 0.1, gamma: float = 0.01) -> Shares:
    """The bound that BBE minimises, at every cut; equal bounds go to the larger bin."""
    check_fraction(delta, "delta")
    check_above_zero(gamma, "gamma", zero=True)
    return tails.ratio + (1 + gamma) * dkw_slack(tails, delta) / tails.q_p


def dkw_slack(tails: Tails, delta: float) -> float:
    """How far q_u and q_p may both stray from their means, with probability 1 − δ (lemma 1)."""
    tails.require_unlabeled()
    return sqrt(log(4 / delta) / 2) * (1 / sqrt(tails.n_u) + 1 / sqrt(tails.n_p))
