"""Figures made from the rows: errors beside the paper's, by α, by warm start, and coverage."""

from typing import Any

import numpy as np
import pandas as pd

from topbin_bench.figures.panels import COLOURS, across, blocks, in_order, legend, panels
from topbin_bench.methods import USUAL, find_contender
from topbin_bench.tables import (
    HALF,
    NET_MARK,
    PHOTOGRAPHS,
    STOPS,
    beside,
    mean_of,
    name_of,
    settings_of,
)

PHOTOS = "CIFAR"


def errors(rows: pd.DataFrame) -> Any:
    """|α̂ − .5| of every estimator on every task, the paper's number beside it as a diamond."""
    here = rows[(rows["alpha"] == HALF) & rows["alpha_error_last"].notna()]
    here = here[here["method"].isin(USUAL)]
    tasks = list(dict.fromkeys(here["task"]))
    if not tasks:
        return None
    methods = in_order(list(here["method"].unique()))[::-1]
    figure, axes = blocks(len(tasks), size=(2.6, 3.4))
    for number, (ax, task) in enumerate(zip(axes.flat, tasks, strict=True)):
        for y, method in enumerate(methods):
            _dot(ax, y, here[(here["task"] == task) & (here["method"] == method)], task, method)
        ax.set(title=task, xlabel="|α̂ − 0.5|", xlim=(0, None))
        _name_lines(ax, methods, first=number % across(len(tasks)) == 0)
    axes.flat[0].plot([], [], "o", color="#333333", label="ours, mean ± standard error")
    axes.flat[0].plot(
        [],
        [],
        "D",
        color="none",
        mec="#333333",
        label="the paper's, at an oracle's stop for most others than (TED)ⁿ",
    )
    legend(figure, axes)
    return figure


def _name_lines(ax: Any, methods: list[str], *, first: bool) -> None:
    """A line a method, named at the left edge of the figure only."""
    ax.set_yticks(range(len(methods)), [name_of(m) if first else "" for m in methods])
    ax.set_ylim(-0.6, len(methods) - 0.4)


def _dot(ax: Any, y: int, cells: pd.DataFrame, task: str, method: str) -> None:
    if not len(cells):
        return
    values = cells["alpha_error_last"]
    colour = COLOURS.get(method, "#333333")
    mean = mean_of(values)
    assert mean is not None
    ax.errorbar(mean.value, y, xerr=mean.error or 0.0, fmt="o", color=colour, capsize=2)
    paper = beside(task, method, "alpha_error")
    if paper is not None:
        ax.plot(paper.value, y, "D", color="none", mec=colour, ms=7)


def stops(rows: pd.DataFrame) -> Any:
    """Accuracy by the three ways to stop: how much an oracle would gain."""
    here = rows[
        (rows["alpha"] == HALF) & rows.get("accuracy_oracle", rows["alpha"] * np.nan).notna()
    ]
    here = here[here["method"].isin(USUAL)]
    tasks = list(dict.fromkeys(here["task"]))
    if not tasks:
        return None
    methods = in_order(list(here["method"].unique()))[::-1]
    figure, axes = blocks(len(tasks), size=(2.6, 2.6))
    marks = dict(zip(STOPS, ("o", "s", "*"), strict=True))
    for number, (ax, task) in enumerate(zip(axes.flat, tasks, strict=True)):
        for y, method in enumerate(methods):
            cells = here[(here["task"] == task) & (here["method"] == method)]
            for stop, mark in marks.items():
                shown = 100 * cells[f"accuracy_{stop}"].mean()
                face = "none" if stop == "oracle" else COLOURS.get(method)
                ax.plot(shown, y, mark, color=face, mec=COLOURS.get(method), ms=7, alpha=0.8)
        ax.set(title=task, xlabel="accuracy, %")
        _name_lines(ax, methods, first=number % across(len(tasks)) == 0)
    for stop, mark in marks.items():
        face = "none" if stop == "oracle" else "#333333"
        axes.flat[0].plot([], [], mark, color=face, mec="#333333", label=STOPS[stop])
    legend(figure, axes)
    return figure


def by_alpha(rows: pd.DataFrame) -> Any:
    """The error of α̂ and the accuracy as α goes from .1 to .9, mean ± standard error."""
    here = rows[rows["method"].isin(USUAL) & rows["alpha"].notna()]
    here = here[here.groupby(["task", "method"])["alpha"].transform("nunique") > 1]
    tasks = list(dict.fromkeys(here["task"]))
    if here["method"].nunique() < 2:  # one method alone compares nothing
        return None
    figure, axes = blocks(len(tasks), 2)
    for column, task in enumerate(tasks):
        for line, measure in enumerate(("alpha_error_last", "accuracy_last")):
            ax = axes[line, column]
            _lines(ax, here[here["task"] == task], measure)
            ax.set(title=task if line == 0 else "", xlabel="true α" if line else "", xlim=(0, 1))
            if line == 0:
                ax.set_ylim(0, None)
            if column % across(len(tasks)) == 0:
                ax.set_ylabel("|α̂ − α|" if line == 0 else "accuracy")
    legend(figure, axes)
    return figure


def _lines(ax: Any, cells: pd.DataFrame, measure: str) -> None:
    for method in in_order(list(cells["method"].unique())):
        groups = cells[cells["method"] == method].dropna(subset=measure).groupby("alpha")[measure]
        means, bars = groups.mean(), groups.sem().fillna(0.0)
        if len(means) > 1:
            ax.errorbar(
                means.index, means, yerr=bars, fmt="o-", ms=3, lw=1.2, elinewidth=0.8,
                color=COLOURS.get(method), label=name_of(method),
            )  # fmt: skip


def warm_start(rows: pd.DataFrame) -> Any:
    """(TED)ⁿ with W = 0 … 100 epochs of warm start, on the splits that every W has.

    Dashed, on the same splits: the warm start that ends by itself.
    """
    rows = rows[rows["alpha"] == HALF]
    here = rows[rows["method"].str.match(r"tedn($|-w)")]
    by_itself = rows[rows["method"] == "tedn-auto"].set_index(["task", "seed"])
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
            if same and all(cell in by_itself.index for cell in same):
                level = by_itself.loc[same, measure].mean()
                ax.axhline(level, color=drawn[0].get_color(), linestyle="--", linewidth=1)
        ax.set(xlabel="warm-start epochs W", ylabel=name)
    if len(by_itself):
        axes.flat[0].plot([], [], "--", color="#666666", label="dashed: ends by itself")
    legend(figure, axes)
    return figure


WARM_MEASURES = {"alpha_error_last": "|α̂ − 0.5|", "accuracy_last": "accuracy"}


def _warm_of(method: str, task: str, profile: str) -> int:
    """W of a cell: its own, or that of its profile."""
    own = find_contender(method).warm_start
    return settings_of(task, profile).warm_start if own is None else own


def scott(rows: pd.DataFrame) -> Any:
    """Scott's estimator against BBE on the same scores, a dot a split."""
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
        title="Above the line, BBE errs less", aspect="equal",
    )  # fmt: skip
    legend(figure, axes)
    return figure


def coverage(rows: pd.DataFrame) -> Any:
    """Each split's 95 % interval against the truth, sorted; red ones miss."""
    if "low" not in rows:
        return None
    here = rows[rows["low"].notna() & rows["alpha"].notna()]
    here = here[here["method"].isin(["topbin", "tedn", "bbe"])]
    if not len(here):
        return None
    methods = in_order(list(here["method"].unique()))
    figure, axes = panels(len(methods), 1, share_y=True, size=(9.0, 2.3))
    for ax, method in zip(axes.flat, methods, strict=True):
        cells = here[here["method"] == method]
        nth = cells["task"].map({task: i for i, task in enumerate(dict.fromkeys(here["task"]))})
        cells = cells.assign(nth=nth).sort_values(["nth", "alpha", "low"])
        low, high = cells["low"] - cells["alpha"], cells["high"] - cells["alpha"]
        inside = ((low <= 0) & (high >= 0)).to_numpy()
        place = np.arange(len(cells))
        for hit, colour, label in ((True, "#0072b2", "covers α"), (False, "#cc3311", "misses α")):
            chosen = inside == hit
            ax.vlines(place[chosen], low[chosen], high[chosen], color=colour, lw=1.4, label=label)
        ax.axhline(0, color="#222222", linewidth=0.8)
        _mark_tasks(ax, cells["task"].to_numpy())
        ax.set(title=f"{name_of(method)}: {inside.sum()} of {len(cells)} intervals (95 %) cover α")
        ax.set_ylabel("interval − α")
    legend(figure, axes)
    return figure


def _mark_tasks(ax: Any, tasks: Any) -> None:
    """Names below runs of equal tasks, upright, as some are narrow; one for all photographs."""
    shown = [PHOTOS if task.partition(NET_MARK)[0] in PHOTOGRAPHS else task for task in tasks]
    names, first, counts = np.unique(shown, return_index=True, return_counts=True)
    ax.set_xticks(first + counts / 2 - 0.5, names, rotation=90, fontsize="x-small")
    for start in first[first > 0]:
        ax.axvline(start - 0.5, color="#bbbbbb", linewidth=0.6)
