"""Tables of results: mean ± standard error over splits, beside the paper's number.

The columns *last epochs*, *PU-validated stop* and *oracle stop* are never mixed: the first two see
no true label, the third picks the epoch by true labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import pandas as pd

from topbin_bench.forms import Grid
from topbin_bench.methods import ORDER, name_of, plain_name
from topbin_bench.paper import Measure, table_of
from topbin_bench.results import HALF, beside
from topbin_bench.store import DONE

STOPS = {"last": "last epochs", "pu": "PU-validated stop", "oracle": "oracle stop"}
SCALE: dict[Measure, float] = {"alpha_error": 1.0, "accuracy": 100.0}
DIGITS: dict[Measure, int] = {"alpha_error": 3, "accuracy": 1}
NONE = "–"


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over splits with its standard error (None for a single split)."""

    value: float
    error: float | None
    n: int

    def show(self, digits: int) -> str:
        """As text.

        >>> Mean(0.5, 0.25, 4).show(2), Mean(0.5, None, 1).show(2)
        ('0.50 ± 0.25', '0.50')
        """
        bar = "" if self.error is None else f" ± {self.error:.{digits}f}"
        return f"{self.value:.{digits}f}{bar}"


def mean_of(values: "pd.Series[float]") -> Mean | None:
    """Mean and standard error of the values that are not NaN; None if there are none.

    >>> mean_of(pd.Series([1.0, 3.0]))
    Mean(value=2.0, error=1.0, n=2)
    """
    kept = values.dropna()
    if not len(kept):
        return None
    error = float(kept.std(ddof=1)) / sqrt(len(kept)) if len(kept) > 1 else None
    return Mean(float(kept.mean()), error, len(kept))


def shown(mean: Mean | None, digits: int) -> str:
    """The mean as text, or a dash."""
    return NONE if mean is None else mean.show(digits)


def column_mean(cells: pd.DataFrame, column: str, scale: float = 1.0) -> Mean | None:
    """Mean and standard error of a column, if the rows have it."""
    return mean_of(cells[column] * scale) if column in cells else None


def groups_of(
    frame: pd.DataFrame, columns: list[str]
) -> list[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Groups in the order of the rows, methods in the order of every table."""
    groups = list(frame.groupby(columns, sort=False))
    if "method" in columns:
        tasks = list(dict.fromkeys(frame["task"]))
        groups.sort(key=lambda g: (tasks.index(g[0][0]), ORDER.get(g[0][1], len(ORDER)), g[0][1]))
    return groups


def done_at(rows: pd.DataFrame, alpha: float = HALF) -> pd.DataFrame:
    """The finished rows of one α."""
    return rows[(rows["status"] == DONE) & (rows["alpha"] == alpha)]


def by_split(
    cells: pd.DataFrame, measure: Measure, methods: Sequence[str], *, paired: bool = True
) -> pd.DataFrame:
    """One row per split, one column per method; `paired`: only splits that all methods have."""
    table = every_split(cells, measure)
    table = table.reindex(columns=list(methods)).dropna(axis=1, how="all")
    return table.dropna() if paired else table


def every_split(cells: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """One row per split, one column per method that has any."""
    return SCALE[measure] * cells.pivot_table(f"{measure}_last", "seed", "method")


def compare(rows: pd.DataFrame, measure: Measure, *, alpha: float = HALF) -> Grid:
    """One line per task and method: the three ways to stop, the splits, and the paper's number."""
    lines = []
    for (task, method), cells in groups_of(done_at(rows, alpha), ["task", "method"]):
        means = [column_mean(cells, f"{measure}_{stop}", SCALE[measure]) for stop in STOPS]
        if means[0] is None:
            continue
        texts = [shown(mean, DIGITS[measure]) for mean in means]
        lines.append(
            (task, name_of(method), *texts, str(means[0].n), _paper(task, method, measure))
        )
    return Grid(("task", "method", *STOPS.values(), "splits", "paper ± its sd"), tuple(lines))


def _paper(task: str, method: str, measure: Measure) -> str:
    found = beside(task, method, measure)
    if found is None:
        return NONE
    bar = "" if found.spread is None else f" ± {found.spread:g}"
    return f"{found.value:g}{bar}{' (oracle stop)' if found.stop == 'oracle' else ''}"


def wide(
    rows: pd.DataFrame,
    measure: Measure,
    methods: Sequence[str],
    *,
    alpha: float = HALF,
    paired: bool = True,
) -> Grid:
    """One line per task, one column per method, and the mean over tasks; the best is bold.

    With `paired` the methods of a line are compared on the splits that all of them have.
    """
    lines, means = [], []
    for (task,), cells in groups_of(done_at(rows, alpha), ["task"]):
        table = by_split(cells, measure, methods, paired=paired)
        if table.empty:
            continue
        found = {str(method): mean_of(column) for method, column in table.items()}
        means.append(found)
        counts = sorted({mean.n for mean in found.values() if mean is not None})
        splits = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
        lines.append((task, *_marked(found, methods, measure), splits))
    if len(lines) > 1:
        lines.append(("mean", *_averages(means, methods, DIGITS[measure]), ""))
    return Grid(("task", *(name_of(m) for m in methods), "splits"), tuple(lines))


def _marked(
    found: Mapping[str, Mean | None], methods: Sequence[str], measure: Measure
) -> list[str]:
    """The cells of a line; the best is bold."""
    pick = min if measure == "alpha_error" else max
    values = [mean.value for mean in found.values() if mean is not None]
    best = pick(values) if len(values) > 1 else None
    cells = [(found.get(method), shown(found.get(method), DIGITS[measure])) for method in methods]
    return [f"**{text}**" if mean and mean.value == best else text for mean, text in cells]


def _averages(
    lines: Sequence[Mapping[str, Mean | None]], methods: Sequence[str], digits: int
) -> list[str]:
    """The mean over tasks of each method that has all of them."""
    found = []
    for method in methods:
        values = [mean.value for line in lines if (mean := line.get(method)) is not None]
        whole = len(values) == len(lines)
        found.append(f"{sum(values) / len(values):.{digits}f}" if whole else NONE)
    return found


def as_printed(name: str, tasks: Sequence[str], methods: Sequence[str]) -> Grid:
    """The lines of one of the paper's tables for these tasks; a star means an oracle stop."""
    lines = []
    for task in tasks:
        found = table_of(name, task)
        cells = [found.get(method) for method in methods]
        texts = [f"{c.value:g}{'*' if c.stop == 'oracle' else ''}" if c else NONE for c in cells]
        lines += [(task, *texts)] if found else []
    return Grid(("task", *(plain_name(m) for m in methods)), tuple(lines))


def by_alpha(rows: pd.DataFrame, measure: Measure, methods: Sequence[str]) -> Grid:
    """One line per task and α, one column per method."""
    lines = []
    for alpha in sorted(rows["alpha"].dropna().unique()):
        for task, *cells in wide(rows, measure, methods, alpha=alpha).rows:
            lines.append((task, f"{alpha:g}", *cells))
    lines.sort(key=lambda line: (line[0] == "mean", line[0], line[1]))
    return Grid(("task", "α", *(name_of(m) for m in methods), "splits"), tuple(lines))


def means_by_alpha(rows: pd.DataFrame, measure: Measure, methods: Sequence[str]) -> Grid:
    """One line per method, one column per α: the mean over tasks; the best of a column is bold."""
    pick = min if measure == "alpha_error" else max
    columns = {}
    for alpha in sorted(rows["alpha"].dropna().unique()):
        means = wide(rows, measure, methods, alpha=alpha).rows[-1][1:-1]
        best = pick(means, key=float)
        columns[f"{alpha:g}"] = [f"**{text}**" if text == best else text for text in means]
    names = [name_of(method) for method in methods]
    return Grid(("α", *columns), tuple(zip(names, *columns.values(), strict=True)))


def failures(rows: pd.DataFrame) -> Grid:
    """Cells that failed, and why."""
    bad = rows[rows["status"] != DONE] if len(rows) else rows
    columns = ["task", "method", "alpha", "seed", "reason"]
    lines = tuple(tuple(map(str, row)) for row in bad.reindex(columns=columns).to_numpy())
    return Grid(tuple(columns), lines)
