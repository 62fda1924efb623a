"""Learning from the answers: a better model in a folder of its own, and the same α as before."""

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from claims import claims, small_run
from click.testing import CliRunner
from coded import fails
from stored import result_of

import topbin as tb
from topbin.cli import main
from topbin.core import AlphaEstimate
from topbin.job.audits import refit
from topbin.job.audits.review import open_review
from topbin.job.files import StoredRun
from topbin.learn.classifiers import fit_weighted
from topbin.store.answer import ImageColumn
from topbin.store.runs import read_result

pytestmark = pytest.mark.usefixtures("quick_fits")


@pytest.fixture
def run(tmp_path):
    claims().to_csv(tmp_path / "t.csv", index=False)
    return tb.fit(tmp_path / "t.csv", "known", id="case", budget="fast").save(tmp_path / "run")


def truth():
    return claims()["amount"] > 1.5


def call(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_candidates_teach_the_model_and_never_move_alpha(run, tmp_path):
    opened = tb.audit(run)
    rows = opened.draw(60)["row"]
    opened.record({row: bool(truth()[row - 1]) for row in rows})
    before = opened.judge()
    listed = pd.read_csv(run / "candidates.csv")
    listed["is_positive"] = np.where(truth()[listed["row"] - 1], "yes", "no")
    listed.to_csv(tmp_path / "c.csv", index=False)
    assert call("audit", run, "--labels", tmp_path / "c.csv").exit_code == 1  # not a draw
    done = call("audit", run, "--labels", tmp_path / "c.csv", "--refit")
    assert done.exit_code == 0, done.output
    assert "learned         trained with 1" in done.output
    assert "accuracy on the answered rows, each held out: " in done.output
    assert "candidates are new" in done.output
    after = opened.judge()
    assert (after.n, after.alpha) == (before.n, before.alpha)
    assert len(opened.state.undrawn_answers) > 50
    made = result_of(run / "refit")
    assert made["estimate"] == result_of(run)["estimate"]
    scored = tb.load(run / "refit").score(claims(50))
    assert scored["topbin_probability"].between(0, 1).all()
    assert call("report", run / "refit").exit_code == 0
    assert len(pd.read_csv(run / "refit" / "candidates.csv")) == len(listed)


@pytest.mark.parametrize("is_judged", [True, False])
def test_the_list_of_a_refit_the_model_and_alpha_agree(run, is_judged):
    opened = tb.audit(run)
    rows = opened.draw(60)["row"]
    opened.record({row: bool(truth()[row - 1]) for row in rows})
    both = opened.judge().together if is_judged else read_estimate(run)
    opened.refit()
    model = tb.load(run / "refit").model
    assert (model.alpha_, model.estimate_.interval) == (both.alpha, both.interval)
    likely = model.probability_map_(model.evidence_.scores[1])
    assert likely.mean() == pytest.approx(both.alpha, rel=1e-6)
    listed = pd.read_csv(run / "refit" / "candidates.csv")["probability"]
    assert listed.tolist() == np.sort(likely)[::-1][: len(listed)].round(4).tolist()
    frame = pd.read_csv(run / "refit" / "candidates.csv")
    assert list(frame)[:4] == list(pd.read_csv(run / "candidates.csv"))[:4]
    assert list(frame)[3] == "case"
    told = result_of(run / "refit")["candidates"]
    share = listed.sum() / (both.alpha * likely.size)
    assert told["recall"] == pytest.approx(min(1, share), abs=1e-3)
    assert [told[f"precision{end}"] for end in ("", "_low", "_high")] == [None] * 3


def read_estimate(run):
    return AlphaEstimate.from_dict(result_of(run)["estimate"])


def test_held_out_answers_are_not_in_what_their_model_learned(run):
    """Answers that are pure noise cannot be predicted, however much weight they have."""
    opened, rng = tb.audit(run), np.random.default_rng(0)
    rows = opened.draw(200)["row"]
    opened.record({row: bool(rng.random() < 0.5) for row in rows})
    assert abs(opened.refit().accuracy - 0.5) < 0.12


def test_a_run_without_answers_or_files_is_refused(run, tmp_path):
    with fails("TB001", "no audited row has an answer"):
        tb.audit(run).refit()
    frame = small_run(tmp_path / "frame")
    opened = tb.audit(frame)
    opened.record({opened.draw(3)["row"][0]: "yes"})
    with fails("TB117", "was fitted on a frame"):
        opened.refit()


def test_a_run_on_images_cannot_be_trained_again_yet_and_says_so(run):
    answer = read_result(run)
    image = ImageColumn(column="photo", shape=(3, 8, 8))
    images = replace(answer, data=replace(answer.data, image=image))
    with fails("TB136", "runs on images cannot be trained again yet", "fit again"):
        refit._read_again(StoredRun(run, images))
    assert open_review(run, candidates=True).learns
    assert not replace(open_review(run, candidates=True), result=images).learns


def test_a_model_of_other_rows_is_refused(run, tmp_path):
    opened = tb.audit(run)
    opened.record({opened.draw(3)["row"][0]: "yes"})
    shutil.rmtree(run / "model")
    other = tb.fit(claims(200), "known", id="case", budget="fast").save(tmp_path / "other")
    shutil.copytree(other / "model", run / "model")
    with fails("TB114", "its scores are of other rows than those of the run"):
        opened.refit()


def test_changed_rows_and_rows_that_are_not_unlabeled_are_refused(run, tmp_path):
    opened = tb.audit(run)
    opened.record({opened.draw(3)["row"][0]: "yes"})
    known = int(np.flatnonzero(claims()["known"])[0]) + 1
    for rows, words in (([known], "is not an unlabeled row"), ([3, 3], "row 3 twice")):
        pd.DataFrame({"row": rows, "is_positive": "yes"}).to_csv(tmp_path / "c.csv", index=False)
        done = call("audit", run, "--labels", tmp_path / "c.csv", "--refit")
        assert done.exit_code == 1
        assert words in done.output
    claims(seed=1).to_csv(tmp_path / "t.csv", index=False)
    with fails("TB117", "has changed since the run"):
        opened.refit()


def test_weights_of_rows_count_in_a_refit_and_it_says_so(tmp_path, monkeypatch):
    frame = claims().assign(count=np.arange(len(claims())) % 3 + 1.0)
    frame.to_csv(tmp_path / "t.csv", index=False)
    fit = tb.fit(
        tmp_path / "t.csv", "known", id="case", budget="fast", read=tb.Read(weight="count")
    )
    opened, seen = tb.audit(fit.save(tmp_path / "run")), []
    rows = opened.draw(20)["row"]
    opened.record({row: bool(truth()[row - 1]) for row in rows})
    monkeypatch.setattr(
        refit,
        "fit_weighted",
        lambda *given: (seen.append(given[1].weight), fit_weighted(*given))[1],
    )
    assert ', rows weighted by "count": accuracy' in str(opened.refit())
    # Every row trains four of five models, with its own weight, or ten times it if it was answered.
    expected = frame["count"].sum() + (refit.WEIGHT - 1) * frame["count"][rows - 1].sum()
    assert sum(weight.sum() for weight in seen) == pytest.approx(4 * expected)
