"""How good: metrics without negatives, metrics with truth, audits, and checks of tables."""

from topbin.evaluate import audit, metrics, with_truth
from topbin.evaluate.table import Finding, check_table
from topbin.evaluate.two_tables import check_two_tables, compare_columns, overlap_ids

__all__ = [
    "Finding",
    "audit",
    "check_table",
    "check_two_tables",
    "compare_columns",
    "metrics",
    "overlap_ids",
    "with_truth",
]
