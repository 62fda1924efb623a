"""Dates are never guessed: one order in all files of a run, shown and stored, or an error."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from coded import fails

import topbin as tb
from topbin.cli import main
from topbin.data import open_table, read_table
from topbin.data.table import open_pair

pytestmark = pytest.mark.usefixtures("quick_fits")

EARLY = ["03/04/2020", "05/06/2020", ""]  # both readings are possible
MONTH_FIRST = ["12/31/2020", "01/02/2020", ""]
DAY_FIRST = ["31/12/2020", "02/01/2020", ""]


def write(path, days, **more):
    pd.DataFrame({"day": days, "n": range(len(days)), **more}).to_csv(path, index=False)
    return path


def days(batch):
    return [str(day)[:10] for day in batch.frame["day"]]


def run(*given):
    return CliRunner().invoke(main, list(map(str, given)))


def test_both_readings_are_shown_and_either_can_be_given(tmp_path):
    path = write(tmp_path / "a.csv", EARLY)
    said = '"03/04/2020" in the column "day"', "2020-04-03 (dmy) or 2020-03-04 (mdy)"
    with fails("TB118", *said, "dates='dmy' or dates='mdy'"):
        read_table(path)
    assert days(read_table(path, dates="dmy")) == ["2020-04-03", "2020-06-05", "NaT"]
    assert days(read_table(path, dates="mdy")) == ["2020-03-04", "2020-05-06", "NaT"]
    assert days(read_table(path, dates="iso"))[:2] == EARLY[:2]
    assert "--dates dmy or --dates mdy" in run("fit", path, "--label", "n").stderr
    with fails("TB008", "dates"):
        read_table(path, dates="dym")


def test_one_file_decides_for_all_and_files_that_differ_are_refused(tmp_path):
    """The second file alone was read day first: α was .012 instead of .303."""
    first = write(tmp_path / "1.csv", MONTH_FIRST)
    second, third = write(tmp_path / "2.csv", EARLY), write(tmp_path / "3.csv", DAY_FIRST)
    for sources in ([first, second], [second, first]):
        assert {"2020-03-04", "2020-12-31"} < set(days(read_table(sources)))
    for p, u in ((first, second), (second, first)):
        assert [t.dates for t in open_pair(p, u)] == [{"day": "mdy"}] * 2
    for asked in (None, "mdy"):
        with fails("TB118", "different orders", "(mdy)", "(dmy)", "dates='iso'"):
            read_table([first, second, third], dates=asked)
    assert read_table([first, second, third], dates="iso").kinds["day"] == "string"


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("2020-01-31", "2020-01-31 00:00:00"),
        ("2020/01/02 10:30", "2020-01-02 10:30:00"),
        ("2020.01.02", "2020-01-02 00:00:00"),
        ("31.1.2020 9:30", "2020-01-31 09:30:00"),
        ("1/31/2020 11:59:58 PM", "2020-01-31 23:59:58"),
        ("31-12-99", "1999-12-31 00:00:00"),
    ],
)
def test_dates_with_one_reading_need_no_option(tmp_path, written, iso):
    path = write(tmp_path / "a.csv", [written, "", written])
    assert str(pd.Series(read_table(path).frame["day"])[0]) == iso
    assert len(open_table(path).date_lines) == (written[:4] != "2020" or "." in written)


@pytest.mark.parametrize("other", ["infinity", "31/12/20", "32/01/2020", "soon"])
def test_a_column_in_which_one_value_does_not_fit_is_text(tmp_path, other):
    table = read_table(write(tmp_path / "a.csv", ["31/12/2020", other]))
    assert days(table) == ["31/12/2020", other[:10]]


def test_columns_that_nobody_reads_need_no_order(tmp_path):
    path = write(tmp_path / "a.csv", EARLY * 20, s=[0.1, 0.9] * 30, y=[0, 0, 1] * 20)
    found = run("alpha", path, "--score", "s", "--label", "y", "--json")
    assert found.exit_code == 0, found.output
    write(path, ["03/04/2020"] * 60, s=[0.1, 0.9] * 30, y=[0, 0, 1] * 20)
    found = run("alpha", path, "--score", "s", "--label", "y", "--by", "day", "--json")
    assert [group["group"] for group in json.loads(found.stdout)["groups"]] == ["03/04/2020"]
    assert read_table(path, columns=["n"]).rows == 60


def test_a_column_keeps_its_order_and_the_option_decides_between_two(tmp_path):
    path = write(tmp_path / "a.csv", DAY_FIRST, early=EARLY, us=MONTH_FIRST)
    with fails("TB118", '"early"'):
        open_table(path)
    for order in ("dmy", "mdy"):
        table = open_table(path, dates=order)
        assert table.dates == {"day": "dmy", "early": order, "us": "mdy"}
        assert len(table.date_lines) == 3


def test_text_that_looks_like_dates_comes_back_from_our_own_files(tmp_path):
    """In parquet it is text, so it is text in candidates.csv, and in new rows of any format."""
    rng = np.random.default_rng(0)
    is_positive = rng.random(200) < 0.5
    rows = {"x": rng.normal(3.0 * is_positive, 1), "y": (is_positive & (rng.random(200) < 0.5)) * 1}
    frame = pd.DataFrame({"day": rng.choice(EARLY[:2], 200), **rows})
    tb.data.write_table(tmp_path / "a.parquet", frame)
    frame.to_csv(tmp_path / "new.csv", index=False)
    made = tmp_path / "run"
    asked = ("--label", "y", "--preset", "fast", "-o", made)
    for done in (
        run("fit", tmp_path / "a.parquet", *asked),
        run("report", made),
        run("score", made, tmp_path / "new.csv", "-o", tmp_path / "scored.csv"),
    ):
        assert done.exit_code == 0, done.output


def test_the_order_is_announced_stored_and_used_by_score(tmp_path):
    """The same rows in another file got other probabilities: 220 of 248 changed."""
    rng = np.random.default_rng(0)
    at = pd.Series(pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, 300), "D"))
    is_positive = (at.dt.day > 15) & (rng.random(300) < 0.9)
    rows = {"x": rng.normal(2.0 * is_positive, 1), "y": (is_positive & (rng.random(300) < 0.5)) * 1}
    frame = pd.DataFrame({"day": at.dt.strftime("%m/%d/%Y"), **rows})
    frame.to_csv(tmp_path / "a.csv", index=False)
    asked = ("--label", "y", "--preset", "fast", "-o", tmp_path / "run")
    told = run("fit", tmp_path / "a.csv", *asked).stdout
    first = str(at[0])[:10]
    assert f'dates           "day" is month, day, year: {at[0]:%m/%d/%Y} is {first}' in told
    assert json.loads((tmp_path / "run" / "model" / "encoder.json").read_text())["dates"] == {
        "day": "mdy"
    }
    early = frame[(at.dt.day <= 12).to_numpy()]
    early.to_csv(tmp_path / "early.csv", index=False)
    for source, out in (("a.csv", "all.csv"), ("early.csv", "some.csv")):
        done = run("score", tmp_path / "run", tmp_path / source, "-o", tmp_path / out)
        assert "month, day, year" in done.output, done.output
    whole, part = (pd.read_csv(tmp_path / name).set_index("x") for name in ("all.csv", "some.csv"))
    assert part["topbin_probability"].equals(whole.loc[part.index, "topbin_probability"])
    assert tb.fit(frame.assign(day=at), "y", budget="fast").estimate.alpha == json.loads(
        (tmp_path / "run" / "result.json").read_text()
    )["estimate"]["alpha"]  # fmt: skip
