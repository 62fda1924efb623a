"""Elkan and Noto's two classifiers against Bayes' rule and the paper's weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_spy import RowSpy
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from topbin.core.errors import InputError
from topbin.learn.classifiers import (
    as_map,
    fit_weighted,
    from_labeled,
    from_positive,
    labeled_share,
    natural_pvu,
)
from topbin.learn.rows import TrainingTable
from topbin.mpe.elkan_noto import elkan_noto

SHARES = st.floats(0.01, 0.99)


@given(SHARES, SHARES, SHARES)
def test_both_maps_are_bayes_rule_for_the_unlabeled(alpha, share_p, p_in_u):
    """A place x with density p_p = 1 and p_u such that a share p_in_u of U there is positive."""
    p_p, p_u = 1.0, alpha / p_in_u
    labeled, hidden = share_p * p_p, (1 - share_p) * alpha * p_p
    everything = share_p * p_p + (1 - share_p) * p_u
    c = labeled_share(alpha, share_p)
    assert from_labeled(labeled / everything, c) == pytest.approx(p_in_u, abs=1e-6)
    assert from_positive((labeled + hidden) / everything, c) == pytest.approx(p_in_u, abs=1e-6)


@given(SHARES, SHARES)
def test_c_is_the_one_the_estimator_read(alpha, share_p):
    c = labeled_share(alpha, share_p)
    found = elkan_noto(np.full(5, c), np.full(5, 0.1), share_p=share_p)
    assert found.alpha == pytest.approx(alpha)


def test_the_grid_is_fine_enough():
    g = np.random.default_rng(0).uniform(0, 1, 500)
    found = as_map(from_labeled, 0.7)(g)
    assert np.abs(found - from_labeled(g, 0.7)).max() < 2e-3
    assert (np.diff(found[np.argsort(g)]) > 0).all()


def test_each_unlabeled_row_counts_twice_with_weights_that_sum_to_one():
    X = np.column_stack([np.random.default_rng(0).normal(size=(6, 2)), np.arange(6)])
    is_p = np.array([True, True, False, False, False, False])
    w = np.array([0.1, 0.4, 0.7, 1.0])
    model = fit_weighted(RowSpy(), TrainingTable(X, is_p), w)
    assert model.rows_.tolist() == [0, 1, 2, 3, 4, 5, 2, 3, 4, 5]
    assert model.labels_.tolist() == [1] * 6 + [0] * 4
    rows = X[model.rows_, :-1]
    weight = np.r_[1, 1, w, 1 - w]
    plain = GaussianNB().fit(rows, model.labels_, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X[:, :-1]))
    doubled = fit_weighted(RowSpy(), TrainingTable(X, is_p, np.full(6, 2.0)), w)
    np.testing.assert_allclose(doubled.predict_proba(X), model.predict_proba(X))


def test_a_model_without_weights_is_refused():
    rows = TrainingTable(np.zeros((3, 1)), np.array([1, 0, 0], bool))
    with pytest.raises(InputError, match="TB013"):
        fit_weighted(KNeighborsClassifier(), rows, np.ones(2))


def test_natural_weights_leave_rows_as_they_are():
    risk = natural_pvu(0.25).at(None)
    assert (risk.p_pos, risk.u_neg) == (0.25, 0.75)
