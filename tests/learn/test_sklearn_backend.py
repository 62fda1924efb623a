"""The scikit-learn backend: who trains on what, who scores whom, and with which weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_spy import RowSpy
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from topbin.core.errors import InputError
from topbin.learn.backends.sklearn import FoldedModels, mean_score, seeded, weight_name
from topbin.learn.risk import Risk

HALF = Risk(0.5, 0.0, 0.5)


def blobs(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = np.r_[rng.normal(2, 1, (n, 2)), rng.normal(0, 1, (n, 2))]
    return X, np.arange(n), np.arange(n, 2 * n)


def test_a_model_never_sees_its_own_fold_nor_rows_outside():
    X, p, u = blobs()
    X = np.column_stack([X, np.arange(60)])
    fold = np.tile([0, 1, 2, -1], 15)
    model = FoldedModels(RowSpy(), X, fold)
    model.epoch(p[fold[p] >= 0], u[fold[u] >= 0], HALF)
    for k, fitted in enumerate(model.models):
        assert set(fold[fitted.rows_]) == {0, 1, 2} - {k}


class Watching(RowSpy):
    def fit(self, X, y, held_out=None):
        self.watched_ = held_out
        return super().fit(X, y)


def test_a_model_that_takes_held_out_rows_gets_those_of_no_fold_and_their_labels():
    X, p, u = blobs()
    X = np.column_stack([X, np.arange(60)])
    fold = np.tile([0, -1], 30)
    model = FoldedModels(Watching(), X, fold, is_positive=np.arange(60) < 30)
    model.epoch(p[fold[p] >= 0], u[fold[u] >= 0], HALF)
    rows, is_positive = model.models[0].watched_
    assert rows[:, 2].tolist() == list(range(1, 60, 2))
    assert is_positive.sum() == 15
    assert set(fold[model.models[0].rows_]) == {0}


def test_scores_are_those_of_the_rows_own_fold_and_a_mean_outside():
    X, p, u = blobs()
    fold = np.tile([0, 1, -1], 20)
    model = FoldedModels(GaussianNB(), X, fold)
    model.epoch(p[fold[p] >= 0], u[fold[u] >= 0], HALF)
    each = [m.predict_proba(X)[:, 1] for m in model.models]
    wanted = np.select([fold == 0, fold == 1], each, (each[0] + each[1]) / 2)
    np.testing.assert_allclose(model.scores(np.arange(60)), wanted)
    np.testing.assert_allclose(mean_score(model.models, X), (each[0] + each[1]) / 2)


def test_only_kept_rows_of_U_train():
    X, p, u = blobs()
    X = np.column_stack([X, np.arange(60)])
    model = FoldedModels(RowSpy(), X, np.zeros(60, int))
    model.epoch(p, u, HALF, kept=np.array([0, 5]))
    assert sorted(model.models[0].rows_) == [*range(30), 30, 35]


def test_a_fold_that_holds_all_kept_rows_still_has_unlabeled_rows_to_learn_from():
    X, p, u = blobs()
    fold = np.arange(60) % 3
    model = FoldedModels(GaussianNB(), X, fold)
    model.epoch(p, u, HALF, kept=np.flatnonzero(fold[u] == 1))
    assert np.isfinite(model.scores(u)).all()


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 0.95), st.integers(2, 20), st.integers(2, 20))
def test_weights_make_the_two_losses_weigh_what_the_risk_says(alpha, n_p, n_u):
    X = np.arange(n_p + n_u, dtype=float)[:, None]
    model = FoldedModels(LogisticRegression(), X, np.zeros(n_p + n_u, int))
    is_p = np.arange(n_p + n_u) < n_p
    weight = model._weights(np.arange(n_p + n_u), is_p, Risk(alpha, 0.0, 1 - alpha))[
        "sample_weight"
    ]
    assert weight[is_p].sum() / weight.sum() == pytest.approx(alpha)
    assert weight.mean() == pytest.approx(1)


def test_row_weights_multiply():
    X, _, _ = blobs()
    given_weight = np.linspace(1, 2, 60)
    plain = FoldedModels(GaussianNB(), X, np.zeros(60, int))
    weighted = FoldedModels(GaussianNB(), X, np.zeros(60, int), sample_weight=given_weight)
    is_p, rows = np.arange(60) < 30, np.arange(60)
    expected = plain._weights(rows, is_p, HALF)["sample_weight"] * given_weight
    np.testing.assert_allclose(weighted._weights(rows, is_p, HALF)["sample_weight"], expected)


def test_the_loss_is_the_risk_of_out_of_fold_logits():
    X, p, u = blobs()
    model = FoldedModels(GaussianNB(), X, np.arange(60) % 2)
    result = model.epoch(p, u, HALF)
    prob_p, prob_u = model.scores(p), model.scores(u)
    loss = -0.5 * np.log(prob_p).mean() - 0.5 * np.log(1 - prob_u).mean()
    assert result.loss == pytest.approx(loss, rel=1e-4)
    assert result.training_error == (prob_p <= 0.5).mean() + (prob_u > 0.5).mean()


def test_a_decision_function_serves_as_score():
    X, p, u = blobs()
    model = FoldedModels(RidgeClassifier(), X, np.arange(60) % 2)
    result = model.epoch(p, u, HALF)
    assert model.scores(p).mean() > model.scores(u).mean()
    assert result.training_error == (model.scores(p) <= 0).mean() + (model.scores(u) > 0).mean()


def test_pipelines_pass_weights_to_their_last_step_and_models_without_them_do_without():
    X, p, u = blobs()
    assert weight_name(make_pipeline(StandardScaler(), GaussianNB())) == "gaussiannb__sample_weight"
    assert weight_name(KNeighborsClassifier()) is None
    assert weight_name(make_pipeline(StandardScaler(), KNeighborsClassifier())) is None
    for estimator in (make_pipeline(StandardScaler(), GaussianNB()), KNeighborsClassifier()):
        model = FoldedModels(estimator, X, np.arange(60) % 2)
        model.epoch(p, u, HALF)
        assert model.scores(p).mean() > model.scores(u).mean()


def test_seeds_reach_the_model_and_the_steps_of_a_pipeline():
    model = seeded(make_pipeline(StandardScaler(), DecisionTreeClassifier()), 7)
    assert model[-1].random_state == 7
    assert seeded(DecisionTreeClassifier(random_state=1), 7).random_state == 7


def test_a_risk_with_a_negative_weight_is_refused():
    X, p, u = blobs()
    with pytest.raises(InputError, match=r"TB013 .* gradient"):
        FoldedModels(GaussianNB(), X, np.zeros(60, int)).epoch(p, u, Risk(0.5, -0.5, 1.0))


def test_a_model_that_cannot_score_is_refused():
    class Silent(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            return self

    X, p, u = blobs()
    with pytest.raises(InputError, match="TB013"):
        FoldedModels(Silent(), X, np.zeros(60, int)).epoch(p, u, HALF)
