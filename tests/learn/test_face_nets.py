"""The classifiers over nets: tables, tensors, tuples and Datasets."""

from dataclasses import replace
from time import monotonic

import numpy as np
import pandas as pd
import pytest
from gaussians import gaussians
from sklearn.base import clone

import topbin as tb
from topbin.core.errors import InputError
from topbin.learn import NetPlan
from topbin.learn.loop import Diverged

torch = pytest.importorskip("torch")

from topbin.learn import net_fitting  # noqa: E402
from topbin.learn.backends.torch import mean_losses  # noqa: E402
from topbin.learn.net_fitting import fit_scaler, scaled  # noqa: E402
from topbin.learn.nets import Optim  # noqa: E402
from topbin.learn.rows import (  # noqa: E402
    NetSamples,
    pick,
)

SHORT = NetPlan(epochs=20, warm=20, batch=50, device="cpu", optim=Optim("adam", lr=0.01))
FAST = {"plan": SHORT, "confidence": None}


def table(alpha=0.5, n=250):
    sample = gaussians(alpha, n, n)
    return np.r_[sample.X_p, sample.X_u], np.repeat([1, 0], n), np.arange(n) < round(alpha * n)


def linear():
    torch.manual_seed(0)
    return torch.nn.Linear(2, 1)


FACES = {
    "tedn": lambda: tb.TEDnClassifier(linear(), **FAST),
    "tedn-cvir": lambda: tb.TEDnClassifier(linear(), refit="cvir", **FAST),
    "cvir": lambda: tb.CVIRClassifier(linear(), alpha=0.5, **FAST),
    "pvu": lambda: tb.PvUClassifier(linear(), **FAST),
    "nnpu": lambda: tb.NNPUClassifier(linear(), alpha=0.5, **FAST),
    "upu": lambda: tb.UPUClassifier(linear(), alpha=0.5, loss="logistic", **FAST),
}


@pytest.mark.parametrize("name", FACES)
def test_every_learner_trains_a_net(name):
    X, s, truth = table()
    clf = FACES[name]().fit(X, s)
    assert clf.alpha_ == pytest.approx(0.5, abs=0.2)
    assert (clf.predict(X[250:]) == truth).mean() > 0.9
    proba = clf.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert proba.min() >= 0
    assert proba.max() <= 1
    assert clf.history_[-1].epoch == len(clf.history_) or name == "tedn-cvir"
    assert clf.n_features_in_ == 2


def test_alarms_are_about_the_mean_over_epochs(monkeypatch):
    X, s, _ = table()
    plan = replace(SHORT, epochs=2, warm=2)
    for mean, above in ((0.99, True), (0.01, False)):
        monkeypatch.setattr(net_fitting, "mean_alpha", lambda *_, mean=mean, **__: mean)
        found = tb.TEDnClassifier(linear(), plan=plan, method="bbe").fit(X, s).estimate_
        assert found.alpha == mean
        assert (mean > found.upper_bound) == above
        assert ("above-bound" in [alarm.code for alarm in found.alarms]) == above


def test_one_table_two_samples_tensors_and_datasets_are_one():
    X, s, _ = table()
    X = X.astype(np.float32)
    rows = torch.from_numpy(X)
    clf = tb.TEDnClassifier(linear(), **FAST)
    wanted = clone(clf).fit(X, s).predict_proba(X)
    assert (clone(clf).fit_pu(X[:250], X[250:]).predict_proba(X) == wanted).all()
    assert (clone(clf).fit_pu(rows[:250], rows[250:]).predict_proba(rows) == wanted).all()
    assert (clone(clf).fit(rows, s).predict_proba(rows) == wanted).all()
    parts = (Rows(rows[:250]), Rows(rows[250:]))
    assert (clone(clf).fit_pu(*parts).predict_proba(Rows(rows)) == wanted).all()


class Rows(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, left, right):
        return self.layer(torch.cat([left, right], dim=1))


def test_rows_may_be_pairs_of_tensors():
    X, s, truth = table()
    pair = tuple(torch.from_numpy(X[:, [i]].astype(np.float32)) for i in (0, 1))
    torch.manual_seed(0)
    clf = tb.TEDnClassifier(Pair(), **FAST).fit(pair, s)
    assert (clf.predict(pair)[250:] == truth).mean() > 0.9


def test_a_net_by_name_scales_a_frame_and_fills_its_gaps():
    X, s, truth = table()
    frame = pd.DataFrame({"x": 1000 * X[:, 0], "noise": X[:, 1]})
    frame.loc[::9, "noise"] = None
    clf = tb.TEDnClassifier("uci-mlp", **FAST).fit(frame, s)
    assert (clf.predict(frame)[250:] == truth).mean() > 0.9
    rows = torch.from_numpy(X.astype(np.float32))
    assert tb.TEDnClassifier("uci-mlp", **FAST).fit(rows, s).model_.scaler is None
    scaler = fit_scaler(NetSamples(X[:250], X[250:]))
    np.testing.assert_allclose(scaled(X, scaler).mean(axis=0), 0, atol=1e-6)


def test_an_alpha_not_given_is_found_first():
    X, s, truth = table()
    clf = tb.NNPUClassifier(**FAST).fit(X, s)
    assert "estimated first" in clf.estimate_.notes[0]
    assert (clf.predict(X[250:]) == truth).mean() > 0.9
    rows = torch.from_numpy(X.astype(np.float32))
    other = tb.NNPUClassifier(linear(), **FAST).fit(rows, s)
    assert "estimated first" in other.estimate_.notes[0]


def test_events_and_time():
    X, s, _ = table()
    seen = []
    tb.PvUClassifier(linear(), on_event=seen.append, **FAST).fit(X, s)
    assert [event.done for event in seen] == list(range(1, 21))
    start = monotonic()
    short = tb.PvUClassifier(linear(), time_limit=1e-9, **FAST).fit(X, s)
    assert len(short.history_) == 1
    assert monotonic() - start < 10


def test_weights_shape_the_net_and_equal_ones_change_nothing():
    X, s, _ = table()
    plan = NetPlan(epochs=4, warm=2, batch=50, device="cpu", optim=Optim("adam", lr=0.05))
    face = tb.TEDnClassifier(linear(), plan=plan, confidence=None)
    plain = clone(face).fit(X, s).predict_proba(X)
    equal = clone(face).fit(X, s, sample_weight=np.full(500, 3.0)).predict_proba(X)
    np.testing.assert_allclose(equal, plain, atol=1e-5)
    heavy = np.where(X[:, 1] > 0, 5.0, 0.1)
    one = clone(face).fit(X, s, sample_weight=heavy).predict_proba(X)
    two = clone(face).fit_pu(X[:250], X[250:], sample_weight=heavy).predict_proba(X)
    assert (one == two).all()
    assert np.abs(one - plain).max() > 0.01


def test_a_weight_of_zero_leaves_a_row_out_of_the_losses():
    z_p, z_u = torch.tensor([0.5, 9.0]), torch.tensor([-1.0, 3.0])
    weights = torch.tensor([2.0, 0.0]), torch.tensor([2.0, 0.0])
    weighted = mean_losses(z_p, z_u, "logistic", weights)
    assert torch.stack(weighted).equal(torch.stack(mean_losses(z_p[:1], z_u[:1], "logistic")))


def test_rows_are_picked_from_all_they_may_be():
    rows = np.array([2, 0])
    tensor = torch.arange(3)
    assert pick(tensor, rows).tolist() == [2, 0]
    assert [part.tolist() for part in pick((tensor, tensor + 1), rows)] == [[2, 0], [3, 1]]
    assert list(pick(Rows(tensor), rows)) == [2, 0]


def test_bad_input_has_a_code():
    X, s, _ = table(n=20)
    with pytest.raises(InputError, match="TB012"):
        tb.TEDnClassifier(linear(), **FAST).fit(X, s, sample_weight=-np.ones(40))
    with pytest.raises(InputError, match="TB008"):
        tb.TEDnClassifier(linear(), plan=tb.learn.Plan()).fit(X, s)
    with pytest.raises(InputError, match="TB013"):
        tb.TEDnClassifier(torch.nn.Linear(3, 1), **FAST).fit(X, s)
    with pytest.raises(InputError, match="TB013"):
        tb.TEDnClassifier().fit(Rows(torch.zeros(40, 2)), s)
    with pytest.raises(InputError, match="TB008"):
        tb.TEDnClassifier(linear(), plan=NetPlan(warm=-1)).fit(X, s)
    clf = tb.PvUClassifier(linear(), **FAST).fit(X, s)
    with pytest.raises(InputError, match="TB109"):
        clf.predict(np.zeros((2, 3)))


class Failing(torch.nn.Module):
    """Linear until its n-th batch of training, then NaN."""

    def __init__(self, good):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.good = good

    def forward(self, X):
        self.good -= self.training
        return self.layer(X) * (torch.nan if self.training and self.good < 0 else 1.0)


def test_a_loss_that_is_not_finite_stops_with_its_epoch_and_keeps_the_good_ones():
    X, s, _ = table(n=20)
    with pytest.raises(Diverged, match=r"TB015 .* epoch 1 "):
        tb.PvUClassifier(Failing(good=0), **FAST).fit(X, s)
    clf = tb.PvUClassifier(Failing(good=3), **FAST).fit(X, s)
    assert len(clf.history_) == 3
    alarm = next(alarm for alarm in clf.estimate_.alarms if alarm.code == "diverged")
    assert "epoch 4 " in alarm.message
    assert np.isfinite(clf.predict_proba(X)).all()
