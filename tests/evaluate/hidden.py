"""Normal scores with hidden labels: what every metric without negatives is proven against."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm


@dataclass(frozen=True)
class World:
    """Positives score N(gap, 1), negatives N(0, 1); α of the unlabeled are positive."""

    alpha: float
    gap: float
    threshold: float

    def draw(self, n_p, n_u, seed):
        """Scores of P, scores of U, and the labels of U that no metric may see."""
        rng = np.random.default_rng(seed)
        y = rng.random(n_u) < self.alpha
        return rng.normal(self.gap, 1, n_p), rng.normal(self.gap * y, 1), y

    @property
    def q_p(self):
        return norm.sf(self.threshold - self.gap)

    @property
    def q_u(self):
        return self.alpha * self.q_p + (1 - self.alpha) * norm.sf(self.threshold)

    @property
    def truth(self):
        """Each figure as the labels would give it, in an endless sample."""
        auc = norm.cdf(self.gap / np.sqrt(2))
        found, precision = self.q_p, self.alpha * self.q_p / self.q_u
        return {
            "PU-AUC": self.alpha / 2 + (1 - self.alpha) * auc,
            "estimated AUC": auc,
            "recall": found,
            "estimated precision": precision,
            "estimated F1": 2 * precision * found / (precision + found),
            "PU risk": self.alpha * (1 - found) + (1 - self.alpha) * norm.sf(self.threshold),
            "Lee-Liu score": precision * found / self.alpha,
        }


def all_measures(scores_p, scores_u, threshold, alpha):
    """Every metric of `topbin.metrics` on the same rows."""
    from topbin import metrics

    at = {"threshold": threshold}
    both = (scores_p, scores_u)
    return [
        metrics.pu_auc(*both),
        metrics.estimated_auc(*both, alpha=alpha),
        metrics.recall(scores_p, **at),
        metrics.estimated_precision(*both, alpha=alpha, **at),
        metrics.estimated_f1(*both, alpha=alpha, **at),
        metrics.pu_risk(*both, alpha=alpha, **at),
        metrics.lee_liu(*both, **at),
    ]
