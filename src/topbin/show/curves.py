"""Precision-recall and ROC curves without one known negative."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from topbin.core.defaults import CONFIDENCE
from topbin.evaluate.curves import Curves, pu_curves, require_negatives
from topbin.show.canvas import CHOSEN, POSITIVE, Display


class CurveDisplay(Display):
    """A display that is made from `Curves`."""

    curves: Curves

    @classmethod
    @abstractmethod
    def from_curves(cls, curves: Curves) -> Self:
        """From curves that were made before."""

    @classmethod
    def from_scores(
        cls,
        scores_p: Any,
        scores_u: Any = None,
        *,
        alpha: Any = None,
        confidence: float = CONFIDENCE,
    ) -> Self:
        """Count the scores, estimate α unless it is given, keep what the picture needs."""
        return cls.from_curves(pu_curves(scores_p, scores_u, alpha=alpha, confidence=confidence))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, alpha: Any = None, confidence: float = CONFIDENCE, ax: Any = None
    ) -> Self:
        """Draw the curve of a fitted classifier, from scores of models that never saw the row."""
        return cls.from_scores(estimator, alpha=alpha, confidence=confidence).plot(ax)

    @classmethod
    def from_result(cls, result: Any, *, alpha: Any = None, ax: Any = None) -> Self:
        """Draw the curve of the result of `topbin.fit`, at its confidence."""
        level = result.estimate.confidence or CONFIDENCE
        return cls.from_estimator(result, alpha=alpha, confidence=level, ax=ax)

    def band_style(self) -> dict[str, Any]:
        """How the band is drawn, and what its label says."""
        low, high = self.curves.alpha_range
        label = f"{100 * self.curves.confidence:g} % band of the curve"
        if low < high:
            label += f", α {low:.3f} to {high:.3f}"
        return {"color": POSITIVE, "alpha": 0.15, "linewidth": 0, "label": label}


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
