"""Images from folders to a report, with nets that are trained for an epoch or two."""

import json
import re
import signal
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import warm
from asked import asked
from click.testing import CliRunner
from coded import fails
from pictures import bars, folders
from PIL import Image
from stored import result_of

import topbin as tb
from topbin.cli import main
from topbin.core.formatting import figure
from topbin.data.images import Images
from topbin.engines import Local
from topbin.job.audits import audit
from topbin.job.audits.refit import refit_audit
from topbin.job.audits.review import open_review
from topbin.job.files import write_report
from topbin.job.prepare import prepare
from topbin.job.score import score_files
from topbin.learn import Plan
from topbin.show.rows import open_pictures

job = import_module("topbin.job.models")
TINY = Plan(outer=2, inner=1, repeats=1, warm=1, rounds=1)
FIRST = replace(TINY, rounds=0)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    monkeypatch.setattr(job, "NET_FIRST", FIRST)
    monkeypatch.setattr(job, "NET_PRESETS", {"fast": TINY, "good": TINY, "best": TINY})
    monkeypatch.setattr(job, "net_plan", lambda plan, rows: plan)


def fit(*given, read=None, **more):
    """`tb.fit` with nets."""
    return tb.fit(*given, read=replace(read or tb.Read(), encoder="none"), **more)


def command(*given, code=0):
    given = (*given, "--encoder", "none") if given[0] == "fit" else given
    done = CliRunner().invoke(main, [*map(str, given)])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run on two folders, one of which also has a text file, and the folder above them."""
    root = tmp_path_factory.mktemp("images")
    folders(root)
    (root / "rest" / "notes.txt").write_text("no image")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "NET_FIRST", replace(FIRST, warm=4))
        patch.setattr(job, "NET_PRESETS", {"good": replace(TINY, warm=4, rounds=4)})
        patch.setattr(job, "net_plan", lambda plan, rows: plan)
        given = ["--positives", root / "known", "--unlabeled", root / "rest"]
        said = command("fit", *given, "-o", root / "run")
    return root, said


def test_two_folders_become_a_report(made):
    root, said = made
    found = result_of(root / "run")
    assert found["data"]["n_p"] == 40
    assert found["data"]["n_u"] == 80
    assert found["data"]["image"] == {"column": "image", "shape": [3, 12, 12], "root": None}
    low, high = found["estimate"]["interval"]
    assert low <= 0.5 <= high
    assert "1 file left out" in said
    assert "notes.txt" in said
    assert found["importance"] == []
    page = (root / "run/report.html").read_text("utf-8")
    assert "notes.txt" in page
    assert found["estimate"]["method"] == "overlap"
    assert "overlap (this report)" in page
    assert f"overlap {figure(found['estimate']['alpha'])}" in said
    assert page.count('<img src="data:image/png;base64,') == 25
    assert not re.search(r'src="(?!data:)|url\(h', page)
    listed = pd.read_csv(root / "run/candidates.csv")
    assert str(root / "rest") in listed["image"][0]
    assert (root / "run/report.html").read_bytes() == write_report(root / "run").read_bytes()


def test_new_images_are_scored_from_a_folder_a_table_and_an_array(made, tmp_path):
    root, _ = made
    said = command("score", root / "run", root / "rest", "-o", tmp_path / "s.csv")
    assert "scored          80 images" in said
    assert "notes.txt" in said
    scores = pd.read_csv(tmp_path / "s.csv")
    table = scores[["image"]].assign(image=[p.split("/")[-1] for p in scores["image"]], n=1)
    table.to_csv(root / "rest" / "t.csv", index=False)
    command("score", root / "run", root / "rest" / "t.csv", "-o", tmp_path / "t.csv")
    again = pd.read_csv(tmp_path / "t.csv")
    assert (again["topbin_probability"] == scores["topbin_probability"]).all()
    assert (again["n"] == 1).all()
    assert again["image"].tolist() == table["image"].tolist()  # as the table has them
    done = score_files(Local(), root / "run", root / "rest" / "t.csv", tmp_path / "parts")
    assert done.rows == 80
    (file,) = (tmp_path / "parts").glob("*.parquet")
    by_engine = pd.read_parquet(file)["topbin_probability"]
    np.testing.assert_allclose(by_engine, scores["topbin_probability"], rtol=1e-5)
    (root / "rest" / "t.csv").unlink()
    with fails("TB136", "table"):
        score_files(Local(), root / "run", root / "rest", tmp_path / "others")
    scorer = tb.load(root / "run")
    own = np.stack([np.asarray(Image.open(path)) for path in scores["image"]])
    assert np.allclose(scorer.score(own)["topbin_probability"], scores["topbin_probability"])
    with pytest.warns(UserWarning, match="notes.txt"):
        assert len(scorer.score(root / "rest")) == 80
    paths = [*scores["image"][:2], str(root / "gone.png")]
    with pytest.warns(UserWarning, match="No such file.*gone.png"):
        assert scorer.score(pd.DataFrame({"image": paths}))["image"].tolist() == paths[:2]
    with fails("TB132", "notes.txt"):
        scorer.score(root / "rest", bad_images="refuse")
    with fails("TB013"):
        scorer.score(own, why=True)
    with fails("TB109", "12, 12"):
        scorer.score(bars(3, True, side=9))


def test_many_bad_images_in_a_row_are_left_out_and_told_once(made, tmp_path, monkeypatch):
    root, _ = made
    good = sorted((root / "rest").glob("*.png"))[:3]
    given = tmp_path / "new"
    given.mkdir()
    for i in range(5):
        (given / f"a{i}.png").write_bytes(b"no image")
    for i, path in enumerate(good):
        (given / f"b{i}.png").write_bytes(path.read_bytes())
    monkeypatch.setattr("topbin.job.score.SCORED_AT_ONCE", 2)
    said = command("score", root / "run", given, "-o", tmp_path / "s.csv")
    assert said.count("left out") == 1
    assert "5 files left out because each is not an image" in said
    assert len(pd.read_csv(tmp_path / "s.csv")) == 3
    for path in given.glob("b*"):
        path.unlink()
    with fails("TB132", "None of the images can be used"):
        tb.load(root / "run").score(given)
    refused = CliRunner().invoke(
        main, ["score", str(root / "run"), str(given), "-o", str(tmp_path / "none.csv")]
    )
    assert refused.exit_code == 1
    assert "TB132" in refused.output
    assert not (tmp_path / "none.csv").exists()


@pytest.mark.parametrize("engine", [(), ("--engine", "local")])
def test_a_table_without_the_column_of_paths_is_told_its_name(made, tmp_path, engine):
    root, _ = made
    pd.DataFrame({"path": ["a.png", "b.png"]}).to_csv(tmp_path / "new.csv", index=False)
    given = root / "run", tmp_path / "new.csv", "-o", tmp_path / "out.csv"
    said = command("score", *given, *engine, code=1)
    assert said.startswith("TB109")
    assert 'has no column "image"' in said
    assert not (tmp_path / "out.csv").exists()


def test_a_source_that_has_no_image_is_told_what_the_run_reads(made, tmp_path):
    root, _ = made
    for name in ("texts", "empty", "broken"):
        (tmp_path / name).mkdir()
    (tmp_path / "texts" / "a.txt").write_text("no image")
    (tmp_path / "broken" / "a.png").write_text("no image")
    (tmp_path / "t.csv").write_text("age,n\n1,2\n")
    for source, code, words in (
        ("texts", 1, "has 0 image files and 1 other file"),
        ("empty", 2, "TB130 there is no image in"),
        ("broken", 1, "None of the images can be used"),
        ("t.csv", 1, "TB109 the run was fitted on images, and"),
    ):
        given = root / "run", tmp_path / source, "-o", tmp_path / "out.csv"
        said = command("score", *given, code=code)
        assert words in said
        assert "--bad-images leave-out" not in said
        assert '"age"' not in said


def test_known_positives_inside_the_unlabeled_folder_are_left_out_there(tmp_path):
    folders(tmp_path, 3, 5)
    data = prepare(asked(tmp_path, positives=tmp_path / "known", encoder="none"))
    assert (data.labels.n_p, data.labels.n_u) == (3, 5)
    assert data.findings[0].code == "shared-files"
    assert data.findings[0].sentence.startswith("3 files are also among the known positives")
    with fails("TB139", "every file in"):
        prepare(asked(tmp_path / "known", positives=tmp_path))


def test_audit_and_review_show_pictures_of_the_run_alone(made):
    root, _ = made
    drawn = audit(root / "run").draw(5)
    assert "image" in drawn
    review = open_review(root / "run", n=5)
    row = review.next_row("page")
    assert len(row["pictures"]) == 1
    assert row["pictures"][0].startswith("data:image/png;base64,")
    review.save(row["row"], "yes")
    ranked = open_review(root / "run", candidates=True)
    assert ranked.next_row("page")["pictures"]
    with fails("TB136"):
        refit_audit(root / "run")
    pictures = open_pictures(root / "run")
    path = str(root / "rest" / "é 003.png")
    assert pictures.of(path)
    other = root / "private.png"
    Image.fromarray(bars(1, True)[0]).save(other)
    assert pictures.of(str(other)) is None
    # A forged place: the file is another one, so the pixels of the run are shown instead.
    pictures.places[str(other)] = pictures.places[path]
    assert pictures.of(str(other)) == pictures.of(path)


def test_the_same_image_on_both_sides_is_an_alarm(tmp_path):
    folders(tmp_path)
    for i in range(6):
        (tmp_path / "rest" / f"copy {i}.png").write_bytes(
            (tmp_path / "known" / f"é {i:03d}.png").read_bytes()
        )
    found = fit(tmp_path / "rest", positives=tmp_path / "known")
    assert "shared-rows" in {alarm.code for alarm in found.estimate.alarms}
    assert found.data.findings[-1].code == "overlap"


def test_arrays_lists_frames_and_tables_are_one_road(tmp_path):
    truth = folders(tmp_path)
    known, rest = bars(40, True, 1), bars(80, True, 2)
    two = fit(rest, positives=known)
    y = np.repeat([1, 0], [40, 80])
    both = np.concatenate([known, rest])
    one = fit(both, y)
    assert one.estimate.alpha == two.estimate.alpha
    assert isinstance(one.data.X, Images)
    paths = [str(p) for name in ("known", "rest") for p in sorted((tmp_path / name).iterdir())]
    frame = pd.DataFrame({"file": paths, "y": y, "other": np.append(y[:40], truth)})
    found = fit(frame, "y", read=tb.Read(image="file"))
    assert [column.name for column in found.data.encoder.dropped] == ["other"]
    listed = fit(paths, y)
    assert listed.estimate.alpha == found.estimate.alpha
    frame["file"] = [p.removeprefix(f"{tmp_path}/") for p in paths]
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = fit(tmp_path / "t.csv", "y", read=tb.Read(image="file"))
    assert table.estimate.alpha == found.estimate.alpha
    own = set(frame["file"])
    assert set(table.candidates()["file"]) <= own  # as the table has them
    table.save(tmp_path / "by table")
    assert "data:image/png" in (tmp_path / "by table" / "report.html").read_text("utf-8")
    review = open_review(tmp_path / "by table", n=5)
    assert set(audit(tmp_path / "by table").draw(75)["file"]) <= own
    assert all(review.pictures.of(str(path)) for path in frame["file"][40:45])
    two_folders = fit(tmp_path / "rest", positives=tmp_path / "known")
    assert two_folders.estimate.alpha == found.estimate.alpha
    one.save(tmp_path / "run")
    assert open_pictures(tmp_path / "run").of("image 50").startswith("data:image/png")
    assert "image 50" in set(audit(tmp_path / "run").draw(80)["image"])
    assert len(tb.load(tmp_path / "run").score(rest)) == 80
    with fails("TB013"):
        one.explain()


def test_what_cannot_be_done_with_images_is_refused(tmp_path):
    folders(tmp_path, 3, 3)
    known, rest = tmp_path / "known", tmp_path / "rest"
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.png").write_text("no image")
    with fails("TB130", "empty"):
        fit(rest, positives=tmp_path / "empty")
    with fails("TB131", "text"):
        fit(rest, positives=tmp_path / "text")
    with fails("TB132", "a.png"):
        fit(rest, positives=tmp_path / "text", read=tb.Read(bad_images="refuse"))
    for name in ("é 001.png", "é 002.png"):
        (known / name).unlink()
    with fails("TB003"):
        fit(rest, positives=known)
    with fails("TB136"):
        fit(rest, positives=known, budget=tb.Budget(sample=10))
    with fails("TB136", "subtypes"):
        fit(bars(9, True), positives=bars(9, True, 1), labeling=tb.Labeling(subtypes="report"))
    with fails("TB008"):
        fit(rest)
    with fails("TB008", "bad_images"):
        fit(rest, positives=known, read=tb.Read(bad_images="ignore"))
    with fails("TB008", "image_size"):
        fit(rest, positives=known, read=tb.Read(image_size=4))
    with fails("TB134", "different"):
        fit(bars(3, True), positives=bars(3, True, side=9))
    with fails("TB005"):
        fit(bars(3, True), [1, 0])
    frame = pd.DataFrame({"path": ["../a.png", "b.png"], "n": [1, 2], "y": [1, 0]})
    frame.to_csv(rest / "t.csv", index=False)
    with fails("TB133"):
        fit(rest / "t.csv", "y", read=tb.Read(image="path"))
    with fails("TB135"):
        fit(rest / "t.csv", "y", read=tb.Read(image="n"))
    with fails("TB103"):
        fit(rest / "t.csv", "y", read=tb.Read(image="pth"))
    with fails("TB131", "No such file"):
        fit(
            frame.assign(path=["a.png", None]),
            "y",
            read=tb.Read(image="path", image_root=str(tmp_path)),
        )


def test_a_run_goes_on_after_a_time_limit_and_leaves_the_same(tmp_path):
    folders(tmp_path)
    given = ["fit", "--positives", tmp_path / "known", "--unlabeled", tmp_path / "rest"]
    whole = json.loads(command(*given, "-o", tmp_path / "a", "--json", "--quiet"))
    said = command(*given, "-o", tmp_path / "b", "--time-limit", "1e-9")
    assert "time limit after the first estimate" in said
    said = command(*given, "-o", tmp_path / "b", "--resume")
    assert "kept            the first estimate, from before" in said
    assert result_of(tmp_path / "b")["estimate"] == whole["estimate"]
    assert "complete" in command(*given, "-o", tmp_path / "b", "--resume")


KILLED = """
import os, sys
from importlib import import_module
from topbin.cli import main
from topbin.learn import Plan
from topbin.learn.net_fitting import NetScorer
job = import_module("topbin.job.models")
job.NET_FIRST = Plan(outer=2, inner=1, repeats=1, warm=1, rounds=0)
job.NET_PRESETS["good"] = Plan(outer=2, inner=1, repeats=1, warm=1, rounds=1)
job.net_plan = lambda plan, rows: plan
fit, begun = NetScorer.fit, []
def killed(self, *given, **more):
    begun.append(1)
    if len(begun) == 4:
        os.kill(os.getpid(), 9)
    return fit(self, *given, **more)
NetScorer.fit = killed
main(sys.argv[1:])
"""


def test_a_killed_run_keeps_its_nets(tmp_path):
    folders(tmp_path)
    given = ["fit", "--positives", tmp_path / "known", "--unlabeled", tmp_path / "rest"]
    given = [*map(str, given), "-o", str(tmp_path / "run"), "--encoder", "none"]
    killed = warm.begin(warm.program, KILLED, given, said=tmp_path / "said.txt")
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    said = command(*given, "--resume")
    assert "the first estimate and 1 step of the careful one" in said
    assert result_of(tmp_path / "run")["stopped"] is None
