"""Columns: every library gives the same ones, each is read once, and kinds have one vocabulary."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from topbin.core import InputError
from topbin.data import columns as columns_module
from topbin.data.columns import Columns, as_batch, as_columns

DAY = dt.date(2026, 11, 16)
DATA = {
    "whole": [1, None, 3],
    "part": [0.5, None, 1.5],
    "flag": [True, None, False],
    "word": ["a", None, "b"],
    "day": [DAY, None, DAY + dt.timedelta(1)],
    "gone": [None, None, None],
}
KINDS = ["number", "number", "boolean", "string", "date", "blank"]
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "dict": dict}


def only(values, name="x"):
    return as_columns({name: values})[name]


@pytest.mark.parametrize("maker", MAKERS)
def test_every_library_gives_the_same_columns(maker):
    batch = as_batch(MAKERS[maker](DATA))
    assert list(batch.kinds.items()) == list(zip(DATA, KINDS, strict=True))
    columns = Columns(batch)
    assert np.array_equal(columns["whole"].values, [1, np.nan, 3], equal_nan=True)
    assert np.array_equal(columns["flag"].values, [1, np.nan, 0], equal_nan=True)
    assert np.array_equal(columns["word"].values, [0, np.nan, 1], equal_nan=True)
    assert columns["word"].texts == ("a", "b")
    assert columns["word"].strings.tolist() == ["a", "", "b"]
    assert np.diff(columns["day"].numbers[[0, 2]]) == [86_400 * 1e6]
    assert columns["gone"].missing.all()
    assert columns["part"].missing.tolist() == columns["day"].missing.tolist()
    assert [columns[name].is_whole for name in DATA] == [True] + [False] * 5


@pytest.mark.parametrize(
    ("series", "kind", "whole"),
    [
        (pd.Series([1, None], dtype="Int64"), "number", True),
        (pd.Series([True, None], dtype="boolean"), "boolean", False),
        (pd.Series(["a", None], dtype="category"), "string", False),
        (pd.Series(pd.to_datetime(["2026-11-16", None], utc=True)), "date", False),
        (pd.Series([pd.NaT, pd.NaT]), "date", False),
        (pd.Series([1, "a"], dtype=object), "other", False),
        (np.array([np.nan, np.inf]), "number", False),
        (np.array(["x", "y"]), "string", False),
        (np.array([True, False]), "boolean", False),
        (np.array([2.0, np.nan]), "number", True),
    ],
)
def test_kinds(series, kind, whole):
    column = as_columns(pd.DataFrame({"x": series}))["x"]
    assert (column.kind, column.is_whole) == (kind, whole)


def test_dates_of_every_kind_have_the_same_values():
    spelled = [
        np.array(["2026-11-16"], "datetime64[D]"),
        np.array(["2026-11-16"], "datetime64[ns]"),
        np.array([DAY], object),
        np.array([dt.datetime(2026, 11, 16)], object),
        np.array([pd.Timestamp("2026-11-16", tz="UTC")], object),
        np.array(["2026-11-16"]),
    ]
    assert len({only(array).numbers[0] for array in spelled}) == 1


def test_a_column_is_read_once(monkeypatch):
    read = []
    inner = columns_module.read_column
    monkeypatch.setattr(
        columns_module, "read_column", lambda t, name: read.append(name) or inner(t, name)
    )
    columns = as_columns(DATA)
    assert columns["day"] is columns["day"]
    assert as_columns(columns) is columns
    assert read == ["day"]


def test_an_array_has_numbered_columns():
    assert list(as_batch(np.zeros((2, 3))).kinds) == [f"column {i}" for i in range(3)]


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (np.zeros(3), "TB005 a table has two dimensions"),
        (csr_matrix(np.eye(3)), "TB005 a sparse matrix"),
        (np.zeros((0, 3)), "TB001"),
        (np.zeros((3, 0)), "TB001"),
        ({}, "TB001"),
        ({"a": [1, 2], "b": [1]}, "TB005 columns differ in length"),
        ({"a": [[1, 2]]}, 'TB005 column "a" must have one value per row'),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), 'TB115 the table has the column "a" twice'),
    ],
)
def test_what_is_no_table_is_refused(table, code):
    with pytest.raises(InputError, match=f"^{code}"):
        as_batch(table)
