"""What the figures share: colours of the methods, a row of panels, and saving as PNG."""

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

from topbin.core.atomic import new_file
from topbin.core.optional import require
from topbin.show.canvas import open_axis

# Okabe and Ito's palette for those that matter most, then Tol's muted one: methods that stand in
# one panel are told apart by most colour-blind readers.
COLOURS = {
    "tedn": "#d55e00",
    "topbin": "#000000",
    "cvir": "#e69f00",
    "bbe": "#0072b2",
    "bbe_cp": "#56b4e9",
    "pvu": "#332288",
    "dedpul": "#009e73",
    "nnpu": "#cc79a7",
    "upu": "#999999",
    "pvn": "#444444",
    "alphamax": "#882255",
    "elkan_noto": "#8c564b",
    "scott": "#aa4499",
    "km1": "#ddcc77",
    "km2": "#999933",
    "tice": "#777777",
}
SIZE = (2.6, 2.5)
ACROSS = 4


def panels(rows: int, columns: int, *, share_y: Any = False, size: Any = SIZE) -> tuple[Any, Any]:
    """A figure and its axes in a grid, drawn without a screen."""
    mpl = require("matplotlib.figure", extra=None, caller="topbin bench figures")
    figure = mpl.Figure(figsize=(size[0] * columns, size[1] * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=share_y)
    for ax in axes.flat:
        open_axis(ax, "topbin bench figures")
    return figure, axes


def blocks(tasks: int, lines: int = 1, *, size: Any = SIZE) -> tuple[Any, Any]:
    """A figure with `lines` panels below each other for each task, a few tasks side by side.

    The axes come as [line, task], however they are wrapped.
    """
    columns = across(tasks)
    floors = ceil(tasks / columns)
    figure, axes = panels(lines * floors, columns, size=size)
    grid = axes.reshape(floors, lines, columns).swapaxes(0, 1).reshape(lines, -1)
    for ax in grid[:, tasks:].flat:
        ax.remove()
    return figure, grid[:, :tasks]


def across(tasks: int) -> int:
    """How many tasks stand side by side.

    >>> [across(n) for n in (3, 5, 6, 9)]
    [3, 5, 4, 4]
    """
    return tasks if tasks <= ACROSS + 1 else ACROSS


def legend(figure: Any, axes: Any) -> None:
    """One legend for all panels, below them."""
    entries: dict[str, Any] = {}
    for ax in axes.flat:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center",
        ncols=max(2, int(figure.get_size_inches()[0] / 1.8)), frameon=False, fontsize="small",
    )  # fmt: skip


def save(figure: Any, path: Path) -> Path:
    """Write the picture whole or not at all."""
    with new_file(path, force=True) as part:
        figure.savefig(part, dpi=110, format="png", metadata={"Software": None})
    return path


def in_order(found: Sequence[str]) -> list[str]:
    """Methods in the order of the colours; those without one at the end.

    >>> in_order(["bbe", "other", "tedn"])
    ['tedn', 'bbe', 'other']
    """
    known = [method for method in COLOURS if method in found]
    return known + [method for method in found if method not in COLOURS]
