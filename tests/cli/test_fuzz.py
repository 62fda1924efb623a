"""No table, label column or option ends in a traceback: an answer, or a coded sentence."""

import re
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from random_tables import jobs

from topbin.cli import main
from topbin.job import files
from topbin.job.fit import fit
from topbin.learn import Plan
from topbin.learn.defaults import PRESETS

TINY = Plan(outer=2, inner=2, repeats=1, rounds=1)
CODED = re.compile(r"TB\d{3} \S|Usage: ")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setitem(fit.__globals__, "FIRST", Plan(outer=2, inner=1, warm=0, rounds=1))
    monkeypatch.setitem(PRESETS, "fast", TINY)
    monkeypatch.setattr(files, "page", lambda *_: "drawing it takes most of a small run's time")


def call(*arguments):
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in (0, 1, 2, 3)
    if done.exit_code in (1, 2):
        assert CODED.match(done.stderr), done.stderr
    return done.exit_code


def write(frame, path):
    """As pandas writes it; a frame that a format cannot hold is written as another."""
    try:
        if path.suffix == ".parquet":
            frame.to_parquet(path)
        elif path.suffix == ".jsonl":
            frame.to_json(path, orient="records", lines=True, date_format="iso")
        else:
            frame.to_csv(path, index=False)
    except (ValueError, TypeError, OverflowError, UnicodeEncodeError):
        path.write_bytes(b"not to be written")
    return path


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(jobs(), st.sampled_from([".csv", ".parquet", ".jsonl", ".tsv"]))
def test_it_ends_in_an_answer_or_a_coded_sentence(job, ending):
    frame, chosen = job
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, run = write(frame, folder / f"t{ending}"), folder / "run"
        status = call("fit", path, "--label", "label", "--preset", "fast", *chosen, "-o", run)
        event(f"exit {status}")
        assert (run / "result.json").exists() == (status in (0, 3))
        if status in (1, 2):
            assert not run.exists() or not list(run.glob("*.html"))
            return
        assert call("score", run, path, "-o", folder / "s.csv") == 0
        # A query in a run folder is never run, so the user gives it again.
        sql = chosen[chosen.index("--sql") :][:2] if "--sql" in chosen else []
        assert call("audit", run, "--n", 1, *sql) == 0
        assert call("inspect", run, "--json") == 0
