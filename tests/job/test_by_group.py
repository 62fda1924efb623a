"""`by`: α of the groups of a column, on the screen, in files and after the fit; and bad columns."""

import json

import jsonschema
import numpy as np
import pandas as pd
import pytest
from claims import claims
from click.testing import CliRunner
from coded import fails
from make_api import answer_schema
from stored import result_of
from tumours import hidden_truth, means

import topbin as tb
from topbin.cli import main
from topbin.store.answer import Answer

pytestmark = pytest.mark.usefixtures("quick_fits")


def clinics(seed=0):
    """Tumors of two clinics, a larger share of which is malignant in the north."""
    frame, rng = means(), np.random.default_rng(seed)
    north = rng.random(len(frame)) < np.where(hidden_truth(), 0.7, 0.4)
    return frame.assign(clinic=np.where(north, "north", "south"))


def truth(frame):
    """The share of malignant ones among the unlabeled of each clinic."""
    is_u = frame["known"] == 0
    return pd.Series(hidden_truth())[is_u].groupby(frame["clinic"][is_u]).mean()


@pytest.fixture(scope="module")
def result():
    return tb.fit(clinics(), "known", id="case", read=tb.Read(by="clinic"), budget="fast")


def test_the_truth_lies_in_the_intervals(result):
    expected, found = truth(clinics()), result.by("clinic")
    assert [one.group for one in found.groups] == ["north", "south"]
    for one in found.groups:
        assert one.interval[0] <= expected[one.group] <= one.interval[1]
    north = found.groups[0]
    gap, ratio = expected["north"] - expected["south"], expected["north"] / expected["south"]
    assert north.difference_interval[0] <= gap <= north.difference_interval[1]
    assert north.ratio_interval[0] <= ratio <= north.ratio_interval[1]
    assert north.differs
    assert found.groups[1].differs
    assert found.comparisons == 1
    assert sum(one.n_u for one in found.groups) == result.estimate.n_u
    assert sum(one.n_p for one in found.groups) == result.estimate.n_p


def test_a_column_that_models_read_is_hidden_from_the_comparison(result):
    alone = tb.fit(clinics(), "known", id="case", drop="clinic", budget="fast")
    assert "clinic" in result.data.encoder.columns
    assert "clinic" not in alone.data.encoder.columns
    read, unread = (one.by("clinic").groups[0] for one in (result, alone))
    assert read.difference == pytest.approx(unread.difference, abs=0.05)


def test_the_fit_is_the_same_with_and_without_by(result):
    plain = tb.fit(clinics(), "known", id="case", budget="fast")
    assert plain.estimate == result.estimate
    assert plain.by("clinic") == result.answer.by[0]
    assert plain.answer.by == ()


def test_random_groups_do_not_differ_and_many_count_together(result):
    rng = np.random.default_rng(5)
    frame = clinics().assign(site=rng.integers(0, 20, 569).astype(str))
    found = tb.fit(frame, "known", id="case", drop="site", budget="fast").by("site")
    assert len(found.groups) == found.comparisons == 20
    assert not any(one.differs for one in found.groups)
    assert "and 8 more groups in result.json" in found.summary()


def test_it_is_in_the_answer_the_summary_the_report_and_the_picture(result, tmp_path):
    run = result.save(tmp_path / "run")
    stored = json.loads((run / "result.json").read_text())
    jsonschema.validate(stored, answer_schema())
    assert Answer.from_dict(result.to_dict()).by == result.answer.by
    assert result_of(run)["by"] == stored["by"]
    assert "by clinic       north: α = " in result.summary()
    assert "times the rest" in result.summary()
    assert ": differs" in result.summary()
    page = (run / "report.html").read_text()
    assert "Does the share differ by clinic?" in page
    assert 'aria-label="α by clinic"' in page
    drawn = tb.ByDisplay(result.by("clinic")).plot()
    assert drawn.ax_.get_title() == "α by clinic"
    assert drawn.frame()["group"].tolist() == ["north", "south"]
    assert drawn.frame()["ratio_low"][0] == result.by("clinic").groups[0].ratio_interval[0]


def test_numbers_and_dates_are_cut_into_quarters_and_few_numbers_are_groups():
    frame, rng = means(), np.random.default_rng(0)
    frame["day"] = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 300, 569), "D")
    frame["grade"], frame["smokes"] = rng.integers(1, 4, 569), rng.random(569) < 0.5
    frame["town"] = rng.choice(["Ulm", None], 569)
    found = tb.fit(
        frame, "known", id="case", drop=["day", "grade", "smokes", "town"], budget="fast"
    )
    quarters = found.by("mean symmetry")
    assert len(quarters.groups) == 4
    assert "cut into 4 groups" in quarters.notes[0]
    assert {one.n_p + one.n_u for one in quarters.groups} <= set(range(137, 149))
    assert found.by("day").groups[0].group.startswith("2025-01-01 to 2025-")
    assert [one.group for one in found.by("grade").groups] == ["1", "2", "3"]
    assert [one.group for one in found.by("smokes").groups] == ["no", "yes"]
    assert [one.group for one in found.by("town").groups] == ["Ulm", "(no value)"]


def test_large_numbers_keep_their_names_and_a_column_without_a_value_is_refused():
    frame = claims(400).assign(code=np.arange(400) % 3 + 1_000_001)
    found = tb.fit(
        frame, "known", id="case", read=tb.Read(by="code"), drop="code", budget="fast"
    ).by("code")
    assert [one.group for one in found.groups] == ["1000001", "1000002", "1000003"]
    blank = claims(400).assign(seen=pd.Series([pd.NaT] * 400))
    with fails("TB160"):
        tb.fit(blank, "known", id="case", read=tb.Read(by="seen"), budget="fast")


def test_groups_without_positives_or_without_unlabeled_rows_are_said():
    frame = means()
    frame["kind"] = np.where(frame["known"] == 1, "a", np.where(np.arange(569) % 3, "b", "a"))
    frame.loc[np.flatnonzero(frame["known"])[:30], "kind"] = "c"
    found = tb.fit(frame, "known", id="case", drop="kind", budget="fast").by("kind")
    assert [one.group for one in found.groups] == ["a", "b"]
    assert "no labeled positives; its positives are assumed" in found.groups[1].notes[0]
    assert "c: no unlabeled rows, so no α" in found.notes


def test_a_group_of_one_row_is_wide_and_borrows():
    frame = clinics()
    frame.loc[np.flatnonzero(frame["known"] == 0)[0], "clinic"] = "east"
    found = tb.fit(frame, "known", id="case", budget="fast").by("clinic")
    east = next(one for one in found.groups if one.group == "east")
    assert east.n_u == 1
    assert east.borrows
    assert not east.differs
    assert "most of its α is that of all groups" in " ".join(east.notes)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.arange(569).astype(str), "has 569 different values, and by= takes columns"),
        (np.repeat("x", 569), "has the same value in all rows"),
        (np.repeat(None, 569), "which cannot form groups"),
        ([[1.0, 2.0]] * 569, "which cannot form groups"),
    ],
)
def test_a_column_that_makes_no_groups_is_refused_before_the_fit(values, words):
    frame = means().assign(kind=pd.Series(list(values), dtype=object))
    with fails("TB160", '"kind"', words):
        told = tb.Budget(preset="fast", on_event=lambda _: pytest.fail("it fits"))
        tb.fit(frame, "known", id="case", read=tb.Read(by="kind"), budget=told)


def test_other_bad_columns():
    with fails("TB160", "is the label itself"):
        tb.fit(clinics(), "known", read=tb.Read(by="known"), budget="fast")
    with fails("TB103", "clinc"):
        tb.fit(clinics(), "known", read=tb.Read(by="clinc"), budget="fast")
    with fails("TB126", "by= needs an interval, and labeled_by= gives none"):
        tb.fit(
            clinics(),
            "known",
            read=tb.Read(by="clinic"),
            labeling=tb.Labeling(labeled_by="mean area"),
        )


def test_known_negatives_take_no_part():
    frame = clinics()
    frame["state"] = np.where(frame.pop("known") == 1, "yes", "open")
    benign = np.flatnonzero(~hidden_truth())[:60]
    frame.loc[benign, "state"] = "no"
    result = tb.fit(frame, "state", positive="yes", negative="no", id="case", budget="fast")
    found = result.by("clinic")
    assert sum(one.n_u for one in found.groups) == result.estimate.n_u == 409


def test_the_command_and_a_sample(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clinics().assign(site=lambda f: f["mean texture"] > 18).to_csv("t.csv", index=False)
    command = "fit t.csv --label known --id case --by clinic,site --preset fast --json -o run"
    done = CliRunner().invoke(main, command.split())
    assert done.exit_code == 0, done.output
    assert [one["column"] for one in json.loads(done.stdout)["by"]] == ["clinic", "site"]
    done = CliRunner().invoke(main, [*command.replace("-o run", "-o r2").split(), "--sample", "60"])
    assert done.exit_code == 0, done.output
    first = json.loads(done.stdout)["by"][0]
    assert sum(one["n_u"] for one in first["groups"]) == 60
    assert "60 sampled rows" in " ".join(first["notes"])
    done = CliRunner().invoke(
        main, ["fit", "t.csv", "--label", "known", "--by", "case", "--preset", "fast", "-o", "r3"]
    )
    assert done.exit_code == 2
    assert "--by takes columns" in done.output
    assert not (tmp_path / "r3").exists()
