"""Tables that answer one question: which method is best, when to stop, do the intervals hold."""

from collections.abc import Sequence

import pandas as pd
from scipy.stats import t as student

from topbin_bench.forms import Grid
from topbin_bench.methods import DEFAULT, OLD_DEFAULT, in_order, name_of
from topbin_bench.paper import EARLY_STOPS, Measure
from topbin_bench.results import ALLCONV, HALF, base_of, beside
from topbin_bench.store import DONE
from topbin_bench.tables import (
    DIGITS,
    NONE,
    STOPS,
    Mean,
    by_split,
    column_mean,
    done_at,
    every_split,
    groups_of,
    mean_of,
    shown,
)

INTERVALS_OF = (DEFAULT, OLD_DEFAULT, "tedn", "overlap")


def against_best(
    rows: pd.DataFrame, measure: Measure, ours: Sequence[str], rivals: Sequence[str]
) -> Grid:
    """Ours against the best of the others, at α = .5 and the last epochs, split by split.

    The best has the best mean over the splits that all of them have. The difference is paired; it
    is a tie if Student's t cannot distinguish it from zero at 95 %.
    """
    lines = []
    for (task,), cells in groups_of(done_at(rows), ["task"]):
        table = by_split(cells, measure, [*ours, *rivals])
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
    means = [f"{table[method].mean():.{DIGITS[measure]}f}" for method in (mine, best)]
    return (
        name_of(mine), means[0], name_of(best), means[1], gap.show(DIGITS[measure]), str(gap.n),
        verdict(gap, low=low),
    )  # fmt: skip


def against_each(
    rows: pd.DataFrame, measure: Measure, ours: str, rivals: Sequence[str], *, alpha: float = HALF
) -> Grid:
    """Ours against each other method: on how many tasks it is better, tied or worse.

    Both are compared on the splits that both have, as in `against_best`; a task with one split is
    not counted. The first verdict is for the splits of all tasks together.
    """
    lines, low = [], measure == "alpha_error"
    groups = groups_of(done_at(rows, alpha), ["task"])
    tables = {task: every_split(cells, measure) for (task,), cells in groups}
    for rival in rivals:
        found: dict[str, list[str]] = {"better": [], "tied": [], "worse": []}
        gaps = []
        for task, every in tables.items():
            table = every[[ours, rival]].dropna() if {ours, rival} <= set(every) else every[:0]
            if len(table) > 1:
                gaps.append(table[ours] - table[rival])
                found[_judged(gaps[-1], low)[1]].append(task)
        if gaps:
            gap, all_of_them = _judged(pd.concat(gaps), low)
            counts = [str(len(tasks)) for tasks in found.values()]
            worse = ", ".join(found["worse"]) or NONE
            text = gap.show(DIGITS[measure])
            lines.append((name_of(rival), text, all_of_them, *counts, worse))
    header = ("against", "difference", "verdict", "better on", "tied on", "worse on", "namely")
    return Grid(header, tuple(lines))


def _judged(gaps: "pd.Series[float]", low: bool) -> tuple[Mean, str]:
    gap = mean_of(gaps)
    assert gap is not None
    return gap, verdict(gap, low=low)


def against_paper(rows: pd.DataFrame, measure: Measure, ours: Sequence[str]) -> Grid:
    """Ours at the last epochs against the number that the paper prints for (TED)ⁿ.

    The paper's splits are not ours, so nothing is paired: the mean over our splits is compared with
    the printed number, as if that had no error.
    """
    lines = []
    for (task,), cells in groups_of(done_at(rows), ["task"]):
        paper = beside(task, "tedn", measure)
        table = by_split(cells, measure, ours, paired=False)
        if paper is None or not len(table.columns):
            continue
        texts = []
        for method in ours:
            gap = mean_of(table[method] - paper.value) if method in table else None
            mean = mean_of(table[method]) if method in table else None
            judged = NONE if gap is None else verdict(gap, low=measure == "alpha_error")
            texts += [shown(mean, DIGITS[measure]), judged]
        lines.append((task, f"{paper.value:g}", *texts))
    header = [cell for method in ours for cell in (name_of(method), "verdict")]
    return Grid(("task", "the paper's (TED)ⁿ", *header), tuple(lines))


def verdict(gap: Mean, *, low: bool) -> str:
    """What a mean difference is by Student's t at 95 %; with `low`, less is better.

    >>> [verdict(Mean(-0.03, 0.01, n), low=True) for n in (9, 3)]
    ['better', 'tied']
    """
    if gap.error is None:
        return "one split"
    if abs(gap.value) <= float(student.ppf(0.975, gap.n - 1)) * gap.error:
        return "tied"
    return "better" if (gap.value < 0) == low else "worse"


def early_stops(rows: pd.DataFrame) -> Grid:
    """PvU at the lowest loss on the hold-out, against its best and its last epochs."""
    paper = {early.task: early for early in EARLY_STOPS}
    chosen = done_at(rows)
    lines = []
    for (task,), cells in groups_of(chosen[chosen["method"] == "pvu"], ["task"]):
        means = [column_mean(cells, f"accuracy_{stop}", 100.0) for stop in ("pu", "oracle", "last")]
        found = paper.get(base_of(task)) if ALLCONV not in task else None
        theirs = (NONE, NONE) if found is None else (f"{found.stopped:g}", f"{found.oracle:g}")
        lines.append((task, *(shown(mean, 1) for mean in means), str(len(cells)), *theirs))
    ways = (STOPS["pu"], STOPS["oracle"], STOPS["last"])
    return Grid(("task", *ways, "splits", "paper: stopped", "paper: oracle"), tuple(lines))


def natural(rows: pd.DataFrame) -> Grid:
    """The answers where nobody knows α: α̂ and the mean ends of its interval."""
    chosen = rows[(rows["status"] == DONE) & rows["alpha"].isna()]
    lines = []
    for (task, method), cells in groups_of(chosen, ["task", "method"]):
        texts = [shown(column_mean(cells, column), 3) for column in ("alpha_last", "alpha_pu")]
        ends = [column_mean(cells, column) for column in ("low", "high", "upper_bound")]
        texts += [NONE if end is None else f"{end.value:.3f}" for end in ends]
        lines.append((task, name_of(method), *texts, str(len(cells))))
    ways = (f"α̂, {STOPS['last']}", f"α̂, {STOPS['pu']}", "low", "high", "upper bound")
    return Grid(("task", "method", *ways, "splits"), tuple(lines))


def with_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows whose 95 % interval can be compared with a known α, and whether it covers α."""
    if "low" not in rows:
        return rows.iloc[:0]
    here = rows[rows["low"].notna() & rows["alpha"].notna() & rows["method"].isin(INTERVALS_OF)]
    return here.assign(covers=(here["low"] <= here["alpha"]) & (here["alpha"] <= here["high"]))


def coverage(rows: pd.DataFrame) -> Grid:
    """How many of the 95 % intervals cover α, and how wide they are on average."""
    here = with_intervals(rows)
    lines = []
    for method in in_order(here["method"].unique()):
        cells = here[here["method"] == method]
        width = (cells["high"] - cells["low"]).mean()
        lines.append((name_of(method), f"{cells['covers'].sum()} of {len(cells)}", f"{width:.2f}"))
    return Grid(("method", "intervals that cover α", "mean width"), tuple(lines))
