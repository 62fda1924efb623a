"""CVIR: Conditional Value Ignoring Risk, algorithm 2 of Garg et al., NeurIPS 2021.

Before every epoch the top α of U is discarded; the rest represents the negatives.
"""

from typing import Literal

from scipy.special import logit

from topbin.core.errors import InputError
from topbin.learn.risk import Learner, Risk


def cvir(*, weights: Literal["alpha", "half"] = "alpha") -> Learner:
    """The learner with losses weighted α and 1 − α, or ½ and ½.

    The paper weights by α; its released code by ½. We follow the paper; "half" is the code's.

    >>> cvir().at(0.25)
    Risk(p_pos=0.25, p_neg=0.0, u_neg=0.75, clamp=False, beta=0.0, gamma=1.0, loss='logistic')
    """
    if weights not in ("alpha", "half"):
        raise InputError("TB008", f'weights must be "alpha" or "half"; got {weights!r}.')
    half = weights == "half"
    return Learner(
        name="cvir",
        source="Garg et al. 2021, algorithm 2",
        risk=lambda alpha: Risk(0.5, 0.0, 0.5) if half else Risk(alpha, 0.0, 1.0 - alpha),
        threshold=lambda alpha: -float(logit(alpha)) if half else 0.0,
        discard=True,
        needs_alpha=True,
    )


CVIR = cvir()
