"""A score that is NaN never ranks above all others, and masked values are not values."""

import numpy as np
import pytest
from coded import fails
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import topbin as tb
from topbin.learn.crossfit import Plan

PLAIN = Plan(outer=2, inner=1, repeats=1, warm=0, rounds=1)
rng = np.random.default_rng(0)
X = np.r_[rng.normal(2, 1, (60, 2)), rng.normal(0, 1, (60, 2))]
Y = (np.arange(120) < 30).astype(int)


class Lost(ClassifierMixin, BaseEstimator):
    """Gives NaN for rows beyond `reach`."""

    def __init__(self, reach=np.inf):
        self.reach = reach

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.where(X[:, 0] > self.reach, np.nan, X[:, 0])


@pytest.mark.parametrize("pipeline", [False, True])
def test_nan_from_a_model_is_said_with_its_name_and_rows(pipeline):
    """Rows got p = .99985 for it."""
    bad = int((X[:, 0] > 2.5).sum())
    model = make_pipeline("passthrough", Lost(2.5)) if pipeline else Lost(2.5)
    with fails("TB004", "Lost gave NaN as the score of"):
        tb.PvUClassifier(model, plan=PLAIN).fit(X, Y)
    fitted = tb.PvUClassifier(Lost(100), plan=PLAIN).fit(X, Y)
    far = np.r_[X, [[1000, 0]] * 3]
    with fails("TB004", "Lost gave NaN as the score of 3 of 123 rows"):
        fitted.predict_proba(far)
    assert bad > 3


def test_nan_from_a_net_is_said():
    nn = pytest.importorskip("torch.nn")
    from topbin.learn.backends.torch import torch_backend
    from topbin.learn.learners import PVU

    backend = torch_backend(PVU, X.astype("float32"), net=nn.Linear(2, 1))
    backend.net.weight.data[:] = np.nan
    with fails("TB004", "Linear gave NaN as the score of 120 of 120 rows"):
        backend.scores(X.astype("float32"))


def test_masked_scores_are_missing():
    scores = np.ma.array(X[:, 0], mask=np.arange(120) == 40)
    with fails("TB004", "scores_u has 1 of 90"):
        tb.estimate_alpha(scores[:30], scores[30:])
    open_ = np.ma.array(X[:, 0], mask=False)
    assert tb.estimate_alpha(open_[:30], open_[30:]) == tb.estimate_alpha(X[:30, 0], X[30:, 0])


def test_masked_features_and_labels_are_missing():
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    masked = np.ma.array(np.where(np.isnan(gaps), 99.0, X), mask=np.isnan(gaps))
    labels = np.ma.array(np.ones(120, int), mask=Y == 0)
    one = tb.PvUClassifier(plan=PLAIN, random_state=0).fit(gaps, Y)
    for two in (
        tb.PvUClassifier(plan=PLAIN, random_state=0).fit(masked, labels),
        tb.PvUClassifier(plan=PLAIN, random_state=0).fit_pu(masked[Y == 1], masked[Y == 0]),
    ):
        assert two.estimate_.alpha == one.estimate_.alpha
        np.testing.assert_array_equal(one.predict_proba(gaps), two.predict_proba(masked))
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(ValueError, match="NaN"):  # the model's own words
        tb.PvUClassifier(linear, plan=PLAIN).fit(masked, Y)
    with fails("TB012"):
        tb.PvUClassifier(plan=PLAIN).fit(X, Y, sample_weight=np.ma.array(np.ones(120), mask=Y == 1))


def test_two_positives_are_counted_as_two():
    few = (np.arange(120) < 2).astype(int)
    with fails("TB003", "needs 3 positives", "n_samples = 120 with 2 positive"):
        tb.TEDnClassifier().fit(X, few)
    assert tb.PvUClassifier().fit(X, few).estimate_.n_p == 2
