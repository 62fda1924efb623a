"""nnPU: the non-negative risk of Kiryo, Niu, du Plessis and Sugiyama, NeurIPS 2017.

uPU whose negative part L⁻(U) − α·L⁻(P), a mean of non-negative losses, must not fall below −β in
any mini-batch; where it does, the step follows −γ times that part (their algorithm 1).
"""

from topbin.core.checks import check_above_zero, check_fraction
from topbin.learn.risk import Learner, Loss, Risk


def nnpu(*, beta: float = 0.0, gamma: float = 1.0, loss: Loss = "sigmoid") -> Learner:
    """The learner with its two constants: β, how far below zero is allowed, and γ, the step.

    >>> nnpu(gamma=0.5).at(0.3)
    Risk(p_pos=0.3, p_neg=-0.3, u_neg=1.0, clamp=True, beta=0.0, gamma=0.5, loss='sigmoid')
    """
    check_above_zero(beta, "beta", zero=True)
    check_fraction(gamma, "gamma", low_open=False, high_open=False)
    return Learner(
        name="nnpu",
        source="Kiryo et al. 2017, algorithm 1",
        risk=lambda alpha: Risk(alpha, -alpha, 1.0, clamp=True, beta=beta, gamma=gamma),
        threshold=lambda _alpha: 0.0,
        loss=loss,
        needs_alpha=True,
    )


NNPU = nnpu()
