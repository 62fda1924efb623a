"""uPU: the unbiased risk of du Plessis, Niu and Sugiyama (2014, 2015).

α·L⁺(P) − α·L⁻(P) + L⁻(U) has the mean of the risk on positives and true negatives. A flexible
model drives it below zero by memorizing U; see nnpu.
"""

from topbin.learn.risk import Learner, Risk

UPU = Learner(
    name="upu",
    source="du Plessis et al. 2014",
    risk=lambda alpha: Risk(alpha, -alpha, 1.0),
    threshold=lambda _alpha: 0.0,
    loss="sigmoid",
    needs_alpha=True,
)
