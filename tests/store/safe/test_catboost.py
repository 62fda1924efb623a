"""CatBoost models: back as they were, and anything that CatBoost does not write itself is refused.

CatBoost is large (100 MB), so it is not among the packages of `make test`: `pip install catboost`.
"""

import json

import numpy as np
import pandas as pd
import pytest
from coded import fails
from forge import forge_json

import topbin as tb
from topbin.learn.crossfit import Plan

CatBoostClassifier = pytest.importorskip("catboost").CatBoostClassifier
TINY = Plan(outer=2, inner=1, repeats=1, warm=0, rounds=1)
QUIET = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
rng = np.random.default_rng(0)
X = np.r_[rng.normal(2, 1, (60, 3)), rng.normal(0, 1, (60, 3))]
X[rng.random(X.shape) < 0.1] = np.nan
S = np.arange(120) < 30


def fitted(X=X, **settings):
    model = CatBoostClassifier(iterations=3, **QUIET, **settings)
    return tb.PvUClassifier(model, plan=TINY).fit(X, S)


@pytest.mark.parametrize(
    "settings", [{"depth": 3}, {"nan_mode": "Max", "depth": 1}, {"learning_rate": 1e-3}]
)
def test_the_same_probabilities_come_back(tmp_path, settings):
    clf = fitted(**settings)
    tb.save(clf, tmp_path / "m")
    again = tb.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_allclose(again.feature_importances_, clf.feature_importances_)
    np.testing.assert_allclose(again.explain(X).parts, clf.explain(X).parts, rtol=1e-12)
    assert again.estimator.get_params() == clf.estimator.get_params()
    inner = again.model_.groups[0][0]
    assert inner.get_params() == clf.model_.groups[0][0].get_params()
    assert inner.n_features_in_ == 3


def test_names_of_columns_come_back(tmp_path):
    frame = pd.DataFrame(X, columns=['a "b"\n', "größe", "c {}"])
    clf = fitted(frame)
    tb.save(clf, tmp_path / "m")
    again = tb.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(frame), clf.predict_proba(frame))


@pytest.mark.parametrize("policy", ["Depthwise", "Lossguide"])
def test_other_trees_are_refused_and_nothing_is_written(tmp_path, policy):
    clf = fitted(grow_policy=policy)
    with fails("TB111", "CatBoostClassifier (only symmetric trees over numbers", "estimate_alpha"):
        tb.save(clf, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def forged(change):
    def change_text(text):
        told = json.loads(text)
        change(told, told["oblivious_trees"][0], told["features_info"]["float_features"][0])
        return json.dumps(told)

    return change_text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m, tree, c: tree["leaf_values"].append(1), "differ in length"),
        (lambda m, tree, c: tree["leaf_weights"].clear(), "differ in length"),
        (lambda m, tree, c: tree.update(splits=tree["splits"] * 9), "more than 16 splits"),
        (lambda m, tree, c: tree.update(splits=None), "differ in length"),
        (lambda m, tree, c: tree["splits"][0].update(float_feature_index=9), "at no border"),
        (lambda m, tree, c: tree["splits"][0].update(split_index=99), "at no border"),
        (lambda m, tree, c: tree["splits"][0].update(border=0.125), "at no border"),
        (lambda m, tree, c: tree["splits"][0].update(split_type="OneHotFeature"), "only symmetric"),
        (lambda m, t, column: column.update(flat_feature_index=10**9), "columns are out of order"),
        (lambda m, t, column: column.update(borders=column["borders"] * 2), "borders"),
        (lambda model, t, c: model.update(ctr_data={}), "only symmetric"),
        (lambda model, t, c: model.update(scale_and_bias=[1, [0, 0]]), "only symmetric"),
        (lambda model, t, c: model["model_info"]["class_params"].update(class_names=[0, 1, 2]),
         "only symmetric"),
    ],
)  # fmt: skip
def test_a_forged_text_is_refused(tmp_path, change, words):
    tb.save(fitted(depth=3), tmp_path / "m")
    change = forged(change)
    forge_json(tmp_path / "m", "boosters.json", lambda texts: [change(text) for text in texts])
    with fails("TB110", "damaged or forged", words):
        tb.load(tmp_path / "m")
