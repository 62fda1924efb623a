"""(TED)ⁿ: Transform, Estimate, Discard, algorithm 3 of Garg et al., NeurIPS 2021.

PvU for W epochs; then, each epoch, α̂ by BBE on the hold-out, discard the top α̂ of U, and train
on the rest. The losses are not weighted by α̂: the paper found that its early bias does harm.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import logit

from topbin.core.errors import InputError
from topbin.learn.loop import Epoch
from topbin.learn.risk import Learner, Risk

TEDN = Learner(
    name="tedn",
    source="Garg et al. 2021, algorithm 3",
    risk=lambda _alpha: Risk(0.5, 0.0, 0.5),
    threshold=lambda alpha: -float(logit(alpha)),
    discard=True,
    estimates_alpha=True,
)


def mean_alpha(history: Sequence[Epoch], *, last: int = 10) -> float:
    """Mean α̂ of the last epochs, as the paper reports it, because single ones vary with SGD.

    >>> from topbin.core import AlphaEstimate
    >>> found = [AlphaEstimate(alpha=alpha, n_p=9, n_u=9, method="bbe") for alpha in (0.25, 0.75)]
    >>> mean_alpha([Epoch(1, "tedn", 0.6, 0.3, n_kept=9, estimate=each) for each in found])
    0.5
    """
    alphas = [epoch.estimate.alpha for epoch in history[-last:] if epoch.estimate is not None]
    if not alphas:
        raise InputError(
            "TB001", "no epoch has an estimate of alpha; pass holdout=(X_p, X_u) to train."
        )
    return float(np.mean(alphas))
