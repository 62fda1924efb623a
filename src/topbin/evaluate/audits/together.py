"""What scores and answers say together: the posterior of α, updated by an audit.

An audit of any kind ends with an estimate and an interval, which need no prior. Answers to so many
random rows would have given them, and the binomial likelihood of these is what the posterior is
updated with. An audit that contradicts the estimate shows that the scores mislead; then it alone
counts.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, xlog1py, xlogy

from topbin.core.estimate import AlphaEstimate
from topbin.core.posterior import LEVELS, AlphaPosterior, Floats
from topbin.evaluate.measure import Interval

FLAT = AlphaPosterior(LEVELS)  # every α is as likely as any other
LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class Together:
    """α from scores and answers, and what is known of it; `alone`: the answers decide alone."""

    alpha: float
    interval: Interval
    posterior: AlphaPosterior
    alone: bool

    def estimate(self, before: AlphaEstimate) -> AlphaEstimate:
        """The estimate of a run, as it is after the audit."""
        return replace(
            before, alpha=self.alpha, interval=self.interval, posterior=self.posterior, cut=None
        )


def answers_like(alpha: float, interval: Interval, confidence: float) -> tuple[float, float]:
    """How many positive and how many other answers would have given this estimate and interval.

    >>> hits, others = answers_like(0.25, (0.15, 0.35), 0.95)
    >>> round(hits), round(others)                                # sd .051, as of 72 random rows
    (18, 54)
    """
    share = min(1 - LEAST, max(LEAST, alpha))
    sd = (interval[1] - interval[0]) / 2 / -float(ndtri((1 - confidence) / 2))
    n = share * (1 - share) / max(sd, LEAST) ** 2
    if alpha - interval[0] < LEAST < 1 - interval[1]:  # none was positive: the upper end tells
        n = np.log((1 - confidence) / 2) / np.log1p(-interval[1])
    return float(n * alpha), float(n * (1 - alpha))


def update(
    before: AlphaEstimate,
    alpha: float,
    interval: Interval,
    confidence: float,
    *,
    alone: bool = False,
) -> Together:
    """The posterior after an audit that found this α and this interval.

    >>> found = AlphaEstimate(alpha=0.3, n_p=100, n_u=900, method="overlap", posterior=FLAT)
    >>> both = update(found, 0.25, (0.15, 0.35), 0.95)
    >>> 0.25 < both.alpha < 0.26, both.alone                     # the prior is flat
    (True, False)
    """
    hits, others = answers_like(alpha, interval, confidence)

    def log_likelihood(alpha: Floats) -> Floats:
        return np.asarray(xlogy(hits, alpha) + xlog1py(others, -alpha))

    scores = None if alone else before.posterior
    posterior = (scores or FLAT).updated(log_likelihood)
    return Together(posterior.median, posterior.interval(confidence), posterior, scores is None)
