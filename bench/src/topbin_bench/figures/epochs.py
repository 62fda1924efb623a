"""Figures made from the curves: accuracy, α̂ and the top bin as training goes on."""

from typing import Any

import pandas as pd

from topbin_bench.figures.panels import COLOURS, across, blocks, in_order, legend
from topbin_bench.methods import USUAL
from topbin_bench.tables import HALF, name_of, plain_name

SEEN = (0.3, 0.9)  # of α̂; a few methods start or swing outside


def by_epoch(curves: pd.DataFrame) -> Any:
    """Accuracy and α̂ of all methods by epoch, a column a task."""
    here = _plain(curves)
    tasks = list(dict.fromkeys(here["task"]))
    if not tasks:
        return None
    figure, axes = blocks(len(tasks), 2)
    for column, task in enumerate(tasks):
        cells = here[here["task"] == task]
        _lines(axes[0, column], cells, "alpha_hat")
        _lines(axes[1, column], cells, "accuracy")
        axes[0, column].axhline(HALF, color="#222222", linewidth=0.8, linestyle=":")
        axes[0, column].set(title=task, ylim=SEEN)
        axes[1, column].set(xlabel="epoch")
    for column in range(0, len(tasks), across(len(tasks))):
        axes[0, column].set_ylabel("α̂ (dotted: truth)")
        axes[1, column].set_ylabel("accuracy")
    legend(figure, axes)
    return figure


def top_bin_by_epoch(curves: pd.DataFrame) -> Any:
    """Purity and size of the top bin under PvU and under (TED)ⁿ."""
    here = _plain(curves)
    here = here[here["method"].isin(["pvu", "tedn"])]
    tasks = list(dict.fromkeys(here["task"]))
    if not tasks:
        return None
    figure, axes = blocks(len(tasks), 2)
    for column, task in enumerate(tasks):
        cells = here[here["task"] == task]
        for line, measure in enumerate(("top_purity", "top_size")):
            _lines(axes[line, column], cells, measure)
            axes[line, column].set(ylim=(0, 1.05) if line == 0 else (0, None))
        axes[0, column].set(title=task)
        axes[1, column].set(xlabel="epoch")
    for column in range(0, len(tasks), across(len(tasks))):
        axes[0, column].set_ylabel("positives in the top bin")
        axes[1, column].set_ylabel("share of U in it")
    legend(figure, axes)
    return figure


def _plain(curves: pd.DataFrame) -> pd.DataFrame:
    if "alpha" not in curves:
        return pd.DataFrame(columns=["task", "method"])
    return curves[(curves["alpha"] == HALF) & curves["method"].isin(USUAL)]


def _lines(ax: Any, cells: pd.DataFrame, measure: str) -> None:
    for method in in_order(list(cells["method"].unique())):
        means = _even(cells[cells["method"] == method].groupby("epoch")[measure].mean().dropna())
        if len(means):
            # The top bin knows nothing of α; only accuracy does.
            name = name_of(method) if measure == "accuracy" else plain_name(method)
            ax.plot(means.index, means, lw=1.4, color=COLOURS.get(method), label=name)


def _even(means: "pd.Series[float]") -> "pd.Series[float]":
    """Points at even distances: the last epochs are all measured, and would look like noise."""
    epochs = means.index.to_numpy()
    if not epochs.size:
        return means
    step = max(1, int(max(epochs[1:] - epochs[:-1], default=1)))
    return means[(epochs % step == 0) | (epochs == epochs[0]) | (epochs == epochs[-1])]
