"""α̂ and the loss by epoch of a net, or by round of refitting: the paper's figure 1, right."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.show.canvas import CHOSEN, POSITIVE, UNLABELED, legend_below, open_axis


@dataclass(slots=True)
class HistoryDisplay:
    """How the estimate settled while the model learned.

    >>> HistoryDisplay.from_history([{"epoch": 1, "loss": 0.7, "alpha": 0.5}]).frame()["alpha"][0]
    np.float64(0.5)
    """

    epoch: NDArray[np.int64]
    loss: NDArray[np.float64]
    alpha: NDArray[np.float64]
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_estimator(cls, classifier: Any) -> "HistoryDisplay":
        """The picture of a fitted classifier's `history_`."""
        return cls.from_history(
            [
                {
                    "epoch": e.epoch,
                    "loss": e.loss,
                    "alpha": e.alpha if e.estimate is None else e.estimate.alpha,
                }
                for e in classifier.history_
            ]
        )

    @classmethod
    def from_history(cls, history: Sequence[dict[str, Any]]) -> "HistoryDisplay":
        """From records with `epoch`, `loss` and `alpha`, as in result.json."""
        if not history:
            raise InputError("TB001", "the history is empty; fit a classifier first.")
        loss, alpha = (
            np.array([np.nan if e[key] is None else e[key] for e in history], np.float64)
            for key in ("loss", "alpha")
        )
        return cls(np.array([e["epoch"] for e in history]), loss, alpha)

    def frame(self) -> Any:
        """The numbers of the picture as a pandas table."""
        pd = require("pandas", extra=None, caller="HistoryDisplay.frame")
        return pd.DataFrame({"epoch": self.epoch, "loss": self.loss, "alpha": self.alpha})

    def plot(self, ax: Any = None) -> "HistoryDisplay":
        """Draw on `ax`, or on a new one; returns itself with `ax_` and `figure_`."""
        ax = open_axis(ax, "HistoryDisplay.plot")
        by_epoch = self.frame().groupby("epoch")
        mean, low, high = by_epoch.mean(), by_epoch.min(), by_epoch.max()
        marker = "o" if len(mean) < 30 else None
        for name, color, text in (("alpha", POSITIVE, "α̂"), ("loss", UNLABELED, "training loss")):
            if mean[name].notna().any():
                ax.fill_between(mean.index, low[name], high[name], color=color, alpha=0.2, lw=0)
                ax.plot(mean.index, mean[name], color=color, marker=marker, ms=4, label=text)
        ax.set(
            xlabel="epoch or round",
            ylabel="value",
            title="How the estimate settled",
            ylim=(0, None),
        )
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.tick_params(colors=CHOSEN)
        legend_below(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
