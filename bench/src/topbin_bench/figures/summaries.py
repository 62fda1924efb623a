"""Figures from the rows: errors beside the paper's, by α, by warm start, and coverage."""

from typing import Any

import numpy as np
import pandas as pd

from topbin_bench.figures.panels import across, blocks, legend, name_left, panels, tasks_of
from topbin_bench.methods import GRAY, USUAL, color_of, find_contender, in_order, name_of
from topbin_bench.results import HALF, PHOTOGRAPHS, base_of, beside, settings_of
from topbin_bench.tables import STOPS, mean_of
from topbin_bench.verdicts import with_intervals

PHOTOS = "CIFAR"
WARM_MEASURES = {"alpha_error_last": "|α̂ − 0.5|", "accuracy_last": "accuracy"}


def errors(rows: pd.DataFrame) -> Any:
    """|α̂ − .5| of every estimator on every task; a diamond is the paper's number."""

    def draw(ax: Any, y: int, cells: pd.DataFrame, task: str, method: str) -> None:
        mean, color = mean_of(cells["alpha_error_last"]), color_of(method)
        if mean is not None:
            ax.errorbar(mean.value, y, xerr=mean.error or 0.0, fmt="o", color=color, capsize=2)
            paper = beside(task, method, "alpha_error")
            if paper is not None:
                ax.plot(paper.value, y, "D", color="none", mec=color, ms=7)

    axes = _method_lines(rows, "alpha_error_last", draw, 3.4, xlabel="|α̂ − 0.5|", xlim=(0, None))
    if axes is None:
        return None
    first = axes.flat[0]
    first.plot([], [], "o", color=GRAY, label="ours, mean ± standard error")
    about = "the paper's; an oracle stop for most methods except (TED)ⁿ"
    first.plot([], [], "D", color="none", mec=GRAY, label=about)
    return legend(first.figure, axes)


def stops(rows: pd.DataFrame) -> Any:
    """Accuracy for the three ways to stop: what an oracle would gain."""
    marks = dict(zip(STOPS, ("o", "s", "*"), strict=True))

    def draw(ax: Any, y: int, cells: pd.DataFrame, _task: str, method: str) -> None:
        color = color_of(method)
        for stop, mark in marks.items():
            face = "none" if stop == "oracle" else color
            value = 100 * cells[f"accuracy_{stop}"].mean()
            ax.plot(value, y, mark, color=face, mec=color, ms=7, alpha=0.8)

    axes = _method_lines(rows, "accuracy_oracle", draw, 2.6, xlabel="accuracy, %")
    if axes is None:
        return None
    first = axes.flat[0]
    for stop, mark in marks.items():
        face = "none" if stop == "oracle" else GRAY
        first.plot([], [], mark, color=face, mec=GRAY, label=STOPS[stop])
    return legend(first.figure, axes)


def _method_lines(rows: pd.DataFrame, column: str, draw: Any, height: float, **axis: Any) -> Any:
    """One panel per task with one line per method, at α = .5; None without such rows."""
    here = rows[(rows["alpha"] == HALF) & rows["method"].isin(USUAL)]
    here = here[here[column].notna()] if column in here else here.iloc[:0]
    tasks = tasks_of(here)
    if not tasks:
        return None
    methods = in_order(here["method"].unique())[::-1]
    _, axes = blocks(len(tasks), size=(2.6, height))
    for number, (ax, task) in enumerate(zip(axes.flat, tasks, strict=True)):
        for y, method in enumerate(methods):
            draw(ax, y, here[(here["task"] == task) & (here["method"] == method)], task, method)
        first = number % across(len(tasks)) == 0
        ax.set_yticks(range(len(methods)), [name_of(m) if first else "" for m in methods])
        ax.set(title=task, ylim=(-0.6, len(methods) - 0.4), **axis)
    return axes


def by_alpha(rows: pd.DataFrame) -> Any:
    """The error of α̂ and the accuracy for α from .1 to .9, mean ± standard error."""
    here = rows[rows["method"].isin(USUAL) & rows["alpha"].notna()]
    here = here[here.groupby(["task", "method"])["alpha"].transform("nunique") > 1]
    tasks = tasks_of(here)
    if here["method"].nunique() < 2:  # one method alone compares nothing
        return None
    figure, axes = blocks(len(tasks), 2)
    for (above, below), task in zip(axes.T, tasks, strict=True):
        _lines(above, here[here["task"] == task], "alpha_error_last")
        _lines(below, here[here["task"] == task], "accuracy_last")
        above.set(title=task, xlim=(0, 1), ylim=(0, None))
        below.set(xlabel="true α", xlim=(0, 1))
    name_left(axes, "|α̂ − α|", "accuracy")
    return legend(figure, axes)


def _lines(ax: Any, cells: pd.DataFrame, measure: str) -> None:
    for method in in_order(cells["method"].unique()):
        groups = cells[cells["method"] == method].dropna(subset=measure).groupby("alpha")[measure]
        means, bars = groups.mean(), groups.sem().fillna(0.0)
        if len(means) > 1:
            ax.errorbar(
                means.index, means, yerr=bars, fmt="o-", ms=3, lw=1.2, elinewidth=0.8,
                color=color_of(method), label=name_of(method),
            )  # fmt: skip


def warm_start(rows: pd.DataFrame) -> Any:
    """(TED)ⁿ with W = 0 … 100 epochs of warm start, on the splits that every W has.

    Dashed, on the same splits: the warm start that ends by itself.
    """
    rows = rows[rows["alpha"] == HALF]
    here = rows[rows["method"].str.match(r"tedn($|-w)")]
    auto = rows[rows["method"] == "tedn-auto"].set_index(["task", "seed"])
    cells = zip(here["method"], here["task"], here["profile"], strict=True)
    here = here.assign(warm=[_warm_of(*cell) for cell in cells])
    shared = {
        task: cells.pivot_table(list(WARM_MEASURES), "seed", "warm").dropna()
        for task, cells in here.groupby("task", sort=False)
        if cells["warm"].nunique() > 1
    }
    if not any(map(len, shared.values())):
        return None
    figure, axes = panels(1, 2, size=(3.6, 2.8))
    for ax, (measure, name) in zip(axes.flat, WARM_MEASURES.items(), strict=True):
        for task, both in shared.items():
            wide = both[measure]
            drawn = ax.errorbar(
                wide.columns, wide.mean(), yerr=wide.sem().fillna(0.0), fmt="o-", ms=4, capsize=2,
                label=f"{task}, {len(wide)} splits",
            )  # fmt: skip
            same = [(task, seed) for seed in wide.index]
            if same and all(cell in auto.index for cell in same):
                level = auto.loc[same, measure].mean()
                ax.axhline(level, color=drawn[0].get_color(), linestyle="--", linewidth=1)
        ax.set(xlabel="warm-start epochs W", ylabel=name)
    if len(auto):
        axes.flat[0].plot([], [], "--", color=GRAY, label="dashed: ends by itself")
    return legend(figure, axes)


def _warm_of(method: str, task: str, profile: str) -> int:
    """W of a cell: its own, or that of its profile."""
    own = find_contender(method).warm_start
    return settings_of(task, profile).warm_start if own is None else own


def scott(rows: pd.DataFrame) -> Any:
    """Scott's estimator against BBE on the same scores, one dot per split."""
    here = rows[(rows["alpha"] == HALF) & rows["method"].isin(["bbe", "scott"])]
    pairs = here.pivot_table("alpha_error_last", ["task", "seed"], "method").dropna()
    if not {"bbe", "scott"} <= set(pairs) or not len(pairs):
        return None
    figure, axes = panels(1, 1, size=(4.2, 3.8))
    ax = axes[0, 0]
    for task, points in pairs.groupby("task"):
        ax.plot(points["bbe"], points["scott"], "o", ms=5, alpha=0.8, label=task)
    end = 1.05 * float(pairs.to_numpy().max())
    ax.plot([0, end], [0, end], color="#888888", linewidth=1)
    ax.set(
        xlabel="error of BBE", ylabel="error of Scott", xlim=(0, end), ylim=(0, end),
        title="Above the line, BBE has the smaller error", aspect="equal",
    )  # fmt: skip
    return legend(figure, axes)


def coverage(rows: pd.DataFrame) -> Any:
    """The 95 % interval of each split against the truth, sorted; red ones miss it."""
    here = with_intervals(rows)
    if not len(here):
        return None
    methods = in_order(here["method"].unique())
    place = {task: i for i, task in enumerate(tasks_of(here))}
    figure, axes = panels(len(methods), 1, share_y=True, size=(9.0, 2.3))
    for ax, method in zip(axes.flat, methods, strict=True):
        cells = here[here["method"] == method]
        cells = cells.assign(nth=cells["task"].map(place)).sort_values(["nth", "alpha", "low"])
        low, high = cells["low"] - cells["alpha"], cells["high"] - cells["alpha"]
        inside, x = cells["covers"].to_numpy(), np.arange(len(cells))
        for hit, color, label in ((True, "#0072b2", "covers α"), (False, "#cc3311", "misses α")):
            chosen = inside == hit
            ax.vlines(x[chosen], low[chosen], high[chosen], color=color, lw=1.4, label=label)
        ax.axhline(0, color="#222222", linewidth=0.8)
        _mark_tasks(ax, cells["task"].to_numpy())
        ax.set(title=f"{name_of(method)}: {inside.sum()} of {len(cells)} intervals (95 %) cover α")
        ax.set_ylabel("interval − α")
    return legend(figure, axes)


def _mark_tasks(ax: Any, tasks: Any) -> None:
    """Names below runs of equal tasks, vertical because some are narrow; all photographs as one."""
    shown = [PHOTOS if base_of(task) in PHOTOGRAPHS else task for task in tasks]
    names, first, counts = np.unique(shown, return_index=True, return_counts=True)
    ax.set_xticks(first + counts / 2 - 0.5, names, rotation=90, fontsize="x-small")
    for start in first[first > 0]:
        ax.axvline(start - 0.5, color="#bbbbbb", linewidth=0.6)
