"""Stored rows ready to show: the net in the name of a task, the order of tasks, the captions."""

import pandas as pd

from topbin_bench.errors import BenchError
from topbin_bench.paper import Measure, Printed, printed
from topbin_bench.profiles import Settings, find_profile
from topbin_bench.store import DONE, Store
from topbin_bench.tasks import FAMILIES, TASKS

HALF = 0.5  # the α of most of the paper's tables
NET_MARK = " · "
ALLCONV = f"{NET_MARK}All-CNN"
PHOTOGRAPHS = tuple(task.name for task in FAMILIES["cifar"])


def stored_rows(store: Store) -> pd.DataFrame:
    """The rows with today's settings, or an error if there are none."""
    rows = store.current()
    if not len(rows):
        raise BenchError(
            f'"{store.folder}" has no results; run `topbin-bench run smoke` first, or name another '
            "folder with -o."
        )
    return rows


def read_rows(store: Store) -> pd.DataFrame:
    """The rows with today's settings, with their nets in the names, in the order of the tasks."""
    return in_task_order(with_nets(stored_rows(store)))


def with_nets(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with All-CNN in the name of a task, and the profile if a task has several.

    So two nets, or few epochs and many, are never averaged.
    """
    if not len(rows):
        return rows
    other = rows["profile"].str.startswith("cpu-") & rows["task"].isin(PHOTOGRAPHS)
    names = rows["task"].where(~other, rows["task"] + ALLCONV)
    pairs = zip(rows["task"], rows["profile"], strict=True)
    settings = pd.Series([settings_of(*pair) for pair in pairs], index=rows.index)
    several = settings.groupby(names).transform("nunique") > 1
    return rows.assign(task=names.where(~several, names + NET_MARK + rows["profile"]))


def in_task_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Named rows in the order of the list of tasks, then by profile, α and split."""
    if not len(rows):
        return rows
    nth = {task: i for i, task in enumerate(TASKS)}
    order = rows["task"].map(base_of).map(nth)
    by = ["nth", "profile", "alpha", "seed"]
    return rows.assign(nth=order).sort_values(by, kind="stable").drop(columns="nth")


def finished(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with a result; smoke results mean nothing, so they appear only if they are alone."""
    rows = rows[rows["status"] == DONE] if len(rows) else rows
    if len(rows) and not (rows["profile"] == "smoke").all():
        rows = rows[rows["profile"] != "smoke"]
    return rows


def of_tasks(rows: pd.DataFrame, tasks: list[str]) -> pd.DataFrame:
    """The rows of these tasks, whatever their net."""
    return rows[rows["task"].map(base_of).isin(tasks)]


def base_of(task: str) -> str:
    """The name of a task without its net.

    >>> base_of("cifar_dog_cat · All-CNN")
    'cifar_dog_cat'
    """
    return task.partition(NET_MARK)[0]


def settings_of(task: str, profile: str) -> Settings:
    """What a profile decides for a task, named or not; two profiles may decide the same."""
    return find_profile(profile).settings[TASKS[base_of(task)].kind]


def caption(rows: pd.DataFrame) -> str:
    """The nets of every task, one line for all tasks that had the same; from named rows."""
    said: dict[str, list[str]] = {}
    for task, profile in dict.fromkeys(zip(rows["task"], rows["profile"], strict=True)):
        said.setdefault(settings_of(task, profile).about, []).append(task)
    return "".join(f"{', '.join(dict.fromkeys(tasks))}: {how}.\n" for how, tasks in said.items())


def beside(task: str, method: str, measure: Measure) -> Printed | None:
    """The paper's number for a task as `with_nets` names it.

    >>> beside("cifar_dog_cat · All-CNN", "tedn", "accuracy").value
    73.0
    """
    name, _, net = task.partition(NET_MARK)
    photos = "allconv" if net.startswith("All-CNN") else "resnet18"
    return printed(name, method, measure, photos if name in PHOTOGRAPHS else None)
