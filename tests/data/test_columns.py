import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from topbin.core import InputError
from topbin.data.columns import raw_columns, read_column

DAY = dt.date(2026, 11, 16)
DATA = {
    "whole": [1, None, 3],
    "part": [0.5, None, 1.5],
    "flag": [True, None, False],
    "word": ["a", None, "b"],
    "day": [DAY, None, DAY + dt.timedelta(1)],
    "gone": [None, None, None],
}
KINDS = ["whole", "number", "yes/no", "text", "date", "empty"]
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "dict": dict}


@pytest.mark.parametrize("maker", MAKERS)
def test_every_library_gives_the_same_columns(maker):
    columns = [read_column(*pair) for pair in raw_columns(MAKERS[maker](DATA))]
    assert [column.name for column in columns] == list(DATA)
    assert [column.kind for column in columns] == KINDS
    by_name = {column.name: column for column in columns}
    assert np.array_equal(by_name["whole"].values, [1, np.nan, 3], equal_nan=True)
    assert np.array_equal(by_name["flag"].values, [1, np.nan, 0], equal_nan=True)
    assert np.array_equal(by_name["word"].values, [0, np.nan, 1], equal_nan=True)
    assert by_name["word"].texts == ("a", "b")
    day = np.diff(by_name["day"].values[[0, 2]])
    assert day == [86_400 * 1e6]
    assert by_name["gone"].missing.all()
    assert by_name["part"].missing.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (pd.Series([1, None], dtype="Int64"), "whole"),
        (pd.Series([True, None], dtype="boolean"), "yes/no"),
        (pd.Series(["a", None], dtype="category"), "text"),
        (pd.Series(pd.to_datetime(["2026-11-16", None], utc=True)), "date"),
        (pd.Series([pd.NaT, pd.NaT]), "empty"),
        (pd.Series([1, "a"], dtype=object), "text"),
        (np.array([np.nan, np.inf]), "empty"),
        (np.array(["x", "y"]), "text"),
        (np.array([True, False]), "yes/no"),
        (np.array([2.0, np.nan]), "whole"),
    ],
)
def test_kinds(series, kind):
    assert read_column("x", np.asarray(series)).kind == kind


def test_dates_of_every_kind_have_the_same_values():
    spelled = [
        np.array(["2026-11-16"], "datetime64[D]"),
        np.array(["2026-11-16"], "datetime64[ns]"),
        np.array([DAY], object),
        np.array([dt.datetime(2026, 11, 16)], object),
        np.array([pd.Timestamp("2026-11-16", tz="UTC")], object),
    ]
    assert len({read_column("day", array).values[0] for array in spelled}) == 1


def test_an_array_has_numbered_columns_and_pandas_names_may_repeat():
    assert [name for name, _ in raw_columns(np.zeros((2, 3)))] == [f"column {i}" for i in range(3)]
    twice = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    assert [array.tolist() for _, array in raw_columns(twice)] == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (np.zeros(3), "TB005 a table has two dimensions"),
        (csr_matrix(np.eye(3)), "TB005 a sparse matrix"),
        (np.zeros((0, 3)), "TB001"),
        (np.zeros((3, 0)), "TB001"),
        ({}, "TB001"),
        ({"a": [1, 2], "b": [1]}, "TB005 columns differ in length"),
        ({"a": [[1, 2]]}, "TB005 column 'a' must have one value a row"),
    ],
)
def test_what_is_no_table_is_refused(table, code):
    with pytest.raises(InputError, match=f"^{code}"):
        raw_columns(table)


def test_lists_in_cells_are_refused():
    cells = np.empty(2, object)
    cells[:] = [[1], [2, 3]]
    with pytest.raises(InputError, match=r"^TB006 column 'tags' holds no plain values"):
        read_column("tags", cells)
