"""Reading labels: which rows are positive; everything else is unlabeled, never "negative"."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.errors import InputError

Mask = NDArray[np.bool_]
SHOWN = 8
GUESSED = 5  # with more values a column is hardly one of labels
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
    to be negative. Without it, a value that stands alone beside blanks is the positive one, and
    other values than those above are an error that shows them. With `counts` each entry of `s`
    stands for that many rows, counted elsewhere; the masks are then of entries.

    >>> read_labels(["yes", "no", ""], positive="yes").note
    "'yes' = positive (1 row), 'no' = unlabeled (1 row), blank = unlabeled (1 row)"
    >>> read_labels(["ja", None, ""]).note
    "'ja' = positive (1 row), blank = unlabeled (2 rows); no other value is there"
    >>> read_labels([1, 0], counts=[7, 10**12]).note
    '1 = positive (7 rows), 0 = unlabeled (1,000,000,000,000 rows)'
    """
    values, codes = _distinct(s)
    counts = np.bincount(codes, counts, len(values)).astype(np.intp)
    only = None
    if positive is None and negative is None:
        only = _only_value(values)
        if only is None:
            _check_clear(values, counts, name)
    is_p, is_n = _roles(values, counts, positive if only is None else only, negative)
    is_u = [not (p or n) for p, n in zip(is_p, is_n, strict=True)]
    note = _note(values, counts, is_p, is_n) + ("" if only is None else "; no other value is there")
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


def _note(values: list[Any], counts: NDArray[np.intp], is_p: list[bool], is_n: list[bool]) -> str:
    """What each value means; of many unlabeled ones the first, and how many more."""
    roles = zip(values, counts, is_p, is_n, strict=True)
    told = sorted(roles, key=lambda role: (not role[2], not role[3]))
    shown = [
        f"{_show(value)} = {'positive' if p else 'known negative' if n else 'unlabeled'} "
        f"({_rows(count)})"
        for value, count, p, n in told[:SHOWN]
    ]
    if len(told) > SHOWN:
        rest = _rows(sum(int(count) for _, count, *_ in told[SHOWN:]))
        shown.append(f"… and {len(told) - SHOWN:,} more = unlabeled ({rest})")
    return ", ".join(shown)


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _only_value(values: list[Any]) -> Any:
    """The one value beside blanks, which can only mark the positives; None if it is unclear.

    >>> _only_value(["ja", None]), _only_value(["no", None]), _only_value(["a", "b"])
    ('ja', None, None)
    """
    named = [value for value in values if value is not None]
    if len(named) != 1 or _plain(named[0]) or _looks_negative(named[0]):
        return None
    return named[0]


def _looks_negative(value: Any) -> bool:
    return str(value).lower() in LOOKS_NEGATIVE | {"0", "0.0"}


def _plain(value: Any) -> bool:
    return isinstance(value, bool | int | float) and value in (1, 0, -1)


def _check_clear(values: list[Any], counts: NDArray[np.intp], name: str) -> None:
    """Refuse labels that do not say by themselves which value means "positive"."""
    if len(values) <= 2 and all(value is None or _plain(value) for value in values):
        return
    many = f"{len(values):,} value{'' if len(values) == 1 else 's'}"
    raise InputError(
        "TB002",
        f"{name} has {many}: {_table(values, counts)}.\n"
        f'      Which means "positive"? {_advice(values)}',
    )


def _advice(values: list[Any]) -> str:
    """The likely reading, of values that say enough for a guess; else how to say it.

    >>> _advice([1, 0, 2]), _advice(["a", "b"])
    ('Likely: positive=1   (0, 2 = unlabeled)', 'Say it with positive=VALUE')
    """
    named = [value for value in values if value is not None]
    if len(named) > GUESSED or str(named[0]).lower() not in LOOKS_POSITIVE:
        return "Say it with positive=VALUE"
    guess, rest = f"Likely: positive={named[0]!r}", values[1:]
    # A 0 beside a third value may as well be unknown, so it is no negative by its looks.
    if len(values) > 2 and str(named[1]).lower() in LOOKS_NEGATIVE:
        guess, rest = f"{guess}, negative={named[1]!r}", values[2:]
    unlabeled = f"   ({', '.join(map(_show, rest))} = unlabeled)" if len(values) > 2 else ""
    return guess + unlabeled


def _table(values: list[Any], counts: NDArray[np.intp]) -> str:
    shown = [f"{_show(v)} ({c:,})" for v, c in zip(values[:SHOWN], counts, strict=False)]
    more = len(values) - SHOWN
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _show(value: Any) -> str:
    return "blank" if value is None else repr(value)
