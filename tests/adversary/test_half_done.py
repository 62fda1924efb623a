"""A read that fails leaves a run as it was: no answer is saved before all are understood."""

import pandas as pd
import pytest
from claims import claims
from click.testing import CliRunner
from coded import fails
from received import FILE, change_settings, file_run

import topbin as tb
from topbin.cli import main
from topbin.job import files


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "page", lambda *given: "")  # the pictures are not what is tried here
    monkeypatch.chdir(tmp_path)
    made = file_run(tmp_path)
    tb.audit(made).record(dict.fromkeys(tb.audit(made).draw(3)["row"], "yes"))
    return made


def content(run):
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def call(*args):
    return CliRunner().invoke(main, ["audit", "run", *map(str, args)])


@pytest.mark.parametrize("last", ["perhaps", "yes;no", "=1+1"])
def test_one_answer_that_is_not_understood_saves_none(run, last):
    drawn = tb.audit(run).draw(6)
    answers = ["yes", "no", "?", "no", "no", last]
    drawn.assign(is_positive=answers).to_csv("filled.csv", index=False)
    before = content(run)
    for more in ([], ["--refit"], ["--force"]):
        assert call("--labels", "filled.csv", *more).stderr.startswith("TB002")
        assert content(run) == before


def test_a_question_that_cannot_be_asked_saves_no_answer(run):
    drawn = tb.audit(run).draw(6)
    drawn.assign(is_positive="no").to_csv("filled.csv", index=False)
    before = content(run)
    assert call("--labels", "filled.csv", "--recall", 7).stderr.startswith("TB008")
    assert content(run) == before


def known_positive():
    return int(claims()["known"].to_numpy().argmax()) + 1


@pytest.mark.parametrize("foreign", [known_positive(), 10**6, 2**63 - 1, 2**63, 0, -1])
def test_a_refit_checks_all_rows_before_it_saves_one(run, foreign):
    row = tb.audit(run).draw(1)["row"].tolist()[0]
    told = pd.DataFrame({"row": [row, foreign], "is_positive": ["no", "yes"]})
    told.to_csv("mixed.csv", index=False)
    before = content(run)
    assert call("--refit", "--labels", "mixed.csv").stderr.startswith("TB117")
    assert content(run) == before
    told[:1].to_csv("right.csv", index=False)
    assert call("--refit", "--labels", "right.csv").exit_code == 0  # nothing stands in its way


def test_a_refit_that_may_not_read_the_source_saves_no_answer(run):
    row = tb.audit(run).draw(1)["row"].tolist()[0]
    pd.DataFrame({"row": [row], "is_positive": ["no"]}).to_csv("new.csv", index=False)
    change_settings(run, source=["s3://bucket/x.parquet"])
    before = content(run)
    assert call("--refit", "--labels", "new.csv").stderr.startswith("TB151")
    assert content(run) == before
    assert call(FILE, "--refit", "--labels", "new.csv").exit_code == 0


@pytest.mark.parametrize("row", ["x", "7", 2.5, None, 0, -3, 2**63, 10**30])
def test_answers_are_given_by_numbers_of_rows(run, row):
    drawn = tb.audit(run).draw(2)["row"].tolist()
    before = content(run)
    with fails("TB117", "number of a row"):
        tb.audit(run).record({drawn[0]: "no", row: "yes"})
    assert content(run) == before
