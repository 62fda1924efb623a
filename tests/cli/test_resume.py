"""A run that is killed or interrupted, anywhere, goes on to the answer of one that was not."""

import json
import os
import re
import shutil
import signal
import time

import numpy as np
import pandas as pd
import pytest
import warm
from click.testing import CliRunner
from quick_plans import quick_plans

from topbin.cli import main

SAMPLE = "--sample", "200"
pytestmark = pytest.mark.usefixtures("quick_fits")


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
    """Start a run in a process of its own and signal it at an event, or once a file is there."""
    return stop_command(arguments(table, run, *more), run, reached, with_signal)


def stop_command(command, run, reached, with_signal):
    said, at_event = run.with_suffix(".txt"), isinstance(reached, tuple)
    at = {"event": reached, "number": with_signal} if at_event else {}
    process = warm.start(command, said, **at, within=quick_plans)
    until = time.monotonic() + 120
    while not at_event and not (run / reached).exists() and time.monotonic() < until:
        time.sleep(0.005)
    if not at_event:
        os.kill(process.pid, with_signal)
    process.join(120)
    return process.exitcode, said.read_text()


@pytest.mark.parametrize("question", ["by group", "known classes"])
def test_more_than_one_number_is_the_same_after_a_kill(table, tmp_path, question):
    """α of groups, and shares of known classes and of none of them."""
    frame = pd.read_csv(table)
    frame["site"] = np.where(np.arange(240) % 3, "north", "south")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame[:120].drop(columns="known").to_csv(tmp_path / "old.csv", index=False)
    frame[120:].drop(columns=["known", "site"]).to_csv(tmp_path / "new.csv", index=False)

    def command(run):
        if question == "by group":
            return [*arguments(tmp_path / "t.csv", run), "--by", "site"]
        rows = ["--classes", "site", "--unlabeled", str(tmp_path / "new.csv")]
        return ["fit", str(tmp_path / "old.csv"), *rows, "--preset", "fast", "-o", str(run)]

    assert call(*command(tmp_path / "whole")).exit_code == 0
    ended, _ = stop_command(
        command(tmp_path / "run"), tmp_path / "run", ("refine", 1), signal.SIGKILL
    )
    assert ended == -signal.SIGKILL
    done = call(*command(tmp_path / "run"), "--resume")
    assert done.exit_code == 0, done.output
    for name in ("result.json", "candidates.csv", "report.html"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


POINTS = {
    "before the first estimate": ("run.toml", "nothing|a part of"),
    "after the first estimate": (("first", 0), "the first estimate"),
    "after one step": (("refine", 1), "the first estimate and "),
    "after three steps": (("refine", 3), "the first estimate and "),
    "while files are written": ("model", "and 4 steps"),
}


@pytest.mark.parametrize("point", POINTS)
def test_killed_here_it_goes_on_to_the_same_answer(table, whole, tmp_path, point):
    reached, kept = POINTS[point]
    ended, _ = stop(table, tmp_path / "run", reached, signal.SIGKILL)
    assert ended == -signal.SIGKILL
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


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """A larger table, and the folder of a run on a sample of it that nothing stopped."""
    folder = tmp_path_factory.mktemp("sampled")
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(60, bool), rng.random(2000) < 0.3]
    frame = pd.DataFrame(rng.normal(size=(y.size, 2)) + 3 * y[:, None], columns=["a", "b"])
    frame.assign(known=np.arange(y.size) < 60).to_csv(folder / "t.csv", index=False)
    (folder / "whole").mkdir()
    assert call(*arguments(folder / "t.csv", folder / "whole/run", *SAMPLE)).exit_code == 0
    return folder / "t.csv", folder / "whole/run"


# After its fourth step, a sampled run is at the pass over all rows.
@pytest.mark.parametrize("reached", [("first", 0), ("refine", 2), ("refine", 4)])
def test_a_sampled_run_goes_on_to_the_same_answer(sampled, tmp_path, reached):
    (table, whole), run = sampled, tmp_path / "run"
    ended, _ = stop(table, run, reached, signal.SIGKILL, *SAMPLE)
    assert ended == -signal.SIGKILL
    assert not (run / "result.json").exists()
    done = call(*arguments(table, run, *SAMPLE, "--resume"))
    assert done.exit_code == 0, done.output
    assert "kept            the first estimate" in done.stdout
    for name in ("result.json", "candidates.csv", "report.html"):
        assert (run / name).read_bytes() == (whole / name).read_bytes()
    assert not (run / "stages").exists()
    again = call(*arguments(table, run, *SAMPLE, "--resume"))
    assert "everything: the run was complete" in again.stdout
    assert "trained on 200 of 2,000 unlabeled rows" in again.stdout


def test_ctrl_c_keeps_the_best_so_far_says_so_and_can_go_on(table, whole, tmp_path):
    run = tmp_path / "run"
    ended, said = stop(table, run, ("refine", 1), signal.SIGINT)
    assert ended == 0
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


def test_a_complete_run_is_left_as_it_is_its_audit_included(table, whole, tmp_path):
    run = shutil.copytree(table.parent / "whole", tmp_path / "run")
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
