"""What scores and answers say together: the posterior of α, updated by an audit.

An audit of any kind ends with an estimate and an interval, which need no prior. Answers to so many
random rows would have given them, and the binomial likelihood of these is what the posterior is
updated with. An audit that contradicts the estimate shows that the scores mislead; then it alone
counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincinv, xlog1py, xlogy

from topbin.core.estimate import AlphaEstimate, Share
from topbin.core.posterior import LEVELS, AlphaPosterior, Floats
from topbin.evaluate.measure import Interval

FLAT = AlphaPosterior(LEVELS)  # every α is as likely as any other
WITH_SCORES = "scores and answers together"
ANSWERS_ALONE = "by the answers alone, which contradict the scores"
MOST, HALVINGS = 1e9, 40  # answers, and steps that find how many


@dataclass(frozen=True, slots=True)
class Together:
    """α from scores and answers, and what is known of it; `alone`: the answers decide alone."""

    alpha: Share
    interval: Interval
    posterior: AlphaPosterior
    alone: bool

    def estimate(self, before: AlphaEstimate) -> AlphaEstimate:
        """The estimate of a run, as it is after the audit.

        A bound that is higher is as valid, and must not contradict the answer beside it. If the
        answers contradict the scores, the bound of the scores does not hold.
        """
        bound = None if self.alone else before.upper_bound
        return replace(
            before,
            alpha=self.alpha,
            interval=self.interval,
            posterior=self.posterior,
            interval_assumes=ANSWERS_ALONE if self.alone else WITH_SCORES,
            upper_bound=None if bound is None else max(bound, self.alpha),
            cut=None,
        )


def answers_like(alpha: float, interval: Interval, confidence: float) -> tuple[float, float]:
    """How many positive and how many other answers would have given this estimate and interval.

    The interval is compared with that of a Beta distribution, which such answers leave if nothing
    else is known, by its width.

    >>> hits, others = answers_like(0.25, (0.15, 0.35), 0.95)
    >>> round(hits), round(others)                                # 17 of 69 random rows
    (17, 52)
    """
    width = interval[1] - interval[0]

    def is_wider(n: float) -> bool:
        low, high = _beta(n * alpha, n * (1 - alpha), [(1 - confidence) / 2, (1 + confidence) / 2])
        return bool(high - low > width)

    few, many = 0.0, 1.0
    while is_wider(many) and many < MOST:
        few, many = many, 2 * many
    for _ in range(HALVINGS):
        middle = (few + many) / 2
        few, many = (middle, many) if is_wider(middle) else (few, middle)
    return many * alpha, many * (1 - alpha)


def _beta(hits: float, others: float, levels: Sequence[float]) -> Floats:
    """Quantiles of α after these answers, if every α was as likely as any other before."""
    return np.asarray(betaincinv(hits + 1, others + 1, levels))


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

    if alone or before.posterior is None:
        posterior = AlphaPosterior(tuple(map(float, _beta(hits, others, LEVELS))))
        return Together(posterior.median, posterior.interval(confidence), posterior, alone=True)
    posterior = before.posterior.updated(log_likelihood)
    return Together(posterior.median, posterior.interval(confidence), posterior, alone=False)
