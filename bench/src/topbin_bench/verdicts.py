"""Tables that answer one question: who is best, when to stop, what is said where nobody knows α."""

from collections.abc import Sequence

import pandas as pd
from scipy.stats import t as student

from topbin_bench.forms import Grid
from topbin_bench.paper import EARLY_STOPS, Measure
from topbin_bench.store import DONE
from topbin_bench.tables import (
    ALLCONV,
    DIGITS,
    HALF,
    NET_MARK,
    SCALE,
    STOPS,
    Mean,
    column_mean,
    groups_of,
    mean_of,
    name_of,
)


def against_best(
    rows: pd.DataFrame, measure: Measure, ours: Sequence[str], rivals: Sequence[str]
) -> Grid:
    """Ours against the best of the others, at α = .5 and the last epochs, split by split.

    The best is the one with the best mean over the splits that all of them have; the difference is
    paired, and a tie is one that Student's t at 95 % does not tell from none.
    """
    chosen = rows[(rows["status"] == DONE) & (rows["alpha"] == HALF)]
    lines = []
    for (task,), cells in groups_of(chosen, ["task"]):
        table = SCALE[measure] * cells.pivot_table(f"{measure}_last", "seed", "method")
        table = table.reindex(columns=[*ours, *rivals]).dropna(axis=1, how="all").dropna()
        here = [method for method in ours if method in table]
        there = [method for method in rivals if method in table]
        if here and there and len(table):
            lines.append((task, *_duel(table, measure, here, there)))
    header = ("task", "ours", "", "best of the others", "", "difference", "splits", "verdict")
    return Grid(header, tuple(lines))


def _duel(
    table: pd.DataFrame, measure: Measure, ours: Sequence[str], rivals: Sequence[str]
) -> tuple[str, ...]:
    low = measure == "alpha_error"
    pick = pd.Series.idxmin if low else pd.Series.idxmax
    mine, best = (str(pick(table[list(names)].mean())) for names in (ours, rivals))
    gap = mean_of(table[mine] - table[best])
    assert gap is not None
    shown = [f"{table[method].mean():.{DIGITS[measure]}f}" for method in (mine, best)]
    verdict = _verdict(gap, low)
    return (
        name_of(mine), shown[0], name_of(best), shown[1], gap.show(DIGITS[measure]),
        str(gap.n), verdict,
    )  # fmt: skip


def _verdict(gap: Mean, low: bool) -> str:
    """What a paired difference says.

    >>> _verdict(Mean(-0.03, 0.01, 9), low=True), _verdict(Mean(-0.03, 0.01, 3), low=True)
    ('better', 'tied')
    """
    if gap.error is None:
        return "one split"
    if abs(gap.value) <= float(student.ppf(0.975, gap.n - 1)) * gap.error:
        return "tied"
    return "better" if (gap.value < 0) == low else "worse"


def early_stops(rows: pd.DataFrame) -> Grid:
    """PvU stopped where its loss on the hold-out is lowest, against its best and last epochs."""
    paper = {early.task: early for early in EARLY_STOPS}
    chosen = rows[(rows["status"] == DONE) & (rows["alpha"] == HALF) & (rows["method"] == "pvu")]
    lines = []
    for (task,), cells in groups_of(chosen, ["task"]):
        means = [column_mean(cells, f"accuracy_{stop}", 100.0) for stop in ("pu", "oracle", "last")]
        shown = ["–" if mean is None else mean.show(1) for mean in means]
        found = paper.get(task.partition(NET_MARK)[0]) if ALLCONV not in task else None
        theirs = ("–", "–") if found is None else (f"{found.stopped:g}", f"{found.oracle:g}")
        lines.append((task, *shown, str(len(cells)), *theirs))
    ways = (STOPS["pu"], STOPS["oracle"], STOPS["last"])
    return Grid(("task", *ways, "splits", "paper: stopped", "paper: oracle"), tuple(lines))


def natives(rows: pd.DataFrame) -> Grid:
    """What methods say where nobody knows α: α̂ and the mean ends of its interval."""
    chosen = rows[(rows["status"] == DONE) & rows["alpha"].isna()]
    lines = []
    for (task, method), cells in groups_of(chosen, ["task", "method"]):
        columns = ("alpha_last", "alpha_pu", "low", "high", "upper_bound")
        means = [column_mean(cells, column, 1.0) for column in columns]
        shown = ["–" if mean is None else mean.show(3) for mean in means[:2]]
        shown += ["–" if mean is None else f"{mean.value:.3f}" for mean in means[2:]]
        lines.append((task, name_of(method), *shown, str(len(cells))))
    ways = (f"α̂, {STOPS['last']}", f"α̂, {STOPS['pu']}", "low", "high", "upper bound")
    return Grid(("task", "method", *ways, "splits"), tuple(lines))
