"""Cross-fitted scores are marked as such, wherever a classifier or an estimator makes them."""

import numpy as np
import pytest
from gaussians import gaussians
from sklearn.linear_model import LogisticRegression

import topbin as tb
from topbin.core.estimate import INTERVAL_ASSUMES
from topbin.core.evidence import VARIANCE_FACTOR
from topbin.learn.crossfit import Plan
from topbin.mpe import alpha_posterior, upper_bound

FACES = (tb.TEDnClassifier, tb.PvUClassifier, tb.DEDPULClassifier, tb.ElkanNotoClassifier)


@pytest.fixture(scope="module")
def rows():
    sample = gaussians(0.5, n_p=120, n_u=400)
    return np.concatenate([sample.X_p, sample.X_u]), np.repeat([1, 0], [120, 400])


def posterior_of(evidence):
    """Of as many independent rows as these are worth, and at most the bound for an upper end."""
    n_p, n_u = evidence.tails.n_p / VARIANCE_FACTOR, evidence.tails.n_u / VARIANCE_FACTOR
    found = alpha_posterior(evidence.tails, effective=(n_p, n_u))
    return found.at_most(max(found.median, upper_bound(evidence.independent, 0.975)))


@pytest.mark.parametrize("face", FACES)
def test_classifiers_allow_for_the_dependence_of_their_own_scores(face, rows):
    clf = face(LogisticRegression(), plan=Plan(outer=3, inner=2, repeats=1)).fit(*rows)
    found, evidence = clf.estimate_, clf.evidence_
    assert evidence.crossfitted
    assert found.posterior == posterior_of(evidence)
    assert found.interval == found.posterior.interval(0.95)
    fewer = evidence.independent
    assert (fewer.n_p, fewer.n_u) == (round(120 / VARIANCE_FACTOR), round(400 / VARIANCE_FACTOR))
    bound = upper_bound(fewer)
    assert found.upper_bound == (max(bound, found.alpha) if found.method == "overlap" else bound)
    assert bound > upper_bound(evidence.tails)
    assert INTERVAL_ASSUMES in found.summary()


def test_the_estimator_of_alpha_does_so_too(rows):
    estimator = tb.AlphaEstimator(estimator=LogisticRegression(), cv=3, repeats=1).fit(*rows)
    evidence, found = estimator.evidence_, estimator.estimate_
    assert found.posterior == posterior_of(evidence)
    assert tb.estimate_alpha(evidence, method="bbe").interval == found.interval
    plain = tb.estimate_alpha(*evidence.scores)
    assert plain.alpha == alpha_posterior(evidence.tails).median != found.alpha


def test_a_saved_classifier_remembers_it(rows, tmp_path):
    clf = tb.TEDnClassifier(LogisticRegression(), preset="fast").fit(*rows)
    tb.save(clf, tmp_path / "model")
    again = tb.load(tmp_path / "model")
    assert again.evidence_.crossfitted
    assert again.estimate_ == clf.estimate_
