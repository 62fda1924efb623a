"""Run folders damaged, forged or in odd places: a code and a sentence, never a traceback."""

import errno
import json
import os
import resource

import pandas as pd
import pytest
from asked import asked
from claims import claims, small_run
from click.testing import CliRunner
from coded import fails
from stored import forge_result, result_of

import topbin as tb
from topbin.cli import main
from topbin.core import atomic as folders
from topbin.core.atomic import write_text
from topbin.job.audits.draw import draw_audit
from topbin.job.audits.judge import read_audit
from topbin.job.files import write_report
from topbin.store.runs import open_run, read_asked, read_events, read_result


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "run")


def change(path, edit):
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def call(*args):
    found = CliRunner().invoke(main, [str(arg) for arg in args])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


def test_one_changed_digit_of_a_result_is_noticed(run):
    text = (run / "result.json").read_text()
    alpha = json.loads(text)["estimate"]["alpha"]
    (run / "result.json").write_text(text.replace(repr(alpha), repr(alpha / 2), 1))
    for verb in (["inspect", run], ["report", run], ["audit", run]):
        found = call(*verb)
        assert found.exit_code == 1
        assert found.stderr.startswith("TB114"), found.stderr
        assert "its sum differs" in found.stderr


def test_a_result_without_a_sum_is_of_an_earlier_version_and_is_read(run):
    change(run / "result.json", lambda result: result.pop("sum"))
    assert result_of(run)["data"]["n_p"] > 0


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda r: r.pop("candidates"), "missing required field `candidates`"),
        (lambda r: r.update(estimate=[]), "Expected `object`, got `array` - at `$.estimate`"),
        (lambda r: r["estimate"].update(alpha="0.5"), "$.estimate.alpha"),
        (lambda r: r["estimate"].update(alarms=[{"code": 1}]), "$.estimate.alarms[0]"),
        (lambda r: r["data"].pop("findings"), "missing required field `findings`"),
        (lambda r: r.update(methods={"a": 1}), "$.methods"),
        (lambda r: r.update(model={}), "missing required field `class`"),
        (lambda r: r.update(audit={"verdict": "x"}), "$.audit"),
    ],
)
def test_a_result_with_missing_or_mistyped_fields_is_said(run, edit, words):
    change(run / "result.json", edit)
    with fails("TB114", "does not fit its schema", words):
        tb.load(run)
    assert call("inspect", run).stderr.startswith("TB114")


def test_candidates_that_were_edited_or_damaged_are_noticed(run):
    write_report(run)
    assert "is not as the run wrote it" not in (run / "report.html").read_text()
    rows = pd.read_csv(run / "candidates.csv").assign(is_positive="yes")
    rows.to_csv(run / "candidates.csv", index=False)
    write_report(run)
    assert "candidates.csv is not as the run wrote it" in (run / "report.html").read_text()
    (run / "candidates.csv").unlink()
    assert call("report", run).stderr.startswith("TB101")
    (run / "candidates.csv").symlink_to("/etc/hostname")
    assert "out of its folder" in call("report", run).stderr


@pytest.mark.parametrize(
    "text",
    [
        "seed = 'x'",
        "source = 3",
        "source = [1]",
        "drop = 'a'",
        "label = []",
        "seed = 0",
        "[source]",
    ],
)
def test_settings_with_missing_or_mistyped_fields_are_said(run, tmp_path, text):
    (run / "unlabeled.parquet").unlink()
    (run / "run.toml").write_text(text)
    with fails("TB114", "run.toml"):
        draw_audit(run, 5, tmp_path / "a.csv")


@pytest.mark.parametrize(
    "edit",
    [
        lambda draw: draw.pop("rows"),
        lambda draw: draw.update(rows="many"),
        lambda draw: draw.update(stratum=[10**9] * len(draw["rows"])),
        lambda draw: draw.update(sizes=[]),
        lambda draw: draw.update(row=draw["row"][1:]),
        lambda draw: draw.update(seed=None),
        lambda draw: draw.update(rows=[10**30] * len(draw["rows"])),
    ],
)
def test_draws_with_missing_or_mistyped_fields_are_said(run, tmp_path, edit):
    draw_audit(run, 5, tmp_path / "a.csv")
    change(run / "audit.json", lambda stored: edit(stored["draws"][0]))
    with fails("TB114", "does not say which rows were drawn"):
        read_audit(run, tmp_path / "a.csv")


def test_events_that_are_no_text_can_be_cut(tmp_path):
    with open_run(tmp_path / "r", asked(seed=0)) as run:
        run.log({"event": 1})
    with (tmp_path / "r" / "events.jsonl").open("ab") as handle:
        handle.write(b"\xff\xfe\n\xff")
    with fails("TB114", "line 2"):
        read_events(tmp_path / "r" / "events.jsonl")
    with open_run(tmp_path / "r", asked(seed=0), resume=True):
        pass


@pytest.mark.parametrize("name", ["result.json", "run.toml", "events.jsonl", "audit.json"])
def test_pipes_and_links_in_a_run_are_refused(run, tmp_path, name):
    (run / name).unlink(missing_ok=True)
    read = {"result.json": read_result, "run.toml": read_asked}.get(
        name, lambda run: read_events(run / name)
    )
    if name == "audit.json":
        read = lambda run: draw_audit(run, 5, tmp_path / "a.csv")  # noqa: E731
    os.mkfifo(run / name)
    with fails("TB114", "not a regular file"):
        read(run)
    (run / name).unlink()
    (run / name).symlink_to("/dev/zero")
    with fails("TB114", "out of its folder"):
        read(run)


def test_a_model_that_loads_and_cannot_score_is_said(run, tmp_path):
    from forge import forge_json

    def spoil(description):
        description["model"]["$face"][2]["model_"] = None
        return description

    forge_json(run / "model", "model.json", spoil)
    claims(20).to_csv(tmp_path / "new.csv", index=False)
    found = call("score", run, tmp_path / "new.csv", "-o", tmp_path / "scored.csv")
    assert found.stderr.startswith("TB110")
    assert not (tmp_path / "scored.csv").exists()


# Places


LONG = "n" * 256


def test_names_above_255_bytes_are_said(run, tmp_path):
    with fails("TB105", "the name is too long"):
        write_text(tmp_path / LONG, "x")
    with fails("TB105", "the name is too long"), open_run(tmp_path / LONG, asked(seed=0)):
        pass
    with fails("TB110", "too long"):
        tb.load(tmp_path / LONG)
    with fails("TB105", "the name is too long"):
        tb.save(tb.PvUClassifier(), tmp_path / LONG)
    with fails("TB105", "the name is too long"):
        draw_audit(run, 5, tmp_path / f"{LONG}.csv")
    for verb in ("inspect", "report", "audit"):
        assert call(verb, tmp_path / LONG).stderr.startswith("TB1")
    with fails("TB102", "too long"):
        tb.fit(tmp_path / f"{LONG}.csv", "y")
    with fails("TB102", "too long"):
        tb.fit(claims(20), positives=str(tmp_path / f"{LONG}.csv"))


def test_a_folder_that_may_not_be_searched_is_said(run, monkeypatch):
    def refuse(path, *given, **named):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(folders.os, "stat", refuse)
    with fails("TB110", "Permission denied"):
        tb.load(run / "model")
    with fails("TB114", "Permission denied"):
        result_of(run)
    with fails("TB102", "Permission denied"):
        tb.fit(run / "a.csv", "y")


def test_a_full_disk_while_a_result_is_replaced_leaves_the_old_one(run):
    result, before = result_of(run), (run / "result.json").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with fails("TB105", "larger than allowed"):
            forge_result(run, result)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (run / "result.json").read_bytes() == before
