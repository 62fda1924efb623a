"""XGBoost models: back as they were, and anything that XGBoost does not write itself is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from coded import fails
from forge import forge_json

import topbin as tb
from topbin.learn.crossfit import Plan

XGBClassifier = pytest.importorskip("xgboost").XGBClassifier
TINY = Plan(outer=2, inner=1, repeats=1, warm=0, rounds=1)
rng = np.random.default_rng(0)
X = np.r_[rng.normal(2, 1, (60, 3)), rng.normal(0, 1, (60, 3))]
X[rng.random(X.shape) < 0.1] = np.nan
S = np.arange(120) < 30


def fitted(X=X, **settings):
    model = XGBClassifier(n_estimators=3, n_jobs=1, **settings)
    return tb.PvUClassifier(model, plan=TINY).fit(X, S)


@pytest.mark.parametrize(
    "settings",
    [
        {"max_depth": 3},
        {"max_depth": 0, "grow_policy": "lossguide", "max_leaves": 9},
        {"tree_method": "exact", "gamma": 1.0},  # which prunes, so that nodes are deleted
        {"num_parallel_tree": 3, "subsample": 0.5},
        {"min_child_weight": 1e9},  # trees of one leaf
    ],
)
def test_the_same_probabilities_come_back(tmp_path, settings):
    clf = fitted(**settings)
    tb.save(clf, tmp_path / "m")
    again = tb.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(again.feature_importances_, clf.feature_importances_)
    np.testing.assert_array_equal(again.explain(X).parts, clf.explain(X).parts)
    assert str(again.estimator.get_params()) == str(clf.estimator.get_params())  # one is NaN


def test_names_of_columns_come_back(tmp_path):
    frame = pd.DataFrame(X, columns=['a "b"\n', "größe", "c {}"])
    clf = fitted(frame)
    tb.save(clf, tmp_path / "m")
    again = tb.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(frame), clf.predict_proba(frame))


@pytest.mark.parametrize("booster", ["dart", "gblinear"])
def test_other_boosters_are_refused_and_nothing_is_written(tmp_path, booster):
    clf = fitted(np.nan_to_num(X), booster=booster)
    with fails("TB111", "XGBClassifier (only plain trees over numbers", "estimate_alpha"):
        tb.save(clf, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_splits_by_category_are_refused(tmp_path):
    town = pd.Series(np.where(S, "Ulm", "Rom"), dtype="category")
    clf = fitted(pd.DataFrame({"town": town, "x": X[:, 0]}), enable_categorical=True)
    with fails("TB111", "only plain trees over numbers"):
        tb.save(clf, tmp_path / "m")


def in_tree(name, change):
    def forged(text):
        told = json.loads(text)
        tree = told["learner"]["gradient_booster"]["model"]["trees"][0]
        tree[name] = change(tree[name])
        return json.dumps(told)

    return forged


def in_sizes(old, new):
    return lambda text: text.replace(f'"{old}"', f'"{new}"', 1)


def add(key, value):
    return lambda text: json.dumps({**json.loads(text), key: value})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (in_tree("left_children", lambda v: [99, *v[1:]]), "is not within"),
        (in_tree("left_children", lambda v: [0, *v[1:]]), "a child comes before its parent"),
        (in_tree("right_children", lambda v: [v[0] - 1, *v[1:]]), "a node has two parents"),
        (in_tree("right_children", lambda v: [-1, *v[1:]]), "a node has one child"),
        (in_tree("right_children", lambda v: [2**70, *v[1:]]), "no positions"),
        (in_tree("right_children", lambda v: [*v, 1]), "differ in length"),
        (in_tree("parents", lambda v: [*v[:-1], 0]), "a child names another parent"),
        (in_tree("split_indices", lambda v: [99, *v[1:]]), "is not within 0 to 2"),
        (in_tree("split_conditions", lambda v: ["x", *v[1:]]), "only plain trees"),
        (in_tree("split_type", lambda v: [1, *v[1:]]), "only plain trees"),
        (in_tree("categories", lambda v: [1]), "only plain trees"),
        (in_tree("id", lambda v: 7), "out of order"),
        (lambda text: text.replace('"num_feature":"3"', '"num_feature":"2"'), "is not within"),
        (lambda text: text.replace('"num_trees":"3"', '"num_trees":"9"'), "are not counted"),
        (lambda text: text.replace("[0,1,2,3]", "[0,2,1,3]"), "rounds are out of order"),
        (lambda text: text.replace("[0,1,2,3]", "[]"), "are not counted"),
        (in_sizes("binary:logistic", "multi:softprob"), "only plain trees"),
        (in_sizes("gbtree", "dart"), "only plain trees"),
        (add("Config", {}), "only plain trees"),
        (lambda text: text[:-9], "only plain trees"),
        (lambda text: "[" * 10**5, "only plain trees"),
    ],
)
def test_a_forged_text_is_refused(tmp_path, change, words):
    tb.save(fitted(max_depth=3), tmp_path / "m")
    forge_json(tmp_path / "m", "boosters.json", lambda texts: [change(text) for text in texts])
    with fails("TB110", "damaged or forged", words):
        tb.load(tmp_path / "m")


def test_a_tree_deeper_than_any_that_is_fitted_is_refused(tmp_path):
    def chain(text, deep=1001):
        told = json.loads(text)
        tree = told["learner"]["gradient_booster"]["model"]["trees"][0]
        size = 2 * deep + 1
        for name, value in tree.items():
            if isinstance(value, list) and not name.startswith("categories"):
                tree[name] = [0] * size
        tree["tree_param"]["num_nodes"], tree["sum_hessian"] = str(size), [1.0] * size
        tree["parents"] = [2**31 - 1, *(2 * (k // 2) for k in range(size - 1))]
        inner = range(0, size - 1, 2)
        tree["left_children"] = [k + 1 if k in inner else -1 for k in range(size)]
        tree["right_children"] = [k + 2 if k in inner else -1 for k in range(size)]
        return json.dumps(told)

    tb.save(fitted(), tmp_path / "m")
    forge_json(tmp_path / "m", "boosters.json", lambda texts: [chain(text) for text in texts])
    with fails("TB110", "deeper than 1,000"):
        tb.load(tmp_path / "m")
    tb.save(fitted(), tmp_path / "m", force=True)
    forge_json(tmp_path / "m", "boosters.json", lambda texts: [chain(t, 900) for t in texts])
    assert np.isfinite(tb.load(tmp_path / "m").explain(X).score).all()
