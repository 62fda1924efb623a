"""PvN: positives against TRUE negatives in place of U, the ceiling for PU learners in benchmarks.

The comparison of Garg et al. 2021, appendix "nnPU vs PN classification".
"""

from dataclasses import replace

from scipy.special import logit

from topbin.learn.learners.pvu import PVU

# A balanced P-vs-N model has exp(logit) = p_p/p_n, and U has α against 1 − α of them.
PVN = replace(
    PVU,
    name="pvn",
    source="Garg et al. 2021, appendix",
    threshold=lambda alpha: -float(logit(alpha)),
    oracle=True,
)
