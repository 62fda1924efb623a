"""A `--force` that is killed at any of its steps leaves a folder that `--force` takes again."""

import os

import pytest
from asked import asked

from topbin.core import atomic
from topbin.store import runs
from topbin.store.runs import open_run, read_asked

OLD, NEW = asked(["old.csv"]), asked(["new.csv"], seed=1)


class Killed(BaseException):
    pass


def old_run(folder):
    with open_run(folder, OLD) as run:
        run.log({"event": 1})
        for name in ("candidates.csv", "report.html", "unlabeled.parquet", "result.json"):
            (folder / name).write_text("x")
        (folder / "model").mkdir()
        (folder / "model" / "model.json").write_text("{}")
        (folder / "stages" / "key").mkdir(parents=True)
    return folder


def start_over(folder, monkeypatch, steps):
    """Start over, but die before the given number of changes to the disk have been made."""
    made = []

    def counted(change):
        def step(*given, **named):
            if len(made) == steps:
                raise Killed
            made.append(given)
            return change(*given, **named)

        return step

    with monkeypatch.context() as patch:
        patch.setattr(runs, "remove", counted(atomic.remove))
        patch.setattr(atomic.os, "replace", counted(os.replace))
        try:
            with open_run(folder, NEW, force=True):
                pass
        except Killed:
            return True
    return False


@pytest.mark.parametrize("again", ["force", "resume"])
def test_it_can_be_given_again_after_a_kill_anywhere(tmp_path, monkeypatch, again):
    for steps in range(20):
        folder = old_run(tmp_path / str(steps))
        killed = start_over(folder, monkeypatch, steps)
        if not killed:
            break
        kept = read_asked(folder)  # a run, whatever happened
        settings = NEW if again == "force" else kept
        with open_run(folder, settings, **{again: True}):
            assert read_asked(folder).settings() == settings.settings()
    assert not killed
    assert steps > 5
