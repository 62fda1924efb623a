"""Columns that name groups: those that folds keep together (`group`, `time`), and those of `by`.

Without `group`, `unsaid_groups` looks for signs that rows belong together all the same.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.errors import InputError, option
from topbin.core.estimate import Alarm
from topbin.core.formatting import counted
from topbin.core.labels import Labels
from topbin.data.batch import Batch
from topbin.data.columns import Column, Columns, read_column
from topbin.data.findings import Finding, find_groups, find_jump, labels_are_shared
from topbin.data.schema import CONTENT, check_columns, shortened
from topbin.evaluate.parts import Groups
from topbin.learn.crossfit import Plan
from topbin.learn.rows import Together, read_together
from topbin.mpe.alarms import group_column, near_copies

MOST_GROUPS, MOST_NUMBERS, QUANTILES = 50, 10, 4
WITHOUT = "(no value)"  # the group of rows that have none
TIMES = ("date", "number")
IN_MEMORY = (
    "{} needs all rows in memory, and this job would train on a sample: rows of a group would be "
    f"scored by models that know the others. Leave out {option('sample')} and {option('engine')}, "
    "or draw whole groups yourself and fit these."
)


@dataclass(frozen=True, slots=True, eq=False)
class FoldGroups:
    """What folds keep together, the columns that say it, and a sentence about it; or nothing."""

    group: str | None = None
    time: str | None = None
    row_groups: Together | None = None
    sentence: str | None = None

    @property
    def arrays(self) -> dict[str, Any]:
        """As the classifiers take it."""
        if self.row_groups is None:
            return {}
        return {"groups": self.row_groups.groups, "times": self.row_groups.times}

    def at(self, rows: Any) -> "FoldGroups":
        """The groups of some of the rows."""
        row_groups = None if self.row_groups is None else self.row_groups.at(rows)
        return replace(self, row_groups=row_groups)

    def without_copies(self, keys: Any) -> Any:
        """The rows that are left if each group keeps one row of each key.

        Copies within a group do no harm, because models do not see them.
        """
        assert self.row_groups is not None
        pairs = np.column_stack([keys, self.row_groups.groups.astype(np.uint64)])
        return np.sort(np.unique(pairs, axis=0, return_index=True)[1])

    def plan(self, plan: Plan, labels: Labels) -> Plan:
        """No more folds than groups of either kind; one repeat if folds are blocks of time."""
        if self.row_groups is None:
            return plan
        sides = labels.is_positive, labels.is_unlabeled
        fewest = min(np.unique(self.row_groups.groups[side]).size for side in sides)
        repeats = plan.repeats if self.time is None else 1
        return replace(plan, outer=max(2, min(plan.outer, fewest)), repeats=repeats)


NO_GROUPS = FoldGroups()


def read_fold_groups(
    table: Batch, label: str | None, group: str | None, time: str | None
) -> FoldGroups:
    """The columns `group` and `time` of a table, if any is named."""
    if group is None and time is None:
        return NO_GROUPS
    for what, name, code in (("group", group, "TB120"), ("time", time, "TB121")):
        if name is not None and name == label:
            raise InputError(code, f'"{name}" cannot be the label and the {what} at once.')
    table = table.select(list(dict.fromkeys(name for name in (group, time) if name is not None)))
    when = None if time is None else moments(table, time)
    names = None if group is None else _names(table, group)
    row_groups = read_together(names, when, table.rows)
    sentences = [] if group is None else [_about_groups(table, group, row_groups)]
    sentences += [] if time is None else [f'folds are blocks of time, by "{time}"']
    return FoldGroups(group, time, row_groups, "; ".join(sentences))


def refuse_sample(group: str | None, time: str | None) -> None:
    """TB122 if rows would be sampled that belong together."""
    named = [option(name) for name, value in (("group", group), ("time", time)) if value]
    if named:
        raise InputError("TB122", IN_MEMORY.format(" and ".join(named)))


def _names(table: Batch, group: str) -> Any:
    if table.kinds[group] == "other":
        raise InputError(
            "TB120", f'"{group}" holds lists, bytes or mixed values, which cannot name groups.'
        )
    column = read_column(table, group)
    return np.where(column.missing, np.nan, column.numbers)


def moments(table: Batch, time: str) -> Any:
    """The values of a column of dates or numbers; TB121 if it holds anything else."""
    if (kind := table.kinds[time]) not in TIMES:
        _refuse_words_among_times(table.frame[time], time)
        first = table.frame[time].iloc[0]
        raise InputError(
            "TB121",
            f'"{time}" holds {CONTENT[kind]}, not dates or numbers (the first value is '
            f"{first!r}), so the rows have no order in time. See {option('dates')} for how dates "
            "are read.",
        )
    return read_column(table, time).values


def _refuse_words_among_times(values: Any, time: str) -> None:
    """TB121 with the first value that is no time, if most others are dates or numbers."""
    texts = values.astype(str)
    dates = pd.to_datetime(texts, errors="coerce", format="mixed", utc=True).notna()
    is_read = dates | pd.to_numeric(texts, errors="coerce").notna()
    bad = np.flatnonzero(~is_read & values.notna())
    if bad.size and is_read.mean() > 0.5:
        more = f", and {bad.size - 1:,} more like it" if bad.size > 1 else ""
        raise InputError(
            "TB121",
            f'"{time}" must hold dates or numbers; row {bad[0] + 1:,} has '
            f"{values.iloc[bad[0]]!r}{more}. Correct the value, or leave the row out.",
        )


def _about_groups(table: Batch, group: str, row_groups: Together | None) -> str:
    """How many groups there are and what they do, in words."""
    if row_groups is None or row_groups.grouped is None:
        return f'"{group}" is different in every row, so it changes nothing'
    groups = f"{np.unique(row_groups.groups).size:,} groups, {table.rows:,} rows"
    sentence = f'"{group}": {groups}; folds keep groups together'
    missing = int(table.frame[group].isna().sum())
    if not missing:
        return sentence
    rows = "row without a value is a group" if missing == 1 else "rows without a value are groups"
    return f"{sentence}; {missing:,} {rows} of {'its' if missing == 1 else 'their'} own"


def split_copies(X: Any, labels: Labels, folds: FoldGroups) -> tuple[Alarm, ...]:
    """Signs that rows of different groups belong together: the group may be the wrong column."""
    groups = None if folds.row_groups is None else folds.row_groups.groups
    jump = find_jump(X, labels.is_positive, labels.is_unlabeled, groups)
    return () if jump is None else near_copies(jump.near, jump.next, given=folds.group)


def unsaid_groups(
    columns: Columns, X: Any, labels: Labels, names: Sequence[str]
) -> tuple[tuple[Finding, ...], tuple[Alarm, ...]]:
    """Signs that rows belong together although no group was given; `names` may be groups."""
    is_p, is_u = labels.is_positive, labels.is_unlabeled
    jump, findings = find_jump(X, is_p, is_u), find_groups(columns[name] for name in names)
    if jump is not None and not findings:  # "machine" names no group by itself, but near-copies do
        findings = find_groups((columns[name] for name in names), by_name=False)
    shared = [f for f in findings if labels_are_shared(columns[str(f.column)], is_p, is_u)]
    likely = [str(finding.column) for finding in (*shared, *findings)]
    if jump is not None:
        return findings, near_copies(jump.near, jump.next, likely[0] if likely else None)
    return findings, group_column(likely[0]) if shared else ()


def read_groups(table: Batch, label: str | None, name: str) -> Groups:
    """The groups of a column; TB160 if it has none.

    Text and yes/no values are groups as they are, and so are up to ten different numbers; more
    numbers, and dates, are cut into quarters of the rows. Rows without a value are a group.
    """
    check_columns([name], list(table.kinds), table.name)
    if name == label:
        raise InputError("TB160", f'"{name}" is the label itself, which cannot form groups.')
    if table.kinds[name] in ("vector", "blank", "other"):
        raise InputError(
            "TB160", f'"{name}" holds {CONTENT[table.kinds[name]]}, which cannot form groups.'
        )
    column = read_column(table.select([name]), name)
    missing = column.missing
    valued, names, notes = _valued(column)
    codes = np.full(missing.size, len(names), np.intp)
    codes[~missing] = valued
    names = (*names, WITHOUT) if missing.any() else names
    if len(names) > MOST_GROUPS:
        raise InputError(
            "TB160",
            f'"{name}" has {len(names):,} different values, and {option("by")} takes columns with '
            f"at most {MOST_GROUPS}. Join values into larger groups in a column of its own.",
        )
    if len(names) < 2:
        raise InputError(
            "TB160", f'"{name}" has the same value in all rows, so there is nothing to compare.'
        )
    return Groups(name, names, codes, notes)


def _valued(column: Column) -> tuple[Any, tuple[str, ...], tuple[str, ...]]:
    """The code of each row with a value, the names of the groups, and how they were made."""
    values, missing = column.numbers, column.missing
    if column.kind == "string":
        texts = np.array(column.texts, object)[column.codes[~missing]]
        names, codes = np.unique(texts.astype(str), return_inverse=True)
        return codes, tuple(map(shortened, names)), ()
    used, codes = np.unique(values[~missing], return_inverse=True)
    if column.kind == "boolean":
        return codes, tuple("yes" if v else "no" for v in used), ()
    if column.kind == "number" and used.size <= MOST_NUMBERS:
        return codes, tuple(_shown(v, "number") for v in used), ()
    if not used.size:
        return codes, (), ()
    cuts = np.unique(np.quantile(values[~missing], np.arange(1, QUANTILES) / QUANTILES))
    cuts = cuts[cuts < used[-1]]  # no group is empty
    codes = np.searchsorted(cuts, values[~missing])
    ends = [_shown(end, column.kind) for end in (used[0], *cuts, used[-1])]
    ranges = [f"{low} to {high}" for low, high in itertools.pairwise(ends)]
    ranges[1:] = [f"above {between}" for between in ranges[1:]]
    note = f"cut into {counted(len(ranges), 'group')} of about equal size"
    return codes, tuple(ranges), (note,)


def _shown(value: float, kind: str) -> str:
    return f"{value:.10g}" if kind == "number" else str(pd.Timestamp(int(value), unit="us").date())
