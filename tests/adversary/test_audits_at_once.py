"""Draws are never lost: not when audits run at once, nor when one is killed between its files."""

import json
import os
import time

import pandas as pd
import pytest
import warm
from claims import draw_when_all_are_ready, small_run
from coded import fails

from topbin.core.atomic import lock
from topbin.job.audits import draw as drawing
from topbin.job.audits.draw import draw_audit
from topbin.job.audits.judge import read_audit


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "run")


def draws(run):
    return json.loads((run / "audit.json").read_text())["draws"]


def test_audits_drawn_at_once_are_all_kept(run, tmp_path):
    ready = warm.CONTEXT.Barrier(3)
    started = [
        warm.begin(
            draw_when_all_are_ready, ready, run, tmp_path / f"{seed}.csv", seed,
            said=tmp_path / f"{seed}.txt",
        )
        for seed in range(3)
    ]  # fmt: skip
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [0] * 3
    assert sorted(draw["seed"] for draw in draws(run)) == [0, 1, 2]
    for seed in range(3):
        path = tmp_path / f"{seed}.csv"
        pd.read_csv(path).assign(is_positive="no").to_csv(path, index=False)
        assert read_audit(run, path).n == 10 * (seed + 1)  # they add up


def test_a_draw_that_dies_between_its_files_can_still_come_back(run, tmp_path, monkeypatch):
    written = []

    def die(path, *given, **named):
        written.append(path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(drawing, "write_table", die)
        with pytest.raises(KeyboardInterrupt):
            draw_audit(run, 10, tmp_path / "a.csv")
    assert written
    assert len(draws(run)) == 1  # the draw is known before its file can be seen
    draw_audit(run, 10, tmp_path / "a.csv")
    assert len(draws(run)) == 1


def test_an_existing_file_leaves_the_draws_alone(run, tmp_path):
    (tmp_path / "a.csv").write_text("mine")
    with fails("TB104"):
        draw_audit(run, 10, tmp_path / "a.csv")
    assert not (run / "audit.json").exists()


def test_an_audit_waits_for_another_and_says_so_in_the_end(run, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "WAIT", 0.3)
    begun = time.monotonic()
    with lock(run), fails("TB107", "another run"):
        draw_audit(run, 10, tmp_path / "a.csv")
    assert time.monotonic() - begun >= 0.3


def test_answers_that_cannot_be_shown_change_nothing(run, tmp_path):
    draw_audit(run, 10, tmp_path / "a.csv")
    pd.read_csv(tmp_path / "a.csv").assign(is_positive="no").to_csv(tmp_path / "a.csv", index=False)
    before = {name: (run / name).read_bytes() for name in ("result.json", "report.html")}
    os.replace(run / "candidates.csv", tmp_path / "candidates.csv")
    with fails("TB101"):
        read_audit(run, tmp_path / "a.csv")
    assert before == {name: (run / name).read_bytes() for name in before}
    os.replace(tmp_path / "candidates.csv", run / "candidates.csv")
    assert read_audit(run, tmp_path / "a.csv").n_negative == 10
