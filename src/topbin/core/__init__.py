"""Values and contracts that every other room stands on; numpy is all it needs."""

from topbin.core.errors import InputError, MissingExtra, TopbinError
from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.core.labels import Labels, read_labels
from topbin.core.tails import Tails

__all__ = [
    "Alarm",
    "AlphaEstimate",
    "InputError",
    "Labels",
    "MissingExtra",
    "Tails",
    "TopbinError",
    "read_labels",
]
