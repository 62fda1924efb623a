"""The ROC curve without one known negative."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from topbin.evaluate.curves import Curves, require_negatives
from topbin.show.canvas import CHOSEN, POSITIVE
from topbin.show.curves import CurveDisplay


@dataclass
class ROCDisplay(CurveDisplay):
    """Which share of the positives against which share of the negatives, at every threshold.

    The band holds for the whole curve at once, and allows for the interval of α unless α is given.
    The table has one row per threshold.

    >>> display = ROCDisplay.from_scores(np.arange(100.0), np.arange(-100.0, 100.0), alpha=0.5)
    >>> display.fpr.max()
    np.float64(0.0)
    """

    threshold: NDArray[np.float64]
    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    curves: Curves

    @classmethod
    def from_curves(cls, curves: Curves) -> Self:
        """From curves that were made before; TB008 if α is 1, which leaves no negatives."""
        require_negatives(curves)
        at = curves.threshold, curves.fpr, curves.recall
        return cls(*at, *curves.tpr_band(curves.fpr), curves)

    def draw(self, ax: Any) -> None:
        """The curve with its band, which goes on to both corners, and the line of chance."""
        grid = np.unique(np.concatenate([np.linspace(0, 1, 200), self.fpr]))
        ax.fill_between(grid, *self.curves.tpr_band(grid), **self.band_style())
        ends = np.concatenate([[0.0], self.fpr, [1.0]]), np.concatenate([[0.0], self.tpr, [1.0]])
        label = f"if α = {self.curves.alpha:.3f}"
        ax.plot(*ends, color=POSITIVE, linewidth=1.6, label=label)
        chance = {"color": CHOSEN, "linewidth": 1, "linestyle": ":", "label": "rows at random"}
        ax.plot([0, 1], [0, 1], **chance)
        ax.set(
            xlim=(0, 1),
            ylim=(0, 1.03),
            xlabel="false positive rate: share of the negatives",
            ylabel="true positive rate (recall)",
            title="ROC curve, without known negatives",
        )
