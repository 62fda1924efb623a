"""α by group as a forest: one line per group, and where the whole is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.evaluate.by_group import ByGroup
from topbin.show.canvas import CHOSEN, POSITIVE, UNLABELED, Display


@dataclass(repr=False)
class ByDisplay(Display):
    """α of each group with its interval; the table also has difference and ratio to the rest."""

    group: NDArray[np.object_]
    n_p: NDArray[np.int64]
    n_u: NDArray[np.int64]
    alpha: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    difference: NDArray[np.float64]
    difference_low: NDArray[np.float64]
    difference_high: NDArray[np.float64]
    ratio: NDArray[np.float64]
    ratio_low: NDArray[np.float64]
    ratio_high: NDArray[np.float64]
    differs: NDArray[np.bool_]
    found: ByGroup

    @classmethod
    def of(cls, found: ByGroup) -> "ByDisplay":
        """The picture of what `Result.by` gives."""
        groups = found.groups
        columns: dict[str, Any] = {
            name: np.array([getattr(one, name) for one in groups])
            for name in ("n_p", "n_u", "alpha", "difference", "ratio", "differs")
        }
        columns["group"] = np.array([one.group for one in groups], object)
        for before, name in (("", "interval"), ("difference_", "difference_interval"),
                             ("ratio_", "ratio_interval")):  # fmt: skip
            ends = np.array([getattr(one, name) for one in groups], np.float64).reshape(-1, 2)
            columns[f"{before}low"], columns[f"{before}high"] = ends.T
        return cls(**columns, found=found)

    @classmethod
    def from_result(cls, result: Any, column: str, *, ax: Any = None) -> "ByDisplay":
        """Draw α by a column of the rows of `topbin.fit`."""
        return cls.of(result.by(column)).plot(ax)

    @property
    def height(self) -> float:
        """Inches that the groups need."""
        return max(3.0, 1.8 + 0.42 * self.group.size)

    def draw(self, ax: Any) -> None:
        """A line per group from the top down, its name above it; groups that differ are dark."""
        level = f"{100 * self.found.confidence:g} % interval"
        for y, name in enumerate(self.group):
            ax.text(0.01, y - 0.22, name, transform=ax.get_yaxis_transform(), fontsize="small")
        for differs, color, told in (
            (False, POSITIVE, level), (True, CHOSEN, f"{level}, differs from the rest")
        ):  # fmt: skip
            own = np.flatnonzero(self.differs == differs)
            if own.size:
                ax.hlines(own, self.low[own], self.high[own], color=color, linewidth=2, label=told)
                ax.plot(self.alpha[own], own, "o", color=color, markersize=5)
        rows = np.average(self.alpha, weights=self.n_u) if self.group.size else 0.0
        ax.axvline(rows, color=UNLABELED, linewidth=1, linestyle="--", label="all groups")
        ax.set(
            xlim=(0, min(1.0, 1.1 * float(self.high.max(initial=0.02)))),
            ylim=(self.group.size - 0.5, -0.8),
            yticks=[],
            xlabel="share of positives, α",
            title=f"α by {self.found.column}",
        )
