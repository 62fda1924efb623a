"""A run that is stopped, by kill −9 too, and resumed ends with the bits of one that was not."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
safetensors_torch = pytest.importorskip("safetensors.torch")

import interrupted_run  # noqa: E402
import warm  # noqa: E402

from topbin.core.errors import InputError  # noqa: E402
from topbin.core.estimate import Alarm, AlphaEstimate  # noqa: E402
from topbin.learn import Epoch  # noqa: E402
from topbin.learn.backends import checkpoint  # noqa: E402
from topbin.learn.backends.torch import TorchBackend  # noqa: E402
from topbin.learn.nets import Optim  # noqa: E402

TOTAL = 12


def run(path, model, *, stop_after=None, learner="tedn"):
    done, rest = interrupted_run.epochs(model, path, learner=learner, total=TOTAL)
    history = list(done)
    for epoch in rest:
        history.append(epoch)
        if len(history) == stop_after:
            break
    return history


def assert_same_bits(one, two):
    a, b = one.state(), two.state()
    assert a.net.keys() == b.net.keys()
    assert all(torch.equal(a.net[name], b.net[name]) for name in a.net)
    assert torch.equal(a.rng, b.rng)
    for slots_a, slots_b in zip(a.optimizer["state"].values(), b.optimizer["state"].values(),
                                strict=True):  # fmt: skip
        assert slots_a.keys() == slots_b.keys()
        assert all(torch.equal(torch.as_tensor(slots_a[k]), torch.as_tensor(slots_b[k]))
                   for k in slots_a)  # fmt: skip


@pytest.mark.parametrize("learner", ["tedn", "nnpu"])
@pytest.mark.parametrize("stop_after", [1, 4, 7])
def test_resumed_is_the_same_to_the_bit(tmp_path, learner, stop_after):
    whole, stopped, resumed = (interrupted_run.start(learner) for _ in range(3))
    history = run(tmp_path / "whole", whole, learner=learner)
    run(tmp_path / "run", stopped, stop_after=stop_after, learner=learner)
    assert run(tmp_path / "run", resumed, learner=learner) == history
    assert len(history) == TOTAL
    assert_same_bits(whole, resumed)


def test_killed_without_warning_and_resumed_is_the_same_to_the_bit(tmp_path):
    path = tmp_path / "run.safetensors"
    with warm.script(interrupted_run.__file__, path) as (process, lines):
        seen = [int(lines.readline()) for _ in range(3)]
        os.kill(process.pid, signal.SIGKILL)
        process.join(60)
    assert seen == [1, 2, 3]
    assert process.exitcode == -signal.SIGKILL
    resumed, whole = interrupted_run.start(), interrupted_run.start()
    there = checkpoint.load(path, interrupted_run.start())
    assert 3 <= len(there) < TOTAL
    assert run(path, resumed) == run(tmp_path / "whole", whole)
    assert_same_bits(whole, resumed)


def test_an_interrupt_inside_an_epoch_loses_only_that_epoch(tmp_path, monkeypatch):
    path = tmp_path / "run"
    stopped = interrupted_run.start()
    run(path, stopped, stop_after=3)
    monkeypatch.setattr(stopped.optimizer, "step", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run(path, stopped)
    fresh = interrupted_run.start()
    assert len(checkpoint.load(path, fresh)) == 3
    assert_same_bits(stopped, fresh)


def test_a_finished_run_has_nothing_left_to_do(tmp_path):
    path = tmp_path / "run"
    history = run(path, interrupted_run.start())
    model = interrupted_run.start()
    done, rest = interrupted_run.epochs(model, path, total=TOTAL)
    assert list(done) == history
    assert list(rest) == []


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run"
    model = interrupted_run.start()
    run(path, model, stop_after=2)
    before = path.read_bytes()

    def full(_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        checkpoint.save(path, model, [])
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


def test_every_kind_of_record_comes_back(tmp_path):
    model = interrupted_run.start()
    alarm = Alarm("ties", "many", "up")
    estimate = AlphaEstimate(
        alpha=0.3, n_p=9, n_u=9, method="bbe", cut=1.5, interval=(0.1, 0.4), upper_bound=0.5,
        confidence=0.95, alarms=(alarm,), notes=("a note",),
    )  # fmt: skip
    plain = Epoch(1, "pvu", 0.5, 0.2, 20)
    full = replace(
        plain, estimate=estimate, alpha=0.2, held_risk=0.6, settled=True, alarms=(alarm,)
    )
    checkpoint.save(tmp_path / "run", model, [plain, full])
    assert checkpoint.load(tmp_path / "run", model) == (plain, full)


def test_no_file_means_a_fresh_start(tmp_path):
    assert checkpoint.load(tmp_path / "nothing", interrupted_run.start()) == ()


def test_plain_optimiser_values_come_back(tmp_path):
    model, again = interrupted_run.start(), interrupted_run.start()
    run(tmp_path / "run", model, stop_after=1)
    first = next(iter(model.optimizer.state.values()))
    first["count"] = 3
    checkpoint.save(tmp_path / "run", model, [])
    checkpoint.load(tmp_path / "run", again)
    assert next(iter(again.optimizer.state.values()))["count"] == 3


def damaged(path: Path):
    path.write_bytes(path.read_bytes()[:-50])


def foreign(path: Path):
    safetensors_torch.save_file({"x": torch.zeros(1)}, path)


def pickled(path: Path):
    torch.save({"x": 1}, path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damaged, "TB017 .*run is not a safetensors file"),
        (pickled, "TB017 .*run is not a safetensors file"),
        (foreign, "TB017 .*run has format None; this version reads 'topbin-checkpoint-1'"),
    ],
)
def test_files_that_are_not_checkpoints(tmp_path, spoil, message):
    path = tmp_path / "run"
    run(path, interrupted_run.start(), stop_after=1)
    spoil(path)
    with pytest.raises(InputError, match=message):
        checkpoint.load(path, interrupted_run.start())


def test_another_net_or_other_settings_are_refused(tmp_path):
    path = tmp_path / "run"
    model = interrupted_run.start()
    run(path, model, stop_after=1)
    other_net = TorchBackend(torch.nn.Linear(5, 2), model.optim, batch=50)
    with pytest.raises(InputError, match=r"TB017 .* is of another net: .*differ"):
        checkpoint.load(path, other_net)
    other_rate = TorchBackend(model.net, Optim(lr=0.3), batch=50)
    with pytest.raises(InputError, match=r"TB017 .* was trained with optim = .*'lr': 0.1"):
        checkpoint.load(path, other_rate)
