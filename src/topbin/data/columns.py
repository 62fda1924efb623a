"""Columns of any table, whatever library holds it, as plain arrays that checks can count."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from topbin.core.errors import InputError

Kind = Literal["number", "whole", "yes/no", "date", "text", "empty"]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column's name, what it holds, and its values as float64, NaN where missing.

    Text is held as the position of each value in `texts`, dates as microseconds.
    """

    name: str
    kind: Kind
    values: NDArray[np.float64]
    texts: tuple[Any, ...] = ()

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return np.isnan(self.values)


def raw_columns(table: Any) -> list[tuple[str, NDArray[Any]]]:
    """Name and array of each column of a pandas, polars or arrow table, a mapping, a 2-D array.

    >>> [name for name, _ in raw_columns(np.zeros((3, 2)))]
    ['column 0', 'column 1']
    """
    found = []
    for name, values in _columns(table):
        array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
        if array.ndim != 1:
            raise InputError(
                "TB005", f"column {name!r} must have one value a row; got shape {array.shape}."
            )
        found.append((name, array))
    if not found or found[0][1].size == 0:
        raise InputError("TB001", "the table has no rows or no columns.")
    sizes = {array.size for _, array in found}
    if len(sizes) > 1:
        raise InputError("TB005", f"columns differ in length: {sorted(sizes)} rows.")
    return found


def _columns(table: Any) -> Iterator[tuple[str, Any]]:
    if issparse(table):
        raise InputError("TB005", "a sparse matrix has no columns to check one by one.")
    if hasattr(table, "iloc"):  # by position: pandas names may repeat
        for i, name in enumerate(table.columns):
            yield str(name), table.iloc[:, i]
    elif hasattr(table, "get_columns"):  # polars
        for series in table.get_columns():
            yield series.name, series
    elif hasattr(table, "column_names"):  # arrow
        yield from zip(table.column_names, table.columns, strict=True)
    elif isinstance(table, Mapping):
        for name, values in table.items():
            yield str(name), values
    else:
        array = np.asarray(table)
        if array.ndim != 2:
            raise InputError("TB005", f"a table has two dimensions; got shape {array.shape}.")
        for i in range(array.shape[1]):
            yield f"column {i}", array[:, i]


def read_column(name: str, array: NDArray[Any]) -> Column:
    """What this array holds.

    >>> read_column("town", np.array(["Bern", "Lyon", None, "Bern"])).values
    array([ 0.,  1., nan,  0.])
    """
    if array.dtype.kind in "biuf":
        return _numbers(name, array.astype(np.float64), all_bool=array.dtype.kind == "b")
    if array.dtype.kind == "M":
        return _dates(name, array)
    return _objects(name, array)


def _numbers(name: str, values: NDArray[np.float64], *, all_bool: bool) -> Column:
    seen = values[np.isfinite(values)]
    if seen.size == 0:
        return Column(name, "empty", values)
    # Whole numbers with gaps arrive as floats from most readers.
    whole = bool((seen == np.rint(seen)).all())
    return Column(name, "yes/no" if all_bool else "whole" if whole else "number", values)


def _dates(name: str, array: NDArray[Any]) -> Column:
    ticks = array.astype("datetime64[us]").astype(np.int64).astype(np.float64)
    gone = np.isnat(array)
    return Column(name, "empty" if gone.all() else "date", np.where(gone, np.nan, ticks))


def _objects(name: str, array: NDArray[Any]) -> Column:
    """Objects by what their distinct values are; anything mixed is text."""
    from pandas import factorize, to_datetime

    try:
        codes, distinct = factorize(array.astype(object))
    except TypeError as error:
        raise InputError("TB006", f"column {name!r} holds no plain values: {error}.") from error
    positions = np.where(codes < 0, np.nan, codes)
    if distinct.size == 0:
        return Column(name, "empty", positions)
    at = np.maximum(codes, 0)
    if all(isinstance(value, bool | Real) for value in distinct):
        numbers = np.where(codes < 0, np.nan, distinct.astype(np.float64)[at])
        return _numbers(name, numbers, all_bool=all(isinstance(v, bool) for v in distinct))
    if all(isinstance(value, date) for value in distinct):
        days = to_datetime(distinct, utc=True).tz_localize(None).to_numpy()
        return _dates(name, np.where(codes < 0, np.datetime64("NaT"), days[at]))
    return Column(name, "text", positions, tuple(distinct))
