"""The whole job in one call: from a table to how many, which rows, and how far to trust it."""

from topbin.job.fit import PRESETS, fit
from topbin.job.prepare import Prepared, from_pair, from_table
from topbin.job.result import Result

__all__ = ["PRESETS", "Prepared", "Result", "fit", "from_pair", "from_table"]
