"""How good, and what follows: metrics, curves, parts and periods of the rows, audits, verdicts."""

from topbin.evaluate import audit, metrics, with_truth
from topbin.evaluate.curves import Curves, list_precision, pu_curves
from topbin.evaluate.sensitivity import Sensitivity, sensitivity

__all__ = [
    "Curves", "Sensitivity", "audit", "list_precision", "metrics", "pu_curves", "sensitivity",
    "with_truth",
]  # fmt: skip
