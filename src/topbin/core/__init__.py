"""Values and contracts that every other room uses; it needs only numpy and scipy."""

from topbin.core.errors import InputError, MissingExtra, TopbinError
from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.labels import Labels, read_labels
from topbin.core.tails import Tails

__all__ = [
    "Alarm",
    "AlphaEstimate",
    "Evidence",
    "InputError",
    "Labels",
    "MissingExtra",
    "Tails",
    "TopbinError",
    "read_labels",
]
