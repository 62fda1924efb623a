"""Criteria that order models and thresholds without one known negative.

The risk is the estimated share of unlabeled rows on the wrong side of the threshold,
α·(1 − q_p) + (q_u − α·q_p) (du Plessis, Niu & Sugiyama, NeurIPS 2014), with the second part, which
is the negatives', kept from going below 0 (Kiryo et al., NeurIPS 2017). The score of Lee & Liu
(ICML 2003) is q_p²/q_u, which equals precision·recall/α and needs no α.
"""

from math import inf
from typing import Any

from topbin.core.checks import check_fraction
from topbin.core.defaults import CONFIDENCE
from topbin.core.errors import InputError
from topbin.evaluate.measure import Measure, combined
from topbin.evaluate.threshold import AtThreshold


def pu_risk(
    scores_p: Any,
    scores_u: Any,
    *,
    threshold: float,
    alpha: Any,
    non_negative: bool = True,
    confidence: float = CONFIDENCE,
    weights_p: Any = None,
    weights_u: Any = None,
) -> Measure:
    """The estimated share of unlabeled rows that the threshold puts on the wrong side.

    The unbiased version (`non_negative=False`) can leave [0, 1]; the other keeps the negatives'
    part between 0 and 1 − α, where it must lie.

    >>> scores_p, scores_u = [3.0, 3.0, 2.0, 1.0], [3.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    >>> pu_risk(scores_p, scores_u, threshold=2.0, alpha=0.25).value  # ¼·¼ + (⅜ − ¼·¾)
    0.25
    """
    seen = AtThreshold.of(threshold, scores_p, scores_u, weights_p, weights_u)
    if non_negative:
        return seen.measure("PU risk", _risk, alpha, confidence)
    return seen.measure("unbiased PU risk", _unbiased_risk, alpha, confidence, span=(-inf, inf))


def lee_liu(
    scores_p: Any,
    scores_u: Any,
    *,
    threshold: float,
    confidence: float = CONFIDENCE,
    weights_p: Any = None,
    weights_u: Any = None,
) -> Measure:
    """Recall² over the share of unlabeled rows called positive: precision·recall/α, without α.

    It orders models and thresholds; its scale, from 0 to 1/α, has no meaning of its own.

    >>> lee_liu([3.0, 3.0, 2.0, 1.0], [3.0, 2.0, 2.0, 0.0], threshold=2.0).value  # (¾)²/¾
    0.75
    """
    level = check_fraction(confidence, "confidence")
    seen = AtThreshold.of(threshold, scores_p, scores_u, weights_p, weights_u)
    if seen.u.value == 0 and seen.p.value > 0:
        raise InputError(
            "TB003",
            f"positives score {threshold:g} or more and no unlabeled row does: recall² over 0 is "
            "undefined. Lower the threshold, or pass more unlabeled rows.",
        )
    if seen.u.value == 0:
        return Measure("Lee-Liu score", 0.0, (0.0, 0.0), level, ("nothing is called positive.",))
    shares = [seen.p.known(level), seen.u.known(level)]
    return combined("Lee-Liu score", lambda q_p, q_u: q_p**2 / q_u, shares, level, span=(0.0, inf))


def _unbiased_risk(q_p: Any, q_u: Any, alpha: Any) -> Any:
    return alpha * (1 - q_p) + q_u - alpha * q_p


def _risk(q_p: Any, q_u: Any, alpha: Any) -> Any:
    return alpha * (1 - q_p) + min(1 - alpha, max(0.0, q_u - alpha * q_p))
