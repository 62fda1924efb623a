"""The public metrics, `topbin.metrics`: how good is a model, with no negative ever labeled?

Each takes scores of held-out positives and of unlabeled rows and returns a `Measure`: a figure,
its interval, and notes. `docs/explanation/metrics.md` says when to trust which.
"""

from topbin.evaluate.auc import estimated_auc, pu_auc
from topbin.evaluate.measure import Measure
from topbin.evaluate.risk import lee_liu, pu_risk
from topbin.evaluate.scorers import make_pu_scorer
from topbin.evaluate.threshold import (
    Choice,
    estimated_f1,
    estimated_precision,
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
