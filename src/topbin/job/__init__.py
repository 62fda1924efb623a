"""The whole job in one call: from a table to how many, which rows, and how far to trust it."""

from topbin.job.fit import fit
from topbin.job.prepare import Prepared, prepare
from topbin.job.result import Result

__all__ = ["Prepared", "Result", "fit", "prepare"]
