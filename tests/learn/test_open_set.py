"""A class never seen: shares of known classes, the novel share, and k + 1 probabilities."""

import numpy as np
import pandas as pd
import pytest
from coded import fails
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import (
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    parametrize_with_checks,
)

import topbin as tb

TINY = {"plan": tb.learn.Plan(outer=3, inner=2, repeats=1, rounds=1)}
PLACES = {"a": (-6.0, 0.0), "b": (6.0, 0.0), "c": (0.0, 6.0), "new": (0.0, -6.0)}


def rows(counts, seed=0):
    """Clouds around the corners of a square, and the cloud of each row."""
    rng = np.random.default_rng(seed)
    names = np.repeat(list(counts), list(counts.values()))
    return rng.normal([PLACES[name] for name in names]), names


@pytest.fixture(scope="module")
def drawn():
    X, y = rows({"a": 100, "b": 100, "c": 50})
    X_u, truth = rows({"a": 30, "b": 120, "c": 60, "new": 90}, seed=1)
    return X, y, X_u, truth


@pytest.fixture(scope="module")
def fitted(drawn):
    X, y, X_u, _ = drawn
    return tb.OpenSetClassifier(**TINY).fit(X, y, X_u)


def test_shares_and_the_novel_one_are_found_and_sum_to_one(fitted, drawn):
    truth = drawn[3]
    assert [one.label for one in fitted.shares_] == ["a", "b", "c"]
    assert [one.n for one in fitted.shares_] == [100, 100, 50]
    for one in fitted.shares_:
        assert one.share == pytest.approx((truth == one.label).mean(), abs=0.06)
        assert one.interval[0] <= one.share <= one.interval[1]
    novel = fitted.novel_
    assert novel.share == pytest.approx(0.3, abs=0.06)
    assert novel.interval[0] <= novel.share <= novel.interval[1]
    assert 0 <= novel.at_least <= 0.3
    assert novel.share + sum(one.share for one in fitted.shares_) == pytest.approx(1)
    assert (1 - novel.share, novel.n_u) == (fitted.alpha_, 300)


def test_the_low_end_of_novel_is_the_high_end_of_known(fitted):
    low, high = fitted.estimate_.interval
    assert fitted.novel_.interval == (1 - high, 1 - low)


def test_every_class_is_predicted_the_novel_one_too(fitted, drawn):
    _, _, X_u, truth = drawn
    assert fitted.classes_.tolist() == ["a", "b", "c", "novel"]
    named = np.where(truth == "new", "novel", truth)
    assert fitted.score(X_u, named) > 0.95
    p = fitted.predict_proba(X_u)
    assert p.shape == (300, 4)
    assert p.sum(axis=1) == pytest.approx(1)
    assert (p >= 0).all()
    held_out = fitted.oof_proba_[250:]
    assert (fitted.classes_[held_out.argmax(axis=1)] == named).mean() > 0.95
    assert held_out.mean(axis=0)[3] == pytest.approx(fitted.novel_.share, abs=0.01)
    assert (fitted.decision_function(X_u).argmax(axis=1) == p.argmax(axis=1)).all()


def test_probabilities_follow_the_ratio_of_shares_now_to_shares_then():
    """Where classes overlap, p(j | x) is that of the labeled rows times the ratio, scaled to 1."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(np.repeat([0.0, 1.0], [300, 100]))[:, None], np.repeat([0, 1], [300, 100])
    X_u = rng.normal(np.repeat([0.0, 1.0, 20.0], [100, 300, 200]))[:, None]
    clf = tb.OpenSetClassifier(LogisticRegression(), **TINY).fit(X, y, X_u)
    shares = np.array([one.share for one in clf.shares_])
    ratio = shares / shares.sum() / [0.75, 0.25]
    then = clf.labeling_.models.probabilities(np.array([[0.5]]))[0]
    now = clf.predict_proba([[0.5]])[0]
    assert now[:2] / now[:2].sum() == pytest.approx(then * ratio / (then * ratio).sum())


def test_one_class_is_tedn_to_the_bit(drawn):
    X, _, X_u, _ = drawn
    one = tb.OpenSetClassifier(**TINY).fit(X, ["x"] * len(X), X_u)
    plain = tb.TEDnClassifier(**TINY).fit_pu(X, X_u)
    assert one.estimate_ == plain.estimate_
    assert np.array_equal(one.predict_proba(X_u)[:, 0], plain.predict_proba(X_u)[:, 1])
    assert np.array_equal(one.oof_proba_[:, 0], plain.oof_proba_)
    assert one.shares_[0].share == plain.alpha_
    assert one.shares_[0].interval == plain.estimate_.interval
    assert one.novel_.at_least == 1 - plain.estimate_.upper_bound
    assert tb.OpenSetClassifier(**TINY).fit_pu(X, X_u).classes_.tolist() == [1, -1]


def test_neither_the_order_of_rows_nor_names_of_classes_matter(fitted, drawn):
    X, y, X_u, _ = drawn
    rng = np.random.default_rng(5)
    p, u = rng.permutation(len(X)), rng.permutation(len(X_u))
    mixed = tb.OpenSetClassifier(**TINY).fit(X[p], y[p], X_u[u])
    assert mixed.estimate_ == fitted.estimate_
    assert np.array_equal(mixed.predict_proba(X_u), fitted.predict_proba(X_u))
    codes = np.searchsorted(["a", "b", "c"], y)
    numbers = tb.OpenSetClassifier(novel=99, **TINY).fit(X, codes, X_u)
    assert numbers.classes_.tolist() == [0, 1, 2, 99]
    assert np.array_equal(numbers.predict_proba(X_u), fitted.predict_proba(X_u))


def test_one_table_whose_missing_classes_are_unlabeled_is_the_same(fitted, drawn):
    X, y, X_u, _ = drawn
    whole = np.concatenate([X, X_u])
    labels = pd.Series([*y, *[None] * len(X_u)])
    assert tb.OpenSetClassifier(**TINY).fit(whole, labels).estimate_ == fitted.estimate_


def test_a_class_that_is_gone_has_no_share_and_a_new_one_alone_has_all():
    X, y = rows({"a": 80, "b": 80})
    gone = tb.OpenSetClassifier(**TINY).fit(X, y, rows({"a": 150}, seed=1)[0])
    assert gone.shares_[1].share < 0.03
    assert gone.shares_[0].share > 0.9
    assert gone.novel_.interval[0] <= 0.03
    new = tb.OpenSetClassifier(**TINY).fit(X, y, rows({"new": 150}, seed=1)[0])
    assert new.novel_.share > 0.95
    assert new.novel_.interval[1] > 0.98
    assert set(new.predict(rows({"new": 20}, seed=2)[0])) == {"novel"}


def test_without_a_novel_class_the_interval_holds_zero():
    X, y = rows({"a": 120, "b": 120})
    clf = tb.OpenSetClassifier(**TINY).fit(X, y, rows({"a": 60, "b": 180}, seed=1)[0])
    assert clf.novel_.share <= 0.03
    assert clf.novel_.interval[0] == 0
    assert clf.novel_.at_least == 0
    assert clf.shares_[1].share == pytest.approx(0.75, abs=0.06)


def test_frames_groups_weights_and_sparse_rows_are_taken(drawn):
    X, y, X_u, _ = drawn
    frames = [pd.DataFrame(part, columns=["east", "north"]) for part in (X, X_u)]
    frames = [frame.assign(kind=np.where(frame["east"] > 0, "e", "w")) for frame in frames]
    clf = tb.OpenSetClassifier(**TINY).fit(frames[0], y, frames[1])
    assert clf.n_features_in_ == 3
    assert clf.novel_.share == pytest.approx(0.3, abs=0.08)
    groups = np.arange(len(X) + len(X_u)) // 3
    weight = np.random.default_rng(0).random(groups.size) + 0.5
    grouped = tb.OpenSetClassifier(**TINY).fit(X, y, X_u, weight, groups)
    assert grouped.estimate_.worth is not None
    sparse = [csr_array(np.maximum(np.hstack([part, -part]), 0)) for part in (X, X_u)]
    assert tb.OpenSetClassifier(**TINY).fit(sparse[0], y, sparse[1]).novel_.share > 0.15


def test_without_confidence_there_is_no_interval(drawn):
    X, y, X_u, _ = drawn
    clf = tb.OpenSetClassifier(confidence=None, **TINY).fit(X, y, X_u)
    assert (clf.novel_.interval, clf.novel_.at_least, clf.novel_.confidence) == (None,) * 3
    assert {one.interval for one in clf.shares_} == {None}
    assert " % to " not in clf.summary()


def test_the_summary_says_how_many_belong_to_none(fitted):
    first, *rest = fitted.summary().splitlines()
    assert first.endswith("of the 300 unlabeled rows belong to no known class.")
    assert [line.split(":")[0] for line in rest] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "estimator", [None, HistGradientBoostingClassifier(max_iter=5), LogisticRegression()]
)
def test_saved_and_loaded_it_says_the_same(drawn, tmp_path, estimator):
    X, y, X_u, _ = drawn
    clf = tb.OpenSetClassifier(estimator, **TINY).fit(X, y, X_u)
    tb.save(clf, tmp_path / "model")
    loaded = tb.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(X_u), clf.predict_proba(X_u))
    assert (loaded.novel_, loaded.shares_) == (clf.novel_, clf.shares_)


class OnItsOwnRows(tb.OpenSetClassifier):
    """As scikit-learn's checks call it, which know of no unlabeled rows: these are X again."""

    def fit(self, X, y, sample_weight=None):
        weight = None if sample_weight is None else np.tile(np.asarray(sample_weight), 2)
        return super().fit(X, y, X, weight)


ONE_MORE = "the check counts the classes of y, and here there is one more, the novel one"
FOLDS = "folds are drawn at random, and repeated rows would be parted by them"
EACH = "each class needs three labeled rows, and the message says which one has fewer"
EXCEPTIONS = {
    "check_classifiers_classes": ONE_MORE,
    "check_classifiers_train": ONE_MORE,
    "check_decision_proba_consistency": ONE_MORE,
    "check_estimator_sparse_array": ONE_MORE,
    "check_estimator_sparse_matrix": ONE_MORE,
    "check_sample_weight_equivalence_on_dense_data": FOLDS,
    "check_sample_weight_equivalence_on_sparse_data": FOLDS,
    "check_classifiers_regression_target": EACH,
    "check_fit2d_1sample": EACH,
}


@parametrize_with_checks(
    [OnItsOwnRows(LogisticRegression(), plan=TINY["plan"], confidence=None)],
    expected_failed_checks=lambda _: EXCEPTIONS,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_what_scikit_learn_asks_of_every_estimator(fitted, drawn):
    name = "OpenSetClassifier"
    for check in (
        check_get_params_invariance,
        check_no_attributes_set_in_init,
        check_parameters_default_constructible,
    ):
        check(name, tb.OpenSetClassifier())
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(drawn[2])
    with fails("TB109", "features"):
        fitted.predict(np.ones((2, 5)))


def test_bad_input_is_refused_with_a_code(drawn):
    X, y, X_u, _ = drawn
    clf = tb.OpenSetClassifier(**TINY)
    few = np.where(np.arange(y.size) == 0, "rare", y)
    with fails("TB003", "'rare'", "1 labeled row", "Label more"):
        clf.fit(X, few, X_u)
    with fails("TB003", "7 of 250", "unlabeled rows"):
        clf.fit(X, [*[None] * 7, *y[7:]], X_u)
    with fails("TB003", "all labels are missing"):
        clf.fit(X, [None] * len(X))
    with fails("TB003", "X_u"):
        clf.fit(X, y)
    with fails("TB106", "X has shape", "X_u"):
        clf.fit(X, y, X_u[:, :1])
    with fails("TB106", "'north' only in X"):
        clf.fit(pd.DataFrame(X, columns=["east", "north"]), y, pd.DataFrame({"east": X_u[:, 0]}))
    with fails("TB005", "249"):
        clf.fit(X, y[:-1], X_u)
    with fails("TB001"):
        clf.fit(X, None, X_u)
    with fails("TB003", "infinity"):
        clf.fit(X, np.full(len(X), np.inf), X_u)
    with fails("TB006", "text"):
        clf.fit(X, [3, *y[1:]], X_u)
    with fails("TB008", "novel"):
        tb.OpenSetClassifier(novel="a", **TINY).fit(X, y, X_u)
    with fails("TB013", "predict_proba"):
        tb.OpenSetClassifier(LinearSVC(), **TINY).fit(X, y, X_u)
    with fails("TB120", "'c'", "one group"):
        groups = np.r_[np.where(y == "c", -1, np.arange(y.size)), 1000 + np.arange(len(X_u))]
        clf.fit(X, y, X_u, groups=groups)
