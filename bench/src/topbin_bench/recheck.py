"""Run a few finished cells again and compare the new answers with the stored ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isnan

import numpy as np
import pandas as pd

from topbin_bench.errors import BenchError
from topbin_bench.forms import Grid
from topbin_bench.grid import Cell, Job
from topbin_bench.methods import CONTENDERS, name_of
from topbin_bench.runner import run_on_one_thread
from topbin_bench.store import DONE

COLUMNS = {"alpha_last": "α̂", "accuracy_last": "accuracy"}


@dataclass(frozen=True, slots=True)
class Again:
    """A cell that was run a second time: each of its answers, as stored and as found now."""

    cell: Cell
    stored: dict[str, float]
    found: dict[str, float]

    @property
    def distance(self) -> float:
        """The largest difference of an answer; infinite if an answer is missing now.

        >>> cell = Cell("concrete", "dedpul", 0.5, 0, "paper")
        >>> Again(cell, {"α̂": 0.5, "accuracy": 0.75}, {"α̂": 0.5, "accuracy": 0.875}).distance
        0.125
        """
        away = [abs(self.found[name] - value) for name, value in self.stored.items()]
        return max(inf if isnan(distance) else distance for distance in away)


def some_cells(rows: pd.DataFrame, n: int, seed: int, under: float = inf) -> pd.DataFrame:
    """At most n finished cells, drawn at random from those that code can run again.

    `under` leaves out cells whose fit took as many CPU seconds or more.
    """
    done = rows[(rows["status"] == DONE) & rows["method"].isin(CONTENDERS)]
    done = done[done["seconds"] < under]
    if not len(done):
        raise BenchError(f"no finished cell took less than {under:g} CPU seconds.")
    picked = np.random.default_rng(seed).permutation(len(done))[:n]
    return done.iloc[picked]


def run_again(rows: pd.DataFrame) -> Iterator[Again]:
    """Run the cells of these rows, one at a time; nothing is written.

    A cell that shared its training with others is trained alone, from the same start.
    """
    for row in rows.to_dict("records"):
        cell = Cell.of(row)
        (new,) = run_on_one_thread(Job((cell,)))["rows"]
        stored = {name: row[column] for column, name in COLUMNS.items() if pd.notna(row[column])}
        yield Again(cell, stored, {name: new[column] for column, name in COLUMNS.items()})


def as_table(found: Sequence[Again]) -> Grid:
    """One line per answer: the stored value, the new one, and the difference."""
    lines = [
        (again.cell.task, f"{again.cell.alpha:g}", str(again.cell.seed), name_of(again.cell.method),
         name, f"{value:.4f}", f"{again.found[name]:.4f}", f"{abs(again.found[name] - value):.1g}")
        for again in found
        for name, value in again.stored.items()
    ]  # fmt: skip
    header = ("task", "α", "split", "method", "answer", "stored", "again", "difference")
    return Grid(header, tuple(lines))
