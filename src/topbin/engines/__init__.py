"""The same answer at any size: engines count, and `topbin.mpe` reads the sum.

Tails of parts of the unlabeled rows add (Garg et al. 2021 need no more than these counts), so a
cluster is handed the cuts, counts its parts, and the total equals the count on one machine.
"""

from topbin.engines.binned import Binned, bin_scores
from topbin.engines.count import Counted, count_from, tails_from
from topbin.engines.engine import ENGINES, Engine, open_engine
from topbin.engines.local import Local

__all__ = [
    "Binned",
    "Counted",
    "ENGINES",
    "Engine",
    "Local",
    "bin_scores",
    "count_from",
    "open_engine",
    "tails_from",
]
