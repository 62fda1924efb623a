"""The fast net: shapes, whitening, mirrored scores, its schedule, resumption, and its face."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

import topbin as tb
from topbin.core import InputError
from topbin.learn import LEARNERS, NetPlan, train
from topbin.mpe import alpha_posterior

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

import interrupted_fast  # noqa: E402
import warm  # noqa: E402

from topbin.learn import NETS, Optim, TorchBackend, build_net, default_optim  # noqa: E402
from topbin.learn.backends.torch import torch_backend  # noqa: E402
from topbin.learn.nets import fast, shift  # noqa: E402
from topbin.store.safe.packing import Attachments, pack_net, unpack_net  # noqa: E402

P, U = interrupted_fast.samples()
SHORT = NetPlan(epochs=2, warm=2, batch=20, device="cpu")


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("side", [28, 32, 47, 48, 64, 96, 128, 224])
def test_images_of_28_to_224_pixels_and_of_one_or_three_channels(side, channels):
    net = fast((channels, side, side + 3), 2)
    assert net(torch.zeros(2, channels, side, side + 3)).shape == (2, 2)


def test_widths_are_presets():
    sizes = [
        sum(p.numel() for p in NETS[name].build((3, 32, 32), NETS[name].size or 24).parameters())
        for name in ("fast", "fast-medium", "fast-large")
    ]
    assert sizes[0] == pytest.approx(2.0e5, rel=0.02)
    assert sizes == sorted(sizes)


def correlated_images(n=40, side=12, channels=3):
    rng = np.random.default_rng(0)
    waves = rng.normal(size=(n, channels, side, side)).cumsum(2).cumsum(3)
    return torch.from_numpy((5 + waves + 3 * waves.mean(1, keepdims=True)).astype(np.float32))


@pytest.mark.parametrize(("channels", "step"), [(1, 1), (3, 1), (3, 2)])
def test_whitened_patterns_are_uncorrelated_with_mean_0_and_variance_1(channels, step):
    images = correlated_images(side=12 * step, channels=channels)
    layer = fast((channels, 32 * step, 32 * step), 2).whitening
    layer.fit(images)
    out = layer(images).transpose(0, 1).flatten(1)
    patterns, negatives = out.double().chunk(2)
    torch.testing.assert_close(negatives, -patterns, atol=1e-4, rtol=0)
    spread = torch.cov(patterns)
    largest = spread.diagonal()[:3]
    torch.testing.assert_close(largest, torch.ones(3).double(), atol=0.1, rtol=0)
    assert spread.diagonal().max() < 1.01  # patterns below the noise are made smaller, not larger
    assert (spread - spread.diagonal().diag()).abs().max() < 1e-3
    assert patterns.mean(1).abs().max() < 1e-3


def test_whitening_does_not_depend_on_the_scale_and_takes_images_without_contrast():
    images, layers = correlated_images(), [fast((3, 32, 32), 2).whitening for _ in range(2)]
    layers[0].fit(images)
    layers[1].fit(255 * images)
    torch.testing.assert_close(layers[0](images), layers[1](255 * images), atol=1e-2, rtol=1e-2)
    layers[0].fit(torch.ones(3, 3, 8, 8))
    assert torch.isfinite(layers[0](torch.ones(3, 3, 8, 8))).all()


def test_whitening_is_frozen_and_sees_p_and_u_but_no_label():
    one, other = (
        torch_backend(LEARNERS["tedn"], a, X_u=b, net="fast", phases=(1, 1), batch=20)
        for a, b in ((P, U), (U, P))
    )
    fitted = one.net.whitening.weight.clone()
    torch.testing.assert_close(fitted.abs(), other.net.whitening.weight.abs(), atol=1e-2, rtol=1e-2)
    one.epoch(P, U, LEARNERS["pvu"].at(None))
    assert torch.equal(one.net.whitening.weight, fitted)
    assert not torch.equal(build_net("fast", P.shape[1:]).whitening.weight, fitted)


def test_the_first_filters_pass_their_input_on_and_scales_are_fixed():
    net = build_net("fast", (3, 32, 32))
    conv, norm = net.blocks[1], net.blocks[3]
    seen = torch.rand(1, 24, 5, 5)
    torch.testing.assert_close(conv(seen), seen)
    assert norm.momentum == 0.4
    assert not norm.weight.requires_grad
    assert norm.bias.requires_grad


def test_scores_of_photographs_do_not_depend_on_left_and_right_but_those_of_digits_do():
    for shape, same in (((3, 12, 12), True), ((1, 12, 12), False)):
        X = np.random.default_rng(1).integers(0, 256, (20, *shape), dtype=np.uint8)
        model = torch_backend(LEARNERS["pvu"], X, X_u=X, net="fast", batch=20)
        model.epoch(X, 255 - X, LEARNERS["pvu"].at(None))
        mirrored = model.scores(X[..., ::-1].copy())
        assert np.allclose(model.scores(X), mirrored, atol=1e-6) is same
        assert model.mirror is same


def naive_rate(optim, phases, step, steps):
    """The definition, step by step: (phase, step inside it) by counting."""
    shares = []
    for number, epochs in enumerate(phases):
        n = epochs * steps
        for i in range(n):
            t = i / n
            up, down = 0.2 + 0.8 * t / 0.25, 1 - 0.97 * (t - 0.25) / 0.75
            shares.append((up if t < 0.25 else down) * optim.peaks[number])
    return shares[step]


@pytest.mark.parametrize("phases", [(10, 6), (3, 1), (4,)])
def test_the_rate_of_every_step_is_that_of_the_definition(phases):
    optim, steps = Optim(peaks=(1.0, 0.4)), 7
    for step in range(sum(phases) * steps):
        wanted = naive_rate(optim, phases, step, steps)
        assert optim.rate(step / steps, phases) == pytest.approx(wanted)
    assert optim.rate(sum(phases) + 5, phases) == pytest.approx(0.03 * optim.peaks[len(phases) - 1])
    assert Optim().rate(3, phases) == optim.rate(3, ()) == 1.0


def test_the_backend_uses_the_rate_of_each_step_and_a_higher_one_for_biases(monkeypatch):
    model = torch_backend(LEARNERS["tedn"], P, X_u=U, net="fast", batch=20, phases=(2, 1))
    weights, biases = model.optimizer.param_groups
    assert {p.ndim for p in biases["params"]} == {1}
    assert biases["weight_decay"] == pytest.approx(weights["weight_decay"] / 8)
    assert weights["nesterov"]
    seen, step = [], model.optimizer.step

    def watched():
        seen.append((weights["lr"], biases["lr"]))
        step()

    monkeypatch.setattr(model.optimizer, "step", watched)
    list(train(model, LEARNERS["tedn"], P, U, holdout=(P, U), epochs=1, warm_start=2))
    steps = len(seen) // 3
    wanted = [naive_rate(model.optim, (2, 1), i, steps) for i in range(3 * steps)]
    assert [lr for lr, _ in seen] == pytest.approx(wanted)
    assert [lr for _, lr in seen] == pytest.approx([8 * each for each in wanted])


def test_each_image_is_mirrored_in_every_other_epoch():
    seen = []

    class Spy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(1))

        def forward(self, x):
            seen.append(x)
            return self.w * x.mean((1, 2, 3))

    model = TorchBackend(Spy(), Optim(lr=1e-9), mirror=True)
    rows = torch.arange(6.0).repeat_interleave(6).reshape(6, 1, 1, 6) + torch.arange(6) / 10
    for _ in range(2):
        model.epoch(rows, rows, LEARNERS["pvu"].at(None))
    for image in rows:
        as_is = [(batch == image).flatten(1).all(1).sum() for batch in seen]
        turned = [(batch == image.flip(-1)).flatten(1).all(1).sum() for batch in seen]
        assert sorted(map(int, as_is)) == sorted(map(int, turned)) == [0, 2]  # in P and in U


def test_shifts_are_windows_of_the_reflected_image():
    torch.manual_seed(0)
    images = torch.rand(30, 2, 5, 6)
    seen = set()
    for image, moved in zip(images, shift(images), strict=True):
        padded = torch.nn.functional.pad(image, [2] * 4, mode="reflect")
        found = [(i, j) for i in range(5) for j in range(5)
                 if torch.equal(padded[:, i : i + 5, j : j + 6], moved)]  # fmt: skip
        assert found
        seen |= set(found)
    assert len(seen) > 10


@pytest.mark.parametrize(
    ("learner", "plan", "wanted"),
    [
        ("tedn", NetPlan(), (10, 6)),
        ("cvir", NetPlan(), (10, 6)),
        ("pvu", NetPlan(), (0, 10)),
        ("nnpu", NetPlan(epochs=3), (0, 3)),
        ("tedn", NetPlan(epochs=3, warm=1), (1, 3)),
        ("cvir", NetPlan(warm=0), (0, 6)),
    ],
)
def test_the_plan_knows_the_two_phases(learner, plan, wanted):
    assert plan.phases(LEARNERS[learner], NETS["fast"]) == wanted


def test_other_nets_keep_their_plan():
    kind = NETS["resnet18"]
    assert NetPlan().phases(LEARNERS["tedn"], kind) == (100, 200)
    assert NetPlan().phases(LEARNERS["cvir"], kind) == (0, 200)
    assert default_optim("logistic", "resnet18") == Optim("sgd", lr=0.1)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_images_get_the_fast_net_and_labels_are_found(kind):
    X_p, X_u = (X if kind is np.uint8 else (X / 255).astype(kind) for X in (P, U))
    plan = replace(SHORT, warm=4, epochs=3, nets=1)
    clf = tb.TEDnClassifier("auto", plan=plan, random_state=0).fit_pu(X_p, X_u)
    same = tb.TEDnClassifier("fast", plan=plan, random_state=0).fit_pu(X_p, X_u)
    assert clf.alpha_ == same.alpha_
    assert clf.alpha_ == pytest.approx(0.5, abs=0.2)
    assert (clf.predict(X_u) == interrupted_fast.TRUTH).mean() > 0.9
    assert [epoch.phase for epoch in clf.history_] == ["warm-start"] * 4 + ["tedn"] * 3


def test_saved_and_loaded_nets_score_alike_with_their_whitening(tmp_path):
    clf = tb.PvUClassifier("auto", plan=replace(SHORT, epochs=1)).fit_pu(P, U)
    tb.save(clf, tmp_path / "m")
    again = tb.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(U), clf.predict_proba(U))
    weights = [c.model_.backend.net.whitening.weight for c in (clf, again)]
    assert torch.equal(*weights)


def test_auto_is_stored_by_its_name_and_old_folders_that_say_auto_hold_a_resnet(monkeypatch):
    narrow = replace(NETS["resnet18"], size=2)
    monkeypatch.setitem(NETS, "resnet18", narrow)
    for name, stored in (("fast", "fast"), ("resnet18", "auto")):
        model, attached = torch_backend(LEARNERS["pvu"], P, net=name), Attachments()
        scores = model.scores(P)
        content = pack_net(model, attached)
        assert content["net"] == "fast"
        again = unpack_net({**content, "net": stored}, attached)
        np.testing.assert_array_equal(again.scores(P), scores)


def test_killed_and_resumed_is_the_same_to_the_bit(tmp_path):
    folder = tmp_path / "kept"
    with warm.script(interrupted_fast.__file__, folder) as (process, lines):
        assert [lines.readline() for _ in range(3)] == ["1\n", "2\n", "3\n"]
        os.kill(process.pid, signal.SIGKILL)
        process.join(60)
    seen = []
    resumed = interrupted_fast.fit(str(folder), on_event=seen.append)
    whole = interrupted_fast.fit()
    assert 1 <= len(seen) < len(whole.history_)
    assert resumed.history_ == whole.history_
    a, b = (clf.model_.backend.state() for clf in (resumed, whole))
    assert all(torch.equal(a.net[name], b.net[name]) for name in a.net)
    assert a.epochs == b.epochs == 5
    for i, slots in a.optimizer["state"].items():
        assert torch.equal(slots["momentum_buffer"], b.optimizer["state"][i]["momentum_buffer"])


def test_a_plan_of_other_length_is_another_run(tmp_path):
    for epochs in (1, 2):
        plan = replace(SHORT, epochs=epochs, checkpoint=str(tmp_path))
        tb.PvUClassifier("fast", plan=plan).fit_pu(P, U)
    assert len(list(tmp_path.iterdir())) == 2


def test_three_nets_take_turns_and_every_row_is_held_out_once():
    seen = []
    plan = replace(SHORT, warm=1, epochs=1)
    clf = tb.TEDnClassifier("fast", plan=plan, random_state=0, on_event=seen.append).fit_pu(P, U)
    nets = (clf.model_.backend, *clf.model_.others)
    assert (len(nets), [each.epoch for each in clf.history_]) == (3, [1, 2, 3, 4, 5, 6])
    assert [(step.done, step.total) for step in seen] == [(i, 6) for i in range(1, 7)]
    assert (clf.scores_p_.size, clf.scores_u_.size) == (len(P), len(U))
    mean = np.mean([net.scores(U) for net in nets], axis=0)
    np.testing.assert_allclose(clf.model_.scores(U), mean, atol=1e-6)
    evidence, found = clf.evidence_, clf.estimate_
    assert (evidence.crossfitted, found.method) == (True, "overlap")
    own = alpha_posterior(evidence.tails, effective=evidence.effective)
    assert clf.alpha_ == (1.0 if found.has_no_signal else own.median)


def test_groups_are_held_out_whole_by_each_net():
    groups = np.repeat(np.arange((len(P) + len(U)) // 4), 4)
    plan = replace(SHORT, warm=1, epochs=1, nets=2)
    clf = tb.TEDnClassifier("fast", plan=plan).fit_pu(P, U, groups=groups)
    found = np.concatenate([clf.evidence_.groups_p, clf.evidence_.groups_u])
    _, sizes = np.unique(found, return_counts=True)
    np.testing.assert_array_equal(sizes, np.full(len(groups) // 4, 4))


def test_turns_are_for_learners_that_estimate_alpha_or_as_the_plan_says():
    kinds = (("tedn", "fast", 10_000, 3), ("tedn", "fast", 10_001, 1), ("cvir", "fast", 9, 1),
             ("tedn", "mlp", 9, 1))  # fmt: skip
    for name, net, rows, nets in kinds:
        assert NetPlan().turns(LEARNERS[name], NETS[net], rows) == nets
    assert NetPlan(nets=2).turns(LEARNERS["cvir"], NETS["mlp"], 10**6) == 2
    with pytest.raises(InputError, match="nets"):
        NetPlan(nets=0).turns(LEARNERS["tedn"], NETS["fast"], 9)


def test_nets_that_took_turns_are_saved_and_loaded(tmp_path):
    plan = replace(SHORT, warm=1, epochs=1, nets=2)
    clf = tb.TEDnClassifier("fast", plan=plan).fit_pu(P, U)
    tb.save(clf, tmp_path / "m")
    np.testing.assert_array_equal(tb.load(tmp_path / "m").predict_proba(U), clf.predict_proba(U))


def test_no_net_begins_after_the_time_limit():
    clf = tb.TEDnClassifier("fast", plan=SHORT, time_limit=1e-9).fit_pu(P, U)
    assert len(clf.history_) == 1
    assert clf.model_.others == ()
