"""Cross-fitted scores are marked as such, wherever a classifier or an estimator makes them."""

import numpy as np
import pytest
from gaussians import gaussians
from sklearn.linear_model import LogisticRegression

import topbin as tb
from topbin.learn.crossfit import Plan
from topbin.mpe.intervals import interval, upper_bound

FACES = (tb.TEDnClassifier, tb.PvUClassifier, tb.DEDPULClassifier, tb.ElkanNotoClassifier)


@pytest.fixture(scope="module")
def rows():
    sample = gaussians(0.5, n_p=120, n_u=400)
    return np.concatenate([sample.X_p, sample.X_u]), np.repeat([1, 0], [120, 400])


@pytest.mark.parametrize("face", FACES)
def test_classifiers_allow_for_the_dependence_of_their_own_scores(face, rows):
    clf = face(LogisticRegression(), plan=Plan(outer=3, inner=2, repeats=1)).fit(*rows)
    tails = clf.evidence_.tails
    assert clf.evidence_.crossfitted
    assert clf.estimate_.interval == interval(tails, crossfitted=True)
    assert clf.estimate_.upper_bound == upper_bound(tails, crossfitted=True)
    assert clf.estimate_.upper_bound > upper_bound(tails)
    assert "if the unlabeled rows that score like the top" in clf.estimate_.summary()


def test_the_estimator_of_alpha_does_so_too(rows):
    estimator = tb.AlphaEstimator(estimator=LogisticRegression(), cv=3, repeats=1).fit(*rows)
    assert estimator.estimate_.interval == interval(estimator.evidence_.tails, crossfitted=True)
    scores = estimator.evidence_.scores
    assert tb.estimate_alpha(estimator.evidence_, method="bbe").interval == (
        estimator.estimate_.interval
    )
    assert tb.estimate_alpha(*scores).interval == interval(estimator.evidence_.tails)


def test_a_saved_classifier_remembers_it(rows, tmp_path):
    clf = tb.TEDnClassifier(LogisticRegression(), preset="fast").fit(*rows)
    tb.save(clf, tmp_path / "model")
    again = tb.load(tmp_path / "model")
    assert again.evidence_.crossfitted
    assert again.estimate_ == clf.estimate_
