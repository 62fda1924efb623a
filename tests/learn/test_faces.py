"""The classifiers: what every one of them keeps to, and what each adds."""

import sys
from dataclasses import replace
from inspect import signature
from time import monotonic

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from gaussians import gaussians
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import topbin as tb
from topbin.core.errors import InputError, MissingExtra
from topbin.learn import LEARNERS, NetPlan, Plan, crossfit
from topbin.learn.learners import CVIR

TINY = Plan(outer=3, inner=2, repeats=1)
FAST = {"plan": TINY, "confidence": None}
FACES = [
    tb.TEDnClassifier(GaussianNB(), **FAST),
    tb.TEDnClassifier(GaussianNB(), refit="cvir", **FAST),
    tb.CVIRClassifier(GaussianNB(), alpha=0.5, **FAST),
    tb.CVIRClassifier(GaussianNB(), **FAST),
    tb.PvUClassifier(GaussianNB(), **FAST),
    tb.ElkanNotoClassifier(GaussianNB(), **FAST),
    tb.ElkanNotoClassifier(GaussianNB(), weighted=True, **FAST),
    tb.DEDPULClassifier(GaussianNB(), **FAST),
]
NAMES = ["tedn", "tedn-cvir", "cvir", "cvir-none", "pvu", "en", "en-weighted", "dedpul"]


def table(alpha=0.5, n=150):
    sample = gaussians(alpha, n, n)
    truth = np.arange(n) < round(alpha * n)
    return np.r_[sample.X_p, sample.X_u], np.repeat([1, 0], n), truth


@pytest.mark.parametrize("face", FACES, ids=NAMES)
def test_every_classifier_finds_how_many_and_which(face):
    X, s, truth = table(n=600)
    clf = clone(face).fit(X, s)
    # Bayes' rule errs in 2.3 % of these rows. Elkan-Noto trusts the model's probabilities, and
    # one bell curve does not fit an unlabeled sample of two.
    allowed = 0.1 if isinstance(face, tb.ElkanNotoClassifier) else 0.05
    assert clf.alpha_ == pytest.approx(0.5, abs=0.1)
    assert (clf.predict(X[600:]) != truth).mean() < allowed
    assert ((clf.oof_proba_[600:] > 0.5) != truth).mean() < allowed
    proba = clf.predict_proba(X)
    assert proba.shape == (1200, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert proba.min() >= 0
    assert proba.max() <= 1
    assert ((clf.decision_function(X) > 0) == (proba[:, 1] > 0.5)).all()
    assert clf.estimate_.alpha == clf.alpha_
    assert len(clf.history_) >= 1
    assert clf.n_features_in_ == 2
    assert clf.scores_p_.shape == clf.scores_u_.shape == (600,)


@pytest.mark.parametrize("face", FACES, ids=NAMES)
def test_two_samples_give_the_same_bits_as_one_table(face):
    X, s, _ = table()
    one = clone(face).fit(X, s)
    two = clone(face).fit_pu(X[:150], X[150:])
    assert one.alpha_ == two.alpha_
    assert (one.predict_proba(X) == two.predict_proba(X)).all()
    assert two.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("face", FACES, ids=NAMES)
def test_constructors_only_store_and_clones_start_anew(face):
    X, s, _ = table()
    before = face.get_params()
    clone(face).fit(X, s)
    assert clone(face).get_params().keys() == before.keys()
    assert not [name for name in vars(clone(face)) if name.endswith("_")]


@pytest.mark.parametrize("face", [*FACES, tb.AlphaEstimator(), tb.NNPUClassifier()], ids=str)
def test_parameters_are_shared_yet_every_signature_is_whole(face):
    kind = type(face)
    names = list(signature(kind).parameters)
    assert sorted(names) == sorted(kind().get_params())
    assert names[0] == ("method" if kind is tb.AlphaEstimator else "estimator")
    assert {"confidence", "positive", "negative", "random_state", "n_jobs"} <= set(names)
    fixed = (tb.DEDPULClassifier, tb.ElkanNotoClassifier)
    assert ("method" in names) is not (kind in fixed)
    with pytest.raises(TypeError):
        kind("first", None)
    assert kind().set_params(n_jobs=2).n_jobs == 2


def test_labels_may_be_passed_by_name_and_a_column_of_them_is_warned_of():
    X, s, _ = table()
    clf = tb.PvUClassifier(GaussianNB(), **FAST)
    alpha = clf.fit(X, s).alpha_
    assert clf.fit(X, y=s).alpha_ == alpha
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        assert clf.fit(X, s[:, None]).alpha_ == alpha


def test_a_notebook_shows_alpha_and_its_interval_above_the_diagram():
    X, s, _ = table()
    clf = tb.PvUClassifier(GaussianNB(), plan=TINY)
    assert "α" not in clf._repr_html_()
    page = clf.fit(X, s)._repr_html_()
    assert f"α = {clf.alpha_:.3f} of the 150 unlabeled are positive" in page
    assert f">{clf.estimate_.interval[0]:.3f} to" in page
    assert "sk-top-container" in page
    assert clf._repr_mimebundle_()["text/html"].startswith(page[: page.index("</svg>")])


def test_a_finished_cross_fit_makes_the_same_classifier():
    X, s, _ = table()
    wanted = tb.TEDnClassifier(GaussianNB(), **FAST).fit(X, s)
    fit = crossfit(GaussianNB(), X, s == 1, LEARNERS["tedn"], plan=TINY)
    clf = tb.TEDnClassifier(**FAST).fit_from(fit, X, s)
    assert clf.estimate_ == wanted.estimate_
    assert (clf.predict_proba(X) == wanted.predict_proba(X)).all()
    assert (clf.oof_proba_ == wanted.oof_proba_).all()
    other = replace(wanted.estimate_, alpha=0.3)
    moved = tb.TEDnClassifier(**FAST).fit_from(fit, X, s, estimate=other)
    assert moved.estimate_ is other
    assert moved.oof_proba_[150:].mean() == pytest.approx(0.3, abs=0.01)


def test_a_preset_is_a_plan_and_a_plan_wins():
    X, s, _ = table()
    fast = tb.PvUClassifier(GaussianNB(), preset="fast").fit(X, s).oof_proba_
    plan = Plan(outer=3, repeats=1)
    assert (fast == tb.PvUClassifier(GaussianNB(), plan=plan).fit(X, s).oof_proba_).all()
    both = tb.PvUClassifier(GaussianNB(), plan=plan, preset="best").fit(X, s).oof_proba_
    assert (fast == both).all()
    with pytest.raises(InputError, match="TB008 preset must be one of fast, good, best"):
        tb.PvUClassifier(preset="slow").fit(X, s)
    with pytest.raises(InputError, match="TB008 preset is for scikit-learn models"):
        tb.NNPUClassifier(preset="best").fit(X, s)


@pytest.mark.parametrize(
    ("one", "zero", "options", "classes"),
    [
        (1, 0, {}, [0, 1]),
        (1, -1, {}, [-1, 1]),
        (True, False, {}, [False, True]),
        (1.0, np.nan, {}, [0.0, 1.0]),
        ("yes", "no", {"positive": "yes"}, ["no", "yes"]),
        ("a", "b", {"positive": "a"}, ["b", "a"]),
        ("fraud", None, {"positive": "fraud"}, ["not fraud", "fraud"]),
    ],
)
def test_labels_come_back_as_they_went_in(one, zero, options, classes):
    X, s, truth = table()
    labels = pd.Series([one if x else zero for x in s])
    clf = tb.PvUClassifier(GaussianNB(), **FAST, **options).fit(X, labels)
    assert clf.classes_.tolist() == classes
    found = clf.predict(X[150:])
    assert set(found.tolist()) == set(classes)
    assert ((found == one) == truth).mean() > 0.95
    assert (clf.predict_proba(X)[:150, 1] > 0.5).mean() > 0.9


def test_known_negatives_are_left_out_but_get_a_probability():
    X, s, _ = table()
    s = s.astype(object)
    s[-30:] = "no"
    clf = tb.PvUClassifier(GaussianNB(), positive=1, negative="no", **FAST).fit(X, s)
    plain = tb.PvUClassifier(GaussianNB(), **FAST).fit(X[:-30], s[:-30].astype(int))
    assert clf.alpha_ == plain.alpha_
    assert clf.classes_.tolist() == ["no", 1]
    np.testing.assert_allclose(clf.oof_proba_[-30:], plain.predict_proba(X[-30:])[:, 1])
    np.testing.assert_allclose(clf.oof_proba_[:-30], plain.oof_proba_)


def frames():
    X, s, truth = table()
    town = np.where(X[:, 0] > 2, "Bern", np.where(X[:, 1] > 0, "Lyon", None))
    x = X[:, 1].copy()
    x[::7] = np.nan
    frame = pd.DataFrame({"town": town, "x": x, "flag": X[:, 0] > 1})
    return frame, s, truth


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_the_default_model_reads_frames_with_text_and_gaps(make):
    frame, s, truth = frames()
    wanted = tb.TEDnClassifier(**FAST).fit(frame, s)
    clf = tb.TEDnClassifier(**FAST).fit(make(frame), s)
    assert clf.feature_names_in_.tolist() == ["town", "x", "flag"]
    assert (clf.predict_proba(make(frame)) == wanted.predict_proba(frame)).all()
    assert (clf.predict(make(frame))[150:] == truth).mean() > 0.9
    two = tb.TEDnClassifier(**FAST).fit_pu(make(frame[:150]), make(frame[150:]))
    assert (two.predict_proba(frame) == wanted.predict_proba(frame)).all()


def test_a_pipeline_of_the_users_own_sees_the_frame():
    frame, s, truth = frames()
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["town"]))
    clf = tb.TEDnClassifier(make_pipeline(columns, LogisticRegression()), **FAST).fit(frame, s)
    assert (clf.predict(frame)[150:] == truth).mean() > 0.9


def test_arrays_of_text_are_coded_too():
    frame, s, truth = frames()
    X = frame[["town"]].to_numpy(object)
    clf = tb.PvUClassifier(**FAST).fit(X, s)
    assert (clf.predict(X)[150:] == truth).mean() > 0.9


def test_sparse_tables_stay_sparse():
    X, s, truth = table()
    clf = tb.TEDnClassifier(**FAST).fit(csr_array(X), s)
    assert (clf.predict(csr_array(X))[150:] == truth).mean() > 0.9
    two = tb.TEDnClassifier(**FAST).fit_pu(csr_array(X[:150]), csr_array(X[150:]))
    assert two.alpha_ == clf.alpha_


def test_it_works_at_the_end_of_a_pipeline_and_in_a_grid_search():
    X, s, truth = table()
    tedn = tb.TEDnClassifier(GaussianNB(), random_state=2, **FAST)
    pipe = make_pipeline(StandardScaler(), tedn)
    assert (pipe.fit(X, s).predict(X[150:]) == truth).mean() > 0.95
    grid = GridSearchCV(
        tb.PvUClassifier(KNeighborsClassifier(), **FAST),
        {"estimator__n_neighbors": [3, 15]},
        scoring="roc_auc",
        cv=2,
    )
    assert grid.fit(X, s).best_params_["estimator__n_neighbors"] == 15


def test_weights_shape_the_models():
    X, s, _ = table()
    heavy = np.where(X[:, 1] > 0, 5.0, 0.1)
    plain = tb.PvUClassifier(GaussianNB(), **FAST).fit(X, s)
    weighted = tb.PvUClassifier(GaussianNB(), **FAST).fit(X, s, sample_weight=heavy)
    same = tb.PvUClassifier(GaussianNB(), **FAST).fit_pu(X[:150], X[150:], sample_weight=heavy)
    ones = tb.PvUClassifier(GaussianNB(), **FAST).fit(X, s, sample_weight=np.ones(300))
    assert (weighted.predict_proba(X) != plain.predict_proba(X)).any()
    assert (weighted.predict_proba(X) == same.predict_proba(X)).all()
    np.testing.assert_allclose(ones.predict_proba(X), plain.predict_proba(X))


def test_elkan_noto_calibrates_the_default_model_but_not_a_handful_of_rows():
    X, s, _ = table()
    clf = tb.ElkanNotoClassifier(**FAST).fit(X, s)
    assert isinstance(clf.model_.groups[0][0], CalibratedClassifierCV)
    tiny = tb.ElkanNotoClassifier(**FAST).fit(X[144:156], s[144:156])
    assert not isinstance(tiny.model_.groups[0][0], CalibratedClassifierCV)


def test_sparse_counts_are_scaled_and_weights_reach_the_model_of_every_face():
    rng = np.random.default_rng(0)
    more = np.outer(np.arange(300) < 200, np.arange(30) < 8)  # 100 of the 200 unlabeled too
    X, s = csr_array(rng.poisson(0.4, (300, 30)) + 3.0 * more), np.repeat([1, 0], [100, 200])
    for face in (tb.TEDnClassifier, tb.PvUClassifier, tb.ElkanNotoClassifier):
        clf = face(random_state=2, **FAST).fit(X, s, sample_weight=np.ones(300))
        assert (clf.predict(X[100:]) == (np.arange(200) < 100)).mean() > 0.9


def test_refit_cvir_keeps_the_estimate_and_joins_the_histories():
    X, s, _ = table()
    plain = tb.TEDnClassifier(GaussianNB(), **FAST).fit(X, s)
    again = tb.TEDnClassifier(GaussianNB(), refit="cvir", **FAST).fit(X, s)
    assert again.estimate_ == plain.estimate_
    assert [epoch.phase for epoch in again.history_] == [
        "warm-start", "tedn", "tedn", "warm-start", CVIR.name, CVIR.name,
    ]  # fmt: skip


def test_an_alpha_that_is_given_is_taken_and_one_that_is_not_is_said():
    X, s, _ = table()
    given = tb.CVIRClassifier(GaussianNB(), alpha=0.3, **FAST).fit(X, s)
    assert given.alpha_ == 0.3
    assert given.estimate_.method == "given"
    found = tb.CVIRClassifier(GaussianNB(), **FAST).fit(X, s)
    assert "estimated first" in found.estimate_.notes[0]
    assert found.estimate_.method == "overlap"
    pvu = tb.PvUClassifier(GaussianNB(), alpha=0.2, **FAST).fit(X, s)
    assert pvu.oof_proba_[150:].mean() == pytest.approx(0.2, abs=0.01)


def test_estimates_carry_interval_bound_and_alarms():
    X, s, _ = table()
    clf = tb.TEDnClassifier(GaussianNB(), plan=TINY).fit(X, s)
    low, high = clf.estimate_.interval
    assert low < clf.alpha_ <= high
    assert clf.estimate_.upper_bound >= clf.alpha_
    few = tb.TEDnClassifier(GaussianNB(), plan=TINY).fit(X[100:], s[100:])
    assert "few-positives" in [alarm.code for alarm in few.estimate_.alarms]


def test_nothing_is_discarded_where_alpha_is_near_one_and_an_alarm_says_so():
    X = np.random.default_rng(0).normal(size=(400, 2))
    clf = tb.TEDnClassifier(GaussianNB(), **FAST).fit(X, np.repeat([1, 0], 200))
    assert clf.alpha_ >= 0.95
    assert "indistinguishable" in [alarm.code for alarm in clf.estimate_.alarms]
    assert any(epoch.alarms for epoch in clf.history_)


def test_progress_is_told_and_time_is_kept():
    X, s, _ = table()
    seen = []
    clf = tb.TEDnClassifier(GaussianNB(), on_event=seen.append, **FAST).fit(X, s)
    assert seen[-1].done == seen[-1].total == 4
    start = monotonic()
    short = clone(clf).set_params(time_limit=1e-9, on_event=None).fit(X, s)
    assert monotonic() - start < 5
    assert len(short.history_) == 1


def test_random_states_of_every_kind():
    X, s, _ = table()
    clf = tb.TEDnClassifier(GaussianNB(), **FAST)
    one, two = (clone(clf).set_params(random_state=3).fit(X, s).oof_proba_ for _ in range(2))
    assert (one == two).all()
    state = np.random.RandomState(3)
    assert clone(clf).set_params(random_state=state).fit(X, s).alpha_ > 0


BAD = [
    ({"alpha": 1.0}, "TB008"),
    ({"alpha": 0.0}, "TB008"),
    ({"confidence": 2.0}, "TB008"),
    ({"time_limit": -1}, "TB008"),
    ({"method": "best"}, "TB007"),
    ({"method": "elkan_noto"}, "TB007"),
    ({"plan": NetPlan()}, "TB008"),
    ({"weights": "third"}, "TB008"),
    ({"estimator": "no-such-net", "plan": None}, "TB007"),
    ({"estimator": 3}, "TB013"),
    ({"estimator": GaussianNB}, "TB013"),
]


@pytest.mark.parametrize(("options", "code"), BAD, ids=str)
def test_bad_parameters_have_a_code(options, code):
    X, s, _ = table(n=20)
    if isinstance(options.get("estimator"), str):
        pytest.importorskip("torch")
    clf = tb.CVIRClassifier(GaussianNB(), **FAST).set_params(**options)
    with pytest.raises(InputError, match=code):
        clf.fit(X, s)


def test_bad_data_has_a_code():
    X, s, _ = table(n=20)
    clf = tb.TEDnClassifier(**FAST)
    for wrong, labels, code in [
        (X, np.ones(40), "TB003"),
        (X, s[:-1], "TB005"),
        (X, None, "TB001"),
        (np.where(X > 3, np.inf, X), s, "TB004"),
        (csr_array(np.where(X > 3, np.nan, X)), s, "TB004"),
        (X[:, 0], s, "TB005"),
        (X[:6], [1, 1, 0, 0, 0, 0], "TB003"),
        (object(), s, "TB013"),
    ]:
        with pytest.raises(InputError, match=code):
            clf.fit(wrong, labels)
    with pytest.raises(InputError, match="TB012"):
        clf.fit(X, s, sample_weight=-np.ones(40))
    with pytest.raises(InputError, match="TB008"):
        tb.TEDnClassifier(refit="nnpu").fit(X, s)
    with pytest.raises(InputError, match="TB013"):
        tb.ElkanNotoClassifier("uci-mlp").fit(X, s)
    with pytest.raises(InputError, match="TB013"):
        tb.ElkanNotoClassifier(KNeighborsClassifier(), weighted=True, **FAST).fit(X, s)


@pytest.mark.parametrize("face", [tb.TEDnClassifier, tb.PvUClassifier, tb.DEDPULClassifier])
def test_a_constant_table_or_class_is_answered_and_doubted(face):
    s = np.repeat([1, 0], 60)
    same = face(**FAST).fit(np.ones((120, 2)), s)
    assert same.alpha_ == 1.0
    assert {"indistinguishable", "ties"} <= {alarm.code for alarm in same.estimate_.alarms}
    away = np.random.default_rng(0).normal(size=(60, 2))
    apart = face(**FAST).fit(np.r_[np.full((60, 2), 9.0), away], s)
    assert apart.alpha_ < 0.05
    assert "ties" in {alarm.code for alarm in apart.estimate_.alarms}
    for clf in (same, apart):
        assert np.isfinite(clf.predict_proba(np.ones((3, 2)))).all()


def test_other_columns_at_predict_time_are_refused():
    frame, s, _ = frames()
    clf = tb.TEDnClassifier(**FAST).fit(frame, s)
    with pytest.raises(InputError, match=r"TB109[\s\S]*feature names"):
        clf.predict(frame.rename(columns={"x": "y"}))
    with pytest.raises(InputError, match='TB109 column "x" was a number when'):
        clf.predict(frame.assign(x="text"))
    plain = tb.TEDnClassifier(**FAST).fit(frame[["x", "flag"]].to_numpy(float), s)
    with pytest.raises(InputError, match="TB109 X has 3 features"):
        plain.predict(np.zeros((2, 3)))


def test_two_samples_must_be_of_one_kind():
    frame, _, _ = frames()
    clf = tb.TEDnClassifier(**FAST)
    for X_p, X_u in [
        (frame, frame.to_numpy()),
        (frame, frame.drop(columns="x")),
        (frame, frame[["x", "town", "flag"]]),
        (np.zeros((5, 2)), np.zeros((5, 3))),
        (csr_array((5, 2)), np.zeros((5, 2))),
    ]:
        with pytest.raises(InputError, match="TB106"):
            clf.fit_pu(X_p, X_u)
    with pytest.raises(InputError, match="TB003"):
        clf.fit_pu(np.zeros((5, 2)), np.zeros((0, 2)))


@pytest.mark.parametrize("face", [tb.NNPUClassifier, tb.UPUClassifier])
def test_risks_with_a_gradient_refuse_table_models_and_name_the_extra(face, monkeypatch):
    X, s, _ = table(n=20)
    with pytest.raises(InputError, match=r"TB013 .* gradient"):
        face(GaussianNB(), alpha=0.5).fit(X, s)
    with pytest.raises(InputError, match=r"TB008 loss"):
        face(alpha=0.5, loss="hinge").fit(X, s)
    for name in [n for n in sys.modules if n.startswith("topbin.learn.") and "torch" in n]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("topbin.learn.nets", "topbin.learn.net_fitting"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"topbin\[torch\]"):
        face(alpha=0.5).fit(X, s)
