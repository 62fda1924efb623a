"""scikit-learn's own checks on every classifier; every exception is listed here, with a reason."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import topbin as tb
from topbin.learn import NetPlan, Plan

FOLDS = (
    "folds are drawn at random, and repeated rows would be parted by them (as in scikit-learn's "
    "CalibratedClassifierCV); α counts rows, not weights"
)
EXCEPTIONS = {
    "check_sample_weight_equivalence_on_dense_data": FOLDS,
    "check_sample_weight_equivalence_on_sparse_data": FOLDS,
    "check_classifiers_classes": "the check never says which of two words is the positive label; "
    "to guess would swap positives and unlabeled rows, so positive= is required",
    "check_classifier_not_supporting_multiclass": "positive= names one label, and every other "
    "value, however many there are, means unlabeled: the problem is binary by declaration",
}
NET_EXCEPTIONS = EXCEPTIONS | {
    "check_methods_subset_invariance": "in single precision, sums depend on the size of a batch "
    "by more than the 1e-7 that the check allows",
}
TINY = Plan(outer=3, inner=2, repeats=1, rounds=1)
NET = NetPlan(epochs=1, warm=1, device="cpu")
LINEAR = LogisticRegression()  # for a class that fits again and again: half the time
SHARED = {"positive": 1, "confidence": None}


def _exceptions(classifier):
    found = EXCEPTIONS if isinstance(classifier.plan, Plan) else NET_EXCEPTIONS
    assert len(found) <= 5
    return found


@parametrize_with_checks(
    [
        tb.TEDnClassifier(plan=TINY, **SHARED),
        tb.CVIRClassifier(plan=TINY, alpha=0.5, **SHARED),
        tb.PvUClassifier(plan=TINY, **SHARED),
        tb.ElkanNotoClassifier(LINEAR, plan=TINY, **SHARED),
        tb.ElkanNotoClassifier(LINEAR, plan=TINY, weighted=True, **SHARED),
        tb.DEDPULClassifier(plan=TINY, **SHARED),
    ],
    expected_failed_checks=_exceptions,
)
def test_table_classifiers(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        tb.NNPUClassifier(plan=NET, alpha=0.5, **SHARED),
        tb.UPUClassifier(plan=NET, alpha=0.5, **SHARED),
        tb.TEDnClassifier("uci-mlp", plan=NET, **SHARED),
    ],
    expected_failed_checks=_exceptions,
)
def test_nets(estimator, check):
    pytest.importorskip("torch")
    check(estimator)
