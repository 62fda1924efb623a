"""α̂ and the loss by epoch of a net, or by round of refitting: the paper's figure 1, right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.errors import InputError
from topbin.show.canvas import CHOSEN, POSITIVE, UNLABELED, Display
from topbin.store.answer import EpochRecord


@dataclass(repr=False)
class HistoryDisplay(Display):
    """How the estimate settled while the model learned; one row per epoch and model."""

    epoch: NDArray[np.int64]
    loss: NDArray[np.float64]
    alpha: NDArray[np.float64]

    @classmethod
    def from_estimator(cls, classifier: Any, *, ax: Any = None) -> "HistoryDisplay":
        """Draw the picture of a fitted classifier's `history_`."""
        return cls.from_history([record(epoch) for epoch in classifier.history_]).plot(ax)

    @classmethod
    def from_history(cls, history: Sequence[EpochRecord]) -> "HistoryDisplay":
        """From the records that an answer has."""
        if not history:
            raise InputError("TB001", "the history is empty; fit a classifier first.")
        epoch = np.array([one.epoch for one in history])
        # None, where there is no loss or no estimate, becomes NaN.
        loss = np.array([one.loss for one in history], np.float64)
        alpha = np.array([one.alpha for one in history], np.float64)
        return cls(epoch, loss, alpha)

    def draw(self, ax: Any) -> None:
        """The mean of all models, and from the lowest to the highest."""
        by_epoch = self.frame().groupby("epoch")
        mean, low, high = by_epoch.mean(), by_epoch.min(), by_epoch.max()
        marker = "o" if len(mean) < 30 else None
        for name, color, text in (("alpha", POSITIVE, "α̂"), ("loss", UNLABELED, "training loss")):
            if mean[name].notna().any():
                ax.fill_between(mean.index, low[name], high[name], color=color, alpha=0.2, lw=0)
                ax.plot(mean.index, mean[name], color=color, marker=marker, ms=4, label=text)
        title = "How the estimate settled"
        ax.set(
            xlabel="epoch or round", ylabel="α̂, and the training loss", title=title, ylim=(0, None)
        )
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.tick_params(colors=CHOSEN)


def record(epoch: Any) -> EpochRecord:
    """An epoch of a fitted classifier's `history_` as an answer keeps it."""
    return EpochRecord(
        epoch=epoch.epoch,
        phase=epoch.phase,
        loss=epoch.loss,
        training_error=epoch.training_error,
        alpha=epoch.alpha if epoch.estimate is None else epoch.estimate.alpha,
        kept=epoch.n_kept,
    )
