"""Unfinished files of `topbin score` are gone after TERM and HUP, and after the next run."""

import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
import warm
from claims import claims, small_run
from click.testing import CliRunner

from topbin.cli import main
from topbin.core import atomic
from topbin.core.atomic import new_file, remove_stale
from topbin.data.write import write_table


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("leftovers") / "run")


def parts(folder):
    return [path.name for path in folder.iterdir() if path.name.endswith(".part")]


def stop(run, source, output, number):
    """Score in a process of its own, and signal it once it has begun to write."""
    said = run.parent / "said.txt"
    process = warm.start(["score", run, source, "-o", output], said)
    until = time.monotonic() + 120
    while not parts(output.parent) and process.is_alive() and time.monotonic() < until:
        time.sleep(0.005)
    os.kill(process.pid, number)
    process.join()
    return process.exitcode


@pytest.mark.parametrize(
    ("ending", "number"), [("csv", signal.SIGTERM), ("parquet", signal.SIGHUP)]
)
def test_nothing_unfinished_stays(run, tmp_path, ending, number):
    source = tmp_path / "in" / "new.csv"
    source.parent.mkdir()
    claims(60_000).to_csv(source, index=False)
    output = tmp_path / "out" / f"scored.{ending}"
    output.parent.mkdir()
    assert stop(run, source, output, number) == 128 + number
    assert parts(output.parent) == []
    assert stop(run, source, output, signal.SIGKILL) == -signal.SIGKILL
    assert parts(output.parent)
    claims(20).to_csv(source, index=False)
    told = ["score", run, source, "-o", output]
    assert CliRunner().invoke(main, list(map(str, told))).exit_code == 0
    assert [path.name for path in output.parent.iterdir()] == [output.name]


def test_a_signal_while_the_stage_is_made_leaves_nothing(tmp_path, monkeypatch):
    make = os.mkdir

    def told_to_stop(*args, **settings):
        make(*args, **settings)
        raise SystemExit(128 + signal.SIGHUP)

    with monkeypatch.context() as patched:
        patched.setattr(os, "mkdir", told_to_stop)
        with pytest.raises(SystemExit):
            write_table(tmp_path / "x.parquet", pd.DataFrame({"a": [1]}))
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_is_alive_keeps_its_part(tmp_path):
    target = tmp_path / "x.csv"
    with new_file(target) as part:
        part.write_text("half")
        remove_stale(target)
        assert part.exists()
    assert target.read_text() == "half"


def test_parts_of_other_files_and_other_machines_stay(tmp_path, monkeypatch):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    monkeypatch.setattr(atomic.os, "getpid", lambda: dead.pid)
    here, other = (atomic._beside(tmp_path / name) for name in ("x.csv", "y.csv"))
    monkeypatch.setattr(atomic, "_host", lambda: "0" * 8)
    elsewhere = atomic._beside(tmp_path / "x.csv")
    monkeypatch.undo()
    for path in (here, other, elsewhere):
        path.touch()
    remove_stale(tmp_path / "x.csv")
    assert sorted(os.listdir(tmp_path)) == sorted([other.name, elsewhere.name])
