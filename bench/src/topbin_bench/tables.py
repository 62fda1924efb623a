"""Tables of results: mean ± standard error over splits, beside the paper's number.

The columns *last epochs*, *PU-validated stop* and *oracle stop* are never mixed: the first two see
no true label, the third picks the epoch by it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import pandas as pd

from topbin.core.errors import InputError
from topbin_bench.forms import Grid
from topbin_bench.methods import CONTENDERS
from topbin_bench.paper import Measure, Printed, printed, table_of
from topbin_bench.profiles import Settings, find_profile
from topbin_bench.store import DONE
from topbin_bench.tasks import FAMILIES, TASKS

STOPS = {"last": "last epochs", "pu": "PU-validated stop", "oracle": "oracle stop"}
NAMES = {
    "tedn": "(TED)ⁿ",
    "topbin": "topbin (default)",
    "bbe": "BBE",
    "bbe_cp": "BBE-CP",
    "dedpul": "DEDPUL",
    "alphamax": "AlphaMax",
    "elkan_noto": "EN",
    "scott": "Scott",
    "km1": "KM1",
    "km2": "KM2",
    "tice": "TIcE",
    "cvir": "CVIR",
    "pvu": "PvU",
    "nnpu": "nnPU",
    "upu": "uPU",
    "pvn": "PvN",
}
HALF = 0.5  # the α of most of the paper's tables
NET_MARK = " · "
ALLCONV = f"{NET_MARK}All-CNN"
PHOTOGRAPHS = tuple(task.name for task in FAMILIES["cifar"])
ORDER = {name: i for i, name in enumerate(NAMES)}
SCALE: dict[Measure, float] = {"alpha_error": 1.0, "accuracy": 100.0}
DIGITS: dict[Measure, int] = {"alpha_error": 3, "accuracy": 1}


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over splits with its standard error (None from a single split)."""

    value: float
    error: float | None
    n: int

    def show(self, digits: int) -> str:
        """As people read it.

        >>> Mean(0.5, 0.25, 4).show(2), Mean(0.5, None, 1).show(2)
        ('0.50 ± 0.25', '0.50')
        """
        bar = "" if self.error is None else f" ± {self.error:.{digits}f}"
        return f"{self.value:.{digits}f}{bar}"


def mean_of(values: "pd.Series[float]") -> Mean | None:
    """Mean and standard error of what is not NaN; None if nothing is left.

    >>> mean_of(pd.Series([1.0, 3.0]))
    Mean(value=2.0, error=1.0, n=2)
    """
    kept = values.dropna()
    if not len(kept):
        return None
    error = float(kept.std(ddof=1)) / sqrt(len(kept)) if len(kept) > 1 else None
    return Mean(float(kept.mean()), error, len(kept))


def compare(rows: pd.DataFrame, measure: Measure, *, alpha: float = HALF) -> Grid:
    """A line a task and method: the three ways to stop, how many splits, and the paper's number."""
    chosen = rows[(rows["status"] == DONE) & (rows["alpha"] == alpha)]
    lines = []
    for (task, method), cells in groups_of(chosen, ["task", "method"]):
        means = [column_mean(cells, f"{measure}_{stop}", SCALE[measure]) for stop in STOPS]
        if means[0] is None:
            continue
        shown = ["–" if mean is None else mean.show(DIGITS[measure]) for mean in means]
        lines.append(
            (task, name_of(method), *shown, str(means[0].n), _beside(task, method, measure))
        )
    return Grid(("task", "method", *STOPS.values(), "splits", "paper ± its sd"), tuple(lines))


def wide(
    rows: pd.DataFrame,
    measure: Measure,
    methods: Sequence[str],
    *,
    alpha: float = HALF,
    stop: str = "last",
) -> Grid:
    """A line a task, a column a method, and the mean over tasks; the best of a line is bold.

    Methods of a line are compared on the same splits: those that all of them have.
    """
    chosen = rows[(rows["status"] == DONE) & (rows["alpha"] == alpha)]
    lines, means = [], []
    for (task,), cells in groups_of(chosen, ["task"]):
        table = cells.pivot_table(f"{measure}_{stop}", "seed", "method")
        table = SCALE[measure] * table.reindex(columns=list(methods)).dropna(axis=1, how="all")
        table = table.dropna()
        if table.empty:
            continue
        found = {str(method): mean_of(column) for method, column in table.items()}
        means.append(found)
        lines.append((task, *_marked(found, methods, measure), str(len(table))))
    if len(lines) > 1:
        lines.append(("mean", *_averages(means, methods, DIGITS[measure]), ""))
    return Grid(("task", *(name_of(m) for m in methods), "splits"), tuple(lines))


def _marked(
    found: Mapping[str, Mean | None], methods: Sequence[str], measure: Measure
) -> Iterator[str]:
    """The cells of a line; the best in bold."""
    pick = min if measure == "alpha_error" else max
    values = [mean.value for mean in found.values() if mean is not None]
    best = pick(values) if len(values) > 1 else None
    for method in methods:
        mean = found.get(method)
        text = "–" if mean is None else mean.show(DIGITS[measure])
        yield f"**{text}**" if mean is not None and mean.value == best else text


def _averages(
    lines: Sequence[Mapping[str, Mean | None]], methods: Sequence[str], digits: int
) -> Iterator[str]:
    """The mean over tasks of each method that has all of them."""
    for method in methods:
        values = [mean.value for line in lines if (mean := line.get(method)) is not None]
        whole = len(values) == len(lines)
        yield f"{sum(values) / len(values):.{digits}f}" if whole else "–"


def as_printed(name: str, tasks: Sequence[str], methods: Sequence[str]) -> Grid:
    """The lines of one of the paper's tables for these tasks; a star is an oracle's stop."""
    lines = []
    for task in tasks:
        found = table_of(name, task)
        cells = [found.get(method) for method in methods]
        shown = [f"{c.value:g}{'*' if c.stop == 'oracle' else ''}" if c else "–" for c in cells]
        lines += [(task, *shown)] if found else []
    return Grid(("task", *(plain_name(m) for m in methods)), tuple(lines))


def by_alpha(rows: pd.DataFrame, measure: Measure, methods: Sequence[str]) -> Grid:
    """A line a task and α, a column a method."""
    lines = []
    for alpha in sorted(rows["alpha"].dropna().unique()):
        for task, *cells in wide(rows, measure, methods, alpha=alpha).rows:
            lines.append((task, f"{alpha:g}", *cells))
    lines.sort(key=lambda line: (line[0] == "mean", line[0], line[1]))
    return Grid(("task", "α", *(name_of(m) for m in methods), "splits"), tuple(lines))


def failures(rows: pd.DataFrame) -> Grid:
    """Cells that failed, and why."""
    bad = rows[rows["status"] != DONE] if len(rows) else rows
    columns = ["task", "method", "alpha", "seed", "reason"]
    lines = tuple(tuple(map(str, row)) for row in bad.reindex(columns=columns).to_numpy())
    return Grid(tuple(columns), lines)


def name_of(method: str) -> str:
    """The name that papers use, with a note where a method is told something.

    >>> name_of("cvir"), name_of("tedn-w10")
    ('CVIR (known α)', '(TED)ⁿ W=10')
    """
    name = plain_name(method)
    contender = CONTENDERS.get(method)
    if contender is not None and contender.oracle:
        return f"{name} (true negatives)"
    return f"{name} (known α)" if contender is not None and contender.known_alpha else name


def plain_name(method: str) -> str:
    """The name that papers use."""
    base, _, warm = method.partition("-")
    return NAMES.get(base, base) + (f" W={warm.removeprefix('w')}" if warm else "")


def groups_of(
    frame: pd.DataFrame, columns: list[str]
) -> list[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Groups in the order of the rows, methods in the order of the table of names."""
    groups = list(frame.groupby(columns, sort=False))
    if "method" in columns:
        tasks = list(dict.fromkeys(frame["task"]))
        groups.sort(key=lambda g: (tasks.index(g[0][0]), ORDER.get(g[0][1], len(ORDER)), g[0][1]))
    return groups


def column_mean(cells: pd.DataFrame, column: str, scale: float) -> Mean | None:
    """Mean and standard error of a column, if there is one."""
    return mean_of(cells[column] * scale) if column in cells else None


def labelled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with All-CNN, and a profile where a task has several, in the task's name.

    So that two nets, or few epochs and many, are never averaged.
    """
    if not len(rows):
        return rows
    other = rows["profile"].str.startswith("cpu-") & rows["task"].isin(PHOTOGRAPHS)
    names = rows["task"].where(~other, rows["task"] + ALLCONV)
    how = pd.Series(
        [settings_of(*pair) for pair in zip(rows["task"], rows["profile"], strict=True)]
    )
    how.index = rows.index
    several = how.groupby(names).transform("nunique") > 1
    return rows.assign(task=names.where(~several, names + NET_MARK + rows["profile"]))


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Labelled rows with the tasks in the order of their list, then by profile, α and split."""
    if not len(rows):
        return rows
    nth = {task: i for i, task in enumerate(TASKS)}
    order = rows["task"].str.partition(NET_MARK)[0].map(nth)
    by = ["nth", "profile", "alpha", "seed"]
    return rows.assign(nth=order).sort_values(by, kind="stable").drop(columns="nth")


def caption(rows: pd.DataFrame) -> str:
    """What every task's nets were, a line for tasks that had the same; from labelled rows."""
    said: dict[str, list[str]] = {}
    for task, profile in dict.fromkeys(zip(rows["task"], rows["profile"], strict=True)):
        how = settings_of(task, profile).about
        said.setdefault(how, []).append(task)
    return "".join(f"{', '.join(dict.fromkeys(tasks))}: {how}.\n" for how, tasks in said.items())


def settings_of(task: str, profile: str) -> Settings:
    """What a profile decides for a task, labelled or not; two profiles may decide the same."""
    return find_profile(profile).settings[TASKS[task.partition(NET_MARK)[0]].kind]


def beside(task: str, method: str, measure: Measure) -> Printed | None:
    """The paper's number for a task as `labelled` names it.

    >>> beside("cifar_dog_cat · All-CNN", "tedn", "accuracy").value
    73.0
    """
    name, _, net = task.partition(NET_MARK)
    photos = "allconv" if net.startswith("All-CNN") else "resnet18"
    return printed(name, method, measure, photos if name in PHOTOGRAPHS else None)


def _beside(task: str, method: str, measure: Measure) -> str:
    found = beside(task, method, measure)
    if found is None:
        return "–"
    bar = "" if found.spread is None else f" ± {found.spread:g}"
    return f"{found.value:g}{bar}{' (oracle stop)' if found.stop == 'oracle' else ''}"


def require_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, or an error if there is none."""
    if not len(rows):
        raise InputError("TB303", "there are no results yet; run `topbin bench run smoke` first.")
    return rows
