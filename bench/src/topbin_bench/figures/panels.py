"""What the figures share: three colors, panels in a grid, and one legend."""

from math import ceil
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

POSITIVE, NEGATIVE, MARK = "#0072b2", "#e69f00", "#222222"
SIZE = (2.6, 2.5)
ACROSS = 4


def tasks_of(rows: pd.DataFrame) -> list[str]:
    """The tasks of a table, in the order of its rows."""
    return list(dict.fromkeys(rows["task"]))


def panels(rows: int, columns: int, *, share_y: Any = False, size: Any = SIZE) -> tuple[Any, Any]:
    """A figure and its axes in a grid, drawn without a screen."""
    figure = Figure(figsize=(size[0] * columns, size[1] * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=share_y)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25, linewidth=0.6)
    return figure, axes


def blocks(tasks: int, lines: int = 1, *, size: Any = SIZE) -> tuple[Any, Any]:
    """A figure with `lines` panels below each other per task, a few tasks side by side.

    The axes are [line, task], however they are wrapped.
    """
    columns = across(tasks)
    floors = ceil(tasks / columns)
    figure, axes = panels(lines * floors, columns, size=size)
    grid = axes.reshape(floors, lines, columns).swapaxes(0, 1).reshape(lines, -1)
    for ax in grid[:, tasks:].flat:
        ax.remove()
    return figure, grid[:, :tasks]


def across(tasks: int) -> int:
    """How many tasks are side by side.

    >>> [across(n) for n in (3, 5, 6, 9)]
    [3, 5, 4, 4]
    """
    return tasks if tasks <= ACROSS + 1 else ACROSS


def name_left(axes: Any, *names: str) -> None:
    """Label the y axes of the panels at the left edge, one name per line of panels."""
    for line, name in zip(axes, names, strict=True):
        for ax in line[:: across(len(line))]:
            ax.set_ylabel(name)


def legend(figure: Any, axes: Any) -> Any:
    """One legend for all panels, below them; returns the figure."""
    entries: dict[str, Any] = {}
    for ax in axes.flat:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center",
        ncols=max(2, int(figure.get_size_inches()[0] / 1.8)), frameon=False, fontsize="small",
    )  # fmt: skip
    return figure
