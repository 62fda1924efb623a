"""Checks of two tables that should fit together: positives and unlabeled, or old and new rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.columns import raw_columns, read_column
from topbin.core.errors import InputError
from topbin.evaluate.table import LEAK_AUC, Finding, check_columns, overlap

FAMILY = {"whole": "number", "yes/no": "number"}
PLURAL = {"number": "numbers", "date": "dates"}


def check_two_tables(table_p: Any, table_u: Any, *, leak: float = LEAK_AUC) -> tuple[Finding, ...]:
    """Everything worth saying about positives in one table and unlabeled rows in another.

    >>> positives, unlabeled = {"a": [5.5, 4.5], "b": [1, 2]}, {"a": [5.5, 7.25], "c": [1, 2]}
    >>> for finding in check_two_tables(positives, unlabeled):
    ...     print(finding)
    missing-column: "b" is only in the positives.
    missing-column: "c" is only in the unlabeled.
    overlap: 1 of 2 positives has an exact copy among the unlabeled.
    """
    found = compare_columns(table_p, table_u, names=("positives", "unlabeled"))
    side_p, side_u = _by_name(table_p), _by_name(table_u)
    apart = {finding.column for finding in found}
    joined = (
        read_column(name, np.concatenate([array, side_u[name]]))
        for name, array in side_p.items()
        if name not in apart
    )
    n_p, n_u = (next(iter(side.values())).size for side in (side_p, side_u))
    is_p = np.arange(n_p + n_u) < n_p
    return (*found, *check_columns(joined, is_p, ~is_p, leak))


def compare_columns(
    first: Any, second: Any, *, names: tuple[str, str] = ("first", "second")
) -> tuple[Finding, ...]:
    """Columns that only one of the tables has, or that hold something else in the other.

    >>> compare_columns({"a": [1]}, {"a": ["x"]}, names=("model", "file"))[0].sentence
    '"a" holds numbers in the model and text in the file.'
    """
    sides = (_by_name(first), _by_name(second))
    found = []
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        where = [side for side, arrays in zip(names, sides, strict=True) if name in arrays]
        if len(where) == 1:
            sentence = f'"{name}" is only in the {where[0]}.'
            found.append(Finding("missing-column", name, 1, sentence))
            continue
        kinds = [read_column(name, side[name]).kind for side in sides]
        if "empty" in kinds and kinds[0] != kinds[1]:
            empty = names[kinds.index("empty")]
            sentence = f'"{name}" is empty in the {empty} and not in the other table.'
            found.append(Finding("empty-column", name, 1, sentence))
        elif FAMILY.get(kinds[0], kinds[0]) != FAMILY.get(kinds[1], kinds[1]):
            held = [PLURAL.get(FAMILY.get(kind, kind), kind) for kind in kinds]
            sentence = (
                f'"{name}" holds {held[0]} in the {names[0]} and {held[1]} in the {names[1]}.'
            )
            found.append(Finding("type-differs", name, 1, sentence))
    return tuple(found)


def overlap_ids(ids_p: Any, ids_u: Any) -> tuple[Finding, ...]:
    """Positives whose id also stands among the unlabeled; 12, 12.0 and "12" are the same id.

    >>> overlap_ids([1, 2, 3], ["3", "4"])[0].sentence
    '1 of 3 positives has the same id as a row among the unlabeled.'
    """
    among_u = {_plain_id(value) for value in np.asarray(ids_u).tolist()}
    mine = [_plain_id(value) for value in np.asarray(ids_p).tolist()]
    shared = sum(value in among_u for value in mine)
    return overlap(shared, len(mine), "the same id as a row")


def _plain_id(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()


def _by_name(table: Any) -> dict[str, NDArray[Any]]:
    columns = raw_columns(table)
    found = dict(columns)
    if len(found) < len(columns):
        names = [name for name, _ in columns]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("TB115", f"two columns are called {twice!r}; rename one.")
    return found
