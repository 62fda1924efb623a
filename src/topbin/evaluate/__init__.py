"""How good: metrics without negatives, metrics with truth, and audits."""

from topbin.evaluate import audit, metrics, with_truth

__all__ = ["audit", "metrics", "with_truth"]
