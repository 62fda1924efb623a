"""Every unlabeled row has a probability on the disk, and a list can grow without another fit."""

import json

import numpy as np
import pandas as pd
import pytest
from claims import claims, fitted, small_run
from click.testing import CliRunner
from coded import fails
from stored import result_of

import topbin as tb
from topbin.cli import main
from topbin.core.atomic import lock
from topbin.job.audits.draw import draw_audit
from topbin.job.audits.judge import read_audit
from topbin.job.files import list_rows, write_report
from topbin.store.runs import PROBABILITIES


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "run")


def call(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_every_unlabeled_row_has_its_probability(run):
    rows = pd.read_parquet(run / PROBABILITIES)
    assert list(rows) == ["row", "probability", "case"]
    unlabeled = claims()[~claims()["known"]]
    assert rows["case"].tolist() == unlabeled["case"].tolist()
    assert (claims()["case"][rows["row"] - 1].tolist()) == rows["case"].tolist()
    assert rows["probability"].tolist() == fitted().probabilities.tolist()
    listed = pd.read_csv(run / "candidates.csv")
    likely = rows.set_index("row")["probability"][listed["row"]].round(4)
    np.testing.assert_allclose(likely, listed["probability"], atol=1e-4)


def test_after_an_audit_all_probabilities_are_those_of_the_answers(run, tmp_path):
    before = pd.read_parquet(run / PROBABILITIES)
    draw_audit(run, 60, tmp_path / "a.csv")
    frame = pd.read_csv(tmp_path / "a.csv").assign(is_positive="no")
    frame.to_csv(tmp_path / "a.csv", index=False)
    read_audit(run, tmp_path / "a.csv")
    after = pd.read_parquet(run / PROBABILITIES)
    assert after["row"].tolist() == before["row"].tolist()
    assert after["probability"].sum() < before["probability"].sum()
    listed = pd.read_csv(run / "candidates.csv")
    likely = after.set_index("row")["probability"][listed["row"]]
    np.testing.assert_allclose(likely, listed["probability"], atol=1e-4)


@pytest.mark.parametrize("n", [7, 150, 10**6])
def test_a_list_of_any_length_without_another_fit(run, monkeypatch, n):
    monkeypatch.setattr(tb.TEDnClassifier, "fit", None)
    before = pd.read_csv(run / "candidates.csv")
    done = call("report", run, "--candidates", n)
    assert done.exit_code == 0, done.output
    after = pd.read_csv(run / "candidates.csv")
    rows = min(n, fitted().estimate.n_u)
    assert len(after) == rows == result_of(run)["candidates"]["rows"]
    assert list(after) == list(before)
    both = min(rows, len(before))
    pd.testing.assert_frame_equal(after[:both], before[:both], check_dtype=False)
    expected = fitted().candidates(n)
    assert after["row"].tolist() == (expected.index + 1).tolist()
    assert after["probability"].tolist() == expected["probability"].tolist()
    assert result_of(run)["candidates"]["precision"] == pytest.approx(fitted().picked(n).precision)
    assert "not as the run wrote it" not in (run / "report.html").read_text()


def test_the_list_can_be_audited_afterwards(run, tmp_path):
    list_rows(run, 120)
    draw_audit(run, 30, tmp_path / "a.csv")
    frame = pd.read_csv(tmp_path / "a.csv").assign(is_positive=["yes", "no"] * 15)
    frame.to_csv(tmp_path / "a.csv", index=False)
    read_audit(run, tmp_path / "a.csv")
    likely = pd.read_csv(run / "candidates.csv")["probability"]
    assert len(likely) == 120
    assert likely.is_monotonic_decreasing


def test_a_report_waits_for_whoever_writes_the_run(run, monkeypatch):
    monkeypatch.setattr("topbin.job.files.WAIT", 0.01)
    monkeypatch.setattr("topbin.core.atomic.HANDOVER", 0.01)
    with lock(run), fails("TB107", str(run)):
        write_report(run)


def test_columns_that_are_called_like_reasons_stay_as_they_are(tmp_path):
    frame = claims(300).assign(reason_1=np.arange(300) % 5, reason_for=np.arange(300) % 7)
    result = tb.fit(frame, "known", id="case", budget="fast", candidates=5)
    run = result.save(tmp_path / "run")
    list_rows(run, 40)
    after = pd.read_csv(run / "candidates.csv")
    for name in ("reason_1", "reason_for"):
        assert after[name].tolist() == frame[name][after["row"] - 1].tolist()
    assert after["reason_1_"].notna().sum() == 5


def test_a_longer_list_keeps_the_names_of_near_positives(run):
    listed = pd.read_csv(run / "candidates.csv")
    listed.assign(nearest_1="row 7").to_csv(run / "candidates.csv", index=False)
    list_rows(run, len(listed) + 20)
    near = pd.read_csv(run / "candidates.csv")["nearest_1"]
    assert (near[: len(listed)] == "row 7").all()
    assert near[len(listed) :].isna().all()


def test_a_list_from_files_reads_them_again(tmp_path):
    claims(300).to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "--label", "known", "--preset", "fast", "--candidates", 5]
    assert call(*words, "-o", tmp_path / "run").exit_code == 0
    assert list_rows(tmp_path / "run", 50).rows == 50
    rows = pd.read_csv(tmp_path / "run/candidates.csv")
    assert claims(300)["case"][rows["row"] - 1].tolist() == rows["case"].tolist()
    claims(300, seed=1).to_csv(tmp_path / "t.csv", index=False)
    before = (tmp_path / "run/candidates.csv").read_bytes()
    with fails("TB117", "has changed since the run"):
        list_rows(tmp_path / "run", 60)
    assert (tmp_path / "run/candidates.csv").read_bytes() == before


def test_a_run_on_a_sample_says_how_to_get_others(tmp_path):
    claims(900).to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "--label", "known", "--preset", "fast", "--sample", 100]
    assert call(*words, "-o", tmp_path / "run").exit_code == 0
    assert not (tmp_path / "run" / PROBABILITIES).exists()
    with fails("TB117", "fitted on a sample", "topbin score"):
        list_rows(tmp_path / "run", 10)


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_a_number_of_rows_is_checked(run, n):
    with fails("TB008", "n must be a whole number"):
        list_rows(run, n)


def test_without_a_number_no_more_rows_are_listed_than_can_be_positive(run):
    high = fitted().estimate.interval[1]
    most = int(np.ceil(high * fitted().estimate.n_u))
    stored = json.loads((run / "result.json").read_text())["candidates"]
    assert stored["rows"] == min(100, max(10, most))
    few = tb.fit(claims(200), "known", id="case", budget="fast")
    can_be = int(np.ceil(few.estimate.interval[1] * few.estimate.n_u))
    assert len(few.candidates()) == min(100, max(10, can_be)) < 100
    assert ", as many as can be positive" in few.summary()
    asked = tb.fit(claims(200), "known", id="case", budget="fast", candidates=100)
    assert len(asked.candidates()) == 100  # whoever asks for more gets more
