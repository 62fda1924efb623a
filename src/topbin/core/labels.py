"""Reading labels: which rows are positive; everything else is unlabeled, never "negative"."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.errors import InputError

Mask = NDArray[np.bool_]
SHOWN = 8
LOOKS_POSITIVE = {"1", "1.0", "true", "t", "yes", "y", "positive", "pos", "p"}
LOOKS_NEGATIVE = {"-1", "-1.0", "false", "f", "no", "n", "negative", "neg"}


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Which rows are positive, which are known negatives, and how that was read.

    >>> labels = read_labels([1, 0, 0, 1])
    >>> labels.is_positive, labels.n_p, labels.n_u
    (array([ True, False, False,  True]), 2, 2)
    >>> labels.note
    '1 = positive (2 rows), 0 = unlabeled (2 rows)'
    """

    is_positive: Mask
    is_negative: Mask
    positive: Any
    unlabeled: tuple[Any, ...]
    note: str

    @property
    def is_unlabeled(self) -> Mask:
        """Rows that are neither positive nor known negative."""
        return ~(self.is_positive | self.is_negative)

    @property
    def n_p(self) -> int:
        """How many rows are labeled positive."""
        return int(self.is_positive.sum())

    @property
    def n_u(self) -> int:
        """How many rows are unlabeled."""
        return int(self.is_unlabeled.sum())


def read_labels(
    s: Any,
    *,
    positive: Any = None,
    negative: Any = None,
    counts: Any = None,
    name: str = "the label column",
) -> Labels:
    """Read a label column: {1, 0}, {1, −1}, bool, 1/NaN/None, or any values with `positive=`.

    With `positive=` every other value is unlabeled, except `negative=`, which marks rows known
    to be negative. Without it, more than two values is an error that shows them. With `counts`
    each entry of `s` stands for that many rows, counted elsewhere; the masks are then of entries.

    >>> read_labels(["yes", None, ""], positive="yes").note
    "'yes' = positive (1 row), blank = unlabeled (2 rows)"
    >>> read_labels([1, 0], counts=[7, 10**12]).note
    '1 = positive (7 rows), 0 = unlabeled (1,000,000,000,000 rows)'
    """
    values, codes = _distinct(s)
    counts = np.bincount(codes, counts, len(values)).astype(np.intp)
    if positive is None and negative is None:
        _check_clear(values, counts, name)
    is_p, is_n = _roles(values, counts, positive, negative)
    is_u = [not (p or n) for p, n in zip(is_p, is_n, strict=True)]
    note = ", ".join(
        f"{_show(value)} = {'positive' if p else 'known negative' if n else 'unlabeled'} "
        f"({count:,} row{'' if count == 1 else 's'})"
        for value, count, p, n in zip(values, counts, is_p, is_n, strict=True)
    )
    for wanted, role in ((is_p, "positive"), (is_u, "unlabeled")):
        if not counts[wanted].sum():
            raise InputError(
                "TB003",
                f"no row is {role}: {note}. topbin needs some known positives and some "
                "rows whose label is unknown.",
            )
    return Labels(
        np.asarray(is_p, bool)[codes],
        np.asarray(is_n, bool)[codes],
        next(value for value, p in zip(values, is_p, strict=True) if p),
        tuple(value for value, u in zip(values, is_u, strict=True) if u),
        note,
    )


def _distinct(s: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Distinct values, most positive-looking first, None for missing; and each row's index."""
    array = _as_column(s)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError("TB005", f"labels must have one dimension; got shape {array.shape}.")
    if array.size == 0:
        raise InputError("TB001", "the label column has no rows.")
    if array.dtype.kind in "fiub":
        found, codes = np.unique(array, return_inverse=True)
        values = [None if value != value else value.item() for value in found]
    else:
        keys = [label_key(value) for value in array.tolist()]
        values = list(dict.fromkeys(keys))
        place = {value: i for i, value in enumerate(values)}
        codes = np.fromiter((place[key] for key in keys), np.intp, len(keys))
    order = sorted(range(len(values)), key=lambda i: _rank(values[i]))
    back = np.empty(len(values), np.intp)
    back[order] = np.arange(len(values))
    return [values[i] for i in order], back[codes]


def _as_column(s: Any) -> NDArray[Any]:
    if hasattr(s, "to_pylist"):  # arrow, whose own conversion refuses columns with nulls
        return np.array(s.to_pylist(), object)
    try:
        return np.asarray(s.to_numpy() if hasattr(s, "to_numpy") else s)
    except ValueError as error:
        raise InputError("TB005", f"labels must be one value a row: {error}") from error


def label_key(value: Any) -> Any:
    """One hashable key a value; None, NaN, NaT, pandas' NA and blanks are all missing."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, float | np.floating) and value != value:
        return None
    try:
        hash(value)
    except TypeError:
        raise InputError("TB006", f"a label is a {type(value).__name__}, not a value.") from None
    return value


def _rank(value: Any) -> tuple[bool, bool, bool, str]:
    word = str(value).lower()
    return (value is None, word not in LOOKS_POSITIVE, word not in LOOKS_NEGATIVE, word)


def _roles(
    values: list[Any], counts: NDArray[np.intp], positive: Any, negative: Any
) -> tuple[list[bool], list[bool]]:
    if positive is None and negative is not None:
        positive = 1
    if positive is not None:
        for wanted, role in ((positive, "positive"), (negative, "negative")):
            if wanted is not None and wanted not in values:
                raise InputError(
                    "TB003",
                    f"no row has the {role} value {wanted!r}; the column holds "
                    f"{_table(values, counts)}.",
                )
        if negative is not None and positive == negative:
            raise InputError("TB002", f"positive and negative are both {positive!r}.")
        return (
            [value is not None and value == positive for value in values],
            [value is not None and negative is not None and value == negative for value in values],
        )
    return [value is not None and value == 1 for value in values], [False] * len(values)


def _plain(value: Any) -> bool:
    return isinstance(value, bool | int | float) and value in (1, 0, -1)


def _check_clear(values: list[Any], counts: NDArray[np.intp], name: str) -> None:
    """Refuse labels that do not say by themselves which value means "positive"."""
    if len(values) <= 2 and all(value is None or _plain(value) for value in values):
        return
    named = [value for value in values if value is not None]
    likely = f"positive={named[0]!r}"
    if len(values) > 2 and len(named) > 1:
        rest = [_show(value) for value in values[2:]]
        likely += f", negative={named[1]!r}   ({', '.join(rest[:SHOWN])} = unlabeled)"
    raise InputError(
        "TB002",
        f"{name} has {len(values):,} values: {_table(values, counts)}.\n"
        f'      Which means "positive"? Likely: {likely}',
    )


def _table(values: list[Any], counts: NDArray[np.intp]) -> str:
    shown = [f"{_show(v)} ({c:,})" for v, c in zip(values[:SHOWN], counts, strict=False)]
    more = len(values) - SHOWN
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _show(value: Any) -> str:
    return "blank" if value is None else repr(value)
