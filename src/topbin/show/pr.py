"""The precision-recall curve without one known negative."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from topbin.evaluate.curves import Curves
from topbin.show.canvas import CHOSEN, POSITIVE
from topbin.show.curves import CurveDisplay


@dataclass
class PRDisplay(CurveDisplay):
    """Which precision at which recall: the price of finding more of the positives.

    The band holds for the whole curve at once, and allows for the interval of α unless α is given.
    The table has one row per threshold.

    >>> display = PRDisplay.from_scores(np.arange(100.0), np.arange(-100.0, 100.0), alpha=0.5)
    >>> display.precision.tolist() == [1.0] * 100
    True
    """

    threshold: NDArray[np.float64]
    recall: NDArray[np.float64]
    precision: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    curves: Curves

    @classmethod
    def from_curves(cls, curves: Curves) -> Self:
        """From curves that were made before."""
        at = curves.threshold, curves.recall, curves.precision
        return cls(*at, *curves.precision_band(curves.recall), curves)

    def draw(self, ax: Any) -> None:
        """The curve with its band, and the precision of picking rows at random."""
        ax.fill_between(self.recall, self.low, self.high, **self.band_style())
        label = f"if α = {self.curves.alpha:.3f}"
        ax.plot(self.recall, self.precision, color=POSITIVE, linewidth=1.6, label=label)
        chance = {"color": CHOSEN, "linewidth": 1, "linestyle": ":", "label": "rows at random"}
        ax.axhline(self.curves.alpha, **chance)
        ax.set(
            xlim=(0, 1),
            ylim=(0, 1.03),
            xlabel="recall: share of all positives that is found",
            ylabel="precision: share of positives",
            title="Precision and recall, without known negatives",
        )
