"""How many: mixture-proportion estimators, one file a method, with intervals and alarms."""

from topbin.mpe.bbe import bbe
from topbin.mpe.bbe_cp import bbe_cp
from topbin.mpe.registry import DEFAULT_METHOD, METHODS, Method, find_method

__all__ = ["DEFAULT_METHOD", "METHODS", "Method", "bbe", "bbe_cp", "find_method"]
