"""Figures from stored scores: the top bin, memorization, and the constant γ of BBE."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from topbin import Tails, TopBinDisplay, mpe
from topbin_bench.figures.panels import (
    MARK,
    NEGATIVE,
    POSITIVE,
    blocks,
    legend,
    name_left,
    panels,
    tasks_of,
)
from topbin_bench.methods import plain_name
from topbin_bench.results import HALF

GAMMAS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def sample(scores: pd.DataFrame, *names: str) -> Any:
    """The scores of these samples as one array."""
    return np.concatenate([np.asarray(s) for s in scores[scores["sample"].isin(names)]["scores"]])


def held_out(scores: pd.DataFrame) -> tuple[Any, Any]:
    """The scores of the held-out P and U of one model at one epoch."""
    return sample(scores, "held_p"), sample(scores, "held_u_positive", "held_u_negative")


def top_bin(scores: pd.DataFrame) -> Any:
    """q_u/q_p against the share of U in the top bin, with the band of lemma 1."""
    last = _last(scores, "tedn")
    tasks = tasks_of(last)
    if not tasks:
        return None
    figure, axes = blocks(len(tasks))
    for ax, task in zip(axes.flat, tasks, strict=True):
        p, u = held_out(last[last["task"] == task])
        shown = TopBinDisplay.from_scores(p, u, method="bbe", confidence=None)
        ax.fill_between(
            shown.top_share, shown.low, shown.high, color=POSITIVE, alpha=0.15, linewidth=0,
            label="90 % band (lemma 1)",
        )  # fmt: skip
        ax.plot(shown.top_share, shown.ratio, color=POSITIVE, lw=1.4, label="ratio q_u / q_p")
        size = float((u >= shown.estimate.cut).mean())
        ax.plot(size, shown.estimate.alpha, "o", color=MARK, label="BBE's bin")
        ax.axhline(HALF, color=MARK, lw=0.8, ls=":", label="true α")
        ax.set(title=task, xlabel="share of U in the top bin", ylim=(0, 1.05), xlim=(0, 1))
    name_left(axes, "estimate of α")
    return legend(figure, axes)


def memorizing(scores: pd.DataFrame) -> Any:
    """How a net scores its own training U, by epoch: PvU memorizes it, (TED)ⁿ does not."""
    if "task" not in scores:
        return None
    task = _largest(scores)
    here = scores[scores["task"] == task]
    trainers = [name for name in ("pvu", "tedn") if name in set(here["trainer"])]
    epochs = sorted(here["epoch"].unique())
    figure, axes = panels(len(trainers), len(epochs), size=(2.6, 2.3))
    for line, trainer in zip(axes, trainers, strict=True):
        for ax, epoch in zip(line, epochs, strict=True):
            _histograms(ax, here[(here["trainer"] == trainer) & (here["epoch"] == epoch)])
            ax.set(title=f"{plain_name(trainer)}, epoch {epoch}", xlim=(0, 1), yticks=[])
        line[0].set_ylabel("rows of the training U")
    figure.suptitle(task)
    for ax in axes[-1]:
        ax.set_xlabel("p(positive) of the net")
    return legend(figure, axes)


def _histograms(ax: Any, cells: pd.DataFrame) -> None:
    edges = np.linspace(0, 1, 26)
    for side, color in {"positive": POSITIVE, "negative": NEGATIVE}.items():
        values = expit(sample(cells, f"train_u_{side}").astype(np.float64))
        ax.hist(values, edges, color=color, alpha=0.6, label=f"truly {side}")


def gamma(scores: pd.DataFrame) -> Any:
    """BBE's estimate with other γ than the paper's 0.01, on the (TED)ⁿ scores of each task."""
    last = _last(scores, "tedn")
    if not len(last):
        return None
    figure, axes = panels(1, 1, size=(4.6, 3.2))
    ax = axes[0, 0]
    for task, cells in last.groupby("task", sort=False):
        tails = Tails.from_scores(*held_out(cells))
        found = [mpe.bbe(tails, gamma=g).alpha for g in GAMMAS]
        ax.plot(range(len(GAMMAS)), found, "o-", ms=4, label=task)
    ax.axhline(HALF, color=MARK, lw=0.8, ls=":", label="true α")
    ax.set(xlabel="γ (the paper's is 0.01)", ylabel="α̂ of BBE")
    ax.set_xticks(range(len(GAMMAS)), [f"{g:g}" for g in GAMMAS])
    return legend(figure, axes)


def _last(scores: pd.DataFrame, trainer: str) -> pd.DataFrame:
    if "trainer" not in scores:
        return pd.DataFrame(columns=["task"])
    here = scores[scores["trainer"] == trainer]
    return here[here["epoch"] == here.groupby("task")["epoch"].transform("max")]


def _largest(scores: pd.DataFrame) -> str:
    """The task with both nets and the most rows."""
    both = scores.groupby("task")["trainer"].nunique()
    rows = scores.assign(n=scores["scores"].map(len)).groupby("task")["n"].max()
    return str(rows[both == both.max()].idxmax())
