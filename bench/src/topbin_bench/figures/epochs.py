"""Figures from the curves: accuracy, α̂ and the top bin during training."""

from typing import Any

import pandas as pd

from topbin_bench.figures.panels import MARK, blocks, legend, name_left, tasks_of
from topbin_bench.methods import USUAL, color_of, in_order, name_of, plain_name
from topbin_bench.results import HALF

SEEN = (0.3, 0.9)  # of α̂; a few methods start or swing outside


def by_epoch(curves: pd.DataFrame) -> Any:
    """Accuracy and α̂ of all methods by epoch, one column per task."""
    figure, axes = _two_lines(curves, USUAL, ("alpha_hat", "accuracy"))
    if figure is None:
        return None
    for ax in axes[0]:
        ax.axhline(HALF, color=MARK, linewidth=0.8, linestyle=":")
        ax.set_ylim(SEEN)
    name_left(axes, "α̂ (dotted: truth)", "accuracy")
    return legend(figure, axes)


def top_bin_by_epoch(curves: pd.DataFrame) -> Any:
    """Purity and size of the top bin under PvU and under (TED)ⁿ."""
    figure, axes = _two_lines(curves, ("pvu", "tedn"), ("top_purity", "top_size"))
    if figure is None:
        return None
    for purity, size in axes.T:
        purity.set_ylim(0, 1.05)
        size.set_ylim(0, None)
    name_left(axes, "positives in the top bin", "share of U in it")
    return legend(figure, axes)


def _two_lines(
    curves: pd.DataFrame, methods: tuple[str, ...], measures: tuple[str, str]
) -> tuple[Any, Any]:
    """Two measures by epoch at α = .5, one column per task; (None, None) without curves."""
    if "alpha" not in curves:
        return None, None
    here = curves[(curves["alpha"] == HALF) & curves["method"].isin(methods)]
    tasks = tasks_of(here)
    if not tasks:
        return None, None
    figure, axes = blocks(len(tasks), 2)
    for column, task in zip(axes.T, tasks, strict=True):
        for ax, measure in zip(column, measures, strict=True):
            _draw(ax, here[here["task"] == task], measure)
        column[0].set(title=task)
        column[1].set(xlabel="epoch")
    return figure, axes


def _draw(ax: Any, cells: pd.DataFrame, measure: str) -> None:
    for method in in_order(cells["method"].unique()):
        means = _even(cells[cells["method"] == method].groupby("epoch")[measure].mean().dropna())
        if len(means):
            # Only the accuracy of a method depends on the α that it is told.
            name = name_of(method) if measure == "accuracy" else plain_name(method)
            ax.plot(means.index, means, lw=1.4, color=color_of(method), label=name)


def _even(means: "pd.Series[float]") -> "pd.Series[float]":
    """Points at even distances: every one of the last epochs is measured and would look noisy."""
    epochs = means.index.to_numpy()
    if not epochs.size:
        return means
    step = max(1, int(max(epochs[1:] - epochs[:-1], default=1)))
    return means[(epochs % step == 0) | (epochs == epochs[0]) | (epochs == epochs[-1])]
