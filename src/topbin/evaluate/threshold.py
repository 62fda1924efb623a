"""Recall, precision, F1 and risk at a threshold, without one known negative.

With q_p and q_u the shares of positives and of unlabeled rows at or above the threshold:
recall = q_p, precision = α·q_p/q_u, F1 = 2·α·q_p/(α + q_u). At the cut where α̂ itself was read,
the precision is 1 by construction (α̂ = q_u/q_p there), so it is refused; anywhere in the bin above
that cut it repeats an assumption, and a note says so. Instead of two samples of scores, the first
argument may be an `Evidence`.

The risk is the estimated share of unlabeled rows on the wrong side of the threshold,
α·(1 − q_p) + (q_u − α·q_p) (du Plessis, Niu & Sugiyama, NeurIPS 2014), with the second part, which
is the negatives', kept from going below 0 (Kiryo et al., NeurIPS 2017). The score of Lee & Liu
(ICML 2003) is q_p²/q_u, which equals precision·recall/α and needs no α.
"""

from dataclasses import dataclass
from math import inf, isclose
from typing import Any

import numpy as np

from topbin.core import AlphaEstimate, Evidence, InputError
from topbin.core.checks import check_fraction, check_scores, is_number
from topbin.core.defaults import CONFIDENCE
from topbin.evaluate.measure import (
    Interval,
    Measure,
    Share,
    check_weights,
    combined,
    read_alpha,
    square_and_add,
)

IN_TOP_BIN = (
    "this threshold is in the top bin, which α assumes to contain only positives; the figure "
    "repeats that assumption, which only an audit can test."
)


def recall(
    scores_p: Any, *, threshold: float, confidence: float = CONFIDENCE, weights_p: Any = None
) -> Measure:
    """The share of positives that are found; they must not have trained the scorer.

    >>> print(recall([0.9, 0.8, 0.7, 0.2], threshold=0.5))
    recall 0.750 (95 %: 0.194 to 0.994)
    """
    level = check_fraction(confidence, "confidence")
    scores = check_scores(scores_p, "scores_p")
    weights = check_weights(weights_p, scores, "weights_p")
    return Share.at_least(scores, check_threshold(threshold), weights).measure("recall", level)


def estimated_precision(
    scores_p: Any,
    scores_u: Any = None,
    *,
    threshold: float,
    alpha: Any,
    confidence: float = CONFIDENCE,
    weights_p: Any = None,
    weights_u: Any = None,
) -> Measure:
    """The share of positives among the unlabeled rows at or above the threshold.

    `alpha` is an `AlphaEstimate`, whose interval is then part of this one, or a known number.
    An α that is too high makes this too high by the same factor.

    >>> scores_p, scores_u = [3.0, 3.0, 2.0, 1.0], [3.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    >>> estimated_precision(scores_p, scores_u, threshold=2.0, alpha=0.25).value  # ¼·¾/⅜
    0.5
    """
    seen = AtThreshold.of(threshold, scores_p, scores_u, weights_p, weights_u)
    seen.refuse_own_cut(alpha)
    if seen.u.value == 0:
        highest = Evidence.of(scores_p, scores_u).scores[1].max()
        raise InputError(
            "TB003",
            f"no unlabeled row scores {threshold:g} or more, so no precision can be estimated. "
            f"The highest unlabeled score is {highest:g}; lower the threshold.",
        )
    return seen.precision(alpha, confidence)


def estimated_f1(
    scores_p: Any,
    scores_u: Any = None,
    *,
    threshold: float,
    alpha: Any,
    confidence: float = CONFIDENCE,
    weights_p: Any = None,
    weights_u: Any = None,
) -> Measure:
    """The harmonic mean of recall and estimated precision; 0 where nothing is found.

    >>> scores_p, scores_u = [3.0, 3.0, 2.0, 1.0], [3.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    >>> estimated_f1(scores_p, scores_u, threshold=2.0, alpha=0.25).value  # of ¾ and ½
    0.6
    """
    seen = AtThreshold.of(threshold, scores_p, scores_u, weights_p, weights_u)
    seen.refuse_own_cut(alpha)
    return seen.measure("estimated F1", _f1, alpha, confidence)


@dataclass(frozen=True, slots=True)
class Choice:
    """A threshold for a wanted precision: the rows it picks, and what it promises."""

    threshold: float
    n_picked: int
    recall: float
    precision_low: float


def threshold_for_precision(
    scores_p: Any,
    scores_u: Any = None,
    *,
    alpha: Any,
    precision: float,
    confidence: float = CONFIDENCE,
) -> Choice:
    """The lowest threshold whose estimated precision has its interval's LOW end at `precision`.

    The lowest threshold picks the most rows and has the highest recall. `scores_p` may be an
    `Evidence`, or `Tails` counted elsewhere.

    >>> half = np.repeat([1.0, 0.0], 500)
    >>> threshold_for_precision(np.ones(1000), half, alpha=0.5, precision=0.9).n_picked
    500
    """
    level = check_fraction(confidence, "confidence")
    wanted = check_fraction(precision, "precision")
    value, limits, _ = read_alpha(alpha, level)
    tails = Evidence.of(scores_p, scores_u).tails
    tails.require_unlabeled()
    tails = tails.at(tails.above_u > 0)
    p, u = Share(tails.q_p, tails.n_p), Share(tails.q_u, tails.n_u)
    values, ends = (p.value, u.value, value), [p.limits(level), u.limits(level), limits]
    low = np.asarray(square_and_add(precision_of, values, ends)[0])
    good = np.flatnonzero(low >= wanted)
    if good.size == 0:
        raise out_of_reach(wanted, low)
    best, promised = tails.at(good[0]), min(1.0, float(low[good[0]]))
    return Choice(float(best.cuts), int(best.above_u), float(best.q_p), promised)


def out_of_reach(wanted: float, low: Any) -> InputError:
    """The error for a precision that no threshold reaches, from the low ends at all of them."""
    highest = f"the highest is {low.max():.3f}" if low.size else "no threshold picks a row"
    return InputError(
        "TB008",
        f"no threshold has an estimated precision that is {wanted:g} at its interval's low "
        f"end; {highest}.",
    )


def precision_of(q_p: Any, q_u: Any, alpha: Any) -> Any:
    """The share of positives among unlabeled rows, from the shares of both samples above a cut."""
    return alpha * q_p / q_u


def _f1(q_p: Any, q_u: Any, alpha: Any) -> Any:
    # With precision cut at 1, q_u cannot be less than the positives found in it.
    below = alpha + max(q_u, alpha * q_p)
    return 2 * alpha * q_p / below if below > 0 else 0.0


def check_threshold(threshold: Any) -> float:
    """A finite number, whole or not."""
    if not is_number(threshold):
        raise InputError("TB008", f"threshold must be a finite number; got {threshold!r}.")
    return float(threshold)


@dataclass(frozen=True, slots=True, eq=False)
class AtThreshold:
    """Both samples seen at one threshold."""

    threshold: float
    p: Share
    u: Share
    evidence: Evidence | None = None  # None if the shares were counted elsewhere

    @classmethod
    def of(
        cls, threshold: Any, scores_p: Any, scores_u: Any, weights_p: Any, weights_u: Any
    ) -> "AtThreshold":
        """Check everything, then count."""
        cut, evidence = check_threshold(threshold), Evidence.of(scores_p, scores_u)
        clean_p, clean_u = evidence.scores
        share_p = Share.at_least(clean_p, cut, check_weights(weights_p, clean_p, "weights_p"))
        share_u = Share.at_least(clean_u, cut, check_weights(weights_u, clean_u, "weights_u"))
        return cls(cut, share_p, share_u, evidence)

    def precision(self, alpha: Any, confidence: float) -> Measure:
        """The share of positives among the unlabeled rows at or above the threshold.

        >>> AtThreshold(2.0, Share(0.75, 4), Share(0.375, 8)).precision(0.25, 0.95).value  # ¼·¾/⅜
        0.5
        """
        return self.measure("estimated precision", precision_of, alpha, confidence)

    def measure(
        self, name: str, formula: Any, alpha: Any, confidence: float, *, span: Interval = (0.0, 1.0)
    ) -> Measure:
        """The formula at (q_p, q_u, α), with the interval that all three make."""
        level = check_fraction(confidence, "confidence")
        value, limits, notes = read_alpha(alpha, level)
        if isinstance(alpha, AlphaEstimate) and alpha.cut is not None:
            notes += (IN_TOP_BIN,) if self.threshold >= alpha.cut else ()
        found = float(formula(self.p.value, self.u.value, value))
        if found > span[1]:
            notes += (f"cut to 1 from {found:.3f}: α is too high for this threshold, or luck.",)
        parts = [self.p.known(level), self.u.known(level), (value, limits)]
        return combined(name, formula, parts, level, span=span, notes=notes)

    def refuse_own_cut(self, alpha: Any) -> None:
        """Refuse a precision that is 1 because α̂ was read at this bin of these rows."""
        if not isinstance(alpha, AlphaEstimate) or alpha.cut is None or self.evidence is None:
            return
        scores = self.evidence.scores
        own_p, own_u = own = [Share.at_least(sample, alpha.cut).value for sample in scores]
        here = [Share.at_least(sample, self.threshold).value for sample in scores]
        same_rows = [alpha.n_p, alpha.n_u] == [sample.size for sample in scores]
        read_here = own_p > 0 and isclose(alpha.alpha, min(1.0, own_u / own_p), rel_tol=1e-9)
        if same_rows and read_here and own == here:
            raise InputError(
                "TB201",
                f"alpha was read at this cut ({alpha.cut:g}) of the same rows, so the estimated "
                "precision is 1 by construction and says nothing. Choose another threshold, use "
                "other rows, or audit some.",
            )


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
