"""Steps of a run on the disk: whole or absent, and only those of the very same job."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from asked import asked
from stored import forge_result

from topbin.job import checkpoints as module
from topbin.job.checkpoints import SavedSteps, open_steps, read_finished, remove_steps, steps_key
from topbin.job.fit import fit_prepared
from topbin.job.prepare import prepare
from topbin.learn import Plan
from topbin.learn.defaults import PRESETS
from topbin.show.screen import summarize
from topbin.store.runs import STAGES, RunFolder, read_result

SETTINGS = {"seed": 0, "preset": "fast", "label": "known"}
SMALL = Plan(outer=2, inner=2, repeats=2)
FIRST = [f"pvu-0-{k}" for k in range(4)]


def frame(shift=0.0):
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(3, 1, (60, 2)), rng.normal(shift, 1, (60, 2))]
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "known": (np.arange(120) < 30).astype(int)})


def prepared(shift=0.0, **more):
    return prepare(asked(frame(shift), "known", preset="fast", **more))


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setitem(PRESETS, "fast", SMALL)


def test_the_name_of_a_job_depends_on_rows_settings_and_versions(monkeypatch):
    data = prepared()
    names = {steps_key(data), steps_key(prepared(0.1)), steps_key(prepared(seed=1))}
    assert steps_key(prepared(time_limit=5)) in names  # which changes no step
    monkeypatch.setattr(module, "packages", lambda _: {"numpy": "0"})
    names.add(steps_key(data))
    assert len(names) == 4
    monkeypatch.undo()
    assert steps_key(prepared()) in names


def test_steps_of_another_job_and_halves_are_removed(tmp_path):
    run = RunFolder(tmp_path)
    steps = open_steps(run, prepared())
    assert len(steps) == 0
    (tmp_path / STAGES / "other" / "first").mkdir(parents=True)
    (steps.folder / ".tedn-0-0.abc.part").mkdir(parents=True)
    assert list(open_steps(run, prepared())) == []
    assert list((tmp_path / STAGES).iterdir()) == [steps.folder]
    remove_steps(run)
    assert not (tmp_path / STAGES).exists()
    remove_steps(run)


def test_a_job_goes_on_from_any_number_of_steps_to_the_same_bits(tmp_path, fast):
    done = {}
    whole = fit_prepared(prepared(), memory=done)
    assert sorted(done) == [*FIRST, *(f"tedn-{r}-{k}" for r in range(2) for k in range(3))]
    names = sorted(done)
    for count in (1, 4, 6, 10):
        steps = SavedSteps(tmp_path / str(count))
        for name in names[:count]:
            steps[name] = done[name]
        again = fit_prepared(prepared(), memory=steps)
        assert again.to_dict() == whole.to_dict()
        assert list(steps) == names
        np.testing.assert_array_equal(again.probabilities, whole.probabilities)
        np.testing.assert_array_equal(
            again.classifier.predict_proba(again.data.X),
            whole.classifier.predict_proba(again.data.X),
        )
    assert whole.classifier.memory is None


def test_steps_that_are_there_are_not_done_again(fast, monkeypatch):
    done = {}
    fit_prepared(prepared(), memory=done)

    def again(*_, **__):
        pytest.fail("a step was done again")

    monkeypatch.setattr(sys.modules["topbin.learn.crossfit"], "run_chain", again)
    fit_prepared(prepared(), memory=done)


def test_only_models_that_score_new_rows_or_explain_are_kept(fast):
    done = {}
    fit_prepared(prepared(), memory=done)
    kept = [name for name, step in done.items() if step.models]
    assert kept == ["pvu-0-3", "tedn-0-0", "tedn-0-1", "tedn-0-2", "tedn-1-2"]


def test_a_damaged_step_is_done_again(tmp_path, fast):
    steps = SavedSteps(tmp_path)
    whole = fit_prepared(prepared(), memory=steps)
    (tmp_path / "tedn-0-1" / "arrays.npz").write_bytes(b"cut short")
    assert "tedn-0-1" not in steps
    assert fit_prepared(prepared(), memory=steps).to_dict() == whole.to_dict()
    assert "tedn-0-1" in steps
    del steps["tedn-0-1"]
    assert "tedn-0-1" not in steps


class Interrupting(dict):
    """A memory at which someone presses Ctrl-C when a step is done."""

    def __init__(self, at):
        super().__init__()
        self.at = at

    def __setitem__(self, name, step):
        super().__setitem__(name, step)
        if name == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("tedn-0-1", "interrupted after the first estimate"),
        ("tedn-0-2", "interrupted after 1 of 2 repeats"),
        ("tedn-1-0", "interrupted after 1 of 2 repeats"),
    ],
)
def test_an_interrupt_keeps_all_whole_repeats(fast, monkeypatch, at, words):
    events = []
    found = fit_prepared(prepared(), memory=Interrupting(at), tell=events.append)
    assert found.stopped == words
    assert events[-1].stage == "stopped"
    if "first" in words:
        assert found.estimate == found.first
        return
    monkeypatch.setitem(PRESETS, "fast", replace(SMALL, repeats=1))
    one = fit_prepared(prepared())
    assert found.estimate == one.estimate


@pytest.mark.parametrize("at", ["find_remedy", "random_labels_test"])
def test_an_interrupt_of_the_last_checks_keeps_the_careful_estimate(fast, monkeypatch, at):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    whole, events = fit_prepared(prepared()), []
    monkeypatch.setattr(sys.modules["topbin.job.fit"], at, interrupt)
    found = fit_prepared(prepared(), tell=events.append)
    assert found.stopped == "interrupted before the last checks"
    assert (found.estimate, events[-1].stage) == (whole.estimate, "stopped")
    assert found.summary().startswith("stopped early   interrupted before the last checks")


def test_a_job_that_was_stopped_is_not_kept_waiting_by_the_last_checks(fast, monkeypatch):
    monkeypatch.setattr(sys.modules["topbin.job.fit"], "find_remedy", pytest.fail)
    assert fit_prepared(prepared(time_limit=1e-9)).stopped


def test_a_time_limit_is_told_and_what_it_cut_is_done_again(fast):
    whole = fit_prepared(prepared())
    assert whole.stopped is None
    done, events = {}, []
    short = fit_prepared(prepared(time_limit=1e-9), memory=done, tell=events.append)
    assert short.stopped == "time limit before the first of 2 repeats finished"
    assert short.summary().startswith(f"stopped early   {short.stopped}; best so far:")
    assert events[-1].stage == "stopped"
    assert list(done) == FIRST  # chains of fewer rounds than planned are not kept
    assert fit_prepared(prepared(), memory=done).to_dict() == whole.to_dict()
    again = fit_prepared(prepared(time_limit=1e-9), memory=done)  # nothing is left to do
    assert again.to_dict() == whole.to_dict()
    for name in ("tedn-1-0", "tedn-1-1"):
        del done[name]
    found = fit_prepared(prepared(time_limit=1e-9), memory=done)
    assert found.stopped == "time limit after 1 of 2 repeats"


def test_without_lightgbm_too(tmp_path, fast, monkeypatch):
    monkeypatch.setattr(sys.modules["topbin.learn.defaults"], "find_spec", lambda _: None)
    steps = SavedSteps(tmp_path)
    whole = fit_prepared(prepared(), memory=steps)
    assert "HistGradientBoostingClassifier" in (tmp_path / "tedn-1-2" / "model.json").read_text()
    del steps["tedn-1-0"]
    again = fit_prepared(prepared(), memory=steps)
    assert again.to_dict() == whole.to_dict()
    X = again.data.X
    both = (found.classifier.predict_proba(X) for found in (again, whole))
    np.testing.assert_array_equal(*both)


def test_a_run_is_finished_only_for_the_same_rows_and_versions(tmp_path, fast, monkeypatch):
    whole = fit_prepared(prepared(candidates=7))
    run = RunFolder(whole.save(tmp_path / "run"), resumed=True)
    found = read_finished(run, prepared())
    assert found == read_result(run.folder)
    assert found.estimate == whole.estimate
    assert summarize(found) == whole.summary(data=False)
    assert read_finished(RunFolder(run.folder), prepared()) is None  # a new run, which starts over
    assert read_finished(run, prepared(0.1)) is None
    forge_result(run.folder, {**whole.to_dict(), "stopped": "interrupted"})
    assert read_finished(run, prepared()) is None
    forge_result(run.folder, whole.to_dict())
    monkeypatch.setattr(module, "packages", lambda _: {"numpy": "0"})
    assert read_finished(run, prepared()) is None
