"""The public metrics, `topbin.metrics`: how good is a model, with no negative ever labeled?

Each takes scores of held-out positives and of unlabeled rows and returns a `Measure`: a figure,
its interval, and notes. `docs/explanation/metrics.md` says when to trust which. As scorers, for
GridSearchCV and the like, they take labels (positive or unlabeled), not truth.

The AUC: a random unlabeled row is positive with probability α, and then it beats a positive half
the time: AUC_PU = α/2 + (1 − α)·AUC, so AUC = (AUC_PU − α/2)/(1 − α) (Jain, White & Radivojac,
AAAI 2017; Menon et al., ICML 2015). The share among the *unlabeled* is meant: α, not π. The
variance of AUC_PU is that of DeLong, DeLong & Clarke-Pearson (Biometrics 1988).

At a threshold, with q_p and q_u the shares of positives and of unlabeled rows at or above it:
recall = q_p, precision = α·q_p/q_u, F1 = 2·α·q_p/(α + q_u). At the cut where α̂ itself was read,
the precision is 1 by construction (α̂ = q_u/q_p there), so it is refused; anywhere in the bin above
that cut it repeats an assumption, and a note says so.

The risk is the estimated share of unlabeled rows on the wrong side of the threshold,
α·(1 − q_p) + (q_u − α·q_p) (du Plessis, Niu & Sugiyama, NeurIPS 2014), with the second part, which
is the negatives', kept from going below 0 (Kiryo et al., NeurIPS 2017). The score of Lee & Liu
(ICML 2003) is q_p²/q_u, which equals precision·recall/α and needs no α.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from math import inf, isclose, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit
from sklearn.metrics import make_scorer

from topbin.core import AlphaEstimate, Evidence, InputError, read_labels
from topbin.core.binomial import effective_rows, share_below
from topbin.core.checks import Floats, Scores, check_fraction, check_scores, is_number, look_up
from topbin.core.estimate import Interval
from topbin.core.options import CONFIDENCE
from topbin.evaluate.measure import (
    Measure,
    Share,
    check_weights,
    combined,
    read_alpha,
    square_and_add,
)

__all__ = [
    "Choice", "Difference", "Measure", "auc_difference", "estimated_auc", "estimated_f1",
    "estimated_precision", "lee_liu", "make_pu_scorer", "pu_auc", "pu_risk", "recall",
    "threshold_for_precision",
]  # fmt: skip
IN_TOP_BIN = (
    "this threshold is in the top bin, which α assumes to contain only positives; the figure "
    "repeats that assumption, which only an audit can test."
)


def pu_auc(
    scores_p: Any,
    scores_u: Any,
    *,
    confidence: float = CONFIDENCE,
    weights_p: Any = None,
    weights_u: Any = None,
) -> Measure:
    """How often a positive scores above an unlabeled row; ties count half.

    It needs no α and orders models as the true AUC does, but its ceiling is 1 − α/2, not 1. The
    interval is too narrow where the unlabeled are so few that they may contain no positive at all.

    Parameters
    ----------
    scores_p, scores_u
        Scores of held-out positives and of unlabeled rows.
    confidence
        The level of the interval.
    weights_p, weights_u
        One weight ≥ 0 per row; None: all rows count the same.

    Returns
    -------
    Measure
        The share of pairs that a positive wins, from 0 to 1 − α/2 on average.

    Examples
    --------
    >>> pu_auc([3.0, 2.0], [3.0, 1.0, 0.0, 0.0]).value      # 3.5 and 3 wins of 4
    0.8125
    """
    level = check_fraction(confidence, "confidence")
    share = _wins(_ranked(scores_p, weights_p, "p"), _ranked(scores_u, weights_u, "u"), level)
    return share.measure("PU-AUC", level)


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much one figure exceeds another, and the standard error of that.

    >>> Difference(0.03, error=0.01).value
    0.03
    """

    value: float
    error: float


def auc_difference(one: tuple[Scores, Scores], other: tuple[Scores, Scores]) -> Difference:
    """By how much one model's AUC exceeds another's, both having scored the same rows.

    A row that is hard for both models moves both figures, so the difference is more certain than
    either (DeLong, DeLong & Clarke-Pearson 1988).

    Parameters
    ----------
    one, other
        For each model its scores of positives and of the other rows, in the same order of rows.

    Returns
    -------
    Difference
        The `value`, and its standard `error`.

    Examples
    --------
    >>> auc_difference((np.array([3.0, 2.0]), np.zeros(9)), (np.zeros(2), np.zeros(9)))
    Difference(value=0.5, error=0.0)
    """
    places_of_one, places_of_other = _places(*one), _places(*other)
    if [side.size for side in places_of_one] != [side.size for side in places_of_other]:
        raise InputError("TB005", "the two models must have scored the same rows.")
    p, u = map(np.subtract, places_of_one, places_of_other)
    if not p.any() and not u.any():
        return Difference(0.0, 0.0)
    return Difference(float(p.mean()), sqrt(_variance_of_mean(p) + _variance_of_mean(u)))


def _places(scores_p: Any, scores_u: Any) -> tuple[Floats, Floats]:
    """How many of the other sample each row beats, or is beaten by: both have the AUC as mean."""
    p, u = check_scores(scores_p, "scores_p"), check_scores(scores_u, "scores_u")
    return share_below(p, np.sort(u)), 1 - share_below(u, np.sort(p))


def _variance_of_mean(differences: Floats) -> float:
    """Of a single row, the largest that a number from −1 to 1 can have."""
    n = differences.size
    return float(differences.var(ddof=1) / n) if n > 1 else 1.0


def estimated_auc(
    scores_p: Any,
    scores_u: Any,
    *,
    alpha: Any,
    confidence: float = CONFIDENCE,
    weights_p: Any = None,
    weights_u: Any = None,
) -> Measure:
    """The AUC of positives against the negatives that nobody has labeled.

    Parameters
    ----------
    scores_p, scores_u, confidence, weights_p, weights_u
        As in `pu_auc`.
    alpha
        An `AlphaEstimate`, whose interval is then part of this one, or a known number.

    Returns
    -------
    Measure
        The AUC, cut to [0, 1]; a note says if α seems too high.

    Examples
    --------
    >>> scores_u = [2.0] + [1.0] * 4                        # α = 0.2: one of five is positive
    >>> estimated_auc([2.0, 2.0], scores_u, alpha=0.2).value  # (0.9 − 0.1)/(1 − 0.2)
    1.0
    """
    level = check_fraction(confidence, "confidence")
    value, limits, notes = read_alpha(alpha, level)
    if value == 1:
        raise InputError(
            "TB008",
            "alpha is 1: no unlabeled row is negative, so an AUC against negatives is undefined. "
            "Use pu_auc, which needs no alpha.",
        )
    share = _wins(_ranked(scores_p, weights_p, "p"), _ranked(scores_u, weights_u, "u"), level)
    if _corrected(share.value, value) > 1:
        notes += (
            f"PU-AUC is {share.value:.3f}, above its ceiling 1 − α/2 = {1 - value / 2:.3f}: "
            "α is probably too high.",
        )
    parts = [share.with_limits(level), (value, limits)]
    return combined("estimated AUC", _corrected, parts, level, notes=notes)


def _corrected(auc: float, alpha: float) -> float:
    if alpha == 1:  # only as the end of an interval
        return inf if auc > 0.5 else -inf if auc < 0.5 else 0.5
    return (auc - alpha / 2) / (1 - alpha)


def _ranked(scores: Any, weights: Any, side: str) -> tuple[Scores, Floats]:
    """A sample and its weights, sorted, so that the order of rows changes no bit."""
    clean = check_scores(scores, f"scores_{side}")
    given = check_weights(weights, clean, f"weights_{side}")
    if given is None:
        return np.sort(clean), np.ones(clean.size)
    order = np.lexsort((given, clean))
    return clean[order], given[order]


def _wins(sample_p: tuple[Scores, Floats], sample_u: tuple[Scores, Floats], level: float) -> Share:
    """The share of pairs a positive wins, and how many plain trials would know it as well.

    A variance of AUC·(1 − AUC)/n is that of n plain trials, fewer as the variance itself comes from
    few rows (Korn & Graubard, Survey Methodology 1998). No scores are worse than n = min(n_p, n_u)
    (van Dantzig 1951), which also serves where a side has one row.
    """
    (ranked_p, weights_p), (ranked_u, weights_u) = sample_p, sample_u
    beaten = share_below(ranked_p, ranked_u, weights_u)
    beaten_by = 1 - share_below(ranked_u, ranked_p, weights_p)
    auc = float(np.average(beaten, weights=weights_p))
    n_p, n_u = effective_rows(weights_p), effective_rows(weights_u)
    least, worst = min(n_p, n_u), auc * (1 - auc)
    if least <= 1 or worst <= 0:
        return Share(min(1.0, max(0.0, auc)), least)
    variance = _of_mean(beaten, weights_p, n_p, worst) + _of_mean(beaten_by, weights_u, n_u, worst)
    upper = (1 + level) / 2
    few_rows = (ndtri(upper) / stdtrit(least - 1, upper)) ** 2
    return Share(auc, max(least, few_rows * worst / variance))


def _of_mean(values: Floats, weights: Floats, n: float, worst: float) -> float:
    """The variance of the mean of these values.

    One row of the n counts as fully uncertain: samples that happen to contain no badly placed row
    would otherwise seem too certain (a miss of 7 % instead of 2.5 % at n_p = 15, AUC .96).
    """
    mean = np.average(values, weights=weights)
    seen = np.average((values - mean) ** 2, weights=weights)
    return float((seen + (worst - seen) / n) / (n - 1))


def recall(
    scores_p: Any, *, threshold: float, confidence: float = CONFIDENCE, weights_p: Any = None
) -> Measure:
    """The share of positives that are found; they must not have trained the scorer.

    Parameters
    ----------
    scores_p
        Scores of the positives.
    threshold
        Rows that score at least this are called positive.
    confidence
        The level of the interval.
    weights_p
        One weight ≥ 0 per row; None: all rows count the same.

    Returns
    -------
    Measure
        The share at or above the threshold.

    Examples
    --------
    >>> print(recall([0.9, 0.8, 0.7, 0.2], threshold=0.5))
    recall 0.750 (95 %: 0.194 to 0.994)
    """
    level = check_fraction(confidence, "confidence")
    scores = check_scores(scores_p, "scores_p")
    weights = check_weights(weights_p, scores, "weights_p")
    return Share.at_least(scores, _check_threshold(threshold), weights).measure("recall", level)


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

    An α that is too high makes this too high by the same factor.

    Parameters
    ----------
    scores_p, scores_u
        Scores of held-out positives and of unlabeled rows; or an `Evidence` alone.
    threshold
        Rows that score at least this are called positive.
    alpha
        An `AlphaEstimate`, whose interval is then part of this one, or a known number.
    confidence
        The level of the interval.
    weights_p, weights_u
        One weight ≥ 0 per row; None: all rows count the same.

    Returns
    -------
    Measure
        α·q_p/q_u, cut to 1.

    Examples
    --------
    >>> scores_p, scores_u = [3.0, 3.0, 2.0, 1.0], [3.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    >>> estimated_precision(scores_p, scores_u, threshold=2.0, alpha=0.25).value  # ¼·¾/⅜
    0.5
    """
    seen = _AtThreshold.of(threshold, scores_p, scores_u, weights_p, weights_u)
    seen.refuse_own_cut(alpha)
    if seen.u.value == 0:
        highest = seen.evidence.scores[1].max()
        raise InputError(
            "TB003",
            f"no unlabeled row scores {threshold:g} or more, so no precision can be estimated. "
            f"The highest unlabeled score is {highest:g}; lower the threshold.",
        )
    return seen.measure("estimated precision", precision_of, alpha, confidence)


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

    Parameters
    ----------
    scores_p, scores_u, threshold, alpha, confidence, weights_p, weights_u
        As in `estimated_precision`.

    Returns
    -------
    Measure
        2·α·q_p/(α + q_u).

    Examples
    --------
    >>> scores_p, scores_u = [3.0, 3.0, 2.0, 1.0], [3.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    >>> estimated_f1(scores_p, scores_u, threshold=2.0, alpha=0.25).value  # of ¾ and ½
    0.6
    """
    seen = _AtThreshold.of(threshold, scores_p, scores_u, weights_p, weights_u)
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

    The lowest threshold picks the most rows and has the highest recall.

    Parameters
    ----------
    scores_p, scores_u
        Scores of held-out positives and of unlabeled rows; or an `Evidence` or `Tails` alone.
    alpha
        An `AlphaEstimate`, whose interval is then part of this one, or a known number.
    precision
        What the low end must reach; TB008 if no threshold does.
    confidence
        The level of the interval.

    Returns
    -------
    Choice
        The threshold, how many unlabeled rows it picks, its recall, and the low end.

    Examples
    --------
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


class OutOfReach(InputError):
    """No threshold reaches the precision that is wanted."""


def out_of_reach(wanted: float, low: Any) -> OutOfReach:
    """The error for a precision that no threshold reaches, from the low ends at all of them."""
    highest = f"the highest is {low.max():.3f}" if low.size else "no threshold picks a row"
    return OutOfReach(
        "TB008",
        f"no threshold has an estimated precision that is {wanted:g} at its interval's low "
        f"end; {highest}.",
    )


def precision_of(q_p: Any, q_u: Any, alpha: Any) -> Any:
    """The share of positives among unlabeled rows, from the shares of both samples above a cut."""
    return alpha * q_p / q_u


def _f1(q_p: Any, q_u: Any, alpha: Any) -> Any:
    if q_u > alpha * q_p:
        return 2 * alpha * q_p / (alpha + q_u)
    return 2 * q_p / (1 + q_p) if alpha > 0 else 0.0  # precision is cut at 1


def _check_threshold(threshold: Any) -> float:
    """A finite number, whole or not."""
    if not is_number(threshold):
        raise InputError("TB008", f"threshold must be a finite number; got {threshold!r}.")
    return float(threshold)


@dataclass(frozen=True, slots=True, eq=False)
class _AtThreshold:
    """Both samples seen at one threshold."""

    threshold: float
    evidence: Evidence
    p: Share
    u: Share

    @classmethod
    def of(
        cls, threshold: Any, scores_p: Any, scores_u: Any, weights_p: Any, weights_u: Any
    ) -> "_AtThreshold":
        """Check everything, then count."""
        cut, evidence = _check_threshold(threshold), Evidence.of(scores_p, scores_u)
        p, u = evidence.scores
        share_p = Share.at_least(p, cut, check_weights(weights_p, p, "weights_p"))
        share_u = Share.at_least(u, cut, check_weights(weights_u, u, "weights_u"))
        return cls(cut, evidence, share_p, share_u)

    def measure(
        self, name: str, formula: Any, alpha: Any, confidence: float, *, span: Interval = (0.0, 1.0)
    ) -> Measure:
        """The formula at (q_p, q_u, α), with the interval that all three make."""
        level = check_fraction(confidence, "confidence")
        value, limits, notes = read_alpha(alpha, level)
        if isinstance(alpha, AlphaEstimate) and alpha.cut is not None:
            notes += (IN_TOP_BIN,) if self.threshold >= alpha.cut else ()
        uncut = float(formula(self.p.value, self.u.value, value))
        if uncut > span[1]:
            notes += (f"cut to 1 from {uncut:.3f}: α is too high for this threshold, or luck.",)
        parts = [self.p.with_limits(level), self.u.with_limits(level), (value, limits)]
        return combined(name, formula, parts, level, span=span, notes=notes)

    def refuse_own_cut(self, alpha: Any) -> None:
        """Refuse a precision that is 1 because α̂ was read at this bin of these rows."""
        if not isinstance(alpha, AlphaEstimate) or alpha.cut is None:
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

    Parameters
    ----------
    scores_p, scores_u, threshold, alpha, confidence, weights_p, weights_u
        As in `estimated_precision`.
    non_negative
        Whether the negatives' part is kept where it must lie.

    Returns
    -------
    Measure
        α·(1 − q_p) + (q_u − α·q_p); lower is better.

    Examples
    --------
    >>> scores_p, scores_u = [3.0, 3.0, 2.0, 1.0], [3.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    >>> pu_risk(scores_p, scores_u, threshold=2.0, alpha=0.25).value  # ¼·¼ + (⅜ − ¼·¾)
    0.25
    """
    seen = _AtThreshold.of(threshold, scores_p, scores_u, weights_p, weights_u)
    if non_negative:
        return seen.measure("PU risk", _risk, alpha, confidence)
    unbiased = lambda q_p, q_u, a: a * (1 - q_p) + q_u - a * q_p  # noqa: E731
    return seen.measure("unbiased PU risk", unbiased, alpha, confidence, span=(-inf, inf))


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

    Parameters
    ----------
    scores_p, scores_u, threshold, confidence, weights_p, weights_u
        As in `estimated_precision`.

    Returns
    -------
    Measure
        q_p²/q_u; higher is better.

    Examples
    --------
    >>> lee_liu([3.0, 3.0, 2.0, 1.0], [3.0, 2.0, 2.0, 0.0], threshold=2.0).value  # (¾)²/¾
    0.75
    """
    level = check_fraction(confidence, "confidence")
    seen = _AtThreshold.of(threshold, scores_p, scores_u, weights_p, weights_u)
    if seen.u.value == 0 and seen.p.value > 0:
        raise InputError(
            "TB003",
            f"positives score {threshold:g} or more and no unlabeled row does: recall² over 0 is "
            "undefined. Lower the threshold, or pass more unlabeled rows.",
        )
    if seen.u.value == 0:
        return Measure("Lee-Liu score", 0.0, (0.0, 0.0), level, ("nothing is called positive.",))
    shares = [seen.p.with_limits(level), seen.u.with_limits(level)]
    return combined("Lee-Liu score", lambda q_p, q_u: q_p**2 / q_u, shares, level, span=(0.0, inf))


def _risk(q_p: Any, q_u: Any, alpha: Any) -> Any:
    return alpha * (1 - q_p) + min(1 - alpha, max(0.0, q_u - alpha * q_p))


METRICS: dict[str, Callable[..., Measure]] = {
    metric.__name__: metric
    for metric in (
        pu_auc, estimated_auc, recall, estimated_precision, estimated_f1, lee_liu, pu_risk,
    )
}  # fmt: skip
LOSSES = {"pu_risk"}  # lower is better


def make_pu_scorer(
    metric: str = "pu_auc",
    *,
    alpha: Any = None,
    threshold: float | None = None,
    positive: Any = None,
) -> Any:
    """A scorer for scikit-learn's model selection; a risk comes back negative, as a loss does.

    Metrics at a threshold judge what `predict` says, or, with `threshold=`, `predict_proba`.

    Parameters
    ----------
    metric
        The name of a metric of this module.
    alpha
        For metrics that need it.
    threshold
        For metrics at a threshold: that of `predict_proba`; None: what `predict` says.
    positive
        The label of positives where it is not 1.

    Returns
    -------
    callable
        `scorer(model, X, y)`, with y positive or unlabeled.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, s = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> make_pu_scorer("pu_auc")(LogisticRegression().fit(X, s), X, s)
    1.0
    """
    asks = _parameters(metric)
    if "alpha" in asks and alpha is None:
        raise InputError(
            "TB008",
            f"{metric} needs alpha, the share of positives among the unlabeled. Pass "
            "alpha=topbin.estimate_alpha(...), or use pu_auc or lee_liu, which need none.",
        )
    if isinstance(alpha, AlphaEstimate):
        alpha = replace(alpha, interval=None, confidence=None)  # a scorer gives no interval
    response: Any = ("decision_function", "predict_proba")
    if "threshold" in asks:
        response = "predict" if threshold is None else "predict_proba"
    label = {} if positive is None else {"pos_label": positive}
    return make_scorer(
        _score, response_method=response, greater_is_better=metric not in LOSSES, metric=metric,
        alpha=alpha, threshold=threshold, **label,
    )  # fmt: skip


def _score(
    s: Any,
    response: Any,
    *,
    metric: str,
    alpha: Any,
    threshold: float | None,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> float:
    """One metric of one model on one fold."""
    labels, asks = read_labels(s, positive=pos_label), _parameters(metric)
    scores, weights = np.asarray(response), sample_weight
    if "threshold" in asks and threshold is None:
        scores, threshold = (scores == labels.positive).astype(np.float64), 1.0
    known: dict[str, Any] = {"alpha": alpha, "threshold": threshold}
    for side, rows in (("p", labels.is_positive), ("u", labels.is_unlabeled)):
        known[f"scores_{side}"] = scores[rows]
        known[f"weights_{side}"] = None if weights is None else np.asarray(weights)[rows]
    return float(METRICS[metric](**{name: known[name] for name in asks if name in known}))


def _parameters(metric: str) -> Mapping[str, Parameter]:
    return signature(look_up(metric, METRICS, "metric")).parameters
