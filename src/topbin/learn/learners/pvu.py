"""PvU: separate positives from unlabeled rows, as if the unlabeled were negative.

The domain discrimination of Garg et al. 2021, section 4, and the warm start of their algorithm 3.
"""

from scipy.special import xlogy

from topbin.learn.risk import Learner, Risk

# A balanced P-vs-U model has exp(logit) = p_p/p_u; a row of U is positive when α·p_p/p_u > ½,
# that is when the probability it is given exceeds 1/(1 + 2α).
PVU = Learner(
    name="pvu",
    source="Garg et al. 2021, section 4",
    risk=lambda _alpha: Risk(0.5, 0.0, 0.5),
    threshold=lambda alpha: -float(xlogy(1.0, 2.0 * alpha)),
)
