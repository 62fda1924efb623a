"""Columns that say which rows belong together, and when: `group` and `time` of a job."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topbin.core.errors import InputError
from topbin.core.labels import Labels
from topbin.data.batch import Batch
from topbin.data.columns import read_column
from topbin.learn.crossfit import Plan
from topbin.learn.groups import Together, read_together

TIMES = ("date", "number")
IN_MEMORY = (
    "{} needs all rows in memory, and this job would train on a sample: rows of a group would be "
    "scored by models that know the others. Leave out --sample and --engine (sample=, engine=), or "
    "draw whole groups yourself and fit these."
)


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """What folds keep together, the columns that say it, and a sentence about it."""

    group: str | None
    time: str | None
    together: Together | None
    sentence: str

    @property
    def arrays(self) -> dict[str, Any]:
        """As the classifiers take it."""
        if self.together is None:
            return {}
        return {"groups": self.together.groups, "times": self.together.times}

    def without_copies(self, keys: Any) -> Any:
        """The rows that are left if each group keeps one row of each key.

        Copies within a group do no harm, because models do not see them.
        """
        assert self.together is not None
        pairs = np.column_stack([keys, self.together.groups.astype(np.uint64)])
        return np.sort(np.unique(pairs, axis=0, return_index=True)[1])

    def plan(self, plan: Plan, labels: Labels) -> Plan:
        """No more folds than groups of either kind; one repeat if folds are blocks of time."""
        if self.together is None:
            return plan
        sides = labels.is_positive, labels.is_unlabeled
        fewest = min(np.unique(self.together.groups[side]).size for side in sides)
        repeats = plan.repeats if self.time is None else 1
        return replace(plan, outer=max(2, min(plan.outer, fewest)), repeats=repeats)


def read_kept(table: Batch, label: str | None, group: str | None, time: str | None) -> Kept | None:
    """The columns `group` and `time` of a table; None if neither is named."""
    if group is None and time is None:
        return None
    for name, code in ((group, "TB120"), (time, "TB121")):
        if name is not None and name == label:
            what = "group" if code == "TB120" else "time"
            raise InputError(code, f'"{name}" cannot be the label and the {what} at once.')
    table = table.select(list(dict.fromkeys(name for name in (group, time) if name is not None)))
    moments = None if time is None else _moments(table, time)
    names = None if group is None else _names(table, group)
    together = read_together(names, moments, table.rows)
    said = [] if group is None else [_about_groups(table, group, together)]
    said += [] if time is None else [f'folds are blocks of time, by "{time}"']
    return Kept(group, time, together, "; ".join(said))


def refuse_sample(group: str | None, time: str | None) -> None:
    """TB122 if rows would be sampled that belong together."""
    named = [f"--{name}" for name, value in (("group", group), ("time", time)) if value is not None]
    if named:
        raise InputError("TB122", IN_MEMORY.format(" and ".join(named)))


def _names(table: Batch, group: str) -> Any:
    if table.kinds[group] == "other":
        raise InputError(
            "TB120", f'"{group}" holds lists, bytes or mixed values, which name no groups.'
        )
    column = read_column(table, group)
    return np.where(column.missing, np.nan, column.numbers)


def _moments(table: Batch, time: str) -> Any:
    if (kind := table.kinds[time]) not in TIMES:
        first = table.frame[time].iloc[0]
        raise InputError(
            "TB121",
            f'"{time}" holds no dates or numbers (its kind is {kind}; the first value is '
            f"{first!r}), so the rows have no order in time. See --dates for how dates are read.",
        )
    return read_column(table, time).values


def _about_groups(table: Batch, group: str, together: Together | None) -> str:
    """How many groups there are and what they do, in words."""
    if together is None or together.grouped is None:
        return f'"{group}" is different in every row, so it changes nothing'
    told = (
        f'"{group}": {np.unique(together.groups).size:,} groups, {table.rows:,} rows; folds keep '
        "groups together; intervals count groups"
    )
    missing = int(table.frame[group].isna().sum())
    if not missing:
        return told
    rows = "row without a value is a group" if missing == 1 else "rows without a value are groups"
    return f"{told}; {missing:,} {rows} of {'its' if missing == 1 else 'their'} own"
