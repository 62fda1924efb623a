"""What people look at: pictures, the report page and the review page."""

from topbin.show.intervals import ByDisplay, GammaDisplay, HistoryDisplay, WatchDisplay
from topbin.show.page import fragment, page
from topbin.show.scores import PRDisplay, ROCDisplay, ScoreDisplay, TopBinDisplay

__all__ = [
    "ByDisplay", "GammaDisplay", "HistoryDisplay", "PRDisplay", "ROCDisplay", "ScoreDisplay",
    "TopBinDisplay", "WatchDisplay", "fragment", "page",
]  # fmt: skip
