"""The cross-fit: equal to a plain loop, free of leaks, honest on noise."""

from time import monotonic

import numpy as np
import pytest
from gaussians import gaussians
from joblib import parallel_config
from row_spy import RowSpy
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from topbin.core.binomial import share_below
from topbin.core.errors import InputError
from topbin.core.tails import Tails
from topbin.learn.backends.sklearn import positive_scores
from topbin.learn.crossfit import Plan, RunOptions, crossfit, inner_folds, least_kept, run_chain
from topbin.learn.defaults import default_model
from topbin.learn.folds import folds_of, order_of
from topbin.learn.learners import CVIR, LEARNERS, PVU, TEDN
from topbin.learn.rows import TrainingTable
from topbin.mpe.bbe import bbe

SMALL = Plan(outer=3, inner=2, repeats=2)
PLAIN = Plan(outer=3, inner=1, repeats=2, warm=0, rounds=1)


class Memory(ClassifierMixin, BaseEstimator):
    """Scores 1 for exactly the rows that it was trained on."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = set(X[:, 0].tolist())
        return self

    def decision_function(self, X):
        return np.array([x in self.seen_ for x in X[:, 0].tolist()], float)


class Weighed(Memory):
    """Scores with the sum of the weights that it was trained with."""

    def fit(self, X, y, sample_weight=None):
        self.weight_ = np.sum(sample_weight)
        return super().fit(X, y)

    def decision_function(self, X):
        return np.full(len(X), self.weight_)


def table(alpha=0.5, n=60, seed=0):
    """Rows in the order that a cross-fit gives them, in which a plain loop can be compared."""
    sample = gaussians(alpha, n, n, seed=seed)
    X, is_positive = np.r_[sample.X_p, sample.X_u], np.arange(2 * n) < n
    order = order_of(X, is_positive)
    return X[order], is_positive[order]


def plain_tedn(X, is_p, plan, seed):
    """(TED)ⁿ by nested folds, written out as a walk over rows."""
    total = np.zeros(len(X))
    for repeat in range(plan.repeats):
        start = seed + 1000 * repeat
        for k, (inside, held) in enumerate(folds_of(is_p, plan.outer, start)):
            chain = start + 10 * (k + 1)
            folds = list(folds_of(is_p[inside], plan.inner, chain))
            keep = np.ones(len(inside), bool)
            rounds = []
            for _ in range(1 + plan.rounds):
                own, outside = np.zeros(len(inside)), []
                for train, test in folds:
                    rows = inside[train[keep[train]]]
                    half = np.where(is_p[rows], 0.5 / is_p[rows].sum(), 0.5 / (~is_p[rows]).sum())
                    half *= len(rows)
                    model = GaussianNB().fit(X[rows], is_p[rows].astype(int), sample_weight=half)
                    own[test] = model.predict_proba(X[inside[test]])[:, 1]
                    outside.append(model.predict_proba(X[held])[:, 1])
                rounds.append(np.mean(outside, axis=0))
                u = np.flatnonzero(~is_p[inside])
                alpha = bbe(Tails.from_scores(own[is_p[inside]], own[u])).alpha
                keep[:] = True
                if alpha < 0.95:
                    n_kept = max(20, len(u) // 20, len(u) - round(alpha * len(u)))
                    keep[u] = False
                    keep[u[np.argsort(own[u], kind="stable")[:n_kept]]] = True
            score = np.mean(rounds, axis=0)
            for i, row in enumerate(held):
                below, ties = (score < score[i]).sum(), (score == score[i]).sum()
                total[row] += (below + ties / 2) / len(held)
    return total / plan.repeats


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_scores_equal_the_plain_walk(alpha):
    X, is_p = table(alpha)
    fit = crossfit(GaussianNB(), X, is_p, TEDN, plan=SMALL, seed=3)
    np.testing.assert_allclose(fit.scores, plain_tedn(X, is_p, SMALL, seed=3), atol=1e-12)


def test_no_model_of_a_chain_ever_sees_the_fold_it_scores():
    X, is_p = table()
    X = np.column_stack([X, np.arange(len(X))])
    held_out = np.arange(0, 120, 5)
    chain = run_chain(
        RowSpy(), TrainingTable(X, is_p), TEDN, held_out, 0,
        alpha=None, plan=SMALL, seed=0, deadline=np.inf, keep_models=True,
    )  # fmt: skip
    assert len(chain.models) == 3 * SMALL.inner
    for model in chain.models:
        assert not set(model.rows_) & set(held_out)
        assert set(model.rows_[model.labels_ == 1]) <= set(np.flatnonzero(is_p))


def test_every_row_is_held_out_once_and_folds_are_stratified():
    _, is_p = table()
    fold = inner_folds(is_p, np.array([0, 100]), 4, seed=1)
    assert (np.flatnonzero(fold == -1) == [0, 100]).all()
    counts = np.bincount(fold[(fold >= 0) & is_p])
    assert counts.max() - counts.min() <= 1
    assert inner_folds(is_p, np.array([0]), 1, seed=1).tolist() == [-1] + [0] * 119


def test_new_rows_get_scores_on_the_scale_of_the_held_out_ones():
    X, is_p = table(n=200)
    fit = crossfit(GaussianNB(), X, is_p, TEDN, plan=SMALL)
    new = fit.score(X)
    assert new.min() >= 0
    assert new.max() <= 1
    assert np.abs(new - fit.scores).mean() < 0.05
    assert len(fit.ensemble.groups) == SMALL.repeats


def test_without_ranks_scores_are_the_models_own():
    X, is_p = table()
    plan = Plan(outer=4, inner=1, repeats=1, warm=0, rounds=1)
    fit = crossfit(GaussianNB(), X, is_p, PVU, plan=plan, ranks=False)
    whole = GaussianNB().fit(X, is_p.astype(int)).predict_proba(X)[:, 1]
    np.testing.assert_allclose(fit.ensemble.scores(X), whole, atol=1e-12)
    for train, test in folds_of(is_p, 4, 0):
        model = GaussianNB().fit(X[train], is_p[train].astype(int))
        np.testing.assert_allclose(fit.scores[test], model.predict_proba(X[test])[:, 1], atol=1e-12)


def test_history_has_a_record_a_round_with_means_over_chains():
    X, is_p = table(0.5, n=100)
    fit = crossfit(GaussianNB(), X, is_p, TEDN, plan=SMALL)
    assert [epoch.phase for epoch in fit.history] == ["warm-start", "tedn", "tedn"]
    assert [epoch.epoch for epoch in fit.history] == [1, 2, 3]
    assert fit.history[0].alpha is None
    assert 0.3 < fit.history[1].alpha < 0.7
    assert fit.history[1].n_kept < fit.history[0].n_kept
    assert 0.35 < fit.history[2].estimate.alpha < 0.65


def test_cvir_trains_with_the_alpha_it_is_given():
    X, is_p = table(0.5, n=100)
    fit = crossfit(GaussianNB(), X, is_p, CVIR, alpha=0.3, plan=SMALL)
    assert [epoch.alpha for epoch in fit.history] == pytest.approx([0.3] * 3)
    assert fit.history[2].n_kept == pytest.approx(0.7 * fit.history[0].n_kept, abs=1)


def test_the_same_seed_gives_the_same_bits_whatever_the_jobs():
    X, is_p = table()
    one = crossfit(LogisticRegression(), X, is_p, TEDN, plan=SMALL, seed=5)
    with parallel_config("threading"):
        two = crossfit(
            LogisticRegression(), X, is_p, TEDN, plan=SMALL, seed=5, run=RunOptions(n_jobs=2)
        )
    other = crossfit(LogisticRegression(), X, is_p, TEDN, plan=SMALL, seed=6)
    assert (one.scores == two.scores).all()
    assert (one.scores != other.scores).any()


def test_events_count_to_the_end():
    X, is_p = table()
    seen = []
    crossfit(GaussianNB(), X, is_p, TEDN, plan=SMALL, run=RunOptions(on_event=seen.append))
    assert [event.done for event in seen] == list(range(1, 9))
    assert {event.total for event in seen} == {8}
    assert seen[-1].epoch.phase == "tedn"


def test_past_the_deadline_one_repeat_of_one_round_is_all():
    X, is_p = table()
    fit = crossfit(GaussianNB(), X, is_p, TEDN, plan=SMALL, run=RunOptions(deadline=monotonic()))
    assert len(fit.history) == 1
    assert len(fit.ensemble.groups) == 1
    assert (fit.scores > 0).all()


def test_ranks_count_ties_half():
    known = np.sort([1.0, 1.0, 2.0, 5.0])
    assert share_below(np.array([0.0, 1.0, 3.0, 5.0]), known).tolist() == [0, 0.25, 0.75, 0.875]


def test_a_floor_stays_under_discarding():
    X, is_p = table(0.9, n=100)
    fit = crossfit(GaussianNB(), X, is_p, CVIR, alpha=0.9, plan=SMALL)
    assert fit.history[-1].n_kept == least_kept(67) == 20


def test_too_few_positives_for_two_folds_inside_two_is_a_coded_error():
    X = np.arange(12, dtype=float)[:, None]
    with pytest.raises(InputError, match="TB003"):
        crossfit(GaussianNB(), X, np.arange(12) < 2, TEDN, plan=SMALL)


def test_risks_that_need_a_gradient_are_refused():
    X, is_p = table()
    with pytest.raises(InputError, match=r"TB013 .* gradient"):
        crossfit(GaussianNB(), X, is_p, LEARNERS["nnpu"], alpha=0.5, plan=SMALL)


def test_no_row_is_scored_by_a_model_that_saw_it():
    fit = crossfit(Memory(), *table(), PVU, plan=PLAIN, ranks=False)
    assert (fit.scores == 0).all()
    assert (fit.score(table()[0]) == 1).all()


def test_a_score_is_the_mean_of_its_repeats():
    X, is_p = table()
    one = Plan(outer=3, inner=1, repeats=1, warm=0, rounds=1)
    parts = [
        crossfit(LogisticRegression(), X, is_p, PVU, plan=one, seed=seed, ranks=False).scores
        for seed in (4, 1004)
    ]
    whole = crossfit(LogisticRegression(), X, is_p, PVU, plan=PLAIN, seed=4, ranks=False)
    np.testing.assert_allclose(whole.scores, np.mean(parts, axis=0))


def test_ranks_are_within_the_fold():
    X, is_p = table()
    one = Plan(outer=3, inner=1, repeats=1, warm=0, rounds=1)
    scores = crossfit(LogisticRegression(), X, is_p, PVU, plan=one).scores
    for _, test in folds_of(is_p, 3, 0):
        assert sorted(scores[test]) == pytest.approx((np.arange(test.size) + 0.5) / test.size)


def test_sparse_equals_dense():
    X, is_p = table()
    sparse, dense = (
        crossfit(LogisticRegression(), rows, is_p, PVU, plan=PLAIN).scores
        for rows in (csr_matrix(X), X)
    )
    np.testing.assert_allclose(sparse, dense)


def test_weights_reach_the_model_with_their_rows():
    X, is_p = table()
    weight, one = np.arange(120.0), Plan(outer=2, inner=1, repeats=1, warm=0, rounds=1)
    fit = crossfit(Weighed(), X, is_p, PVU, plan=one, ranks=False, sample_weight=weight)
    for train, test in folds_of(is_p, 2, 0):  # as many of P as of U, so none is scaled
        np.testing.assert_allclose(fit.scores[test], weight[train].sum())


def test_a_decision_function_will_do():
    X, is_p = table()
    scores = crossfit(LinearSVC(), X, is_p, PVU, plan=PLAIN).scores
    assert scores[is_p].mean() > scores[~is_p].mean()


def test_a_model_that_cannot_score_is_refused():
    class Mute(BaseEstimator):
        def fit(self, X, y):
            return self

    with pytest.raises(InputError, match="TB013 Mute has neither"):
        positive_scores(Mute(), table()[0])


def test_fewer_rows_than_folds_means_fewer_folds():
    folds = list(folds_of(np.array([True] * 3 + [False] * 20), 5, 0))
    assert len(folds) == 3


@pytest.mark.parametrize("n_p", [1, 9])
def test_one_row_of_a_side_cannot_be_cross_fitted(n_p):
    with pytest.raises(InputError, match="TB003 cross-fitting needs 2 positives"):
        list(folds_of(np.arange(10) < n_p, 5, 0))


def test_kept_chains_score_other_rows_with_the_models_of_one_fold():
    X, is_p = table()
    fit = crossfit(GaussianNB(), X, is_p, TEDN, plan=SMALL, keep_chains=True)
    assert [len(folds) for folds in fit.folds] == [3, 3]
    for folds in fit.folds:
        assert sorted(np.concatenate([fold.held_out for fold in folds])) == list(range(120))
        for fold in folds:
            np.testing.assert_allclose(fold.score(X[fold.held_out]), fold.mean_scores)
    assert crossfit(GaussianNB(), X, is_p, TEDN, plan=SMALL).folds == ()


def test_a_memory_of_chains_without_models_does_not_serve_where_models_are_asked_for():
    X, is_p = table()
    memory, asked = {}, {"plan": SMALL, "seed": 2}
    plain = crossfit(GaussianNB(), X, is_p, TEDN, run=RunOptions(memory=memory), **asked)
    assert not memory["tedn-0-0"].models
    kept = crossfit(
        GaussianNB(), X, is_p, TEDN, run=RunOptions(memory=memory), keep_chains=True, **asked
    )
    assert len(memory["tedn-0-0"].models) == len(kept.folds[0][0].models) == 6
    assert (kept.scores == plain.scores).all()
    again = crossfit(None, X, is_p, TEDN, run=RunOptions(memory=memory), keep_chains=True, **asked)
    assert (again.score(X) == kept.score(X)).all()


def test_without_models_for_new_rows_only_these_rows_have_scores():
    X, is_p = table()
    fit = crossfit(GaussianNB(), X, is_p, TEDN, plan=SMALL, new_rows=False)
    assert (fit.scores == crossfit(GaussianNB(), X, is_p, TEDN, plan=SMALL).scores).all()
    with pytest.raises(InputError, match="TB013 this cross-fit has no models for new rows"):
        fit.score(X)


@pytest.mark.slow
def test_where_P_and_U_are_one_noise_alpha_is_nearly_one():
    found = []
    for seed in range(3):
        X, is_p = np.random.default_rng(seed).normal(size=(800, 8)), np.arange(800) < 400
        fit = crossfit(default_model(X), X, is_p, TEDN, seed=seed, new_rows=False)
        found.append(bbe(Tails.from_scores(fit.scores[is_p], fit.scores[~is_p])).alpha)
    assert np.mean(found) >= 0.92


def test_new_rows_are_scored_by_one_model_of_each_round_each_of_another_fold():
    X, is_p = table()
    memory, plan = {}, Plan(outer=2, inner=3, repeats=1, warm=1, rounds=2)
    fit = crossfit(
        GaussianNB(), X, is_p, TEDN, plan=plan, new_rows="lean", run=RunOptions(memory=memory)
    )
    whole = memory["tedn-0-2"]
    assert len(whole.models) == 9
    assert fit.ensemble.groups == ((whole.models[0], whole.models[4], whole.models[8]),)
