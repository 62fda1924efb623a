"""Two processes train as one with the same mini-batches, and notice when one of them is gone."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import topbin as tb
from topbin.core.errors import InputError
from topbin.learn.loop import EpochLoss

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from learn import together  # noqa: E402
from torch import nn  # noqa: E402

from topbin.learn.backends.distributed import ALONE, Team, find_team  # noqa: E402
from topbin.learn.backends.torch import TorchBackend  # noqa: E402
from topbin.learn.nets import Optim  # noqa: E402

WORKER = Path(together.__file__)
PAGE = Path(__file__).parents[2] / "docs/how-to/torchrun.md"


@pytest.fixture(scope="module")
def teams(tmp_path_factory):
    """A folder with what each of two processes wrote and said, and their exit codes, by job."""
    folder = tmp_path_factory.mktemp("teams")
    with ExitStack() as stack:
        free = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in together.JOBS]
        ports = [str(each.getsockname()[1]) for each in free]
    command = [sys.executable, str(WORKER), str(folder), *ports]
    subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
    return folder, json.loads((folder / "codes.json").read_text())


@pytest.fixture(scope="module")
def pair(teams):
    """What each of two processes found."""
    folder, codes = teams[0] / "learn", teams[1]["learn"]
    for rank, code in enumerate(codes):
        assert code == 0, (folder / f"rank-{rank}.txt").read_text()
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(2)]


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """What one process finds with the same mini-batches."""
    return json.loads(json.dumps(together.learn(ALONE, tmp_path_factory.mktemp("single"))))


def of(epoch, key):
    return epoch["estimate"] and epoch["estimate"][key]


@pytest.mark.parametrize("name", [*together.EPOCHS, "resumed", "few"])
def test_two_processes_give_the_history_and_weights_of_one(pair, single, name):
    expected = single[name]
    for found in (rank[name] for rank in pair):
        np.testing.assert_allclose(found["weights"], expected["weights"], rtol=0, atol=1e-10)
        assert len(found["history"]) == len(expected["history"])
        for ours, theirs in zip(found["history"], expected["history"], strict=True):
            assert ours["loss"] == pytest.approx(theirs["loss"], abs=1e-10)
            for key in ("training_error", "n_kept", "alpha", "phase", "epoch"):
                assert ours[key] == pytest.approx(theirs[key], abs=1e-10)
            for key in ("alpha", "cut", "upper_bound"):
                assert of(ours, key) == pytest.approx(of(theirs, key), abs=1e-10)
    assert pair[0][name]["weights"] == pair[1][name]["weights"]


def test_the_clamp_is_decided_on_the_whole_mini_batch(pair, single):
    """A share alone would often have decided otherwise, so agreeing is no accident."""
    assert 0 < single["nnpu"]["clamped"] < 4 * 5
    assert all(rank["nnpu"]["differs"] > 0 for rank in pair)


def test_a_resumed_run_is_the_run_without_a_break(pair):
    assert pair[0]["resumed"]["weights"] == pair[0]["tedn"]["weights"]
    assert pair[0]["resumed"]["history"] == pair[0]["tedn"]["history"]


@pytest.mark.parametrize("job", ["die", "sleep"])
def test_a_process_that_dies_or_hangs_ends_the_others_with_a_code(teams, job):
    folder, codes = teams
    code, said = codes[job][0], (folder / job / "rank-0.txt").read_text()
    # Once the error is said, a thread of the communication library may abort the process.
    assert code in (1, -signal.SIGABRT)
    assert "TB403 another process of this training has died or does not answer" in said


def test_processes_with_different_rows_are_refused(pair):
    for rank, found in enumerate(pair):
        assert found["unlike"].startswith(f"TB403 process {rank} has ")
        assert "Give each of them all rows" in found["unlike"]


def test_the_page_s_script_gives_the_same_by_torchrun(tmp_path, monkeypatch, capsys):
    script = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    for name in ("two", "one"):
        (tmp_path / name).mkdir()
    (tmp_path / "train.py").write_text(script)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*torchrun, "--nproc-per-node", "2", str(tmp_path / "train.py")]
    done = subprocess.run(
        command, cwd=tmp_path / "two", capture_output=True, text=True, timeout=together.SECONDS
    )
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(tmp_path / "one")
    exec(script, {})
    assert done.stdout.count("alpha") == 1
    X = np.random.default_rng(1).normal(size=(50, 8))
    two, one = (tb.load(tmp_path / name / "model") for name in ("two", "one"))
    assert two.alpha_ == pytest.approx(one.alpha_, abs=1e-5)
    np.testing.assert_allclose(two.predict_proba(X), one.predict_proba(X), atol=1e-4)
    assert f"alpha {one.alpha_:.4f} after 6 epochs" in capsys.readouterr().out


@pytest.fixture
def lonely_team(monkeypatch):
    """A real process group, of one."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # which a group replaces for good
    dist.init_process_group(
        "gloo", store=dist.HashStore(), rank=0, world_size=1, timeout=timedelta(seconds=20)
    )
    yield Team()
    dist.destroy_process_group()


def test_a_team_of_one_is_one_process(lonely_team):
    assert find_team() is ALONE
    assert lonely_team.leads
    rows = torch.arange(5)
    assert lonely_team.share(rows).tolist() == lonely_team.whole(rows, 5).tolist() == rows.tolist()
    for flag in (True, False):
        assert lonely_team.any(flag) is ALONE.any(flag) is flag
    histories = [
        list(together.run("tedn", together.model_for("tedn", team)))
        for team in (ALONE, lonely_team)
    ]
    assert histories[0] == histories[1]


def test_dropout_leaves_all_processes_dealing_alike(lonely_team):
    """Random numbers drawn by the net are put back, so that shares of any size cost the same."""
    lonely_team.rank, lonely_team.leads = 1, False
    before = torch.get_rng_state()
    with lonely_team.own_randomness():
        drawn = torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(torch.rand(3), drawn)


def test_sizes_that_differ_are_an_error(lonely_team, monkeypatch):
    monkeypatch.setattr(lonely_team, "any", lambda _flag: True)
    with pytest.raises(InputError, match=r"TB403 process 0 has .* 'n_u': 4}, and not every"):
        lonely_team.check_same(n_p=3, n_u=4)


def test_running_averages_are_the_first_process_s(lonely_team):
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Linear(2, 1))
    model = TorchBackend(net, Optim(), batch=7, team=lonely_team)
    result = model.epoch(
        *(X.astype(np.float32) for X in together.DATA), together.LEARNERS["pvu"].at(None)
    )
    assert isinstance(result, EpochLoss)
    assert model.net[1].num_batches_tracked == 5


def test_a_group_that_cannot_meet_is_said(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match="TB401 WORLD_SIZE asks for several processes"):
        find_team()


def test_a_lost_answer_is_coded(lonely_team, monkeypatch):
    def lost(*_args, **_kwargs):
        raise RuntimeError("Connection closed by peer")

    monkeypatch.setattr(dist, "all_reduce", lost)
    with pytest.raises(InputError, match=r"TB403 another process .* Connection closed by peer"):
        lonely_team.any(True)


def test_without_torch_distributed_a_process_is_alone(monkeypatch):
    monkeypatch.setattr(dist, "is_available", lambda: False)
    assert find_team() is ALONE
