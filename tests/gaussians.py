"""Gaussians `gap` standard deviations apart: the test bed whose answer is known."""

from dataclasses import dataclass

import numpy as np

ALPHAS = (0.02, 0.1, 0.3, 0.5, 0.8, 0.95)


@dataclass(frozen=True)
class Sample:
    """Two samples seen as features, as scores, and as probabilities of being labeled."""

    X_p: np.ndarray
    X_u: np.ndarray
    alpha: float

    def scores(self, share_p=None):
        """p(labeled | x) by Bayes' rule, for a scorer trained on this mix of both samples."""
        share_p = share_p or len(self.X_p) / (len(self.X_p) + len(self.X_u))
        return tuple(self._posterior(X[:, 0], share_p) for X in (self.X_p, self.X_u))

    def _posterior(self, x, share_p):
        gap = 4.0
        negative_to_positive = np.exp(np.clip(gap * (gap / 2 - x), -700, 700))
        p_u_to_p_p = self.alpha + (1 - self.alpha) * negative_to_positive
        return share_p / (share_p + (1 - share_p) * p_u_to_p_p)


def gaussians(alpha, n_p=1000, n_u=1000, *, seed=0, noise=1):
    """Positives around 4, negatives around 0 in the first column; the others are noise."""
    rng = np.random.default_rng([seed, n_p, n_u])
    n_hidden = round(alpha * n_u)
    X_p, X_u = rng.normal(size=(n_p, 1 + noise)), rng.normal(size=(n_u, 1 + noise))
    X_p[:, 0] += 4
    X_u[:n_hidden, 0] += 4
    return Sample(X_p, X_u, n_hidden / n_u)
