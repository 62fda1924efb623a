"""α over time: the curve with its alarms, and a page with the periods."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.formatting import figure
from topbin.evaluate.watch import Watched
from topbin.show.canvas import BOUND, CHOSEN, POSITIVE, Display
from topbin.show.page import environment, picture

NAMES, SHOWN = 8, 60  # labels on the axis; lines of the table


@dataclass(repr=False)
class WatchDisplay(Display):
    """α of each period that has rows, its interval, and where alarms were raised."""

    start: NDArray[np.object_]
    alpha: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    alarm: NDArray[np.object_]
    confidence: float

    @classmethod
    def of(cls, periods: Sequence[Watched], confidence: float) -> "WatchDisplay":
        """The picture of what `topbin.watch` says of each period."""
        known = [one for one in periods if one.interval is not None]
        ends = np.array([one.interval for one in known], np.float64).reshape(-1, 2)
        names = (np.array([getattr(one, n) for one in known], object) for n in ("start", "alarm"))
        start, alarm = names
        alpha = np.array([one.alpha for one in known], np.float64)
        return cls(start, alpha, ends[:, 0], ends[:, 1], alarm, confidence)

    def draw(self, ax: Any) -> None:
        """The curve, its band, and a mark for each alarm."""
        place = np.arange(self.start.size)
        band = f"{100 * self.confidence:g} % interval"
        ends = np.vstack([self.alpha - self.low, self.high - self.alpha]).clip(0)
        ax.errorbar(place, self.alpha, yerr=ends, fmt="o-", color=POSITIVE, ecolor=POSITIVE,
                    elinewidth=0.8, linewidth=1.2, markersize=3.5, label=band)  # fmt: skip
        kinds = ("share", CHOSEN, "the share has moved"), ("rows", BOUND, "the rows have moved")
        for kind, color, told in kinds:
            own = np.flatnonzero(self.alarm == kind)
            if own.size:
                ax.plot(own, self.alpha[own], "D", color=color, markersize=8, label=told)
        step = max(1, -(-place.size // NAMES))
        ax.set_xticks(place[::step], self.start[::step], rotation=30, ha="right", fontsize=7)
        ax.set(ylabel="share of positives, α", title="α of each period", ylim=(0, None))


def watch_page(periods: Sequence[Watched], assumes: str, confidence: float) -> str:
    """The page: the curve, then one line per period, the last one first."""
    shown = picture(WatchDisplay.of(periods, confidence))
    return environment().get_template("watch.html").render(
        picture=shown, periods=periods[: -SHOWN - 1 : -1], assumes=assumes, figure=figure,
        alarms=[one for one in periods if one.alarm], confidence=confidence,
    )  # fmt: skip
