"""The interval of α against Γ, how selective labeling may be, and where a conclusion falls."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.evaluate.sensitivity import GAMMAS, Conclusion, Sensitivity, sensitivity
from topbin.show.canvas import BOUND, CHOSEN, POSITIVE, Display


@dataclass
class GammaDisplay(Display):
    """How far the interval opens as labels may be less and less random.

    On the left, at Γ = 1, positives are labeled at random. The table has one row per Γ.

    >>> tails = np.ones(1000), np.repeat([1.0, 0.0], [100, 900])
    >>> GammaDisplay.from_scores(*tails, gamma=2).frame()["gamma"].tolist()
    [1.0, 2.0]
    """

    gamma: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    found: Sensitivity

    @classmethod
    def from_scores(cls, scores_p: Any, scores_u: Any = None, **asked: Any) -> "GammaDisplay":
        """The picture of `topbin.sensitivity`, which takes the same parameters."""
        return cls.of(sensitivity(scores_p, scores_u, **asked))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        gamma: Any = GAMMAS,
        at_most: float | None = None,
        at_least: float | None = None,
        ax: Any = None,
    ) -> "GammaDisplay":
        """Draw the picture of a fitted classifier or of the result of `topbin.fit`."""
        asked: Any = {"gamma": gamma, "at_most": at_most, "at_least": at_least}
        return cls.from_scores(estimator, **asked).plot(ax)

    @classmethod
    def of(cls, found: Sensitivity) -> "GammaDisplay":
        """The picture of an answer of `topbin.sensitivity`."""
        gamma = np.array([one.gamma for one in found.intervals], np.float64)
        low, high = np.array([one.interval for one in found.intervals], np.float64).T
        return cls(gamma, low, high, found)

    def draw(self, ax: Any) -> None:
        """The band of intervals, the conclusions, and where each of them falls."""
        level = f"{100 * self.found.confidence:g} % interval"
        band = {"color": POSITIVE, "alpha": 0.15, "linewidth": 0, "label": level}
        ax.fill_between(self.gamma, self.low, self.high, **band)
        for ends in (self.low, self.high):
            ax.plot(self.gamma, ends, "o-", color=POSITIVE, linewidth=1.6, markersize=4)
        for one in self.found.conclusions:
            self._mark(ax, one)
        top = max(self.high.max(), *(one.alpha for one in self.found.conclusions), 0.02)
        ax.set(
            xlim=(1, max(self.gamma.max(), 1.1)),
            ylim=(0, min(1.02, 1.15 * top)),
            xlabel="Γ: odds of being labeled differ up to so many times",
            ylabel="share of positives, α",
            title="If positives are not labeled at random",
        )

    def _mark(self, ax: Any, conclusion: Conclusion) -> None:
        """A conclusion as a line, and its tipping point as a mark on it."""
        alpha, tipping = conclusion.alpha, conclusion.tipping
        label = f"{conclusion.kind} {alpha:g}"
        ax.axhline(alpha, color=BOUND, linewidth=1, linestyle=":", label=label)
        if tipping is not None and tipping <= self.gamma.max():
            label = f"holds up to Γ = {tipping:.2f}"
            ax.plot([tipping], [alpha], "D", color=CHOSEN, markersize=6, label=label)
