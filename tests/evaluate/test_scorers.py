import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.neighbors import KNeighborsClassifier

import topbin as tb
from evaluate.hidden import World
from topbin.core import InputError
from topbin.evaluate.metrics import METRICS, make_pu_scorer


@pytest.fixture(scope="module")
def table():
    scores_p, scores_u, y = World(0.3, 2, 1).draw(300, 600, 0)
    rng = np.random.default_rng(1)
    X = np.c_[np.r_[scores_p, scores_u], rng.normal(size=(900, 2))]
    return X, np.repeat([1, 0], [300, 600]), np.r_[np.ones(300, bool), y]


@pytest.mark.parametrize("metric", METRICS)
def test_a_scorer_gives_the_metric_of_the_models_own_answers(metric, table):
    X, s, _ = table
    model = LogisticRegression(class_weight="balanced").fit(X, s)
    found = make_pu_scorer(metric, alpha=0.3)(model, X, s)
    at_threshold = not metric.endswith("auc")
    scores = model.predict(X).astype(float) if at_threshold else model.decision_function(X)
    choices = {"alpha": 0.3} if metric.startswith(("estimated", "pu_risk")) else {}
    choices |= {"threshold": 1.0} if at_threshold else {}
    samples = (scores[s == 1],) if metric == "recall" else (scores[s == 1], scores[s == 0])
    sign = 1 if metric != "pu_risk" else -1
    assert found == sign * METRICS[metric](*samples, **choices).value


@pytest.mark.parametrize("metric", METRICS)
def test_a_scorer_survives_pickling_and_weights(metric, table):
    X, s, _ = table
    model = LogisticRegression(class_weight="balanced").fit(X, s)
    scorer = pickle.loads(pickle.dumps(make_pu_scorer(metric, alpha=0.3)))
    plain = scorer(model, X, s)
    assert scorer(model, X, s, sample_weight=np.full(900, 2.0)) == pytest.approx(plain)
    uneven = scorer(model, X, s, sample_weight=np.where(X[:, 0] > 1, 3.0, 1.0))
    assert uneven != pytest.approx(plain)
    assert "_score" in repr(scorer)


def true_figures(metric, X, s, y, n_neighbors):
    """The figure that the labels nobody sees would give, on the same folds."""
    model = KNeighborsClassifier(n_neighbors)
    if metric in ("pu_auc", "estimated_auc"):
        scores = cross_val_predict(model, X, s, cv=3, method="predict_proba")[:, 1]
        return roc_auc_score(y[s == 0], scores[s == 0])
    called = cross_val_predict(model, X, s, cv=3)[s == 0] == 1
    if metric == "pu_risk":
        return np.mean(called == y[s == 0])
    precision, found = y[s == 0][called].mean(), called[y[s == 0]].mean()
    return {
        "recall": found,
        "estimated_precision": precision,
        "estimated_f1": 2 * precision * found / (precision + found),
        "lee_liu": precision * found,
    }[metric]


@pytest.mark.parametrize("metric", METRICS)
def test_grid_search_chooses_what_hidden_labels_would(metric, table):
    X, s, y = table
    sizes = [1, 60]
    grid = GridSearchCV(
        KNeighborsClassifier(),
        {"n_neighbors": sizes},
        scoring=make_pu_scorer(metric, alpha=0.3),
        cv=3,
    ).fit(X, s)
    truth = [true_figures(metric, X, s, y, size) for size in sizes]
    assert abs(truth[1] - truth[0]) > 0.02  # the labels do see a difference
    assert grid.best_params_["n_neighbors"] == sizes[int(np.argmax(truth))]


def test_a_threshold_reads_probabilities(table):
    X, s, _ = table
    model = LogisticRegression().fit(X, s)
    low, high = (make_pu_scorer("recall", threshold=t)(model, X, s) for t in (0.1, 0.6))
    probability = model.predict_proba(X)[s == 1, 1]
    assert (low, high) == (np.mean(probability >= 0.1), np.mean(probability >= 0.6))


@pytest.mark.parametrize("labels", [(-1, 1), (False, True), ("no", "yes")])
def test_labels_of_every_kind(labels, table):
    X, s, _ = table
    positive = "yes" if labels[1] == "yes" else None
    marked = np.array(labels)[s]
    model = LogisticRegression(class_weight="balanced")
    for metric in ("pu_auc", "estimated_f1"):
        expected = make_pu_scorer(metric, alpha=0.3)(model.fit(X, s), X, s)
        scorer = make_pu_scorer(metric, alpha=0.3, positive=positive)
        assert scorer(model.fit(X, marked), X, marked) == pytest.approx(expected)


def test_metadata_routing_brings_weights(table):
    X, s, _ = table
    with config_context(enable_metadata_routing=True):
        scorer = make_pu_scorer("pu_auc").set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=False)
        weights = np.where(X[:, 1] > 0, 5.0, 1.0)
        weighted = cross_validate(
            model, X, s, scoring=scorer, cv=3, params={"sample_weight": weights}
        )["test_score"]
    plain = cross_validate(LogisticRegression(), X, s, scoring=make_pu_scorer(), cv=3)
    assert not np.allclose(weighted, plain["test_score"])


def test_an_estimate_at_any_confidence_serves(table):
    X, s, _ = table
    model = LogisticRegression().fit(X, s)
    est = tb.AlphaEstimate(
        alpha=0.3, n_p=300, n_u=600, method="x", interval=(0.2, 0.4), confidence=0.5
    )
    found, plain = (make_pu_scorer("estimated_auc", alpha=a)(model, X, s) for a in (est, 0.3))
    assert found == plain


def test_what_is_missing_or_unknown_is_said():
    with pytest.raises(InputError, match=r"^TB008 estimated_f1 needs alpha"):
        make_pu_scorer("estimated_f1")
    with pytest.raises(InputError, match=r"^TB007 no metric is called 'f2'; there are pu_auc"):
        make_pu_scorer("f2")
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match=r"^TB003 no row is positive"):
        make_pu_scorer()(model, [[0.0], [1.0]], [0, 0])
