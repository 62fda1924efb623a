"""`score` and `feature_importances_`: what scikit-learn's tools read by default."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score

import topbin as tb
from topbin.learn import Plan

TINY = Plan(outer=3, inner=1, repeats=1, warm=0, rounds=1)


def rows(seed, n=900, labels=(1, 0)):
    """Two columns that matter and three that do not; half of the positives are known."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    X = np.column_stack([rng.normal(1.5 * positive[:, None], 1, (n, 2)), rng.normal(size=(n, 3))])
    known = positive & (rng.random(n) < 0.5)
    return X, np.where(known, *labels), positive


def test_it_is_the_pu_auc_and_orders_models_as_the_true_auc_does():
    X, y, _ = rows(0)
    other, z, truth = rows(1)
    found, true = [], []
    for strength in (1e-4, 1e-3, 1e-2, 1.0):
        model = tb.PvUClassifier(LogisticRegression(C=strength), plan=TINY)
        columns = [4, 3, 0] if strength < 1e-2 else [0, 1, 2]
        model.fit(X[:, columns], y)
        p = model.predict_proba(other[:, columns])[:, 1]
        found.append(model.score(other[:, columns], z))
        assert found[-1] == pytest.approx(tb.metrics.pu_auc(p[z == 1], p[z == 0]).value)
        true.append(roc_auc_score(truth, p))
    clear = np.abs(np.subtract.outer(true, true)) > 0.02
    assert (np.sign(np.subtract.outer(found, found)) == np.sign(np.subtract.outer(true, true)))[
        clear
    ].all()


def test_labels_of_any_kind_weights_and_known_negatives():
    X, y, _ = rows(0)
    model = tb.PvUClassifier(LogisticRegression(), plan=TINY).fit(X, y)
    plain = model.score(X, y)
    words = tb.PvUClassifier(LogisticRegression(), plan=TINY, positive="yes")
    assert words.fit(X, np.where(y == 1, "yes", "no")).score(
        X, np.where(y == 1, "yes", "no")
    ) == pytest.approx(plain)
    blank = tb.PvUClassifier(LogisticRegression(), plan=TINY).fit(X, np.where(y == 1, 1, np.nan))
    assert blank.score(X, np.where(y == 1, 1, np.nan)) == pytest.approx(plain)
    assert model.score(X, y, sample_weight=np.ones(y.size)) == pytest.approx(plain)
    doubled = np.r_[np.arange(y.size), np.arange(100)]
    weight = np.where(np.arange(y.size) < 100, 2.0, 1.0)
    assert model.score(X, y, weight) == pytest.approx(model.score(X[doubled], y[doubled]))


def test_a_search_needs_no_scorer():
    X, y, _ = rows(0)
    model = tb.PvUClassifier(LogisticRegression(), plan=TINY)
    search = GridSearchCV(model, {"estimator__C": [1e-6, 1.0]}, cv=3).fit(X, y)
    by_name = cross_val_score(model, X, y, cv=3, scoring=tb.metrics.make_pu_scorer("pu_auc"))
    np.testing.assert_allclose(cross_val_score(model, X, y, cv=3), by_name)
    assert 0.5 < search.best_score_ < 1


def test_importances_where_the_model_has_them():
    X, y, _ = rows(0)
    forest = RandomForestClassifier(20)
    found = tb.PvUClassifier(forest, plan=TINY).fit(X, y).feature_importances_
    assert found.shape == (5,)
    assert found.sum() == pytest.approx(1)
    assert set(np.argsort(-found)[:2]) == {0, 1}
    linear = tb.PvUClassifier(LogisticRegression(), plan=TINY)
    assert not hasattr(linear, "feature_importances_")
    assert not hasattr(linear.fit(X, y), "feature_importances_")


def test_importances_of_the_default_model_survive_a_folder(tmp_path):
    pytest.importorskip("lightgbm")
    X, y, _ = rows(0)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = tb.PvUClassifier(plan=TINY).fit(frame, y)
    assert len(model.feature_importances_) == len(model.features_.names)
    tb.save(model, tmp_path / "m")
    np.testing.assert_allclose(
        tb.load(tmp_path / "m").feature_importances_, model.feature_importances_
    )
