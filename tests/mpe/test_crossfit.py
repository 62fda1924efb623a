"""Cross-fitting: no row is scored by a model that saw it."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from topbin.core import InputError
from topbin.mpe.crossfit import crossfit_scores, positive_scores, stratified_folds


class Memory(ClassifierMixin, BaseEstimator):
    """Scores 1 for exactly the rows it was trained on as positive."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = set(X[:, 0].tolist())
        return self

    def decision_function(self, X):
        return np.array([x in self.seen_ for x in X[:, 0].tolist()], float)


class Weighed(Memory):
    """Scores with the sum of the weights it was trained with."""

    def fit(self, X, y, sample_weight=None):
        self.weight_ = np.sum(sample_weight)
        return super().fit(X, y)

    def decision_function(self, X):
        return np.full(len(X), self.weight_)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    is_positive = np.arange(60) < 20
    X[is_positive] += 2
    return X, is_positive


def test_no_row_is_scored_by_a_model_that_saw_it(table):
    scores = crossfit_scores(Memory(), *table, repeats=3, ranks=False)
    assert (scores == 0).all()


def test_a_score_is_the_mean_of_its_repeats(table):
    parts = [
        crossfit_scores(LogisticRegression(), *table, random_state=seed, ranks=False)
        for seed in (4, 5)
    ]
    whole = crossfit_scores(LogisticRegression(), *table, repeats=2, random_state=4, ranks=False)
    np.testing.assert_allclose(whole, np.mean(parts, axis=0))


def test_ranks_are_within_the_fold(table):
    X, is_positive = table
    scores = crossfit_scores(LogisticRegression(), X, is_positive, cv=3)
    for _, test in stratified_folds(is_positive, 3, 0):
        assert sorted(scores[test]) == pytest.approx(np.arange(1, test.size + 1) / test.size)


def test_parallel_folds_give_the_same_bits(table):
    alone = crossfit_scores(LogisticRegression(), *table)
    np.testing.assert_array_equal(crossfit_scores(LogisticRegression(), *table, n_jobs=2), alone)


def test_sparse_equals_dense(table):
    X, is_positive = table
    sparse = crossfit_scores(LogisticRegression(), csr_matrix(X), is_positive)
    np.testing.assert_allclose(sparse, crossfit_scores(LogisticRegression(), X, is_positive))


def test_weights_reach_the_scorer_with_their_rows(table):
    X, is_positive = table
    weight = np.arange(60.0)
    scores = crossfit_scores(Weighed(), X, is_positive, cv=2, ranks=False, sample_weight=weight)
    for train, test in stratified_folds(is_positive, 2, 0):
        assert (scores[test] == weight[train].sum()).all()


def test_a_decision_function_will_do(table):
    X, is_positive = table
    scores = crossfit_scores(LinearSVC(), X, is_positive)
    assert scores[is_positive].mean() > scores[~is_positive].mean()


def test_a_scorer_that_cannot_score_is_refused(table):
    class Mute(BaseEstimator):
        def fit(self, X, y):
            return self

    with pytest.raises(InputError, match="TB013 Mute has neither"):
        positive_scores(Mute(), table[0])


def test_fewer_rows_than_folds_means_fewer_folds():
    folds = list(stratified_folds(np.array([True] * 3 + [False] * 20), 5, 0))
    assert len(folds) == 3


@pytest.mark.parametrize("n_p", [1, 9])
def test_one_row_of_a_side_cannot_be_cross_fitted(n_p):
    with pytest.raises(InputError, match="TB003 cross-fitting needs 2 positives"):
        list(stratified_folds(np.arange(10) < n_p, 5, 0))
