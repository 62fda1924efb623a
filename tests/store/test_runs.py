"""Run folders: refused, resumed or replaced as asked; whole after a kill; results fit a schema."""

import copy
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
from asked import asked
from coded import fails
from stored import forge_result, result_of
from whole_result import ESTIMATE, RESULT

from topbin.core import Alarm
from topbin.store.answer import Answer
from topbin.store.runs import (
    EVENTS,
    RunFolder,
    open_run,
    read_asked,
    read_events,
)

SETTINGS = asked(["büro/a.csv"], "is_fraud", drop=["x"], seed=3)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_run_leaves_its_files(tmp_path):
    with open_run(tmp_path / "ü 1", SETTINGS) as run:
        assert not run.resumed
        run.log({"event": "start", "alpha": np.float64(0.5)})
        forge_result(run.folder, RESULT)
        assert ".lock" in names(run.folder)
    assert names(tmp_path / "ü 1") == ["events.jsonl", "result.json", "run.toml"]
    assert read_asked(tmp_path / "ü 1").settings() == SETTINGS.settings()
    assert result_of(tmp_path / "ü 1")["estimate"]["alpha"] == ESTIMATE["alpha"]
    assert read_events(tmp_path / "ü 1" / "events.jsonl") == [{"event": "start", "alpha": 0.5}]


def test_a_second_run_is_refused_unless_forced(tmp_path):
    with open_run(tmp_path / "r", SETTINGS) as run:
        run.log({"event": "start"})
        (run.folder / "model").mkdir()
        (run.folder / "notes.txt").write_text("mine")
    with fails("TB104", "there already", "force=True"), open_run(tmp_path / "r", SETTINGS):
        pass
    with open_run(tmp_path / "r", asked(seed=1), force=True) as run:
        assert read_events(run.folder / EVENTS) == []
    assert read_asked(tmp_path / "r").settings() == {"seed": 1}
    assert names(tmp_path / "r") == ["notes.txt", "run.toml"]


def test_a_folder_of_other_files_is_never_touched(tmp_path):
    (tmp_path / "thesis.doc").write_text("years of work")
    for force in (False, True):
        with fails("TB104", "holds other files (thesis.doc)"):  # noqa: SIM117
            with open_run(tmp_path, SETTINGS, force=force):
                pass
    (tmp_path / "file").write_text("x")
    with fails("TB104", "the file"), open_run(tmp_path / "file", SETTINGS, force=True):
        pass
    assert names(tmp_path) == ["file", "thesis.doc"]


def test_an_empty_folder_and_what_a_killed_start_leaves_are_fine(tmp_path):
    (tmp_path / ".run.toml.0123.part").write_text("see")
    (tmp_path / ".lock").touch()
    with open_run(tmp_path, SETTINGS):
        pass
    assert names(tmp_path) == ["run.toml"]


def test_two_runs_into_one_folder(tmp_path):
    with open_run(tmp_path, SETTINGS):
        for asked in ({"force": True}, {"resume": True}, {}):
            with fails("TB107", "another run"), open_run(tmp_path, SETTINGS, **asked):
                pass


def test_a_disk_that_takes_nothing(tmp_path):
    (tmp_path / "file").touch()
    with fails("TB105", "a part of the path is a file"):  # noqa: SIM117
        with open_run(tmp_path / "file" / "run", SETTINGS):
            pass


def test_resume_wants_a_run_and_the_same_settings(tmp_path):
    with fails("TB114", "no run in", "leave out resume="):  # noqa: SIM117
        with open_run(tmp_path / "r", SETTINGS, resume=True):
            pass
    assert names(tmp_path) == []
    with open_run(tmp_path / "r", SETTINGS) as run:
        run.log({"event": 1})
    with open_run(tmp_path / "r", SETTINGS, resume=True) as run:
        assert run.resumed
        run.log({"event": 2})
        assert read_events(run.folder / EVENTS) == [{"event": 1}, {"event": 2}]
    other = asked(["büro/a.csv"], "fraud", drop=["x"], seed=3)
    with fails("TB114", "label = 'is_fraud', now it is 'fraud'", "force=True"):  # noqa: SIM117
        with open_run(tmp_path / "r", other, resume=True):
            pass
    with fails("TB114", "seed = 3, now it is 0"):  # noqa: SIM117
        with open_run(tmp_path / "r", asked(["büro/a.csv"], "is_fraud", drop="x"), resume=True):
            pass


def test_a_torn_last_line_is_left_out_and_cut_on_resume(tmp_path):
    with open_run(tmp_path, SETTINGS) as run:
        run.log({"event": 1})
    with (tmp_path / "events.jsonl").open("ab") as handle:
        handle.write('{"event": 2, "note": "ü'.encode()[:-1])
    assert read_events(tmp_path / "events.jsonl") == [{"event": 1}]
    with open_run(tmp_path, SETTINGS, resume=True) as run:
        run.log({"event": 3})
        assert read_events(run.folder / EVENTS) == [{"event": 1}, {"event": 3}]


def test_a_whole_last_line_without_its_end_is_read(tmp_path):
    (tmp_path / "e").write_bytes(b'{"event": 1}\n{"event": 2}')
    assert read_events(tmp_path / "e") == [{"event": 1}, {"event": 2}]


def test_a_torn_line_before_the_last_is_damage(tmp_path):
    (tmp_path / "e").write_bytes(b'{"event": 1}\n{"eve\n{"event": 3}\n')
    with fails("TB114", "line 2 of", "is damaged"):
        read_events(tmp_path / "e")


def test_no_events_yet(tmp_path):
    assert read_events(tmp_path / EVENTS) == []


def test_events_survive_a_kill(tmp_path):
    code = (
        "import sys, time; from topbin.store.runs import open_run\n"
        "from topbin.core.options import Request\n"
        "with open_run(sys.argv[1], Request()) as run:\n"
        "    for i in range(5): run.log({'event': i})\n"
        "    print('logged', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "r")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "logged\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    with open_run(tmp_path / "r", asked(), resume=True) as run:
        assert read_events(run.folder / EVENTS) == [{"event": i} for i in range(5)]


def test_an_event_that_cannot_be_written(tmp_path):
    with fails("TB105", "cannot write"):
        RunFolder(tmp_path / "no").log({"event": 1})


def test_folders_that_are_no_runs(tmp_path):
    with fails("TB114", "is not a run folder: it has no run.toml"):
        read_asked(tmp_path)
    with fails("TB114", "is not a run folder: it has no result.json"):
        result_of(tmp_path)
    (tmp_path / "run.toml").write_text("seed = ")
    with fails("TB114", "run.toml", "is damaged"):
        read_asked(tmp_path)
    (tmp_path / "run.toml").write_bytes(b"\xff")
    with fails("TB114", "cannot be read"):
        read_asked(tmp_path)
    for text in ('{"schema": "topbin-res', "[]", "{}", "3"):
        (tmp_path / "result.json").write_text(text)
        with fails("TB114", "result.json", "is damaged"):
            result_of(tmp_path)


def test_a_result_of_another_form_says_so(tmp_path):
    (tmp_path / "result.json").write_text('{"schema": "topbin-result-9", "topbin": "9.0"}')
    with fails("TB112", "'topbin-result-9'", "topbin 9.0", "reads 'topbin-result-1'"):
        result_of(tmp_path)


def test_a_result_fits_its_schema(tmp_path):
    alarm = {"alarms": [vars_of(Alarm("ties", "many ties.", "up"))]}
    full = {
        **RESULT,
        "methods": [ESTIMATE | alarm],
        "audit": None,
        "notes": ["n"],
        "preset": "fast",
    }
    with open_run(tmp_path / "r", SETTINGS) as run:
        forge_result(run.folder, full)
    found = result_of(tmp_path / "r")
    assert Answer.from_dict(found).to_dict() == found
    assert found["methods"][0]["alarms"] == alarm["alarms"]


def vars_of(alarm):
    return asdict(alarm)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("estimate", "alpha"), 1.5, "Expected `float` <= 1.0 - at `$.estimate.alpha`"),
        (("estimate", "interval"), [0.1], "$.estimate.interval"),
        (("data", "hash"), "md5:1", "$.data.hash"),
        (("seed",), "zero", "Expected `int`, got `str` - at `$.seed`"),
        (("schema",), "topbin-result-2", "$.schema"),
    ],
)
def test_a_result_that_does_not_fit_is_named(tmp_path, place, value, words):
    result = copy.deepcopy({"schema": "topbin-result-1", "topbin": "0", **RESULT})
    assert Answer.from_dict(result)
    inner = result
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    forge_result(tmp_path, result)
    told = ["TB112", value] if place == ("schema",) else ["TB114", "does not fit its schema", words]
    with fails(*told):
        result_of(tmp_path)


def test_the_same_result_gives_the_same_bytes(tmp_path):
    for name in "ab":
        with open_run(tmp_path / name, SETTINGS) as run:
            forge_result(run.folder, RESULT)
    first, second = ((tmp_path / name / "result.json").read_bytes() for name in "ab")
    assert first == second
    assert json.loads(first)["schema"] == "topbin-result-1"
    assert os.path.getsize(tmp_path / "a" / "result.json") < 5000
