"""Jobs whose labels are not random: options, what the result says, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from coded import fails
from stored import result_of

import topbin as tb
from topbin import Labeling, Listing
from topbin.cli import main
from topbin.store.runs import read_asked


@pytest.fixture(scope="module")
def visits():
    """Half of 500 rows are positive; the site "a" labels most of them, "b" few."""
    rng = np.random.default_rng(0)
    is_positive, site = np.arange(500) < 250, rng.choice(["a", "b"], 500)
    frame = pd.DataFrame({"x": rng.normal(np.where(is_positive, 5.0, 0.0)), "site": site})
    coded = is_positive & (rng.random(500) < np.where(site == "a", 0.8, 0.2))
    return frame.assign(land="NL", coded=coded.astype(int))


def test_labeled_by_is_in_the_folder_and_in_the_report(visits, tmp_path):
    visits.to_csv(tmp_path / "t.csv", index=False)
    options = ["--label", "coded", "--labeled-by", "site", "--preset", "fast", "--candidates", "20"]
    run = tmp_path / "run"
    done = CliRunner().invoke(main, ["fit", str(tmp_path / "t.csv"), *options, "-o", str(run)])
    assert done.exit_code == 0, done.output
    assert read_asked(run).labeling.labeled_by == ("site",)
    found, page = result_of(run), (run / "report.html").read_text()
    assert found["labeling"]["kind"] == "propensity"
    assert found["labeling"]["labeled_by"] == ["site"]
    assert found["estimate"]["interval"] is None
    assert 'depends only on "site"' in done.output
    assert "Does labeling depend on the row?" in page
    assert found["model"]["class"] == "SAREMClassifier"
    again = CliRunner().invoke(main, ["report", str(run)])
    assert again.exit_code == 0, again.output
    for text in (page, (run / "report.html").read_text(), done.output):
        for word in ("How good is the ranking?", "What if α", "what if", "ends of the interval"):
            assert word not in text


def test_subtypes_are_told_beside_the_ordinary_estimate(visits):
    rows = visits[["x", "coded"]]
    plain, asked = (
        tb.fit(rows, "coded", budget="fast", labeling=tb.Labeling(subtypes=s))
        for s in (None, "report")
    )
    assert asked.classifier.alpha_ == plain.classifier.alpha_
    assert plain.labeling is None
    assert plain.to_dict()["labeling"] is None
    told = json.loads(json.dumps(asked.to_dict()))["labeling"]
    assert told["kind"] == "subtypes"
    assert sum(part["n_p"] for part in told["parts"]) == rows["coded"].sum()
    assert "never labeled stays invisible" in asked.summary()


def test_subtypes_that_count_are_told_without_what_needs_random_labels():
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], 200)
    rows = pd.DataFrame({"x": rng.normal(np.array([6.0, -6.0, 0.0])[kind])})
    rows["known"] = (rng.random(600) < np.array([0.8, 0.2, 0.0])[kind]).astype(int)
    found = tb.fit(rows, "known", labeling=tb.Labeling(subtypes="correct"), budget="fast")
    assert found.evidence.weight_p is not None
    page, stored = found._repr_html_(), found.to_dict()
    assert "How good is the ranking?" not in page
    assert "labeled at random" not in page
    first, careful = stored["first"]["interval"], stored["estimate"]["interval"]
    assert np.ptp(careful) > np.ptp(first)
    assert "refined  " not in found.summary()
    alone = replace(found.labeling, parts=found.labeling.parts[:1])
    assert "One subtype, so nothing to compare" in replace(found, labeling=alone)._repr_html_()


def test_an_estimate_survives_subtypes_that_cannot_be_read(visits):
    rows = visits[["x", "coded"]]
    few = rows[rows["coded"].eq(0) | (rows["coded"].cumsum() < 40)]
    found = tb.fit(few, "coded", budget="fast", labeling=tb.Labeling(subtypes="report"))
    assert found.to_dict()["labeling"]["kind"] == "unread"
    assert "subtypes        could not be read: subtypes need at least 50" in found.summary()
    assert "The subtypes could not be read" in found._repr_html_()


def test_misuse_is_refused_before_any_work(visits):
    def fit(**options):
        tb.fit(visits, "coded", budget="fast", **options)

    with fails("TB008", "'report', 'correct'"):
        fit(labeling=Labeling(subtypes="pulsnar"))
    with fails("TB126", "leave one out"):
        fit(labeling=Labeling(subtypes="correct", labeled_by="site"))
    with fails("TB126", "leave one out"):
        fit(labeling=Labeling(subtypes="report", labeled_by="site"))
    with fails("TB126", "gamma"):
        fit(labeling=Labeling(labeled_by="site", gamma=2))
    with fails("TB126", "min_precision= needs an interval"):
        fit(labeling=Labeling(labeled_by="site"), candidates=Listing(min_precision=0.9))
    with fails("TB126", "the label itself"):
        fit(labeling=Labeling(labeled_by="coded"))
    with fails("TB103", "sites"):
        fit(labeling=Labeling(labeled_by=["sites"]))
    with fails("TB126", "same in every row"):
        fit(labeling=Labeling(labeled_by=["land"]))


@pytest.mark.parametrize("limit", ["--max-alpha", "--min-precision"])
def test_limits_that_need_an_interval_are_refused(visits, tmp_path, limit):
    visits.to_csv(tmp_path / "t.csv", index=False)
    asked = ["--label", "coded", "--labeled-by", "site", limit, "0.3", "-o", str(tmp_path / "run")]
    done = CliRunner().invoke(main, ["fit", str(tmp_path / "t.csv"), *asked])
    assert done.exit_code == 2, done.output
    assert "TB126" in done.output
    assert not (tmp_path / "run").exists()


def test_groups_without_an_interval_are_told_with_one_number_and_no_interval(visits):
    found = tb.fit(
        visits.assign(who=np.arange(500) // 5), "coded", group="who", budget="fast",
        labeling=tb.Labeling(labeled_by="site"),
    )  # fmt: skip
    n_p, estimate = visits["coded"].sum(), found.estimate
    assert any(f"together; {n_p} known positives are worth" in note for note in estimate.notes)
    assert any(f"{n_p} known positives in groups" in alarm.message for alarm in estimate.alarms)
    said = found.summary()
    for words in ("intervals count", "trust the interval", "what if"):
        assert words not in said
    with fails("TB126", "needs an interval"):
        found.candidates(min_precision=0.9)


def test_a_sample_is_refused(visits):
    many = pd.concat([visits] * 4)
    with fails("TB126", "sample"):
        tb.fit(many, "coded", labeling=tb.Labeling(labeled_by="site"), budget=tb.Budget(sample=100))
