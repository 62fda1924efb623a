"""Runs on rows that belong together: what they print, keep, refuse, and hand to later verbs."""

import json

import numpy as np
import pandas as pd
import pytest
from asked import asked
from click.testing import CliRunner

import topbin as tb
from topbin.cli import main
from topbin.core import InputError
from topbin.job.files import StoredRun
from topbin.job.prepare import prepare


def visits(patients=60, per_patient=4, known=20, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    is_ill = np.arange(patients) < known + 0.3 * (patients - known)
    own = rng.normal(size=(patients, 3)) + 2.0 * is_ill[:, None]
    patient = np.repeat(np.arange(patients), per_patient)
    X = own[patient] + noise * rng.normal(size=(patient.size, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(patient_id=[f"p{i}" for i in patient])
    frame["day"] = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 99, len(X)), "D")
    return frame.assign(known=(patient < known).astype(int))


def run(*words):
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code in (0, 3), done.output
    return done.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("grouped")
    visits().to_csv(where / "visits.csv", index=False)
    asked = ("--label", "known", "--group", "patient_id", "--drop", "day", "--preset", "fast")
    (where / "said.txt").write_text(run("fit", where / "visits.csv", *asked, "-o", where / "run"))
    return where


def test_screen_report_and_result_say_that_folds_keep_groups_together(folder):
    said = (folder / "said.txt").read_text()
    sentence = "60 groups, 240 rows; folds keep groups together"
    assert said.count(sentence) == 2  # how the table was read, and the note of the estimate
    assert said.count(f"{sentence}; intervals count groups") == 1
    assert sentence in (folder / "run/report.html").read_text()
    found = json.loads((folder / "run/result.json").read_text())
    assert found["data"]["group"] == "patient_id"
    assert sentence in found["data"]["together"]
    assert found["data"]["features"] == ["a", "b", "c"]
    assert found["estimate"]["worth"][0] <= 30


def test_the_audit_of_a_grouped_run_draws_rows_and_says_so(folder):
    run("audit", folder / "run", "--n", 20, "-o", folder / "audit.csv")
    drawn = pd.read_csv(folder / "audit.csv")
    assert "Rows were drawn, not groups" in drawn["about this file"][0]
    drawn["is_positive"] = np.where(drawn[["a", "b", "c"]].sum(axis=1) > 3, "yes", "no")
    drawn.to_csv(folder / "audit.csv", index=False)
    said = run("audit", folder / "run", "--labels", folder / "audit.csv")
    assert "rows were drawn, not groups, so it holds for these rows" in said
    assert "groups with positives" in said
    assert "trained with 20 answers" in run("audit", folder / "run", "--refit")


def test_new_rows_need_no_group_and_a_complete_run_stays(folder):
    new = visits(seed=1).drop(columns=["patient_id", "known"])
    assert "topbin_probability" in tb.load(folder / "run").score(new)
    asked = ("--label", "known", "--group", "patient_id", "--drop", "day", "--preset", "fast")
    again = run("fit", folder / "visits.csv", *asked, "-o", folder / "run", "--resume")
    assert "kept            everything" in again


def test_the_groups_of_all_rows_are_kept_with_the_model(folder):
    scored = StoredRun.open(folder / "run").scores
    assert (np.unique(scored.groups_p).size, np.unique(scored.groups_u).size) == (20, 40)


def test_groups_and_times_are_read_once_and_are_no_features():
    data = prepare(asked(visits(), "known", group="patient_id", time="day"))
    assert data.encoder.columns == ["a", "b", "c"]
    assert data.folds.sentence.endswith('folds are blocks of time, by "day"')
    assert np.unique(data.folds.row_groups.groups).size == 60
    frame = visits()
    frame.loc[:2, "patient_id"] = None
    data = prepare(asked(frame, "known", group="patient_id"))
    assert data.folds.sentence.endswith("3 rows without a value are groups of their own")
    data = prepare(asked(visits().assign(row=range(240)), "known", group="row"))
    assert data.folds.row_groups is None
    assert 'together        "row" is different in every row' in "\n".join(data.lines())


def test_two_tables_share_their_groups():
    frame = visits().assign(patient_id=np.arange(240) % 50)
    known, rest = (frame[frame["known"] == k].drop(columns="known") for k in (1, 0))
    data = prepare(asked(rest, positives=known, group="patient_id"))
    assert np.unique(data.folds.row_groups.groups).size == 50


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"group": "nobody"}, "TB103"),
        ({"time": "never"}, "TB103"),
        ({"group": "known"}, "TB120"),
        ({"group": "same"}, "TB120"),
        ({"time": "known"}, "TB121"),
        ({"time": "patient_id"}, "TB121"),
        ({"time": "gaps"}, "TB121"),
        ({"group": "patient_id", "sample": 20}, "TB122"),
        ({"time": "day", "sample": 20}, "TB122"),
    ],
)
def test_misuse_is_refused_with_its_code(options, code):
    frame = visits().assign(same="x", gaps=[np.nan, *range(239)])
    with pytest.raises(InputError) as error:
        prepare(asked(frame, "known", **options))
    assert error.value.code == code


@pytest.mark.parametrize("times", [pd.date_range("2025-01-22", periods=240), np.arange(240)])
def test_a_word_among_times_is_named_with_its_row(times):
    frame = visits().assign(day=times.astype(str))
    frame.loc[3, "day"] = "soon"
    with pytest.raises(InputError, match="row 4 has 'soon'") as error:
        prepare(asked(frame, "known", time="day"))
    assert error.value.code == "TB121"


def test_too_few_groups_of_positives_are_refused_before_any_model_is_fitted():
    frame = visits()
    frame.loc[frame["known"] == 1, "patient_id"] = "one"
    with pytest.raises(InputError, match="known positives are in 1 group") as error:
        tb.fit(frame, "known", group="patient_id", budget="fast")
    assert error.value.code == "TB120"


def test_near_copies_raise_an_alarm_without_a_group_and_none_with_it():
    frame = visits(patients=100, known=30, noise=0.02).drop(columns="day")
    alone = prepare(asked(frame, "known", drop=["patient_id"]))
    assert [(a.code, a.bias) for a in alone.alarms] == [("near-copies", "down")]
    assert "--group patient_id" in alone.alarms[0].message
    assert prepare(asked(frame, "known", group="patient_id")).alarms == ()
    nameless = prepare(asked(frame.drop(columns="patient_id"), "known"))
    assert [a.code for a in nameless.alarms] == ["near-copies"]
