"""The learners as a table: a learner is a value, and every room finds it here."""

from dataclasses import replace
from typing import Literal

from scipy.special import logit, xlogy

from topbin.core.checks import check_above_zero, check_fraction, look_up
from topbin.core.errors import InputError
from topbin.learn.risk import Learner, Loss, Risk

# Separate positives from unlabeled rows, as if the unlabeled were negative: also the warm start of
# algorithm 3. A balanced P-vs-U model has exp(logit) = p_p/p_u; a row of U is positive when
# α·p_p/p_u > ½, that is when the probability it is given exceeds 1/(1 + 2α).
PVU = Learner(
    name="pvu",
    source="Garg et al. 2021, section 4",
    risk=lambda _alpha: Risk(0.5, 0.0, 0.5),
    threshold=lambda alpha: -float(xlogy(1.0, 2.0 * alpha)),
)

# Positives against TRUE negatives in place of U: the ceiling for PU learners in benchmarks. A
# balanced P-vs-N model has exp(logit) = p_p/p_n, and U has α against 1 − α of them.
PVN = replace(
    PVU,
    name="pvn",
    source="Garg et al. 2021, appendix",
    threshold=lambda alpha: -float(logit(alpha)),
    oracle=True,
)

# The unbiased risk: α·L⁺(P) − α·L⁻(P) + L⁻(U) has the mean of the risk on positives and true
# negatives. A flexible model drives it below zero by memorizing U; see nnpu.
UPU = Learner(
    name="upu",
    source="du Plessis et al. 2014",
    risk=lambda alpha: Risk(alpha, -alpha, 1.0),
    threshold=lambda _alpha: 0.0,
    loss="sigmoid",
    needs_alpha=True,
)

# (TED)ⁿ, Transform, Estimate, Discard: PvU for W epochs; then, each epoch, α̂ by BBE on the
# hold-out, discard the top α̂ of U, and train on the rest. The losses are not weighted by α̂: the
# paper found that its early bias does harm.
TEDN = Learner(
    name="tedn",
    source="Garg et al. 2021, algorithm 3",
    risk=lambda _alpha: Risk(0.5, 0.0, 0.5),
    threshold=lambda alpha: -float(logit(alpha)),
    discard=True,
    estimates_alpha=True,
)


def nnpu(*, beta: float = 0.0, gamma: float = 1.0, loss: Loss = "sigmoid") -> Learner:
    """The non-negative risk, with its two constants: β, how far below zero is allowed, γ, the step.

    uPU whose negative part L⁻(U) − α·L⁻(P), a mean of non-negative losses, must not fall below −β
    in any mini-batch; where it does, the step follows −γ times that part (Kiryo, Niu, du Plessis
    and Sugiyama, NeurIPS 2017).

    Parameters
    ----------
    beta, gamma
        β ≥ 0 and γ in [0, 1].
    loss
        "sigmoid", as in the paper, or "logistic".

    Returns
    -------
    Learner
        A learner that needs α.

    >>> nnpu(gamma=0.5).at(0.3)
    Risk(p_pos=0.3, p_neg=-0.3, u_neg=1.0, clamp=True, beta=0.0, gamma=0.5, loss='sigmoid')
    """
    check_above_zero(beta, "beta", zero=True)
    check_fraction(gamma, "gamma", low_open=False, high_open=False)
    return replace(
        UPU,
        name="nnpu",
        source="Kiryo et al. 2017, algorithm 1",
        risk=lambda alpha: Risk(alpha, -alpha, 1.0, clamp=True, beta=beta, gamma=gamma),
        loss=loss,
    )


def cvir(*, weights: Literal["alpha", "half"] = "alpha") -> Learner:
    """Conditional Value Ignoring Risk, with losses weighted α and 1 − α, or ½ and ½.

    Before every epoch the top α of U is discarded; the rest represents the negatives.

    Parameters
    ----------
    weights
        "alpha", as in the paper, or "half", as in its released code.

    Returns
    -------
    Learner
        A learner that needs α.

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


NNPU, CVIR = nnpu(), cvir()
LEARNERS = {learner.name: learner for learner in (PVU, UPU, NNPU, CVIR, TEDN, PVN)}


def find_learner(name: str) -> Learner:
    """Look up a learner; an unknown name is an error that lists the names.

    Parameters
    ----------
    name
        A name in `LEARNERS`.

    Returns
    -------
    Learner
        The row of the table.

    >>> find_learner("cvir").discard
    True
    """
    return look_up(name, LEARNERS, "learner")
