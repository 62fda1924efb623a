"""Pictures, one display a file: each holds numbers first and draws them last."""

from topbin.plots.history import HistoryDisplay
from topbin.plots.scores import ScoreDisplay
from topbin.plots.top_bin import TopBinDisplay

__all__ = ["HistoryDisplay", "ScoreDisplay", "TopBinDisplay"]
