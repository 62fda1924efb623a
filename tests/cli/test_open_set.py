"""`topbin fit old.csv --classes topic --unlabeled new.csv`: which rows belong to no known class?"""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from coded import fails

import topbin as tb
from topbin.cli import main
from topbin.store.runs import read_result

PLACES = {"a": (-6.0, 0.0), "b": (6.0, 0.0), "c": (0.0, 6.0), "new": (0.0, -6.0)}
FIT = ["fit", "old.csv", "--classes", "topic", "--unlabeled", "new.csv", "--id", "id"]
FIT += ["--preset", "fast", "-o", "run"]
pytestmark = pytest.mark.usefixtures("quick_fits")


def rows(counts, seed):
    rng = np.random.default_rng(seed)
    names = np.repeat(list(counts), list(counts.values()))
    frame = pd.DataFrame(rng.normal([PLACES[name] for name in names]), columns=["east", "north"])
    return frame.assign(id=[f"{seed}-{k}" for k in range(len(frame))]), names


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("open")
    old, topic = rows({"a": 100, "b": 100, "c": 50}, 0)
    new, truth = rows({"a": 30, "b": 120, "c": 60, "new": 90}, 1)
    old.assign(topic=topic).to_csv(path / "old.csv", index=False)
    new.to_csv(path / "new.csv", index=False)
    np.save(path / "truth.npy", truth)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        done = CliRunner().invoke(main, FIT)
    assert done.exit_code == 0, done.output
    (path / "screen.txt").write_text(done.output)
    return path


def exactly(path):
    """To the last bit, as topbin reads it and Python does; pandas before 3 has a faster way."""
    places = dict.fromkeys(("east", "north"), float)
    return pd.read_csv(path, converters=places)


def run(*words):
    return CliRunner().invoke(main, [*map(str, words)])


def result(folder):
    return json.loads((folder / "run" / "result.json").read_text())


def test_the_screen_leads_with_the_novel_share_and_has_each_class(folder):
    screen = (folder / "screen.txt").read_text()
    assert "belong to no known class." in screen
    assert "are of a known class" in screen
    assert "are positive" not in screen
    for name in ("a", "b", "c"):
        assert f"class           {name}: " in screen
    assert "% novel" in screen
    assert "topbin audit" not in screen


def test_the_answer_has_shares_that_sum_to_one(folder):
    found = result(folder)
    novel, shares = found["labeling"]["novel"], found["labeling"]["shares"]
    assert novel["share"] == pytest.approx(0.3, abs=0.06)
    assert novel["interval"][0] <= 0.3 <= novel["interval"][1]
    assert [one["label"] for one in shares] == ["a", "b", "c"]
    assert novel["share"] + sum(one["share"] for one in shares) == pytest.approx(1)
    assert found["estimate"]["alpha"] == 1 - novel["share"]
    assert found["data"]["classes"] == "topic"
    assert "topic" not in found["data"]["features"]
    assert found.get("verdict") is None


def test_candidates_are_the_most_novel_rows(folder):
    truth = np.load(folder / "truth.npy")
    listed = pd.read_csv(folder / "run" / "candidates.csv")
    top = listed.head(50)
    assert (truth[top["row"] - 1] == "new").mean() > 0.95
    assert top["probability"].is_monotonic_decreasing
    assert top["probability"].iloc[0] > 0.9
    told = result(folder)["candidates"]
    assert told["precision_low"] <= told["precision"] <= told["precision_high"]
    assert told["precision"] == pytest.approx(listed["probability"].mean(), abs=0.01)
    all_rows = pd.read_parquet(folder / "run" / "probabilities.parquet")
    assert all_rows["probability"].mean() == pytest.approx(
        1 - result(folder)["estimate"]["alpha"], abs=0.01
    )


@pytest.mark.parametrize("n", [7, 250])
def test_a_list_of_another_length_has_the_most_novel_rows_too(folder, tmp_path, n):
    own = shutil.copytree(folder / "run", tmp_path / "run")
    before = pd.read_csv(own / "candidates.csv")
    again = folder / "new.csv", "--positives", folder / "old.csv"
    done = run("report", own, *again, "--candidates", n)
    assert done.exit_code == 0, done.output
    after, told = pd.read_csv(own / "candidates.csv"), read_result(own).candidates
    both = min(n, len(before))
    pd.testing.assert_frame_equal(after[:both], before[:both], check_dtype=False)
    assert len(after) == told.rows == n
    assert told.precision == pytest.approx(after["probability"].mean(), abs=0.01)
    novel = read_result(own).novel.share * len(np.load(folder / "truth.npy"))
    assert told.recall == pytest.approx(min(1, told.precision * n / novel))


def test_new_rows_get_a_class_or_novel(folder, tmp_path):
    fresh, truth = rows({"a": 20, "new": 20}, 3)
    fresh.to_csv(tmp_path / "fresh.csv", index=False)
    done = run("score", folder / "run", tmp_path / "fresh.csv", "-o", tmp_path / "scored.csv")
    assert done.exit_code == 0, done.output
    scored = pd.read_csv(tmp_path / "scored.csv")
    named = np.where(truth == "new", "novel", truth)
    assert (scored["topbin_class"] == named).mean() > 0.9
    assert (scored["topbin_novel"] > 0.5)[20:].mean() > 0.9
    same = tb.load(folder / "run").score(fresh)
    assert same["topbin_class"].tolist() == scored["topbin_class"].tolist()
    again = run("score", folder / "run", tmp_path / "scored.csv", "-o", tmp_path / "twice.csv")
    assert again.exit_code == 1
    assert "TB115" in again.output


def test_the_report_says_what_positive_means_and_can_be_written_again(folder):
    page = (folder / "run" / "report.html").read_text()
    assert "belong to no known class." in page
    assert "How many belong to each known class?" in page
    assert "% novel" in page
    assert run("report", folder / "run").exit_code == 0
    assert (folder / "run" / "report.html").read_text() == page


def test_python_does_the_same(folder):
    old, new = (exactly(folder / name) for name in ("old.csv", "new.csv"))
    found = tb.fit(new, positives=old, read=tb.Read(classes="topic"), id="id", budget="fast")
    assert found.answer.labeling.novel.share == result(folder)["labeling"]["novel"]["share"]
    first = found.candidates(5)
    assert (np.load(folder / "truth.npy")[first.index] == "new").all()


def test_a_run_that_is_done_is_left_as_it_was(folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = (folder / "run" / "result.json").read_bytes()
    done = run(*FIT, "--resume")
    assert done.exit_code == 0, done.output
    assert "left as it was" in done.output
    assert (folder / "run" / "result.json").read_bytes() == before


def test_the_threshold_is_of_the_novel_share(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    low = result(folder)["labeling"]["novel"]["interval"][0]
    for limit, code in ((low - 0.01, 3), (low + 0.01, 0)):
        assert run(*FIT, "--resume", "--max-alpha", limit).exit_code == code


def test_without_an_interval_the_threshold_is_of_the_novel_share(folder, monkeypatch):
    answer = read_result(folder / "run")
    novel = replace(answer.labeling.novel, interval=None)
    without = replace(answer, labeling=replace(answer.labeling, novel=novel))
    monkeypatch.chdir(folder)
    monkeypatch.setattr("topbin.store.runs.read_result", lambda _: without)
    for limit, code in ((novel.share - 0.01, 3), (novel.share + 0.01, 0)):
        assert run(*FIT, "--resume", "--max-alpha", limit).exit_code == code


def test_an_audit_asks_whether_rows_are_of_a_known_class(folder, tmp_path):
    truth, own = np.load(folder / "truth.npy"), tmp_path / "run"
    shutil.copytree(folder / "run", own)
    file = tmp_path / "audit.csv"
    done = run("audit", own, folder / "new.csv", "--positives", folder / "old.csv", "-o", file)
    assert done.exit_code == 0, done.output
    assert "yes: the row is of a known class (a, b, c); no: it is of none" in done.output
    drawn = pd.read_csv(file)
    assert "of a known class (a, b, c)" in drawn["about this file"][0]
    drawn["is_positive"] = np.where(truth[drawn["row"] - 1] == "new", "no", "yes")
    drawn.to_csv(file, index=False)
    before = pd.read_csv(own / "candidates.csv")
    done = run("audit", own, "--labels", file)
    assert done.exit_code == 0, done.output
    assert "belong to no known class." in done.output
    assert "positive" not in done.output
    found = read_result(own)
    low, high = found.novel.interval
    width = np.diff(found.labeling.novel.interval)[0]
    assert low < 0.3 < high
    assert high - low < width
    assert found.novel.share == 1 - found.audited.alpha
    assert (found.verdict, found.audit.labels) == (None, None)
    after = pd.read_csv(own / "candidates.csv")
    assert after["row"].tolist() == before["row"].tolist()
    assert after["probability"].is_monotonic_decreasing
    assert after["probability"].iloc[0] > 0.9
    every = pd.read_parquet(own / "probabilities.parquet")["probability"]
    assert every.mean() == pytest.approx(found.novel.share, abs=0.01)
    assert "by scores and answers together." in (own / "report.html").read_text()


def test_what_is_about_positives_is_refused(folder, tmp_path):
    for more in (["--where", "top"], ["--recall", "0.9"], ["--proxy", "east"], ["--refit"]):
        done = run("audit", folder / "run", *more, "-o", tmp_path / "audit.csv")
        assert (done.exit_code, "TB126" in done.output) == (2, True), done.output
    assert not (tmp_path / "audit.csv").exists()
    with fails("TB126", "known classes"):
        tb.watch(folder / "run", folder / "new.csv", time="east")
    told = run("inspect", folder / "run").output
    assert "belong to no known class." in told
    assert "are of a known class" in told


def test_bad_input_is_refused_and_writes_nothing(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    old, new = (pd.read_csv(name) for name in ("old.csv", "new.csv"))
    fit = {"id": "id", "budget": "fast"}
    with fails("TB103", "theme"):
        tb.fit(new, positives=old, read=tb.Read(classes="theme"), **fit)
    with fails("TB003", "1 of 250", "no class"):
        tb.fit(
            new,
            positives=old.assign(topic=[None, *old["topic"][1:]]),
            read=tb.Read(classes="topic"),
            **fit,
        )
    with fails("TB003", "'rare'", "1 labeled row"):
        tb.fit(
            new,
            positives=old.assign(topic=["rare", *old["topic"][1:]]),
            read=tb.Read(classes="topic"),
            **fit,
        )
    with fails("TB106", "east"):
        tb.fit(new.drop(columns="east"), positives=old, read=tb.Read(classes="topic"), **fit)
    with fails("TB008", "classes=", "two tables"):
        tb.fit(old, read=tb.Read(classes="topic"), **fit)
    with fails("TB008", "classes=", "by="):
        tb.fit(new, positives=old, read=tb.Read(classes="topic", by="east"), **fit)
    with fails("TB008", "classes=", "label="):
        tb.fit(new, "x", positives=old, read=tb.Read(classes="topic"), **fit)
    done = run("fit", "old.csv", "--classes", "topic", "-o", tmp_path / "none")
    assert done.exit_code != 0
    assert "--classes" in done.output
    assert not (tmp_path / "none").exists()


def test_a_class_column_in_the_new_rows_is_not_read(folder):
    old, new = (exactly(folder / name) for name in ("old.csv", "new.csv"))
    found = tb.fit(
        new.assign(topic=""), positives=old, read=tb.Read(classes="topic"), id="id", budget="fast"
    )
    assert "topic" not in found.answer.data.features
    assert found.answer.labeling.novel.share == result(folder)["labeling"]["novel"]["share"]


def test_other_classes_of_the_same_rows_are_another_run(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old = pd.read_csv(folder / "old.csv")
    pd.read_csv(folder / "new.csv").to_csv("new.csv", index=False)
    old.to_csv("old.csv", index=False)
    assert run(*FIT).exit_code == 0
    old.assign(topic=np.where(old["topic"] == "c", "a", old["topic"])).to_csv(
        "old.csv", index=False
    )
    done = run(*FIT, "--resume")
    assert done.exit_code == 0, done.output
    assert [one["label"] for one in result(tmp_path)["labeling"]["shares"]] == ["a", "b"]


def test_a_run_that_was_stopped_early_still_lists_novel_rows(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    done = run(*FIT[:-1], tmp_path / "short", "--time-limit", 0.001)
    assert done.exit_code == 0, done.output
    listed = pd.read_csv(tmp_path / "short" / "candidates.csv").head(20)
    assert (np.load(folder / "truth.npy")[listed["row"] - 1] == "new").mean() > 0.8
