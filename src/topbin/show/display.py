"""What every display shares: its colors, its table, and an axis that looks like the others."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from topbin.core.formatting import counted

POSITIVE = "#0072b2"  # blue and orange stay apart for color-blind readers
UNLABELED = "#e69f00"
CHOSEN = "#222222"
BOUND = "#cc3311"
NARROW = 6.0  # inches


class Display:
    """Numbers that can be shown as a table and as a picture; drawing comes last.

    `caption` is what the report says below the picture.
    """

    caption: ClassVar[str]
    ax_: Any = None
    figure_: Any = None

    def __repr__(self) -> str:
        rows = counted(len(next(iter(self.columns().values()))))
        return f"<{type(self).__name__}: {rows}; see .frame() and .plot()>"

    def frame(self) -> Any:
        """The numbers of the picture as a pandas table."""
        return pd.DataFrame(self.columns())

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new one; returns itself with `ax_` and `figure_`."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25, linewidth=0.6)
        self.draw(ax)
        # Under the picture the legend covers no line; a narrow picture has no room for columns.
        is_wide = ax.figure.get_figwidth() > NARROW
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14 if is_wide else -0.18)}
        size = {"ncols": 3 if is_wide else 1, "fontsize": "small" if is_wide else "medium"}
        ax.legend(frameon=False, **place, **size)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def columns(self) -> Mapping[str, Any]:
        """The columns of the table: by default, all that has one value per row."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def band(self, ax: Any, x: Any, low: Any, high: Any, label: str) -> None:
        """Draw what covers a curve."""
        ax.fill_between(x, low, high, color=POSITIVE, alpha=0.15, linewidth=0, label=label)

    @property
    def height(self) -> float:
        """Inches, in the report."""
        return 4.6

    def draw(self, ax: Any) -> None:
        """Draw the numbers on an axis."""
        raise NotImplementedError
