"""What a learner minimizes: p_pos·L⁺(P) + p_neg·L⁻(P) + u_neg·L⁻(U), with or without a clamp.

L⁺ is the mean loss of calling rows positive, L⁻ of calling them negative. The five objectives of
Garg et al. 2021 are five choices of the three weights; the clamp is that of Kiryo et al. 2017,
"Positive-Unlabeled Learning with Non-Negative Risk Estimator", algorithm 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from topbin.core.checks import check_scores
from topbin.core.errors import InputError

Loss = Literal["logistic", "sigmoid"]

# Loss of a margin: the logit for L⁺, minus the logit for L⁻.
LOSSES: dict[Loss, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "logistic": lambda margin: np.logaddexp(0.0, -margin),
    "sigmoid": lambda margin: expit(-margin),
}


@dataclass(frozen=True, slots=True)
class Risk:
    """Weights of the three mean losses, and the rule for a negative part below −β.

    The methods take numbers of any kind (floats, tensors), so that every backend shares them.

    Parameters
    ----------
    p_pos, p_neg, u_neg
        Weights of L⁺(P), L⁻(P) and L⁻(U).
    clamp, beta, gamma
        Whether the negative part must not fall below −β, and the size of the step back if it does.
    loss
        The loss of a row: "logistic" or "sigmoid".

    >>> pu = Risk(p_pos=0.5, p_neg=-0.5, u_neg=1.0, clamp=True)
    >>> pu.value(pos_p=0.2, neg_p=1.0, neg_u=0.75), pu.descent(pos_p=0.2, neg_p=1.0, neg_u=0.75)
    (0.35, 0.35)
    >>> pu.value(pos_p=0.2, neg_p=2.0, neg_u=0.75), pu.descent(pos_p=0.2, neg_p=2.0, neg_u=0.75)
    (0.1, 0.25)
    """

    p_pos: float
    p_neg: float
    u_neg: float
    clamp: bool = False
    beta: float = 0.0
    gamma: float = 1.0
    loss: Loss = "logistic"

    @property
    def needs_gradient(self) -> bool:
        """Whether a weight is negative, so that no refit with row weights can minimize this."""
        return self.p_neg < 0

    def negative_part(self, neg_p: Any, neg_u: Any) -> Any:
        """The loss on what represents the negatives; below 0 the model memorizes U."""
        return self.u_neg * neg_u + self.p_neg * neg_p

    def value(self, pos_p: Any, neg_p: Any, neg_u: Any) -> Any:
        """The loss to report: p_pos·L⁺(P) + max(negative part, −β) when clamped."""
        part = self.negative_part(neg_p, neg_u)
        return self.p_pos * pos_p + (-self.beta if self._too_low(part) else part)

    def descent(self, pos_p: Any, neg_p: Any, neg_u: Any) -> Any:
        """The quantity to step down along: below −β, back out of the memorized region."""
        part = self.negative_part(neg_p, neg_u)
        return -self.gamma * part if self._too_low(part) else self.p_pos * pos_p + part

    def _too_low(self, part: Any) -> bool:
        return self.clamp and bool(part < -self.beta)


@dataclass(frozen=True, slots=True)
class Learner:
    """A named way to learn from P and U: its risk at a given α, and what it does with U.

    Attributes
    ----------
    name, source
        How it is called, and where it was published.
    risk, threshold
        Functions of α: the `Risk`, and the logit above which a row of U is called positive.
    loss
        The loss of a row: "logistic" or "sigmoid".
    discard
        Whether the top α of U is dropped before each epoch.
    needs_alpha, estimates_alpha
        Whether α must be given, or is estimated while it trains.
    oracle
        Whether it is shown true negatives in place of U.

    >>> half = Learner("half", "an example", lambda _: Risk(0.5, 0.0, 0.5), lambda _: 0.0)
    >>> half.at(0.3).u_neg
    0.5
    """

    name: str
    source: str
    risk: Callable[[float], Risk]
    threshold: Callable[[float], float]
    loss: Loss = "logistic"
    discard: bool = False
    needs_alpha: bool = False
    estimates_alpha: bool = False
    oracle: bool = False

    def __post_init__(self) -> None:
        if self.loss not in [*LOSSES]:
            raise InputError("TB008", f'loss must be "sigmoid" or "logistic"; got {self.loss!r}.')

    def at(self, alpha: float | None) -> Risk:
        """The risk at this α, with this learner's loss; α can be None where it is not needed."""
        return replace(self.risk(np.nan if alpha is None else alpha), loss=self.loss)


def mean_risk(risk: Risk, scores_p: Any, scores_u: Any) -> float:
    """The risk of given logits, averaged over the rows of each sample.

    Parameters
    ----------
    risk
        The weights and the loss.
    scores_p, scores_u
        One logit for each row of P, and of U.

    Returns
    -------
    float
        The risk.

    >>> from math import log
    >>> mean_risk(Risk(0.5, 0.0, 0.5), [0.0], [0.0, 0.0]) == log(2)
    True
    """
    loss = LOSSES[risk.loss]
    z_p, z_u = check_scores(scores_p, "scores_p"), check_scores(scores_u, "scores_u")
    return float(risk.value(loss(z_p).mean(), loss(-z_p).mean(), loss(-z_u).mean()))
