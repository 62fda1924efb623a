"""Text gets a linear model or trees, whichever separates held-out rows better."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from asked import asked
from scipy.sparse import csr_array
from scipy.special import logit
from sklearn.ensemble import VotingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

import topbin as tb
from topbin.evaluate.metrics import Difference
from topbin.job import models as choices
from topbin.job.models import TIES, Choice, Classifiers, choose_model
from topbin.job.prepare import prepare
from topbin.learn import Plan
from topbin.learn.backends.sklearn import weight_name
from topbin.learn.crossfit import crossfit
from topbin.learn.defaults import coarse, text_models
from topbin.learn.explain import explain
from topbin.learn.learners import PVU, TEDN
from topbin.mpe.bound import upper_bound
from topbin.mpe.overlap import alpha_posterior

WORDS = [f"word{j}" for j in range(30)]
TELLING = {True: [f"good{j}" for j in range(12)], False: [f"bad{j}" for j in range(12)]}


def notes(good, seed=0):
    """Notes of eight words that say nothing and four that speak for or against the row."""
    rng = np.random.default_rng(seed)
    words = [[*rng.choice(WORDS, 8), *rng.choice(TELLING[bool(g)], 4)] for g in good]
    return [" ".join(rng.permutation(each)) for each in words]


@pytest.fixture(scope="module")
def by_words():
    rng = np.random.default_rng(0)
    good = np.arange(500) % 2 == 0
    frame = pd.DataFrame({"note": notes(good), "x": rng.normal(size=500)})
    return tb.fit(frame.assign(known=good & (rng.random(500) < 0.5)), "known", budget="fast")


def chosen(result):
    (note,) = [note for note in result.estimate.notes if note.startswith("model chosen: ")]
    return note.split()[2]


def test_words_that_add_up_are_for_the_linear_model(by_words):
    assert chosen(by_words) == "linear"
    assert '1 text ("note")' in by_words.summary()
    assert abs(by_words.estimate.alpha - 1 / 3) < 0.12


def test_limits_are_those_of_the_chosen_model_as_if_it_were_the_only_one(by_words):
    est, evidence = by_words.estimate, by_words.evidence
    assert est.confidence == 0.95
    assert est.upper_bound == max(est.alpha, upper_bound(evidence.independent, 0.95))
    posterior = alpha_posterior(evidence.tails, effective=evidence.effective)
    assert est.interval == posterior.interval(0.95)


def tables():
    """One fit of words, which can be explained, and one of vectors, which cannot."""
    good = np.arange(120) % 2 == 0
    known = good & (np.arange(120) < 80)
    vectors = list(np.random.default_rng(0).normal(size=(120, 3)))
    return {
        "words": asked(pd.DataFrame({"note": notes(good), "known": known}), "known", text="note"),
        "vectors": asked(pd.DataFrame({"v": vectors, "known": known}), "known"),
    }


@pytest.mark.parametrize(
    ("gain", "words", "vectors"),
    [(0.0, "linear", "both"), (0.9, "linear", "both"), (-0.9, "linear", "both"),
     (1.1, "trees", "trees"), (-1.1, "linear", "linear")],
)  # fmt: skip
def test_one_model_must_be_clearly_better(monkeypatch, gain, words, vectors):
    cases = {"words": (words, "explained"), "vectors": (vectors, "vectors")}
    for name, (expected, kind) in cases.items():
        found = Difference(0.02 * TIES[kind][1] * gain, 0.02)
        monkeypatch.setattr(choices, "auc_difference", lambda *_, found=found: found)
        choice = choose_model(prepare(tables()[name]), {})
        assert choice.name == expected
        assert choice.error == 0.02


def test_the_choice_compares_out_of_fold_scores_of_the_same_rows(monkeypatch):
    seen = []
    monkeypatch.setattr(
        choices, "auc_difference", lambda *both: seen.append(both) or Difference(1, 0)
    )
    data = prepare(tables()["vectors"])
    choice, ((trees, linear),) = choose_model(data, {}), seen
    plan = Plan(outer=3, inner=1, repeats=1, warm=0, rounds=1)
    for name, scores in {"linear": linear, "trees": trees}.items():
        model, is_p = text_models(data.X)[name], data.labels.is_positive
        fit = crossfit(model, coarse(data.X, model), is_p, PVU, plan=plan, new_rows=False)
        np.testing.assert_array_equal(scores[0], fit.scores[is_p])
        np.testing.assert_array_equal(scores[1], fit.scores[~is_p])
        assert choice.auc[name] == choices.pu_auc(*scores).value


def test_weights_of_rows_count_in_the_choice(monkeypatch):
    good, seen = np.arange(120) % 2 == 0, []
    frame = pd.DataFrame({"note": notes(good), "known": good & (np.arange(120) < 80)})
    frame["w"] = np.arange(120) % 3 + 1.0

    def spied(*given, sample_weight=None, **more):
        seen.append(sample_weight)
        return crossfit(*given, sample_weight=sample_weight, **more)

    monkeypatch.setattr(choices, "crossfit", spied)
    choose_model(prepare(asked(frame, "known", text="note", weight="w")), {})
    assert [weight.tolist() for weight in seen] == [frame["w"].tolist()] * 2


def test_the_mean_of_both_models_takes_weights_and_is_stored(tmp_path):
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(90, 3)), np.arange(90) % 3 == 0, rng.integers(0, 3, 90)
    models = text_models(X)
    assert weight_name(models["both"]) == "sample_weight"
    assert weight_name(VotingClassifier([("k", KNeighborsClassifier())])) is None
    fitted = [model.fit(X, y, sample_weight=weight).predict_proba(X) for model in models.values()]
    np.testing.assert_allclose(fitted[2], (fitted[0] + fitted[1]) / 2)
    rows = coarse(X, models["both"])
    np.testing.assert_array_equal(rows, coarse(X, models["trees"]))
    short = Plan(outer=2, inner=1, repeats=1, warm=0, rounds=1)
    clf = tb.PvUClassifier(models["both"], plan=short).fit(X, y)
    tb.save(clf, tmp_path / "model")
    np.testing.assert_array_equal(
        tb.load(tmp_path / "model").predict_proba(X), clf.predict_proba(X)
    )


def test_the_auc_against_unlabeled_rows_orders_models_as_that_of_the_classes():
    """It is (1 − α)·AUC + α/2, so that the model with the larger one is the same."""
    rng = np.random.default_rng(3)
    hidden = rng.random(4000) < 0.4
    for gap in (0.5, 1.5):
        scores_p, scores_u = rng.normal(gap, 1, 4000), rng.normal(gap * hidden, 1)
        auc = roc_auc_score(hidden, scores_u)
        found = choices.pu_auc(scores_p, scores_u).value
        assert found == pytest.approx((1 - hidden.mean()) * auc + hidden.mean() / 2, abs=0.02)


def test_what_no_linear_model_sees_is_for_trees(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(rng.choice([-2.0, 2.0], (400, 2)), 0.4)
    good = x[:, 0] * x[:, 1] > 0
    frame = pd.DataFrame({"note": notes(rng.random(400) < 0.5), "a": x[:, 0], "b": x[:, 1]})
    known = good & (rng.random(400) < 0.5)
    data = prepare(asked(frame.assign(known=known), "known"))
    choice = choose_model(data, {})
    assert choice.name == "trees"
    assert choice.auc["trees"] > choice.auc["linear"]
    short = Plan(outer=2, inner=1, repeats=1, warm=0, rounds=1)
    clf = tb.PvUClassifier(choice.model, plan=short).fit(data.X, known)
    tb.save(clf, tmp_path / "model")
    again = tb.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(data.X), clf.predict_proba(data.X))
    models = [model for group in clf.model_.groups for model in group]
    found = explain(models, data.X[:50], data.encoder, frame[:50])
    logits = [logit(model.predict_proba(data.X[:50])[:, 1]) for model in models]
    np.testing.assert_allclose(found.score, np.mean(logits, axis=0))


def test_a_table_without_text_has_no_choice():
    frame = pd.DataFrame({"x": np.arange(200) % 90, "known": np.arange(200) < 60})
    assert choose_model(prepare(asked(frame, "known")), {}) is None


def ranked(frame, known, good):
    """How well the linear model of a table ranks its unlabeled rows after rounds of discarding."""
    data = prepare(asked(frame.assign(known=known), "known", text="note"))
    model, plan = text_models(data.X)["linear"], Plan(outer=3, inner=3, repeats=1)
    fit = crossfit(model, data.X, data.labels.is_positive, TEDN, plan=plan, new_rows=False)
    return roc_auc_score(good[~known], fit.scores[~known])


def test_noise_beside_a_text_does_not_decide_which_rows_are_discarded():
    rng = np.random.default_rng(1)
    known, good = np.arange(500) < 200, np.arange(500) < 300
    tilt = rng.normal(0, 0.2, 300)
    chances = [np.exp(side * tilt) / np.exp(side * tilt).sum() for side in (-1, 1)]
    words = np.array([f"word{j}" for j in range(300)])
    note = [" ".join(rng.choice(words, 60, p=chances[int(side)])) for side in good]
    text = pd.DataFrame({"note": note})
    numbers = {f"x{k}": rng.normal(size=500) for k in range(3)}
    mixed = text.assign(town=rng.choice(["a", "b", "c"], 500), **numbers)
    useful = text.assign(x=rng.normal(2.0 * good))
    alone = ranked(text, known, good)
    assert ranked(mixed, known, good) > alone - 0.03
    assert ranked(useful, known, good) > alone + 0.03


def test_trees_read_categories_however_small_they_are_for_the_linear_model():
    X = csr_array(np.hstack([np.full((9, 1), 0.01), np.full((9, 300), 0.1)]))
    (_, _, kept) = text_models(X, categories=[0])["trees"][0].transformers[0]
    assert kept[0] == 0
    assert len(kept) == 200


def test_the_choice_is_told_beside_the_other_notes_and_changes_no_number():
    choice = Choice("trees", None, {"linear": 0.6, "trees": 0.75}, 0.01)
    before = tb.estimate_alpha(np.arange(50.0, 150.0), np.arange(100.0))
    model = SimpleNamespace(estimate_=replace(before, notes=("another",)))
    Classifiers(model, model, choice).add_note_to(model)
    assert model.estimate_ == replace(before, notes=("another", choice.note))
    assert "in 60.0 % of pairs by the linear model, in 75.0 % by trees" in choice.note
    assert "the standard error of the difference is 1.0 %" in choice.note
