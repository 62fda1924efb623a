"""PvN: positives against TRUE negatives, the ceiling that PU learners are compared with.

The comparison of Garg et al. 2021, appendix "nnPU vs PN classification". It sees negatives
in place of U, so it is for benchmarks only.
"""

from scipy.special import logit

from topbin.learn.risk import Learner, Risk

# A balanced P-vs-N model has exp(logit) = p_p/p_n, and U holds α against 1 − α of them.
PVN = Learner(
    name="pvn",
    source="Garg et al. 2021, appendix",
    risk=lambda _alpha: Risk(0.5, 0.0, 0.5),
    threshold=lambda alpha: -float(logit(alpha)),
    oracle=True,
)
