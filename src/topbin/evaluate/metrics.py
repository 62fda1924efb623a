"""The public metrics, `topbin.metrics`: how good is a model, with no negative ever labeled?

Each takes scores of held-out positives and of unlabeled rows and returns a `Measure`: a figure,
its interval, and notes. `docs/explanation/metrics.md` says when to trust which. As scorers, for
GridSearchCV and the like, they take labels (positive or unlabeled), not truth.

The AUC: a random unlabeled row is positive with probability α, and then it beats a positive half
the time: AUC_PU = α/2 + (1 − α)·AUC, so AUC = (AUC_PU − α/2)/(1 − α) (Jain, White & Radivojac,
AAAI 2017; Menon et al., ICML 2015). The share among the *unlabeled* is meant: α, not π. The
variance of AUC_PU is that of DeLong, DeLong & Clarke-Pearson (Biometrics 1988).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import Parameter, signature
from math import inf
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit
from sklearn.metrics import make_scorer

from topbin.core import AlphaEstimate, InputError, read_labels
from topbin.core.binomial import share_below
from topbin.core.checks import Scores, check_fraction, check_scores, look_up
from topbin.core.defaults import CONFIDENCE
from topbin.evaluate.measure import (
    Floats,
    Measure,
    Share,
    check_weights,
    combined,
    effective_rows,
    read_alpha,
)
from topbin.evaluate.threshold import (
    Choice,
    estimated_f1,
    estimated_precision,
    lee_liu,
    pu_risk,
    recall,
    threshold_for_precision,
)

__all__ = [
    "Choice",
    "Measure",
    "estimated_auc",
    "estimated_f1",
    "estimated_precision",
    "lee_liu",
    "make_pu_scorer",
    "pu_auc",
    "pu_risk",
    "recall",
    "threshold_for_precision",
]


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

    >>> pu_auc([3.0, 2.0], [3.0, 1.0, 0.0, 0.0]).value      # 3.5 and 3 wins of 4
    0.8125
    """
    level = check_fraction(confidence, "confidence")
    share = _wins(_ranked(scores_p, weights_p, "p"), _ranked(scores_u, weights_u, "u"), level)
    return share.measure("PU-AUC", level)


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

    `alpha` is an `AlphaEstimate`, whose interval is then part of this one, or a known number.

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
    parts = [share.known(level), (value, limits)]
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
    `positive` is the label of positives where it is not 1.

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
        _score,
        response_method=response,
        greater_is_better=metric not in LOSSES,
        metric=metric,
        alpha=alpha,
        threshold=threshold,
        **label,
    )


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
