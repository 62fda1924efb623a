"""AlphaEstimator: the scikit-learn face."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from gaussians import gaussians
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from topbin.core import InputError
from topbin.learn.classifiers import AlphaEstimator
from topbin.mpe import METHODS

QUICK = AlphaEstimator(estimator=LogisticRegression(), repeats=1)

SPLITS = "the check passes a list of splits as cv, which here is a number of folds"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": SPLITS,
    "check_sample_weight_equivalence_on_sparse_data": SPLITS,
}


# The checks hand over class labels of any kind, so `positive=1` names the positive one.
@parametrize_with_checks(
    [AlphaEstimator(cv=2, repeats=1, positive=1)],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def table():
    sample = gaussians(0.3, 150, 300)
    return np.r_[sample.X_p, sample.X_u], np.r_[np.ones(150, int), np.zeros(300, int)]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_the_same_face(name, table):
    fitted = clone(QUICK).set_params(method=name).fit(*table)
    assert fitted.alpha_ == fitted.estimate_.alpha
    assert fitted.alpha_ == pytest.approx(0.3, abs=0.2)
    assert fitted.estimate_.method == name
    assert fitted.n_features_in_ == 2
    assert "labels          1 = positive (150 rows), 0 = unlabeled (300 rows)" in fitted.summary()


def test_every_kind_of_table_gives_the_same_answer(table):
    X, s = table
    columns = {"a": X[:, 0], "b": X[:, 1]}
    alpha = clone(QUICK).fit(X, s).alpha_
    assert clone(QUICK).fit(pd.DataFrame(columns), s).alpha_ == alpha
    assert clone(QUICK).fit(pl.DataFrame(columns), s).alpha_ == alpha
    assert clone(QUICK).fit(csr_matrix(X), s).alpha_ == pytest.approx(alpha, abs=0.01)
    assert clone(QUICK).fit(X.tolist(), s.tolist()).alpha_ == alpha
    fitted = clone(QUICK).fit(pd.DataFrame(columns), s)
    assert fitted.feature_names_in_.tolist() == ["a", "b"]


def test_explicit_zeros_in_a_sparse_table_change_nothing(table):
    X, s = table
    X = X * (X > 0.5)
    explicit = csr_matrix(X)
    explicit.data[::3] = 0.0
    dense = explicit.toarray()
    clean = csr_matrix(dense)
    assert clone(QUICK).fit(explicit, s).alpha_ == clone(QUICK).fit(clean, s).alpha_


def test_pipelines_missing_values_and_seeds(table):
    X, s = table
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    assert clone(QUICK).set_params(estimator=pipeline).fit(X, s).alpha_ > 0
    X = X.copy()
    X[::7, 1] = np.nan
    one, two = (AlphaEstimator(repeats=1, random_state=3).fit(X, s).alpha_ for _ in range(2))
    assert one == two


def test_known_negatives_are_left_out(table):
    X, s = table
    more = np.r_[X, np.full((50, 2), -99.0)]
    labels = np.r_[s, np.full(50, -1)]
    fitted = clone(QUICK).set_params(positive=1, negative=-1).fit(more, labels)
    assert fitted.alpha_ == clone(QUICK).fit(X, s).alpha_


def test_weights_of_one_change_nothing_and_negative_ones_are_refused(table):
    X, s = table
    assert (
        clone(QUICK).fit(X, s, sample_weight=np.ones(450)).alpha_ == clone(QUICK).fit(X, s).alpha_
    )
    with pytest.raises(InputError, match="TB012"):
        clone(QUICK).fit(X, s, sample_weight=np.full(450, -1.0))


@pytest.mark.parametrize("method", ["tice", "km1"])
def test_methods_that_read_features_say_that_weights_change_nothing(table, method):
    X, s = table
    found = AlphaEstimator(method).fit(X, s, sample_weight=np.arange(450) + 1.0).estimate_
    assert any("sample_weight changes nothing here" in note for note in found.notes)
    assert not any("sample_weight" in n for n in AlphaEstimator(method).fit(X, s).estimate_.notes)


def test_rows_on_both_sides_raise_an_alarm(table):
    X, s = table
    twice, labels = np.r_[X, X[:10]], np.r_[s, np.zeros(10)]
    assert "shared-rows" in [a.code for a in clone(QUICK).fit(twice, labels).estimate_.alarms]


def test_constant_and_duplicate_columns_are_no_trouble(table):
    X, s = table
    wide = np.c_[X, X, np.ones(len(X))]
    assert clone(QUICK).fit(wide, s).alpha_ == pytest.approx(0.3, abs=0.1)
    constant = clone(QUICK).fit(np.ones((450, 2)), s).estimate_
    assert constant.alpha == 1.0
    assert "indistinguishable" in [alarm.code for alarm in constant.alarms]


@pytest.mark.slow
def test_noise_is_called_all_positive():
    """P and U from one distribution: α = 1, and cross-fitting must not lose it."""
    rng = np.random.default_rng(0)
    s = np.r_[np.ones(300), np.zeros(600)]
    found = [
        AlphaEstimator(random_state=i).fit(rng.normal(size=(900, 5)), s).alpha_ for i in range(8)
    ]
    assert np.mean(found) >= 0.92


@pytest.mark.parametrize(
    ("X", "s", "options", "code"),
    [
        ([[1.0], [2.0], [3.0]], [1, 1, 1], {}, "TB003"),
        ([[1.0], [2.0], [3.0]], [0, 0, 0], {}, "TB003"),
        ([[1.0], [2.0], [3.0]], [1, 0, 2], {}, "TB002"),
        ([[1.0], [2.0], [3.0]], [1, 0], {}, "TB005"),
        ([[1.0], [2.0], [3.0]], [1, 0, 0], {}, "TB003"),
        ([[1.0], [2.0], [3.0]], None, {}, "TB001"),
        (np.zeros((0, 2)), [], {}, "TB001"),
        ([1.0, 2.0], [1, 0], {}, "TB005"),
        ([["a"], ["b"]], [1, 0], {}, "TB006"),
        ([[np.inf], [2.0], [3.0]], [1, 0, 0], {}, "TB004"),
        (csr_matrix([[np.inf], [2.0], [3.0]]), [1, 0, 0], {}, "TB004"),
        (csr_matrix([[np.nan], [2.0], [3.0]]), [1, 0, 0], {}, "TB004"),
        ([[1.0]], [1], {}, "TB001"),
        ([[1.0], [2.0], [3.0]], [1, 1, 0], {"cv": 1}, "TB008"),
        ([[1.0], [2.0], [3.0]], [1, 1, 0], {"repeats": 0}, "TB008"),
        ([[1.0], [2.0], [3.0]], [1, 1, 0], {"confidence": 2}, "TB008"),
        ([[1.0], [2.0], [3.0]], [1, 1, 0], {"method": "bee"}, "TB007"),
    ],
)
def test_bad_input_is_refused_by_code(X, s, options, code):
    with pytest.raises(InputError) as caught:
        AlphaEstimator(**options).fit(X, s)
    assert caught.value.code == code
