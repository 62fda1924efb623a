"""The whole job in one call: from a table to how many, which rows, and how far to trust it."""

from topbin.job.fit import fit
from topbin.job.prepare import Prepared, from_pair, from_table
from topbin.job.result import Result
from topbin.job.sampled import fit_sampled
from topbin.learn.defaults import PRESETS

__all__ = ["PRESETS", "Prepared", "Result", "fit", "fit_sampled", "from_pair", "from_table"]
