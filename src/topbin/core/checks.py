"""Checks shared by every room: each returns a clean value or raises a coded error."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from topbin.core.errors import InputError

Scores = NDArray[np.floating[Any]]
Floats = NDArray[np.float64]
RowNumbers = NDArray[np.intp]
Value = TypeVar("Value")
AnyScores = TypeVar("AnyScores", bound=NDArray[np.floating[Any]])


def stored_as(content: Any, kind: type[Value]) -> Value:
    """Plain values from a file as a dataclass; ValueError for types that are wrong.

    Also for fields that are missing or unknown.

    >>> from topbin.core.options import Listing
    >>> stored_as({"seed": 5}, Listing)
    Traceback (most recent call last):
    ValueError: unknown field 'seed'
    """
    value = msgspec.convert(content, kind)
    for name in content.keys() - {each.name for each in fields(kind)}:  # type: ignore[arg-type]
        raise ValueError(f"unknown field {name!r:.80}")
    return value


def check_scores(
    scores: Any, name: str, *, allow_empty: bool = False, finite: bool = True
) -> Scores:
    """Return `scores` as a finite one-dimensional float32 or float64 array, copied only if needed.

    Only the order of scores matters to the tail methods, so any real values are fine. With
    `finite=False` the caller finds out about NaN and infinity in some cheaper way.

    >>> check_scores([3, 1], "scores_p")
    array([3., 1.])
    """
    array = as_real_array(scores, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(
            "TB005", f"{name} must have one dimension, one score per row; got shape {array.shape}."
        )
    if array.size == 0 and not allow_empty:
        raise InputError("TB001", f"{name} is empty; pass at least one score.")
    bad = array.size - int(np.count_nonzero(np.isfinite(array))) if finite else 0
    if bad:
        raise InputError(
            "TB004",
            f"{name} has {bad:,} of {array.size:,} scores that are NaN or infinite. "
            "Drop these rows, or score them again.",
        )
    return array


def as_real_array(scores: Any, name: str) -> Scores:
    """Return `scores` as float32 or float64 of any shape, or say why they are not numbers.

    >>> as_real_array([[True, False]], "X_p")
    array([[1., 0.]])
    """
    try:
        array = np.asarray(unmasked(scores))
    except ValueError as error:
        raise InputError("TB005", f"{name} is ragged: {error}") from error
    if array.dtype == object:
        array = _numbers_from_objects(array, name)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise _not_real(f"{name} must hold real numbers; got dtype {array.dtype}.")
    is_short = array.dtype.kind == "f" and array.dtype.itemsize < 8
    return array.astype(np.float32 if is_short else np.float64, copy=False)


def unmasked(values: Any) -> Any:
    """A masked array as a plain one, NaN (or None, among objects) where it is masked.

    >>> unmasked(np.ma.array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    if not np.ma.isMaskedArray(values):
        return values
    is_number = values.dtype.kind in "biuf"
    kind = np.result_type(values.dtype, np.float32) if is_number else np.dtype(object)
    filled = values.data.astype(kind)
    filled[np.ma.getmaskarray(values)] = np.nan if is_number else None
    return filled


def refuse_nan(scores: AnyScores, model: Any) -> AnyScores:
    """The scores of a model, or TB004 if some are NaN, which would rank above all others."""
    bad = int(np.count_nonzero(np.isnan(scores)))
    if bad:
        raise InputError(
            "TB004",
            f"{type(model).__name__} gave NaN as the score of {bad:,} of {scores.size:,} rows. "
            "Look for extreme or missing values in these rows, or use another model.",
        )
    return scores


def _numbers_from_objects(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    text = next((value for value in array.flat if isinstance(value, str | bytes)), None)
    if text is not None:  # numpy would read '0.9' as a number here, and refuses it in a U3 array
        raise _not_real(f"{name} must hold real numbers; got text such as {text!r}.")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise _not_real(f"{name} holds objects that are not numbers ({error}).") from error


def _not_real(seen: str) -> InputError:
    return InputError("TB006", f"{seen} Convert them to float64 or float32 first.")


def is_number(value: Any) -> bool:
    """Whether it is a finite number; truth values are not.

    >>> is_number(0.5), is_number(True), is_number(math.nan), is_number("1")
    (True, False, False, False)
    """
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return bool(number and math.isfinite(value))


def check_fraction(
    value: Any, name: str, *, low_open: bool = True, high_open: bool = True
) -> float:
    """Return `value` as a float between 0 and 1, ends open or closed as asked.

    >>> check_fraction(0.95, "confidence")
    0.95
    """
    brackets = f"{'(' if low_open else '['}0, 1{')' if high_open else ']'}"
    inside = is_number(value) and 0 <= value <= 1
    if not inside or (value == 0 and low_open) or (value == 1 and high_open):
        raise InputError("TB008", f"{name} must be a number in {brackets}; got {value!r}.")
    return float(value)


def check_count(value: Any, name: str, *, least: int = 1) -> int:
    """Return `value` as an int of at least `least`.

    >>> check_count(5, "cv")
    5
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError("TB008", f"{name} must be a whole number ≥ {least}; got {value!r}.")
    return int(value)


def check_above_zero(value: Any, name: str, *, zero: bool = False) -> float:
    """Return `value` as a finite float above 0 (or at 0, if `zero`).

    >>> check_above_zero(0.01, "gamma")
    0.01
    """
    if not is_number(value) or value < 0 or (value == 0 and not zero):
        raise InputError(
            "TB008", f"{name} must be a finite number {'≥' if zero else '>'} 0; got {value!r}."
        )
    return float(value)


def as_numbers(value: Any) -> list[Any]:
    """One number, several, or text with commas, as a list; text that is not a number stays text.

    >>> as_numbers("3, 1.5"), as_numbers(2), as_numbers("two")
    ([3.0, 1.5], [2], ['two'])
    """
    parts = value.split(",") if isinstance(value, str) else value
    parts = parts.tolist() if hasattr(parts, "tolist") else parts
    return [_number(part) for part in (parts if isinstance(parts, list | tuple) else [parts])]


def _number(text: Any) -> Any:
    try:
        return float(text) if isinstance(text, str) else text
    except ValueError:
        return text


def look_up(name: Any, table: Mapping[str, Value], kind: str) -> Value:
    """The value of this name in a table, or an error that says which names there are.

    >>> look_up("two", {"one": 1, "two": 2}, "number")
    2
    >>> look_up("too", {"one": 1, "two": 2}, "number")
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB007 no number is called 'too'; there are one, two. Did you ...
    """
    if isinstance(name, str) and name in table:
        return table[name]
    hint = did_you_mean(name, table)
    raise InputError("TB007", f"no {kind} is called {name!r}; there are {', '.join(table)}.{hint}")


def did_you_mean(name: Any, known: Iterable[str], show: Callable[[str], str] = repr) -> str:
    """` Did you mean 'x'?` for the most similar known name, or nothing.

    >>> did_you_mean("is_Fruad", ["amount", "is_fraud"])
    " Did you mean 'is_fraud'?"
    """
    names = {each.casefold(): each for each in known}
    near = get_close_matches(str(name).casefold(), names, n=1)
    return f" Did you mean {show(names[near[0]])}?" if near else ""
