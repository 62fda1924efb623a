"""Our number beside every number of the paper, or the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from topbin_bench.forms import Grid
from topbin_bench.methods import DEFAULT, name_of
from topbin_bench.paper import EARLY_STOPS, PAPER, Printed, Stop
from topbin_bench.results import ALLCONV, PHOTOGRAPHS, base_of
from topbin_bench.tables import DIGITS, NONE, SCALE, STOPS, Mean, column_mean, done_at, shown

# KM2 and TIcE read the rows themselves, so that one run counts for all nets.
NO_NET = ("km2", "tice")
MARKS: Mapping[Stop, str] = {"last": "", "pu": f", {STOPS['pu']}", "oracle": "*"}


@dataclass(frozen=True, slots=True)
class Missing:
    """Numbers of the paper that we have none beside, and why."""

    task: str
    net: str
    methods: tuple[str, ...]  # none: all
    reason: str

    def covers(self, cell: Printed) -> bool:
        """Whether this is the reason for a cell."""
        named = not self.methods or cell.method in self.methods
        return named and (self.task, self.net) == (cell.task, cell.net)


_NARROW = (
    "a narrow All-CNN takes 300 CPU seconds per split and is far from finished after them, as the "
    "methods beside it show; the fast net has this method"
)
MISSING = (
    Missing("binarized_cifar", "mlp", (), "no profile has an MLP for photographs, the "
            "weakest of the paper's three nets"),
    Missing("binarized_cifar", "allconv", ("upu", "pvn"), _NARROW),
    Missing("cifar_dog_cat", "allconv", ("upu", "pvn"), _NARROW),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """A number of the paper and ours; without ours the reason, which is empty if nobody knows."""

    paper: Printed
    ours: Mean | None
    reason: str = ""


def pairs_of(rows: pd.DataFrame) -> list[Pair]:
    """Every number of the paper's tables, with our mean over splits for the same way to stop."""
    found, done = [], _by_task_and_method(rows)
    for cell in all_printed():
        ours = _ours(done, cell)
        reasons = [entry.reason for entry in MISSING if ours is None and entry.covers(cell)]
        found.append(Pair(cell, ours, reasons[0] if reasons else ""))
    return found


def all_printed() -> tuple[Printed, ...]:
    """The numbers of all tables, and those of PvU's early stops, as cells of one more table."""
    early: list[Printed] = []
    for at in EARLY_STOPS:
        ways: Mapping[Stop, float] = {"pu": at.stopped, "oracle": at.oracle}
        early += (
            Printed("early_stops", at.task, at.net, "pvu", "accuracy", value, None, stop)
            for stop, value in ways.items()
        )
    return (*PAPER, *early)


def _by_task_and_method(rows: pd.DataFrame) -> Mapping[tuple[str, str], pd.DataFrame]:
    """The finished rows with the paper's α, by the name of a task without its net, and method."""
    here = done_at(rows)
    groups = here.groupby([here["task"].map(base_of), "method"], sort=False)
    return {(str(task), str(method)): cells for (task, method), cells in groups}


def _ours(done: Mapping[tuple[str, str], pd.DataFrame], cell: Printed) -> Mean | None:
    """Our mean beside a number of the paper, for the net that is nearest to the paper's."""
    here = done.get((cell.task, cell.method))
    if here is None:
        return None
    allconv, fast = here["task"].str.contains(ALLCONV), here["profile"] == "fast"
    if cell.method in NO_NET:
        here = here[~allconv]
    elif cell.net == "allconv":
        here = here[allconv]
    elif cell.net == "mlp":  # of digits; photographs have none
        here = here[~fast & (cell.task not in PHOTOGRAPHS)]
    elif cell.net == "resnet18":
        here = here[fast]
    return column_mean(here, f"{cell.measure}_{cell.stop}", SCALE[cell.measure])


def count(pairs: list[Pair]) -> str:
    """How many numbers the paper has, how many of them have ours beside, and what is missing."""
    beside = sum(pair.ours is not None for pair in pairs)
    unexplained = sum(pair.ours is None and not pair.reason for pair in pairs)
    missing = len(pairs) - beside
    told = "each with its reason" if not unexplained else f"{unexplained} without a reason"
    return (
        f"{len(pairs)} cells of the paper, {beside} with ours beside them, {missing} missing, "
        f"{told}"
    )


def reasons(pairs: list[Pair]) -> Grid:
    """What is missing, one line per task, net and reason."""
    said: dict[tuple[str, str, str], list[Printed]] = {}
    for pair in pairs:
        if pair.ours is None:
            key = (pair.paper.task, pair.paper.net, pair.reason or "unknown")
            said.setdefault(key, []).append(pair.paper)
    lines = tuple(
        (task, net, ", ".join(dict.fromkeys(cell.method for cell in cells)), str(len(cells)), why)
        for (task, net, why), cells in said.items()
    )
    return Grid(("task", "net", "methods", "cells", "reason"), lines)


def side_by_side(rows: pd.DataFrame, pairs: list[Pair], table: str) -> Grid:
    """One of the paper's tables, in its own order: its number, then ours, in each cell.

    Beside (TED)ⁿ there is our default, which the paper does not have. A star is an oracle stop.
    """
    lines: dict[tuple[str, str], dict[str, str]] = {}
    done = _by_task_and_method(rows)
    for pair in pairs:
        cell = pair.paper
        if cell.table != table:
            continue
        digits = DIGITS[cell.measure]
        line = lines.setdefault((cell.task, cell.net), {})
        text = f"{cell.value:.{digits}f} / {shown(pair.ours, digits)}"
        line[f"{name_of(cell.method)}{MARKS[cell.stop]}"] = text
        if cell.method == "tedn":
            line[name_of(DEFAULT)] = shown(_ours(done, replace(cell, method=DEFAULT)), digits)
    names = dict.fromkeys(name for line in lines.values() for name in line)
    texts = ((*of, *(line.get(name, NONE) for name in names)) for of, line in lines.items())
    return Grid(("task", "the paper's net", *names), tuple(texts))
