"""The public metrics, `topbin.metrics`: how good is a model, with no negative ever labeled?

Each takes scores of held-out positives and of unlabeled rows and returns a `Measure`: a figure,
its interval, and notes. `docs/explanation/metrics.md` says when to trust which. As scorers, for
GridSearchCV and the like, they take labels (positive or unlabeled), not truth.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import Parameter, signature
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from topbin.core import AlphaEstimate, InputError, read_labels
from topbin.core.checks import look_up
from topbin.evaluate.auc import estimated_auc, pu_auc
from topbin.evaluate.measure import Measure
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
