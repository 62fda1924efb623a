"""`topbin doctor`: what is wrong with a table, on one screen, before any fit."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tumours import tumours

import topbin as tb
from topbin.cli import main


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def doctor(frame, *given):
    frame.to_csv("t.csv", index=False)
    done = CliRunner().invoke(main, ["doctor", "t.csv", "--label", "known", *given])
    assert [path.name for path in Path().iterdir()] == ["t.csv"]
    return done


def visits():
    """Sixty patients with six visits each, which are nearly the same."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), 6)
    X = rng.normal(size=(60, 4))[patient] + 0.01 * rng.normal(size=(360, 4))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(patient=patient)
    return frame.assign(known=(patient < 20).astype(int))


def test_a_sound_table_has_no_alarm_and_the_width_that_a_fit_has():
    done = doctor(tumours(), "--id", "case", "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told["alarms"] == []
    assert told["data"]["n_p"] == 100
    assert "seconds" not in told  # nothing is fitted
    low, high = tb.fit(tumours(), "known", id="case", budget="fast").estimate.interval
    assert told["widths"]["0.99"] / 2 < high - low < told["widths"]["0.8"]


def test_it_is_one_screen():
    screen = doctor(tumours(), "--id", "case").stdout
    assert len(screen.splitlines()) < 24
    assert "verdict         no alarms (this does not prove the table right)" in screen
    assert "95 % interval   expect a width of about 0." in screen


def test_a_column_that_leaks_a_part_of_the_labels_is_named():
    frame = tumours()
    treated = frame["known"].where((frame["known"] == 1) & (frame.index % 2 == 0))
    screen = doctor(frame.assign(treated=treated), "--id", "case").stdout
    assert '"treated" is filled in for ' in screen
    assert "verdict         1 alarm to look into before a fit: leak" in screen


def test_an_id_that_names_many_rows_is_noticed():
    screen = doctor(tumours().assign(ward=np.arange(len(tumours())) % 5), "--id", "ward").stdout
    assert 'repeated-ids: "ward" does not name single rows' in screen
    assert "--group ward" in screen


def test_what_is_wrong_is_named_once_with_what_to_do():
    frame = tumours()
    screen = doctor(frame.assign(status=frame["known"] * 3), "--id", "case").stdout
    assert screen.count('"status" alone separates positives from unlabeled rows') == 1
    assert "--drop status" in screen
    assert "verdict         1 alarm to look into before a fit: leak" in screen


def test_groups_that_nobody_named_are_an_alarm_and_named_ones_make_the_interval_wider():
    found = json.loads(doctor(visits(), "--json").stdout)
    assert "near-copies" in [alarm["code"] for alarm in found["alarms"]]
    assert "--group patient" in str(found["alarms"])
    grouped = json.loads(doctor(visits(), "--group", "patient", "--json").stdout)
    assert [alarm["code"] for alarm in grouped["alarms"]] == ["few-positives"]
    assert "in groups, worth 20 independent rows" in grouped["alarms"][0]["message"]
    assert grouped["widths"]["0.99"] > found["widths"]["0.99"]


def test_copies_are_an_alarm():
    screen = doctor(pd.concat([tumours()] * 2), "--id", "case").stdout
    assert "alarm           repeated-rows:" in screen


def test_a_dry_run_says_the_same_and_how_long_it_takes():
    frame = tumours()
    screen = doctor(frame, "--id", "case").stdout
    given = ["fit", "t.csv", "--label", "known", "--id", "case", "--dry-run"]
    dry = CliRunner().invoke(main, given).stdout
    assert dry.startswith(screen)
    assert "time            about " in dry.removeprefix(screen)


def test_too_few_rows_are_said_after_what_was_read():
    frame = tumours()
    done = doctor(frame[frame["known"] == 0].assign(known=lambda t: np.arange(len(t)) < 2))
    assert done.exit_code == 1
    assert "labels          True = positive (2 rows)" in done.stdout
    assert "TB003 there are only 2 known positives" in done.stderr


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["gone.csv", "--label", "known"], 1),
        (["t.csv"], 2),
        (["t.csv", "--label", "nope"], 2),
        ([], 2),
    ],
)
def test_what_a_fit_refuses_it_refuses(given, code):
    tumours().to_csv("t.csv", index=False)
    done = CliRunner().invoke(main, ["doctor", *given])
    fit = CliRunner().invoke(main, ["fit", *given, "--dry-run"])
    assert (done.exit_code, done.stderr.replace("doctor", "fit")) == (fit.exit_code, fit.stderr)
    assert done.exit_code == code
