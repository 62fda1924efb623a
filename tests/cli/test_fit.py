"""fit → score → audit → report, as commands, on real rows with hidden labels."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from quick_plans import quick_plans
from tumours import TRUTH, hidden_truth
from tumours import tumours as all_columns

import topbin as tb
from topbin.cli import main


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def tumours():
    """With the first ten measurements, which are enough."""
    return all_columns().iloc[:, [*range(11), -1]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("with space ü")
    tumours().to_csv(path / "t.csv", index=False)
    tumours().to_parquet(path / "t.parquet")
    return path


@pytest.fixture(scope="module")
def ran(folder):
    run = folder / "run1"
    done = call("fit", folder / "t.csv", "--label", "known", "--id", "case", "--preset", "fast",
                "-o", run)  # fmt: skip
    assert done.exit_code == 0, done.output
    return run, done


def test_the_screen_answers_in_order(ran):
    _, done = ran
    for part in ('0 is read as "unknown"', "first estimate", "α = ", "what if", "wrote"):
        assert part in done.stdout
    for once in ("labels  ", "is read as", "wrote"):
        assert done.stdout.count(once) == 1


def test_all_files_are_left_and_nothing_else(ran):
    run, _ = ran
    assert {path.name for path in run.iterdir() if not path.name.startswith((".", "audit"))} == {
        "report.html", "result.json", "candidates.csv", "probabilities.parquet", "model",
        "run.toml", "events.jsonl",
    }  # fmt: skip
    lines = (run / "events.jsonl").read_text().splitlines()
    stages = [json.loads(line)["stage"] for line in lines]
    assert stages[0] == "first"
    assert stages[-1] == "done"


def test_an_existing_run_is_not_overwritten(ran, folder):
    run, _ = ran
    before = (run / "result.json").read_bytes()
    done = call("fit", folder / "t.csv", "--label", "known", "-o", run)
    assert done.exit_code == 2
    assert done.stderr.startswith("TB104")
    assert (run / "result.json").read_bytes() == before
    done = call("fit", folder / "nothing.csv", "--label", "known", "-o", run)
    assert done.stderr.startswith("TB104")  # before any file is opened


def test_parquet_and_csv_give_the_same_answer(ran, folder):
    run, _ = ran
    arguments = ["fit", folder / "t.parquet", "--label", "known", "--id", "case", "--preset",
                 "fast", "-o", folder / "run2"]  # fmt: skip
    assert call(*arguments).exit_code == 0
    first = json.loads((run / "result.json").read_text())
    second = json.loads((folder / "run2" / "result.json").read_text())
    assert second["estimate"] == first["estimate"]
    assert second["data"]["hash"] == first["data"]["hash"]


def test_two_files_and_json_alone_on_standard_output(folder):
    frame = tumours()
    frame[frame["known"] == 1].drop(columns="known").to_csv(folder / "p.csv", index=False)
    frame[frame["known"] == 0].drop(columns="known").to_csv(folder / "u.csv", index=False)
    done = call("fit", "--positives", folder / "p.csv", "--unlabeled", folder / "u.csv", "--id",
                "case", "--preset", "fast", "-o", folder / "run3", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    low, high = json.loads(done.stdout)["estimate"]["interval"]
    assert low <= TRUTH <= high
    assert "first estimate" in done.stderr
    assert call("audit", folder / "run3", "--n", 30).exit_code == 0
    unlabeled = pd.read_csv(folder / "u.csv")
    for name in ("candidates.csv", "audit.csv"):
        listed = pd.read_csv(folder / "run3" / name)
        found = unlabeled["case"].iloc[listed["row"] - 1]
        assert found.tolist() == listed["case"].tolist()
    said = [line for line in done.stderr.splitlines() if "labels" in line]
    assert len(said) == 1
    assert said[0].startswith("labels          100 known positives in ")
    assert "469 unlabeled rows in " in said[0]
    assert "is read as" not in done.stderr


def test_rows_known_positive_among_the_unlabeled_are_refused(folder):
    frame = tumours().drop(columns="known")
    frame[:30].to_csv(folder / "p2.csv", index=False)
    frame.to_csv(folder / "u2.csv", index=False)
    done = call("fit", "--positives", folder / "p2.csv", "--unlabeled", folder / "u2.csv", "--id",
                "case", "-o", folder / "run4")  # fmt: skip
    assert done.exit_code == 1
    assert done.stderr.startswith("TB116 30 unlabeled rows")
    assert not (folder / "run4").exists()


def test_a_threshold_that_is_passed_exits_3(ran, folder):
    with quick_plans():
        done = call("fit", folder / "t.csv", "--label", "known", "--id", "case", "--preset", "fast",
                    "-o", folder / "run5", "--max-alpha", "0.001", "--quiet")  # fmt: skip
    assert done.exit_code == 3
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["nothing.csv", "--label", "known"], 1, "TB101"),
        (["{t}", "--label", "knwon"], 2, 'Did you mean "known"?'),
        (["{t}", "--label", "case"], 1, "TB002"),
        (["{t}"], 2, "name a table and its --label"),
        (["--positives", "{t}"], 2, "--positives and --unlabeled"),
        (["{t}", "--label", "known", "--candidates", "0"], 2, "TB008"),
        (["{t}", "--label", "known", "--min-precision", "2"], 2, "TB008"),
        (["{t}", "--label", "known", "--confidence", "95"], 2, "TB008"),
        (["{t}", "--label", "known", "--sample", "0"], 2, "TB008"),
        (["{folder}", "--label", "known"], 1, "TB102"),
        (["{t}", "--label", "known", "--preset", "slow"], 2, "slow"),
    ],
)
def test_wrong_use_is_one_sentence_and_leaves_nothing(folder, arguments, status, said):
    filled = [a.format(t=folder / "t.csv", folder=folder) for a in arguments]
    done = call("fit", *filled, "-o", folder / "bad")
    assert done.exit_code == status
    assert said in done.stderr
    assert "Traceback" not in done.output
    assert not (folder / "bad").exists()


def test_a_sampled_run_that_is_refused_does_not_block_the_corrected_one(folder):
    wrong = ["fit", folder / "t.parquet", "--sample", 50, "--preset", "fast", "-o", folder / "s"]
    done = call(*wrong, "--label", "knwon")
    assert (done.exit_code, done.stderr[:5]) == (2, "TB103")
    done = call(*wrong, "--label", "known", "--drop", "nope")
    assert (done.exit_code, done.stderr[:5]) == (2, "TB103")
    assert not (folder / "s").exists()


def test_the_confidence_is_the_intervals(ran, folder):
    done = call("fit", folder / "t.csv", "--label", "known", "--id", "case", "--preset", "fast",
                "--confidence", "0.8", "-o", folder / "run80")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "80 % interval" in done.stdout
    narrow, wide = (json.loads((run / "result.json").read_text())["estimate"]
                    for run in (folder / "run80", ran[0]))  # fmt: skip
    assert narrow["confidence"] == 0.8
    assert narrow["upper_bound"] < wide["upper_bound"]
    assert narrow["alpha"] == wide["alpha"]


def test_debug_shows_the_traceback():
    done = call("fit", "nothing.csv", "--label", "x", "--debug")
    assert type(done.exception).__name__ == "InputError"


def test_score_writes_every_row_with_its_probability(ran, folder):
    run, _ = ran
    out = folder / "scored.csv"
    done = call("score", run, folder / "t.parquet", "-o", out, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"rows": 569, "output": str(out)}
    scored = pd.read_csv(out)
    assert scored["topbin_probability"].between(0, 1).all()
    assert (scored["topbin_positive"] == (scored["topbin_probability"] > 0.5)).all()
    assert call("score", run, folder / "t.parquet", "-o", out).exit_code == 2


def test_score_refuses_rows_without_the_model_columns(ran, folder):
    run, _ = ran
    tumours().drop(columns="mean radius").to_csv(folder / "short.csv", index=False)
    done = call("score", run, folder / "short.csv", "-o", folder / "short_scored.csv")
    assert done.exit_code == 1
    assert "mean radius" in done.stderr
    assert not (folder / "short_scored.csv").exists()


def test_audits_go_out_blind_and_come_back_with_a_verdict(ran, folder):
    for options in ([], ["--stratified"]):
        an_audit_comes_back(*ran, folder / "audit.csv", options)


def an_audit_comes_back(run, _, out, options):
    assert call("audit", run, "--n", 80, "-o", out, "--force", *options).exit_code == 0
    drawn = pd.read_csv(out)
    assert drawn["is_positive"].isna().all()
    assert not {"probability", "score"} & set(drawn.columns)
    drawn["is_positive"] = np.where(hidden_truth()[drawn["row"] - 1], "yes", "no")
    drawn.to_csv(out, index=False)
    done = call("audit", run, "--labels", out, "--json")
    told = json.loads(done.stdout)
    assert told["excludes"] != "interval"  # a sharp audit may exclude the median of a wide interval
    assert done.exit_code == (3 if told["verdict"] == "contradicts" else 0), done.output
    assert not told["together"]["alone"]
    low, high = told["together"]["interval"]
    assert low <= TRUTH <= high
    assert "The audit" in (run / "report.html").read_text()
    assert json.loads((run / "result.json").read_text())["audit"]["kind"] == "weighted"  # all draws


def test_an_audit_of_other_rows_is_refused(ran, folder):
    run, _ = ran
    call("audit", run, "--n", 20, "-o", folder / "a.csv", "--force")
    frame = pd.read_csv(folder / "a.csv")[1:].assign(is_positive="yes")
    frame.to_csv(folder / "b.csv", index=False)
    done = call("audit", run, "--labels", folder / "b.csv")
    assert done.exit_code == 1
    assert done.stderr.startswith("TB117")


def test_an_audit_needs_the_same_data_and_a_draw(folder, tmp_path):
    frame = tumours()
    frame.to_csv(tmp_path / "t.csv", index=False)
    run = tmp_path / "run"
    with quick_plans():
        call("fit", tmp_path / "t.csv", "--label", "known", "--id", "case", "--preset", "fast",
             "-o", run)  # fmt: skip
    assert "topbin audit RUN" in call("audit", run, "--labels", tmp_path / "t.csv").stderr
    frame.assign(**{"mean radius": 0.5}).to_csv(tmp_path / "t.csv", index=False)
    assert call("audit", run).stderr.startswith("TB117")


def test_the_plan_of_an_audit(ran):
    run, _ = ran
    done = call("audit", run, "--plan", 0.1, "--json")
    assert 50 < json.loads(done.stdout)["n"] < 400


def test_report_and_inspect(ran):
    run, _ = ran
    assert json.loads(call("report", run, "--json").stdout)["report"].endswith("report.html")
    assert "TEDnClassifier" in call("inspect", run / "model").stdout
    shown = call("inspect", run).stdout
    assert "of the 469 unlabeled are positive" in shown
    assert "TEDnClassifier, preset fast, seed 0" in shown
    assert json.loads(call("inspect", run, "--json").stdout)["estimate"]["n_u"] == 469
    assert call("inspect", run.parent).exit_code == 1


@pytest.mark.parametrize("verb", ["fit", "score", "audit", "report", "inspect", "demo"])
def test_every_help_has_examples_groups_and_exit_codes(verb):
    text = call(verb, "--help").stdout
    assert f"topbin {verb}" in text
    assert "Output:" in text
    assert "Exit codes: 0 done, 1 failed, 2 wrong use, 3" in text


def test_an_interrupt_before_the_first_answer_says_how_to_go_on(folder, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(tb.PvUClassifier, "fit", interrupt)
    tumours().to_csv(folder / "stop.csv", index=False)
    done = call("fit", folder / "stop.csv", "--label", "known", "-o", folder / "stopped")
    assert done.exit_code == 1
    assert "stopped         there is no answer yet; to go on, the same command with --resume" in (
        done.output
    )
