"""`topbin audit` from the plan to the stopping rule, as a person types it."""

import json
from html import unescape

import numpy as np
import pandas as pd
import pytest
from claims import claims, small_run
from click.testing import CliRunner
from stored import result_of

from topbin.cli import main


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "run")


def call(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def answer(path):
    drawn = pd.read_csv(path)
    drawn["is_positive"] = np.where(claims()["amount"][drawn["row"] - 1] > 1.5, "yes", "no")
    drawn.to_csv(path, index=False)


def test_a_plan_by_width_names_each_kind_and_what_it_assumes(run):
    done = call("audit", run, "--plan", "--width", 0.1, "--json")
    planned = json.loads(done.stdout)
    assert planned["anywhere"] < (planned["plain"] or 10**9)
    assert "--where anywhere" in done.stderr
    assert "if the model's probabilities are right, more if not" in done.stderr
    assert "if labeled positives are like the others" in done.stderr


def test_a_width_without_answers_is_a_plan_and_draws_nothing(run):
    done = call("audit", run, "--width", 0.1, "--json")
    assert done.exit_code == 0, done.output
    planned = json.loads(call("audit", run, "--plan", "--width", 0.1, "--json").stdout)
    assert json.loads(done.stdout) == planned
    assert not (run / "audit.csv").exists()
    assert call("audit", run, "--n", 10, "--width", 0.1).exit_code == 0
    assert len(pd.read_csv(run / "audit.csv")) == 10  # who says how many rows gets them


def test_a_plan_does_not_read_answers_back(run):
    done = call("audit", run, "--labels", run / "audit.csv", "--plan")
    assert (done.exit_code, "--labels and --plan" in done.output) == (2, True)


def test_a_plan_alone_is_for_intervals_narrower_than_now(run):
    done = call("audit", run, "--plan", "--json")
    assert done.exit_code == 0, done.output
    low, high = result_of(run)["estimate"]["interval"]
    half, quarter = json.loads(done.stdout)["plans"]
    assert half["width"] == pytest.approx((high - low) / 2, rel=0.05)
    assert quarter["width"] == pytest.approx((high - low) / 4, rel=0.05)
    assert half["anywhere"] < quarter["anywhere"]
    assert f"no wider than {half['width']:g}" in done.stderr


def test_the_screen_shows_both_estimates_and_says_when_to_stop(run, tmp_path):
    path = tmp_path / "a.csv"
    assert call("audit", run, "--n", 60, "-o", path).exit_code == 0
    answer(path)
    done = call("audit", run, "--labels", path, "--width", 0.05)
    for words in (
        "with the audit  α = ",
        "without it      α = ",
        "needs only random rows",
        "labels     ",
    ):
        assert words in done.stdout
    assert "not yet 0.05: about" in done.stdout
    assert (
        "the wanted 0.9 is reached" in call("audit", run, "--labels", path, "--width", 0.9).stdout
    )
    shown = call("inspect", run).stdout
    assert "with the audit  α = " in shown
    again = call("audit", run, "--n", 60, "-o", tmp_path / "b.csv")
    assert again.exit_code == 0
    assert not set(pd.read_csv(path)["row"]) & set(pd.read_csv(tmp_path / "b.csv")["row"])


def test_a_top_audit_by_command(run, tmp_path):
    path = tmp_path / "a.csv"
    done = call("audit", run, "--where", "top", "--n", 30, "-o", path)
    assert "30 random unlabeled rows of the top bin" in done.stdout
    answer(path)
    told = call("audit", run, "--labels", path, "--json")
    assert json.loads(told.stdout)["kind"] == "top"
    assert "cannot reveal biased labels" in told.stderr


def test_recall_by_rows_on_both_sides_and_a_rule_to_stop(run, tmp_path):
    path = tmp_path / "a.csv"
    done = call("audit", run, "--recall", 0.8, "--n", 80, "-o", path)
    assert "from both sides of the candidates' threshold" in done.stdout
    answer(path)
    told = json.loads(call("audit", run, "--labels", path, "--recall", 0.8, "--json").stdout)
    positive = claims()["amount"] > 1.5
    above = pd.read_csv(run / "candidates.csv")["row"]
    hidden = positive & ~claims()["known"]
    assert told["recall"]["least"] <= positive[above - 1].sum() / hidden.sum()
    assert told["recall"]["goal"] == 0.8
    assert "you can stop" in told["recall"]["sentence"] or told["recall"]["more"] != 0
    assert "Positives among the candidates" in (run / "report.html").read_text()
    assert call("audit", run, "--labels", path, "--recall", 1.5).exit_code == 2


def test_a_contradiction_is_the_same_on_screen_in_the_report_and_in_the_exit_code(run, tmp_path):
    """Also if only the audit beside the leading one contradicts the estimate."""
    path, top = tmp_path / "a.csv", tmp_path / "top.csv"
    call("audit", run, "--n", 30, "-o", path)
    answer(path)
    lead = call("audit", run, "--labels", path, "--json")
    call("audit", run, "--where", "top", "--n", 60, "-o", top)
    answered = pd.read_csv(path).set_index("row")["is_positive"]
    rows = pd.read_csv(top)
    rows.assign(is_positive=rows["row"].map(answered).fillna("no")).to_csv(top, index=False)
    done = call("audit", run, "--labels", top, "--json")
    told = json.loads(done.stdout)
    assert [one["verdict"] for one in (told, *told["others"])][1:] == ["contradicts"]
    assert told["others"][0]["excludes"] == "point"
    assert done.exit_code == 3
    assert lead.exit_code == (3 if json.loads(lead.stdout)["verdict"] == "contradicts" else 0)
    html = unescape((run / "report.html").read_text())
    assert "the audit contradicts the estimate's α, not its interval. It" in html
    first = html.index('<p class="answer">')
    assert told["others"][0]["sentence"][:40] in html[:first]  # it leads the report
    assert told["others"][0]["sentence"] in done.stderr


def test_no_sign_of_bias_says_where_nothing_was_seen(run, tmp_path):
    """An audit may say that labels are biased: what the scores show must be true beside it."""
    path = tmp_path / "a.csv"
    call("audit", run, "--n", 60, "-o", path)
    answer(path)
    labels = json.loads(call("audit", run, "--labels", path, "--json").stdout)["labels"]
    assert ("no sign" in labels) == ("their scores show no sign of biased labels" in labels)
    assert (
        "their scores show no sign of biased labels; this does not prove that there are none"
        in labels
    )
