"""The default model and the default amount of work."""

import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from topbin.learn import Plan
from topbin.learn.crossfit import crossfit
from topbin.learn.cvir import CVIR
from topbin.learn.default_model import default_model, plan_for
from topbin.learn.pvu import PVU
from topbin.learn.tedn import TEDN


def test_dense_tables_get_trees_and_sparse_ones_a_linear_model():
    pytest.importorskip("lightgbm")
    assert type(default_model(np.zeros((9, 2)))).__name__ == "LGBMClassifier"
    assert isinstance(default_model(csr_array((9, 2))), LogisticRegression)


def test_small_tables_get_one_thread():
    pytest.importorskip("lightgbm")
    assert default_model(np.zeros((9, 2))).n_jobs == 1
    assert default_model(np.broadcast_to(0.0, (10**6, 50))).n_jobs is None


def test_without_lightgbm_the_trees_are_scikit_learns(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    monkeypatch.setattr("topbin.learn.default_model.find_spec", lambda name: None)
    assert isinstance(default_model(np.zeros((9, 2))), HistGradientBoostingClassifier)


def test_the_default_model_takes_missing_values_and_repeats_itself():
    X = np.random.default_rng(0).normal(size=(80, 3))
    X[::5, 1] = np.nan
    plan = Plan(outer=2, inner=2, repeats=1)
    one, two = (crossfit(default_model(X), X, np.arange(80) < 40, TEDN, plan=plan) for _ in "ab")
    assert (one.scores == two.scores).all()


@pytest.mark.parametrize(
    ("rows", "plan"),
    [
        (10_000, Plan(5, 3, 3)),
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
