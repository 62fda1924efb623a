"""Tables under the faces: frames are encoded as `topbin.fit` encodes them, matrices never."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import topbin as tb
from topbin.core.errors import InputError
from topbin.data import fit_features
from topbin.data.batch import as_pandas
from topbin.learn.rows import as_matrix, has_kinds, is_table, stack

FRAME = pd.DataFrame(
    {
        "town": ["Lyon", "Bern", None, "Lyon"],
        "n": [1, 2, 3, 4],
        "x": [0.5, None, 2.5, -1.0],
        "on": [True, False, True, True],
        "day": pd.to_datetime(["2026-01-02", None, "2026-01-01", "2026-01-03"]),
    }
)
N = 40
RNG = np.random.default_rng(0)
LARGE = pd.DataFrame(
    {
        "number": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(size=N)),
        "whole": RNG.integers(0, 9, N),
        "flag": RNG.random(N) < 0.5,
        "gaps": pd.array(np.where(RNG.random(N) < 0.2, None, RNG.random(N) < 0.5), "boolean"),
        "moment": pd.Timestamp("2024-02-28") + pd.to_timedelta(RNG.integers(0, 10**6, N), "min"),
        "day": [date(2026, 1, 1 + i % 28) if i % 5 else None for i in range(N)],
        "town": [("Ulm", "Köln", " ", None)[i % 4] for i in range(N)],
        "kind": pd.Categorical([("b", "a", "c")[i % 3] for i in range(N)]),
        "same": 1,
        "none": None,
        "claim": [f"c-{i}" for i in range(N)],
        "note": [f"the claim of number {i} is late" for i in range(N)],
    }
)
LABELS = (np.arange(N) < N // 2).astype(int)
MAKERS = [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas]
PLAIN = LARGE.drop(columns="note")
DROPPED = "TEDnClassifier does not read 3 of 1[12] columns"


class Stop(Exception):
    """Raised in place of the work, with the matrix that a model would see."""


@pytest.fixture
def seen(monkeypatch):
    def matrix_of(fit, *given):
        def stop(recipe, table, options):
            raise Stop(table.X)

        monkeypatch.setattr("topbin.learn.fitting.fit_recipe", stop)
        with pytest.raises(Stop) as stopped:
            fit(*given)
        return stopped.value.args[0]

    return matrix_of


def encoded(given, new=None):
    """A table as a face sees it, and a later one."""
    face = tb.TEDnClassifier()
    X = as_matrix(face, given, reset=True, to_numbers=True)
    return X if new is None else as_matrix(face, new, reset=False, to_numbers=True)


def test_the_warning_names_the_line_of_the_caller(seen):
    X, rest, lines = PLAIN[: N // 2], PLAIN[N // 2 :], set()
    classes = np.where(LABELS == 1, "a", None)
    calls = (
        (tb.TEDnClassifier().fit, PLAIN, LABELS),
        (tb.TEDnClassifier().fit_pu, X, rest),
        (tb.OpenSetClassifier().fit, PLAIN, classes),
        (tb.OpenSetClassifier().fit_pu, X, rest),
    )
    for fit, *given in calls:
        with pytest.warns(UserWarning, match="does not read") as said:
            seen(fit, *given)
        lines |= {warning.filename for warning in said if "does not read" in str(warning.message)}
    assert lines == {__file__}


@pytest.mark.parametrize("make", MAKERS)
def test_a_face_and_the_whole_job_see_the_same_matrix(make, seen):
    job = seen(tb.fit, make(PLAIN.assign(known=LABELS)), "known")
    with pytest.warns(UserWarning, match=DROPPED):
        face = seen(tb.TEDnClassifier().fit, make(PLAIN), LABELS)
    half = N // 2
    with pytest.warns(UserWarning, match=DROPPED):
        pair = seen(tb.TEDnClassifier().fit_pu, make(PLAIN[:half]), make(PLAIN[half:]))
    assert isinstance(job, np.ndarray)
    assert job.shape == (N, 6 + 5 + 4)
    np.testing.assert_array_equal(face, job)
    np.testing.assert_array_equal(pair, job)
    np.testing.assert_array_equal(job, fit_features(make(PLAIN)).by_name().encode(make(PLAIN)))


def test_with_free_text_they_see_the_same_matrix_too(seen):
    job = seen(tb.fit, LARGE.assign(known=LABELS), "known")
    with pytest.warns(UserWarning, match=DROPPED):
        face = seen(tb.TEDnClassifier().fit, LARGE, LABELS)
    assert job.shape == face.shape
    assert (job != face).nnz == 0


def test_dropped_columns_are_named_and_still_count_as_columns():
    face = tb.TEDnClassifier()
    with pytest.warns(UserWarning, match='"claim" looks like an identifier') as said:
        as_matrix(face, LARGE, reset=True, to_numbers=True)
    assert [column.name for column in face.features_.dropped] == ["same", "none", "claim"]
    assert all(f'"{name}"' in str(said[0].message) for name in ("same", "none", "claim"))
    assert face.n_features_in_ == 12
    assert face.feature_names_in_.tolist() == list(LARGE)
    with pytest.raises(InputError, match="TB109 The feature names should match"):
        as_matrix(face, LARGE.drop(columns="same"), reset=False, to_numbers=True)


@pytest.mark.parametrize("make", MAKERS)
def test_every_column_becomes_numbers(make):
    X = encoded(make(FRAME))
    assert X.shape == (4, 8)
    np.testing.assert_array_equal(X[:, 3], [1, np.nan, 0, 2])  # by name: day, n, on, town, x
    np.testing.assert_array_equal(X[:, 4], [1, 2, 3, 4])
    np.testing.assert_array_equal(X[:, 5], [1, 0, 1, 1])
    np.testing.assert_array_equal(X[:, 6], [1, 0, np.nan, 1])
    np.testing.assert_array_equal(X[:, 7], [0.5, np.nan, 2.5, -1])


@pytest.mark.parametrize("matrix", [np.eye(4), csr_array(np.eye(4)), [[1.0, 2.0], [3.0, 4.0]]])
def test_a_matrix_is_not_encoded(matrix):
    face = tb.TEDnClassifier()
    X = as_matrix(face, matrix, reset=True, to_numbers=True)
    assert face.features_ is None
    assert X.shape == np.shape(matrix)


def test_a_pipeline_of_the_users_own_reads_the_frame_as_it_came():
    encode = make_column_transformer((OneHotEncoder(), ["kind"]))
    face = tb.PvUClassifier(make_pipeline(encode, LogisticRegression()), confidence=None)
    face.fit(LARGE, LABELS)
    assert face.features_ is None
    assert face.predict_proba(LARGE).shape == (N, 2)


def test_an_array_after_a_frame_is_read_by_position():
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        X = encoded(FRAME[["town", "n"]], np.array([["Bern", 7], ["Rome", 8]], object))
    np.testing.assert_array_equal(X, [[7, 0], [8, np.nan]])  # n, town


def test_an_array_of_strings_and_numbers_is_encoded():
    rows = np.array([["b", 1.5], ["a", 2.5]], object)
    np.testing.assert_array_equal(encoded(rows), [[1, 1.5], [0, 2.5]])
    np.testing.assert_array_equal(encoded(rows, rows[::-1]), [[0, 2.5], [1, 1.5]])


def test_a_category_that_is_new_is_missing_and_the_others_keep_their_numbers():
    new = pd.DataFrame({"town": ["Bern", "Rome", None, "Lyon"]})
    np.testing.assert_array_equal(encoded(FRAME[["town"]], new)[:, 0], [0, np.nan, np.nan, 1])


def test_a_column_that_changes_its_kind_is_refused_unless_it_is_empty():
    two = FRAME[["town", "n"]]
    with pytest.raises(InputError, match='TB109 column "town" was a string'):
        encoded(two, pd.DataFrame({"town": [1, 2], "n": [1, 2]}))
    empty = encoded(two, pd.DataFrame({"town": [None, None], "n": [None, None]}))
    assert np.isnan(empty).all()


def test_infinite_values_have_a_code():
    with pytest.raises(InputError, match="TB004"):
        encoded(pd.DataFrame({"x": [1.0, np.inf]}))


def test_what_is_a_table_and_what_has_kinds():
    assert all(is_table(X) for X in (FRAME, csr_array((2, 2)), [[1]], np.zeros((2, 2))))
    assert not any(is_table(X) for X in (np.zeros((2, 3, 4)), (1, 2), object()))
    assert has_kinds(FRAME)
    assert has_kinds(np.array([["a", 1]], dtype=object))
    assert not has_kinds(np.array([[2, 1]], dtype=object))
    assert not has_kinds(csr_array((2, 2)))


def test_tensors_are_not_tables():
    torch = pytest.importorskip("torch")
    assert not is_table(torch.zeros(2, 2))


@pytest.mark.parametrize("make", MAKERS)
def test_frames_stack_into_one_frame(make):
    both = stack(make(FRAME[:1]), make(FRAME[1:]))
    assert list(both.columns) == list(FRAME.columns)
    assert both["n"].tolist() == [1, 2, 3, 4]
    pd.testing.assert_frame_equal(as_pandas(FRAME), FRAME)
