"""How many: mixture-proportion estimators, one file a method, with intervals and alarms."""

from topbin.mpe.bbe import bbe
from topbin.mpe.registry import METHODS, Method, find_method

__all__ = ["METHODS", "Method", "bbe", "find_method"]
