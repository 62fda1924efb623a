"""What people look at: pictures, one display per file, the report page and the review page."""

from topbin.show.by_group import ByDisplay
from topbin.show.curves import PRDisplay, ROCDisplay
from topbin.show.gamma import GammaDisplay
from topbin.show.history import HistoryDisplay
from topbin.show.page import fragment, page
from topbin.show.scores import ScoreDisplay
from topbin.show.top_bin import TopBinDisplay
from topbin.show.watch import WatchDisplay

__all__ = [
    "ByDisplay", "GammaDisplay", "HistoryDisplay", "PRDisplay", "ROCDisplay", "ScoreDisplay",
    "TopBinDisplay", "WatchDisplay", "fragment", "page",
]  # fmt: skip
