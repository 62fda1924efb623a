"""A run that is killed or interrupted, anywhere, goes on to the answer of one that was not."""

import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from topbin.cli import main
from topbin.store.runs import read_events


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """240 rows, quickly fitted."""
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(3, 1, (120, 2)), rng.normal(0, 1, (120, 2))]
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "known": (np.arange(240) < 60).astype(int)})
    path = tmp_path_factory.mktemp("table") / "t.csv"
    frame.to_csv(path, index=False)
    return path


def arguments(table, run, *more):
    return ["fit", str(table), "--label", "known", "--preset", "fast", "-o", str(run), *more]


def call(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def whole(table):
    """result.json of a run that nothing stopped."""
    run = table.parent / "whole"
    assert call(*arguments(table, run)).exit_code == 0
    return (run / "result.json").read_bytes()


def stop(table, run, reached, with_signal, *more):
    """Start a run in a process of its own and signal it once `reached` says so."""
    command = [sys.executable, "-m", "topbin", *arguments(table, run, *more)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not reached(run) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(with_signal)
    return process, process.communicate()


def logged(stage, done=0):
    def reached(run):
        events = read_events(run / "events.jsonl")
        return any((event["stage"], event["done"]) == (stage, done) for event in events)

    return reached


POINTS = {
    "before the first estimate": (lambda run: (run / "run.toml").exists(), "nothing|a part of"),
    "after the first estimate": (logged("first"), "the first estimate"),
    "after one step": (logged("refine", 1), "the first estimate and "),
    "after three steps": (logged("refine", 3), "the first estimate and "),
    "while files are written": (lambda run: (run / "model").exists(), "and 4 steps"),
}


@pytest.mark.parametrize("point", POINTS)
def test_killed_here_it_goes_on_to_the_same_answer(table, whole, tmp_path, point):
    reached, kept = POINTS[point]
    process, _ = stop(table, tmp_path / "run", reached, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "run" / "result.json").exists()
    assert call(*arguments(table, tmp_path / "run")).exit_code == 2  # only --resume, or --force
    done = call(*arguments(table, tmp_path / "run", "--resume"))
    assert done.exit_code == 0, done.output
    said = next(line for line in done.stdout.splitlines() if line.startswith("kept"))
    assert re.search(kept, said)
    assert (tmp_path / "run" / "result.json").read_bytes() == whole
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert left == {
        "report.html", "result.json", "candidates.csv", "probabilities.parquet", "model",
        "run.toml", "events.jsonl",
    }  # fmt: skip


def counted_twice(run):
    """Whether a sampled run has all its steps, and so is at the pass over all rows."""
    return logged("refine", 4)(run)


@pytest.mark.parametrize("reached", [logged("first"), logged("refine", 2), counted_twice])
def test_a_sampled_run_goes_on_to_the_same_answer(tmp_path, reached):
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(60, bool), rng.random(2000) < 0.3]
    frame = pd.DataFrame(rng.normal(size=(y.size, 2)) + 3 * y[:, None], columns=["a", "b"])
    frame.assign(known=np.arange(y.size) < 60).to_csv(tmp_path / "t.csv", index=False)
    sample = ["--sample", "200"]
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    assert call(*arguments(tmp_path / "t.csv", tmp_path / "whole/run", *sample)).exit_code == 0
    run = tmp_path / "killed/run"
    process, _ = stop(tmp_path / "t.csv", run, reached, signal.SIGKILL, *sample)
    assert process.returncode == -signal.SIGKILL
    assert not (run / "result.json").exists()
    done = call(*arguments(tmp_path / "t.csv", run, *sample, "--resume"))
    assert done.exit_code == 0, done.output
    assert "kept            the first estimate" in done.stdout
    for name in ("result.json", "candidates.csv", "report.html"):
        assert (run / name).read_bytes() == (tmp_path / "whole/run" / name).read_bytes()
    assert not (run / "stages").exists()
    again = call(*arguments(tmp_path / "t.csv", run, *sample, "--resume"))
    assert "everything: the run was complete" in again.stdout
    assert "trained on 200 of 2,000 unlabeled rows" in again.stdout


def test_ctrl_c_keeps_the_best_so_far_says_so_and_can_go_on(table, whole, tmp_path):
    run = tmp_path / "run"
    process, (said, _) = stop(table, run, logged("refine", 1), signal.SIGINT)
    assert process.returncode == 0
    assert "stopped early   interrupted after the first estimate; best so far:" in said
    assert "the same command with --resume" in said
    stored = json.loads((run / "result.json").read_text())
    assert stored["stopped"] == "interrupted after the first estimate"
    assert stored["estimate"] == stored["first"]
    assert "Stopped early" in (run / "report.html").read_text()
    assert call(*arguments(table, run, "--resume")).exit_code == 0
    assert (run / "result.json").read_bytes() == whole


def test_a_time_limit_is_told_and_the_run_can_go_on_without_it(table, whole, tmp_path):
    run = tmp_path / "run"
    done = call(*arguments(table, run, "--time-limit", "0.0001"))
    assert done.exit_code == 0, done.output
    words = "time limit before the first of 1 repeats finished"
    assert f"stopped early   {words}; best so far:" in done.stdout
    assert "with --resume, without --time-limit or with a larger one" in done.stdout
    assert json.loads((run / "result.json").read_text())["stopped"] == words
    assert "Stopped early" in (run / "report.html").read_text()
    done = call(*arguments(table, run, "--resume"))
    assert done.exit_code == 0, done.output
    assert "kept            the first estimate, from before" in done.stdout
    assert (run / "result.json").read_bytes() == whole
    assert "time_limit" not in (run / "run.toml").read_text()


def test_a_complete_run_is_left_as_it_is_its_audit_included(table, tmp_path):
    run = tmp_path / "run"
    call(*arguments(table, run))
    assert call("audit", run, "--n", 20).exit_code == 0
    drawn = pd.read_csv(run / "audit.csv").assign(is_positive="yes")
    drawn.to_csv(run / "audit.csv", index=False)
    assert call("audit", run, "--labels", run / "audit.csv").exit_code == 3
    before = (run / "result.json").read_bytes()
    done = call(*arguments(table, run, "--resume"))
    assert "everything: the run was complete" in done.stdout
    assert "left as it was  " in done.stdout
    assert "wrote" not in done.stdout
    assert "α = " in done.stdout
    assert (run / "result.json").read_bytes() == before


def test_other_settings_are_refused(table, whole):
    done = call(*arguments(table, table.parent / "whole", "--resume", "--seed", "1"))
    assert done.exit_code == 1
    assert done.stderr.startswith("TB114")
    assert "seed = 0, now it is 1" in done.stderr


def test_there_must_be_a_run_to_resume(table, tmp_path):
    done = call(*arguments(table, tmp_path / "none", "--resume"))
    assert done.exit_code == 1
    assert done.stderr.startswith("TB114")
    assert not (tmp_path / "none").exists()
