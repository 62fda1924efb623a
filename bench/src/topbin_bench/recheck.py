"""Rerunning: a few finished cells once more, and how far the new answers are from the kept ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isnan

import numpy as np
import pandas as pd

from topbin_bench.forms import Grid
from topbin_bench.grid import Cell, Job
from topbin_bench.runner import run_on_one_thread
from topbin_bench.store import DONE
from topbin_bench.tables import name_of

COLUMNS = {"alpha_last": "α̂", "accuracy_last": "accuracy"}


@dataclass(frozen=True, slots=True)
class Again:
    """A cell run a second time: each answer it gives, as kept and as found now."""

    cell: Cell
    kept: dict[str, float]
    found: dict[str, float]

    @property
    def distance(self) -> float:
        """The largest difference of an answer; infinite if there is none any more.

        >>> cell = Cell("concrete", "dedpul", 0.5, 0, "paper")
        >>> Again(cell, {"α̂": 0.5, "accuracy": 0.75}, {"α̂": 0.5, "accuracy": 0.875}).distance
        0.125
        """
        away = [abs(self.found[name] - value) for name, value in self.kept.items()]
        return max(inf if isnan(distance) else distance for distance in away)


def some_cells(rows: pd.DataFrame, n: int, seed: int) -> pd.DataFrame:
    """At most n finished cells, drawn at random."""
    done = rows[rows["status"] == DONE]
    picked = np.random.default_rng(seed).permutation(len(done))[:n]
    return done.iloc[picked]


def run_again(rows: pd.DataFrame) -> Iterator[Again]:
    """Run the cells of these rows, one at a time; nothing is written.

    A cell that other cells shared a training with is trained alone, from the same start.
    """
    for row in rows.to_dict("records"):
        cell = Cell.of(row)
        (new,) = run_on_one_thread(Job((cell,)))["rows"]
        kept = {name: row[column] for column, name in COLUMNS.items() if pd.notna(row[column])}
        yield Again(cell, kept, {name: new[column] for column, name in COLUMNS.items()})


def as_table(found: Sequence[Again]) -> Grid:
    """A line an answer: what was kept, what was found, and the difference."""
    lines = [
        (again.cell.task, f"{again.cell.alpha:g}", str(again.cell.seed), name_of(again.cell.method),
         name, f"{value:.4f}", f"{again.found[name]:.4f}", f"{abs(again.found[name] - value):.1g}")
        for again in found
        for name, value in again.kept.items()
    ]  # fmt: skip
    header = ("task", "α", "split", "method", "answer", "kept", "again", "difference")
    return Grid(header, tuple(lines))
