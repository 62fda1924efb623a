"""The default model and the default amount of work."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from topbin.learn import Plan
from topbin.learn.crossfit import crossfit
from topbin.learn.defaults import WordRegression, coarse, column_scale, default_model, plan_for
from topbin.learn.learners import CVIR, PVU, TEDN


def test_dense_tables_get_trees_and_sparse_ones_a_linear_model():
    pytest.importorskip("lightgbm")
    assert type(default_model(np.zeros((9, 2)))).__name__ == "LGBMClassifier"
    assert isinstance(default_model(csr_array((9, 2))), LogisticRegression)


def test_counts_are_scaled_so_that_the_solver_arrives_and_small_entries_are_left():
    rng = np.random.default_rng(0)
    counts = csr_array(rng.poisson(0.3, (200, 40)) * np.geomspace(1, 1000, 40))
    model = default_model(counts)
    assert [type(step).__name__ for _, step in model.steps] == [
        "MaxAbsScaler",
        "LogisticRegression",
    ]
    model.fit(counts, np.arange(200) < 100)  # a solver that does not arrive warns: an error here
    assert isinstance(default_model(csr_array(rng.random((9, 2)))), LogisticRegression)


def test_small_tables_get_one_thread():
    pytest.importorskip("lightgbm")
    assert default_model(np.zeros((9, 2))).n_jobs == 1
    assert default_model(np.broadcast_to(0.0, (10**6, 50))).n_jobs is None


def test_without_lightgbm_the_trees_are_scikit_learns(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    monkeypatch.setattr("topbin.learn.defaults.find_spec", lambda name: None)
    assert isinstance(default_model(np.zeros((9, 2))), HistGradientBoostingClassifier)


def test_the_default_model_takes_missing_values_and_repeats_itself():
    X = np.random.default_rng(0).normal(size=(80, 3))
    X[::5, 1] = np.nan
    plan = Plan(outer=2, inner=2, repeats=1)
    one, two = (crossfit(default_model(X), X, np.arange(80) < 40, TEDN, plan=plan) for _ in "ab")
    assert (one.scores == two.scores).all()


def trees(**params):
    return HistGradientBoostingClassifier(max_iter=5, early_stopping=False, **params)


def test_a_coarse_table_has_the_bins_the_trees_make_and_new_rows_need_not_be_coarse():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(2000, 3)), rng.random(2000) < 0.5, rng.random(2000)
    X[::7, 1] = np.nan
    before = X.copy()
    few = coarse(X, trees())
    assert np.array_equal(X, before, equal_nan=True)
    assert [np.unique(column[~np.isnan(column)]).size for column in few.T] == [255] * 3
    assert (np.isnan(few) == np.isnan(X)).all()
    assert np.nanmax(abs(few - X).mean(axis=0)) < 0.01
    model = trees().fit(few, y, sample_weight=weight)
    assert (model.predict_proba(X) == model.predict_proba(few)).all()


def test_only_tables_of_numbers_under_histogram_trees_are_made_coarse():
    X = np.random.default_rng(0).normal(size=(300, 2))
    assert coarse(X, LogisticRegression()) is X
    assert coarse(csr_array(X), trees()).shape == X.shape
    texts = np.array([["a", "b"]], dtype=object)
    assert coarse(texts, trees()) is texts
    whole = np.arange(300).reshape(-1, 1)
    assert coarse(whole, trees(max_bins=10)).dtype == whole.dtype
    inside = CalibratedClassifierCV(trees(max_bins=10))
    assert np.unique(coarse(X, inside)[:, 0]).size == 10


def test_the_numbers_of_a_frame_are_made_coarse_and_its_other_columns_left():
    frame = pd.DataFrame(
        {
            "x": np.linspace(0, 1, 400),
            "n": pd.array([*range(399), None], dtype="Int64"),
            "kind": pd.Categorical(["a", "b"] * 200),
            "on": [True, False] * 200,
        }
    )
    few = coarse(frame, trees(max_bins=20))
    assert few["x"].nunique() == few["n"].nunique() == 20
    assert np.isnan(few["n"].iloc[-1])
    assert few[["kind", "on"]].equals(frame[["kind", "on"]])
    assert frame["x"].nunique() == 400


@pytest.mark.parametrize(
    ("rows", "plan"),
    [
        (5_000, Plan(5, 3, 3)),
        (5_001, Plan(5, 3, 2)),
        (10_000, Plan(5, 3, 2)),
        (10_001, Plan(5, 3, 1)),
        (50_000, Plan(5, 3, 1)),
        (50_001, Plan(3, 2, 1)),
    ],
)
def test_larger_tables_get_fewer_fits(rows, plan):
    X = np.broadcast_to(0.0, (rows, 2))
    assert plan_for(TEDN, X) == plan_for(CVIR, X) == plan


def test_a_learner_that_ranks_nothing_fits_once():
    wanted = Plan(outer=4, inner=1, repeats=2, warm=0, rounds=1)
    assert plan_for(PVU, np.zeros((9, 2)), Plan(outer=4, repeats=2)) == wanted
    assert plan_for(TEDN, csr_array((9, 2))).rounds == 1
    assert plan_for(TEDN, csr_array((9, 2)), Plan(rounds=4)).rounds == 4


def words(rng, rows=60, columns=8):
    return csr_array((rng.random((rows, columns)) < 0.3) * rng.random((rows, columns)))


def test_the_scale_of_a_word_is_the_definition():
    rng = np.random.default_rng(0)
    X, is_p = words(rng), np.arange(60) < 20
    odds = []
    for column in X.toarray().T:
        share_p = ((column[is_p] != 0).sum() + 1) / (20 + 2)
        share_u = ((column[~is_p] != 0).sum() + 1) / (40 + 2)
        odds.append(abs(np.log(share_p / share_u)))
    naive = 0.7 + 0.3 * np.array(odds) / np.mean(odds)
    np.testing.assert_allclose(column_scale(X, is_p), naive)
    np.testing.assert_array_equal(column_scale(X, is_p, mix=0), np.ones(8))


def test_a_row_of_weight_two_counts_as_two_rows():
    rng = np.random.default_rng(1)
    X, is_p, weight = words(rng), np.arange(60) < 20, rng.integers(1, 3, 60)
    rows = np.repeat(np.arange(60), weight)
    # How many rows there are, which decides what is a number, is not weighted.
    np.testing.assert_allclose(column_scale(X, is_p, weight), column_scale(X[rows], is_p[rows]))


def test_words_are_read_as_given_though_they_were_scaled():
    rng = np.random.default_rng(2)
    X, is_p = words(rng), np.arange(60) < 20
    scale = column_scale(X, is_p)
    model = WordRegression(C=0.5).fit(X, is_p)
    scaled = X.multiply(scale).tocsr()
    plain = LogisticRegression(C=0.5).fit(scaled, is_p)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(scaled))
    assert repr(clone(model)) == "WordRegression(C=0.5)"
