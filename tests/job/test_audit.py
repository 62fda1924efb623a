"""The audit of a run: every draw can come back, whatever a spreadsheet did to its order."""

import json

import numpy as np
import pandas as pd
import pytest
from claims import claims, fitted, small_run
from click.testing import CliRunner

import topbin as tb
from topbin.cli import main
from topbin.core.errors import InputError
from topbin.job.audit import draw_audit, read_audit
from topbin.store.runs import open_run, read_result


@pytest.fixture
def run(tmp_path):
    """Fitted on a frame in memory, so that no file holds its rows."""
    return small_run(tmp_path / "run")


def filled(path, answer="no"):
    frame = pd.read_csv(path).assign(is_positive=answer)
    frame.to_csv(path, index=False)
    return frame


def test_a_run_fitted_on_a_frame_can_be_audited(run, tmp_path):
    given = [str(run), "--n", "30", "-o", str(tmp_path / "a.csv")]
    done = CliRunner().invoke(main, ["audit", *given])
    assert done.exit_code == 0, done.output
    drawn = filled(tmp_path / "a.csv")
    rows = claims().iloc[drawn["row"] - 1]
    assert not rows["known"].any()
    assert rows["case"].tolist() == drawn["case"].tolist()
    assert "known" not in drawn
    assert read_audit(run, tmp_path / "a.csv").n_negative == 30


def test_the_rows_kept_stand_in_the_order_of_the_scores(run, tmp_path):
    n_u = fitted().estimate.n_u
    draw_audit(run, n_u, tmp_path / "a.csv", stratified=True)
    sample = json.loads((run / "audit.json").read_text())["draws"][0]
    by_row = dict(zip(sample["row"], sample["stratum"], strict=True))
    data = fitted().data
    numbers = data.table.places[data.unlabeled_rows] + 1
    means = [
        np.mean(fitted().classifier.scores_u_[np.isin(numbers, rows)])
        for rows in ([r for r, s in by_row.items() if s == k] for k in (0, 9))
    ]
    assert means[0] < means[1]


def test_every_draw_can_come_back(run, tmp_path):
    draw_audit(run, 20, tmp_path / "a.csv")
    filled(tmp_path / "a.csv")
    draw_audit(run, 20, tmp_path / "b.csv", seed=5)
    draw_audit(run, 40, tmp_path / "c.csv", stratified=True)
    draw_audit(run, 20, tmp_path / "again.csv")
    filled(tmp_path / "c.csv")
    assert read_audit(run, tmp_path / "a.csv").n == 20
    assert read_audit(run, tmp_path / "c.csv").kind == "stratified"
    assert read_result(run)["audit"]["kind"] == "stratified"
    assert len(json.loads((run / "audit.json").read_text())["draws"]) == 3


def test_a_sorted_file_gives_each_row_its_own_answer(run, tmp_path):
    draw_audit(run, 40, tmp_path / "a.csv", stratified=True)
    frame = filled(tmp_path / "a.csv")
    frame["is_positive"] = np.where(frame["amount"] > 2, "yes", "no")
    frame.to_csv(tmp_path / "a.csv", index=False)
    as_drawn = read_audit(run, tmp_path / "a.csv")
    frame.sort_values("amount").to_csv(tmp_path / "a.csv", index=False)
    assert read_audit(run, tmp_path / "a.csv") == as_drawn


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f[1:], "1 are missing, 0 are there twice, and 0 other rows were added"),
        (lambda f: pd.concat([f, f[:2]]), "0 are missing, 2 are there twice, and 0 other"),
        (lambda f: pd.concat([f, f[:1].assign(row=10**6)]), "twice, and 1 other rows were added"),
        (lambda f: f.assign(row=range(10**6, 10**6 + len(f))), "has no row of any audit drawn"),
        (lambda f: f.assign(row="x"), "has no row of any audit drawn"),
    ],
)
def test_missing_double_and_foreign_rows_are_refused(run, tmp_path, change, words):
    draw_audit(run, 20, tmp_path / "a.csv")
    change(filled(tmp_path / "a.csv")).to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(InputError, match=f"TB117 .*{words}"):
        read_audit(run, tmp_path / "b.csv")


def test_draws_of_other_data_do_not_count(run, tmp_path):
    draw_audit(run, 20, tmp_path / "a.csv")
    filled(tmp_path / "a.csv")
    stored = json.loads((run / "audit.json").read_text())
    stored["draws"][0]["data"] = "sha256:other"
    (run / "audit.json").write_text(json.dumps(stored))
    with pytest.raises(InputError, match=r"TB114 .* has no audit; draw one first"):
        read_audit(run, tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("n", "words"), [(40, "equally many from each group"), (4, "without a look at the score")]
)
def test_the_file_says_how_its_rows_were_drawn(run, tmp_path, n, words):
    sample = draw_audit(run, n, tmp_path / "a.csv", stratified=True)
    assert words in pd.read_csv(tmp_path / "a.csv")["about this file"][0]
    told = CliRunner().invoke(main, ["audit", str(run), "--n", str(n), "--stratified", "--force"])
    assert ("equally many" in told.stdout) == (sample.kind == "stratified")


def test_columns_of_a_frame_that_no_file_would_have(tmp_path):
    frame = claims().assign(**{"row": 7, "Amount": 1.5, "": "x", "tags": [["a"]] * 400})
    frame.loc[3, "Amount"] = np.nan
    run = tb.fit(frame, "known", id="case", preset="fast").save(tmp_path / "run")
    draw_audit(run, 5, tmp_path / "a.csv")
    drawn = pd.read_csv(tmp_path / "a.csv")
    assert (claims().iloc[drawn["row"] - 1]["case"].tolist()) == drawn["case"].tolist()
    assert (drawn["row of the table"] == 7).all()


def test_a_run_that_starts_over_leaves_no_rows_of_the_last_one(run):
    assert (run / "unlabeled.parquet").exists()
    with open_run(run, {"seed": 1}, force=True):
        assert not (run / "unlabeled.parquet").exists()


def test_a_table_is_scored_as_a_frame_is(run, tmp_path):
    claims(30).to_csv(tmp_path / "new.csv", index=False)
    of_table = tb.load(run).score(tb.data.read_table(tmp_path / "new.csv"))
    of_frame = tb.load(run).score(claims(30))
    assert of_table["topbin_probability"].tolist() == of_frame["topbin_probability"].tolist()


@pytest.mark.parametrize("text", ["{", '{"rows": [1]}', "[1]"])
def test_a_damaged_list_of_draws_is_said(run, tmp_path, text):
    (run / "audit.json").write_text(text)
    with pytest.raises(InputError, match=r"TB114 .* does not say which rows were drawn"):
        draw_audit(run, 5, tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
