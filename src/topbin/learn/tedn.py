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
    """Mean α̂ of the last epochs, as the paper reports it: one epoch's α̂ jumps with its SGD."""
    alphas = [epoch.estimate.alpha for epoch in history[-last:] if epoch.estimate is not None]
    if not alphas:
        raise InputError(
            "TB001", "no epoch has an estimate of alpha; pass holdout=(X_p, X_u) to train."
        )
    return float(np.mean(alphas))
