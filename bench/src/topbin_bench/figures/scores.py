"""Figures made from kept scores: the top bin, memorisation, and the constant γ of BBE."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from topbin.core.tails import Tails
from topbin.mpe.bbe import bbe, dkw_slack, upper_confidence
from topbin.show.canvas import CHOSEN, POSITIVE, UNLABELED
from topbin_bench.figures.panels import across, blocks, legend, panels
from topbin_bench.tables import HALF, plain_name

GAMMAS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def sample(scores: pd.DataFrame, *names: str) -> Any:
    """The scores of these samples as one array."""
    return np.concatenate([np.asarray(s) for s in scores[scores["sample"].isin(names)]["scores"]])


def tails_of(scores: pd.DataFrame) -> Tails:
    """Tails of the hold-out of one model at one epoch."""
    held_u = sample(scores, "held_u_positive", "held_u_negative")
    return Tails.from_scores(sample(scores, "held_p"), held_u)


def top_bin(scores: pd.DataFrame) -> Any:
    """q_u/q_p against the share of U in the top bin, with the band of lemma 1."""
    last = _last(scores, "tedn")
    tasks = list(dict.fromkeys(last["task"])) if len(last) else []
    if not tasks:
        return None
    figure, axes = blocks(len(tasks))
    for ax, task in zip(axes.flat, tasks, strict=True):
        tails = tails_of(last[last["task"] == task])
        slack = dkw_slack(tails, 0.1) / tails.q_p
        ax.fill_between(
            tails.q_u, tails.ratio - slack, tails.ratio + slack, color=POSITIVE, alpha=0.15,
            linewidth=0, label="90 % band (lemma 1)",
        )  # fmt: skip
        ax.plot(tails.q_u, tails.ratio, color=POSITIVE, lw=1.4, label="ratio q_u / q_p")
        at = int(np.argmin(upper_confidence(tails)))
        ax.plot(tails.q_u[at], tails.ratio[at], "o", color=CHOSEN, label="BBE's bin")
        ax.axhline(HALF, color=CHOSEN, lw=0.8, ls=":", label="true α")
        ax.set(title=task, xlabel="share of U in the top bin", ylim=(0, 1.05), xlim=(0, 1))
    for ax in axes[0, :: across(len(tasks))]:
        ax.set_ylabel("estimate of α")
    legend(figure, axes)
    return figure


def memorising(scores: pd.DataFrame, task: str | None = None) -> Any:
    """How the net scores its own training U, by epoch: PvU memorises it, (TED)ⁿ does not."""
    if "task" not in scores:
        return None
    task = task or _largest(scores)
    here = scores[scores["task"] == task]
    trainers = [name for name in ("pvu", "tedn") if name in set(here["trainer"])]
    epochs = sorted(here["epoch"].unique())
    figure, axes = panels(len(trainers), len(epochs), size=(2.6, 2.3))
    for line, trainer in enumerate(trainers):
        for column, epoch in enumerate(epochs):
            ax = axes[line, column]
            cells = here[(here["trainer"] == trainer) & (here["epoch"] == epoch)]
            _histograms(ax, cells)
            ax.set(title=f"{plain_name(trainer)}, epoch {epoch}", xlim=(0, 1))
            ax.set_yticks([])
        axes[line, 0].set_ylabel("rows of the training U")
    figure.suptitle(task)
    for ax in axes[-1]:
        ax.set_xlabel("p(positive) of the net")
    legend(figure, axes)
    return figure


def _histograms(ax: Any, cells: pd.DataFrame) -> None:
    edges = np.linspace(0, 1, 26)
    sides = {"positive": POSITIVE, "negative": UNLABELED}
    for side, colour in sides.items():
        values = expit(sample(cells, f"train_u_{side}").astype(np.float64))
        ax.hist(values, edges, color=colour, alpha=0.6, label=f"truly {side}")


def gamma(scores: pd.DataFrame) -> Any:
    """BBE's error for other γ than the paper's 0.01, on the (TED)ⁿ scores of each task."""
    last = _last(scores, "tedn")
    if not len(last):
        return None
    figure, axes = panels(1, 1, size=(4.6, 3.2))
    ax = axes[0, 0]
    for task, cells in last.groupby("task", sort=False):
        tails = tails_of(cells)
        found = [bbe(tails, gamma=g).alpha for g in GAMMAS]
        ax.plot(range(len(GAMMAS)), found, "o-", ms=4, label=task)
    ax.axhline(HALF, color=CHOSEN, lw=0.8, ls=":", label="true α")
    ax.set(xlabel="γ (the paper's is 0.01)", ylabel="α̂ by BBE")
    ax.set_xticks(range(len(GAMMAS)), [f"{g:g}" for g in GAMMAS])
    legend(figure, axes)
    return figure


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
