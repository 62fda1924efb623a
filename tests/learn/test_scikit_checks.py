"""scikit-learn's own checks on every classifier; every exception is listed here, with a reason."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import topbin as tb
from topbin.learn import NetPlan, Plan

LABELS = "s marks positives and unlabeled rows: "
EXCEPTIONS = {
    "check_fit_score_takes_y": "the second argument is called s, for it holds no true classes",
    "check_sample_weight_equivalence_on_dense_data": "the check passes y by name; ours is s. Nor "
    "can a weight stand for repeated rows: α counts rows, and folds would part the repeats",
    "check_sample_weight_equivalence_on_sparse_data": "as for dense data",
    "check_classifiers_one_label": LABELS + "with one of them absent there is nothing to learn",
    "check_classifiers_classes": LABELS + "which of two words is the positive one must be said",
    "check_classifiers_regression_target": LABELS + "with positive=1 all other values, however "
    "many, are unlabeled",
    "check_classifier_not_supporting_multiclass": LABELS + "likewise, three values are no error",
    "check_supervised_y_2d": "a column of labels is read as it is, without a warning",
}
WEIGHT_CHECKS = (
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
    "check_sample_weights_list",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_all_zero_sample_weights_error",
    "check_classifiers_one_label_sample_weights",
)
NET_EXCEPTIONS = {
    **EXCEPTIONS,
    **dict.fromkeys(WEIGHT_CHECKS, "nets take no row weights, and say so"),
    "check_methods_subset_invariance": "single precision sums differ with the size of a batch",
}
TINY = Plan(outer=2, inner=2, repeats=1, rounds=1)
NET = NetPlan(epochs=1, warm=1, device="cpu")
SHARED = {"positive": 1, "confidence": None}


def _exceptions(classifier):
    if not isinstance(classifier.plan, Plan):
        return NET_EXCEPTIONS
    if isinstance(classifier, tb.TEDnClassifier | tb.CVIRClassifier):
        return EXCEPTIONS | {
            "check_fit2d_1feature": "its 10 rows are too few for folds within folds, and we say so"
        }
    return EXCEPTIONS


@parametrize_with_checks(
    [
        tb.TEDnClassifier(plan=TINY, **SHARED),
        tb.CVIRClassifier(plan=TINY, alpha=0.5, **SHARED),
        tb.PvUClassifier(plan=TINY, **SHARED),
        tb.ElkanNotoClassifier(plan=TINY, **SHARED),
        tb.ElkanNotoClassifier(plan=TINY, weighted=True, **SHARED),
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
