"""Scorers for GridSearchCV and the like: y contains labels (positive or unlabeled), not truth."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.labels import read_labels
from topbin.evaluate.auc import estimated_auc, pu_auc
from topbin.evaluate.measure import Measure
from topbin.evaluate.risk import lee_liu, pu_risk
from topbin.evaluate.threshold import estimated_f1, estimated_precision, recall


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric and what it asks for."""

    compute: Callable[..., Measure]
    needs_alpha: bool
    needs_threshold: bool
    higher_is_better: bool = True


METRICS = {
    "pu_auc": Metric(pu_auc, needs_alpha=False, needs_threshold=False),
    "estimated_auc": Metric(estimated_auc, needs_alpha=True, needs_threshold=False),
    "recall": Metric(recall, needs_alpha=False, needs_threshold=True),
    "estimated_precision": Metric(estimated_precision, needs_alpha=True, needs_threshold=True),
    "estimated_f1": Metric(estimated_f1, needs_alpha=True, needs_threshold=True),
    "lee_liu": Metric(lee_liu, needs_alpha=False, needs_threshold=True),
    "pu_risk": Metric(pu_risk, True, True, higher_is_better=False),
}


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
    found = _find(metric)
    if found.needs_alpha and alpha is None:
        raise InputError(
            "TB008",
            f"{metric} needs alpha, the share of positives among the unlabeled. Pass "
            "alpha=topbin.estimate_alpha(...), or use pu_auc or lee_liu, which need none.",
        )
    if isinstance(alpha, AlphaEstimate):
        alpha = replace(alpha, interval=None, confidence=None)  # a scorer gives no interval
    if not found.needs_threshold:
        response: Any = ("decision_function", "predict_proba")
    else:
        response = "predict" if threshold is None else "predict_proba"
    label = {} if positive is None else {"pos_label": positive}
    return make_scorer(
        _score,
        response_method=response,
        greater_is_better=found.higher_is_better,
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
    labels, found = read_labels(s, positive=pos_label), _find(metric)
    given = np.asarray(response)
    is_p, is_u = labels.is_positive, labels.is_unlabeled
    choices: dict[str, Any] = {"alpha": alpha} if found.needs_alpha else {}
    if found.needs_threshold:
        choices["threshold"] = 1.0 if threshold is None else threshold
        if threshold is None:
            given = (given == labels.positive).astype(np.float64)
    if sample_weight is not None:
        weights = np.asarray(sample_weight)
        choices["weights_p"] = weights[is_p]
        if found.compute is not recall:
            choices["weights_u"] = weights[is_u]
    samples = (given[is_p],) if found.compute is recall else (given[is_p], given[is_u])
    return float(found.compute(*samples, **choices))


def _find(metric: str) -> Metric:
    if metric not in METRICS:
        raise InputError(
            "TB008", f"no metric is called {metric!r}; the metrics are {', '.join(METRICS)}."
        )
    return METRICS[metric]
