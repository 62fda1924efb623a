"""What every display shares: its colors, and an axis that looks like the others."""

from typing import Any

from topbin.core.optional import require

POSITIVE = "#0072b2"  # blue and orange stay apart for color-blind readers
UNLABELED = "#e69f00"
CHOSEN = "#222222"
BOUND = "#cc3311"


def open_axis(ax: Any, caller: str, *, size: tuple[float, float] = (7.0, 4.2)) -> Any:
    """The given axis, or a new one; no frame above and to the right."""
    if ax is None:
        plt = require("matplotlib.pyplot", extra=None, caller=caller)
        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    return ax


def legend_below(ax: Any) -> None:
    """The legend under the picture, where it covers no line."""
    ax.legend(
        frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3
    )
