"""Tables of any kind to numbers."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from topbin.core.errors import InputError
from topbin.learn.classifiers.tables import (
    as_pandas,
    encode,
    has_kinds,
    is_table,
    learn_codes,
    stack,
)

FRAME = pd.DataFrame(
    {
        "town": ["Lyon", "Bern", None, "Lyon"],
        "n": [1, 2, 3, 4],
        "x": [0.5, None, 2.5, -1.0],
        "on": [True, False, True, True],
        "day": pd.to_datetime(["2026-01-02", None, "2026-01-01", "2026-01-03"]),
        "none": [None] * 4,
    }
)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_every_column_becomes_numbers(make):
    frame = make(FRAME)
    matrix = encode(frame, learn_codes(frame))
    assert matrix.shape == (4, 6)
    np.testing.assert_array_equal(matrix[:, 0], [1, 0, np.nan, 1])
    np.testing.assert_array_equal(matrix[:, 1], [1, 2, 3, 4])
    np.testing.assert_array_equal(matrix[:, 2], [0.5, np.nan, 2.5, -1])
    np.testing.assert_array_equal(matrix[:, 3], [1, 0, 1, 1])
    assert matrix[3, 4] > matrix[0, 4] > matrix[2, 4]
    assert np.isnan(matrix[1, 4])
    assert np.isnan(matrix[:, 5]).all()


def test_a_text_that_is_new_is_missing_and_the_codes_stay():
    codes = learn_codes(FRAME[["town"]])
    new = encode(pd.DataFrame({"town": ["Bern", "Rome", None, "Lyon"]}), codes)
    np.testing.assert_array_equal(new[:, 0], [0, np.nan, np.nan, 1])


def test_a_column_that_changes_its_kind_is_refused_unless_it_is_empty():
    codes = learn_codes(FRAME[["town", "n"]])
    with pytest.raises(InputError, match="TB109 column 'town' held text"):
        encode(pd.DataFrame({"town": [1, 2], "n": [1, 2]}), codes)
    empty = encode(pd.DataFrame({"town": [None, None], "n": [None, None]}), codes)
    assert np.isnan(empty).all()


def test_infinite_values_have_a_code():
    frame = pd.DataFrame({"x": [1.0, np.inf]})
    with pytest.raises(InputError, match="TB004"):
        encode(frame, learn_codes(frame))


def test_what_is_a_table_and_what_has_kinds():
    assert all(is_table(X) for X in (FRAME, csr_array((2, 2)), [[1]], np.zeros((2, 2))))
    assert not any(is_table(X) for X in (np.zeros((2, 3, 4)), (1, 2), object()))
    assert has_kinds(FRAME)
    assert has_kinds(np.array([["a", 1]], dtype=object))
    assert not has_kinds(np.array([[2, 1]], dtype=object))
    assert not has_kinds(csr_array((2, 2)))


def test_tensors_are_no_tables():
    torch = pytest.importorskip("torch")
    assert not is_table(torch.zeros(2, 2))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_frames_stack_into_one_frame(make):
    both = stack(make(FRAME[:1]), make(FRAME[1:]))
    assert list(both.columns) == list(FRAME.columns)
    assert both["n"].tolist() == [1, 2, 3, 4]
    assert as_pandas(FRAME) is FRAME


def test_dates_of_objects_are_dates():
    days = pd.DataFrame({"day": [date(2026, 1, 2), date(2026, 1, 1)]})
    matrix = encode(days, learn_codes(days))
    assert matrix[0, 0] > matrix[1, 0]
