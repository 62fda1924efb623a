"""What people look at: pictures, one display per file, the report page and the review page."""

from topbin.show.gamma import GammaDisplay
from topbin.show.history import HistoryDisplay
from topbin.show.page import fragment, page
from topbin.show.pr import PRDisplay
from topbin.show.roc import ROCDisplay
from topbin.show.scores import ScoreDisplay
from topbin.show.top_bin import TopBinDisplay

__all__ = [
    "GammaDisplay", "HistoryDisplay", "PRDisplay", "ROCDisplay", "ScoreDisplay", "TopBinDisplay",
    "fragment", "page",
]  # fmt: skip
