"""A classifier that is none of ours works inside every face: with weights, groups and routing.

TabPFN, or any other model with scikit-learn's `fit` and `predict_proba`, is such a classifier.
"""

import joblib
import numpy as np
import pytest
from coded import fails
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import topbin as tb

PLAN = tb.learn.Plan(outer=3, inner=2, repeats=1, rounds=1)
rng = np.random.default_rng(0)
X = np.r_[rng.normal(2, 1, (200, 3)), rng.normal(0, 1, (200, 3))]
Y = np.arange(400) < 100  # half of the positives are known
GROUPS = np.arange(400) // 2
FACES = {
    "TEDnClassifier": {},
    "CVIRClassifier": {"alpha": 0.33},
    "PvUClassifier": {},
    "ElkanNotoClassifier": {},
    "DEDPULClassifier": {},
    "SubtypesClassifier": {},
    "SAREMClassifier": {"labeled_by": [0]},
}


class NearestCenter(ClassifierMixin, BaseEstimator):
    """Rows are likely of the class whose mean is nearest; it notes what it was given."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y, sample_weight=None):
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        self.classes_ = np.unique(y)
        sides = [y == one for one in self.classes_]
        self.centers_ = np.array([np.average(X[s], axis=0, weights=weight[s]) for s in sides])
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X):
        distance = ((X[:, None] - self.centers_) ** 2).sum(axis=2) / self.scale
        near = np.exp(distance.min(axis=1, keepdims=True) - distance)
        return near / near.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def face(name, **options):
    given = {"plan": PLAN, "random_state": 0, **FACES[name], **options}
    return getattr(tb, name)(NearestCenter(), **given)


@pytest.mark.parametrize("name", FACES)
def test_every_face_fits_it_with_weights_and_groups(name, tmp_path):
    clf = face(name).fit(X, Y)
    p = clf.predict_proba(X)[:, 1]
    assert (np.mean(p[:200]), np.mean(p[200:])) == pytest.approx((0.9, 0.1), abs=0.15)
    if name != "ElkanNotoClassifier":  # which needs probabilities that are right
        assert clf.alpha_ == pytest.approx(1 / 3, abs=0.1)
    same = clone(clf).fit(X, Y, sample_weight=np.full(400, 2.0))
    np.testing.assert_allclose(same.predict_proba(X)[:, 1], p, atol=1e-9)
    heavy = np.where(X[:, 0] > 1, 5.0, 1.0)
    assert not np.allclose(clone(clf).fit(X, Y, sample_weight=heavy).predict_proba(X)[:, 1], p)
    grouped = clone(clf).fit(X, Y, groups=GROUPS)
    assert grouped.predict_proba(X).shape == (400, 2)
    with fails("TB111", "test_own_model.NearestCenter", "estimate_alpha"):
        tb.save(clf, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    joblib.dump(clf, tmp_path / "own.joblib")  # for oneself alone: it runs code when it is loaded
    np.testing.assert_array_equal(joblib.load(tmp_path / "own.joblib").predict_proba(X)[:, 1], p)


def test_several_known_classes():
    known = np.where(np.arange(400) % 2, "odd", "even")
    clf = tb.OpenSetClassifier(NearestCenter(), plan=PLAN, random_state=0)
    clf.fit(X[:300], known[:300], X[300:], sample_weight=np.ones(400), groups=GROUPS)
    assert sum(one.share for one in clf.shares_) + clf.novel_.share == pytest.approx(1)


def test_its_held_out_scores_are_enough_for_how_many():
    """The way out for a model that cannot be stored: keep it elsewhere, and give its scores."""
    from sklearn.model_selection import cross_val_predict

    scores = cross_val_predict(NearestCenter(), X, Y, cv=5, method="predict_proba")[:, 1]
    assert tb.estimate_alpha(scores[Y], scores[~Y]).alpha == pytest.approx(1 / 3, abs=0.1)


def test_metadata_is_routed_as_scikit_learn_does():
    weight = np.ones(400)
    with config_context(enable_metadata_routing=True):
        clf = face("PvUClassifier").set_fit_request(sample_weight=True, groups=True)
        clf = clf.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler(), clf).fit(X, Y, groups=GROUPS)
        scaled = StandardScaler().fit_transform(X)
        plain = face("PvUClassifier").fit(scaled, Y, groups=GROUPS)
        np.testing.assert_array_equal(pipeline.predict_proba(X), plain.predict_proba(scaled))
        search = GridSearchCV(clf, {"estimator__scale": [0.5, 1.0]}, cv=GroupKFold(3))
        search.fit(X, Y, sample_weight=weight, groups=GROUPS)
        assert search.best_estimator_.alpha_ == pytest.approx(1 / 3, abs=0.1)
