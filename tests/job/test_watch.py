"""`topbin watch`: periods add up file by file, alarms, and files that do not fit."""

import functools
import json
import shutil

import msgspec
import numpy as np
import pandas as pd
import pytest
from claims import claims
from click.testing import CliRunner
from coded import fails

import topbin as tb
from topbin.cli import main

MONDAY = np.datetime64("2026-01-05")


def weeks(first, alphas, rows=150, seed=0):
    """New claims, one week after another, with these shares of positives."""
    rng, parts = np.random.default_rng([seed, first]), []
    for k, alpha in enumerate(alphas):
        y = rng.random(rows) < alpha
        towns = np.where(y, rng.choice(["Bern", "Ulm"], rows), rng.choice(["Ulm", None], rows))
        when = MONDAY + 7 * (first + k) + rng.integers(0, 7, rows)
        day = np.datetime64("2020-01-01") + rng.integers(0, 900, rows).astype("m8[D]")
        amount = rng.normal(size=rows) + 3 * y
        parts.append(pd.DataFrame({"amount": amount, "town": towns, "day": day, "seen": when}))
    return pd.concat(parts, ignore_index=True).sample(frac=1, random_state=0)


@functools.cache
def fitted():
    return tb.fit(claims(2000, seed=1), "known", id="case", budget="fast")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return fitted().save(tmp_path_factory.mktemp("saved") / "run")


@pytest.fixture
def run(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(saved, tmp_path / "run")


def command(*more):
    done = CliRunner().invoke(main, ["watch", "run", *more, "--time", "seen", "-o", "w"])
    assert "Traceback" not in done.output
    return done


def by_letters(texts):
    """Two shares of letters, as an encoder."""
    return np.array([[text.count("a"), text.count("b")] for text in texts], float)


def notes(n, alpha, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < alpha
    note = ["".join(rng.choice(list("aab" if one else "abb"), 30)) for one in y]
    return pd.DataFrame({"note": note, "day": MONDAY + np.arange(n) // 20}), y


def test_a_run_whose_encoder_is_a_function_is_watched_with_it(tmp_path):
    frame, y = notes(120, 0.5)
    read = tb.Read(text="note", encoder=by_letters)
    drop = {"drop": "day", "read": read, "budget": "fast"}
    result = tb.fit(frame.assign(known=y & (np.arange(120) % 2 == 0)), "known", **drop)
    new, _ = notes(60, 0.5, seed=1)
    found = tb.watch(result, new, time="day", every="week")
    assert [one.rows for one in found.periods] == [60]
    run = result.save(tmp_path / "run")
    again = tb.watch(run, new, time="day", every="week", read=tb.Read(encoder=by_letters))
    assert again.periods[0].alpha == found.periods[0].alpha
    with fails("TB143", "no file can hold"):
        tb.watch(run, new, time="day", every="week")


def lines():
    with open("w/periods.jsonl") as file:
        return [json.loads(line) for line in file]


def test_files_one_by_one_give_what_they_give_at_once(run):
    parts = weeks(0, [0.3] * 4), weeks(4, [0.3])
    for k, part in enumerate(parts):
        part.to_csv(f"{k}.csv", index=False)
        assert command(f"{k}.csv").exit_code == 0
    assert [one["start"] for one in lines()] == [str(MONDAY + 7 * k) for k in range(5)]
    whole = tb.watch(run, pd.concat(parts), time="seen")
    found, expected = lines(), msgspec.to_builtins(whole.periods)
    assert [one["alpha"] for one in found] == pytest.approx([one["alpha"] for one in expected])
    assert sum(one["rows"] for one in found) == 750
    assert "α of each period" in (run.parent / "w/watch.html").read_text()


def test_a_moved_share_is_exit_3_and_json(run):
    weeks(0, [0.1] * 6 + [0.5] * 2).to_parquet("a.parquet", index=False)
    done = command("a.parquet", "--json")
    assert done.exit_code == 3
    told = json.loads(done.stdout)
    assert [one["alarm"] for one in told["alarms"]] == ["share"]
    assert told["alarms"][0]["since"] == str(MONDAY + 42)
    assert len(told["periods"]) == 8
    low, high = told["periods"][-1]["interval"]
    assert low < 0.5 < high


def test_moved_rows_are_told_apart_and_named():
    frame = weeks(0, [0.3] * 8, rows=400)
    late = frame["seen"] >= pd.Timestamp(MONDAY) + pd.Timedelta(days=42)
    frame.loc[late, "day"] = frame.loc[late, "day"] + pd.Timedelta(days=2000)
    found = tb.watch(fitted(), frame, time="seen")
    assert [one.alarm for one in found.alarms][:1] == ["rows"]
    assert found.alarms[0].columns[0].startswith("day ")
    assert "the model no longer fits" in found.summary()


def test_what_was_recorded_is_never_changed(run):
    weeks(0, [0.3] * 3).to_csv("a.csv", index=False)
    assert command("a.csv").exit_code == 0
    before = {
        name: (run.parent / "w" / name).read_bytes() for name in ("watch.json", "periods.jsonl")
    }
    weeks(2, [0.3] * 2, seed=1).to_csv("late.csv", index=False)
    for given, words in (
        (["a.csv"], "1 of 1 file had been added before"),
        (["late.csv"], "150 rows are of periods up to 2026-01-19"),
        (["late.csv", "--every", "month"], "watches every 'week', not 'month'"),
        (["late.csv", "--risk", "0.5"], "watches risk 0.05, not 0.5"),
    ):
        done = command(*given)
        assert (done.exit_code, words in done.output) == (2, True), done.output
        assert {name: (run.parent / "w" / name).read_bytes() for name in before} == before
    (run.parent / "w/periods.jsonl").unlink()  # as if it had been killed before it was written
    weeks(3, [0.3]).to_csv("b.csv", index=False)
    assert command("b.csv").exit_code == 0
    assert len(lines()) == 4


def killed(*_):
    raise KeyboardInterrupt


def test_a_kill_while_files_are_written_loses_nothing(run, monkeypatch):
    weeks(0, [0.3] * 2).to_csv("a.csv", index=False)
    weeks(2, [0.3]).to_csv("b.csv", index=False)
    weeks(3, [0.3]).to_csv("c.csv", index=False)
    assert command("a.csv").exit_code == 0
    with monkeypatch.context() as patch:
        patch.setattr(
            "topbin.job.watch._write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        command("b.csv")
    assert command("c.csv").exit_code in (0, 2)  # b is recorded, or has to be given again
    command("b.csv")
    assert [one["rows"] for one in lines()][:2] == [150, 150]
    assert len({one["start"] for one in lines()}) == len(lines())


def test_empty_periods_one_row_and_rows_that_are_there_twice(run):
    first, late = weeks(0, [0.3] * 2), weeks(5, [0.3], rows=1)
    found = tb.watch(run, pd.concat([first, first.head(7), late]), time="seen")
    assert [one.rows for one in found.periods][2:] == [0, 0, 0, 1]
    assert sum(one.rows for one in found.periods) == 308
    assert "copies of rows: 7" in found.notes[0]
    assert found.periods[-1].interval[1] - found.periods[-1].interval[0] > 0.3
    assert not found.alarms


@pytest.mark.parametrize("words", [(True, False), (1, 0), ("yes", None)])
def test_new_labels_are_counted_by_period_and_do_not_move_the_share(words):
    frame = weeks(0, [0.3] * 2)
    late = frame["seen"] >= pd.Timestamp(MONDAY) + pd.Timedelta(days=7)
    known = (frame["amount"] > 3) & late
    plain = tb.watch(fitted(), frame, time="seen")
    found = tb.watch(fitted(), frame.assign(known=np.where(known, *words)), time="seen")
    assert [one.known for one in found.periods] == [0, known.sum()]
    assert [one.alpha for one in found.periods] == [one.alpha for one in plain.periods]
    assert f"150 rows, with {known.sum()} known positives)" in found.summary()


@pytest.mark.parametrize(("every", "starts"), [("day", 14), ("month", 1), ("week", 2)])
def test_days_weeks_and_months(every, starts):
    found = tb.watch(fitted(), weeks(0, [0.3] * 2), time="seen", every=every)
    assert len(found.periods) == starts
    assert sum(one.rows for one in found.periods) == 300


def test_numbers_are_cut_by_their_width():
    frame = weeks(0, [0.3] * 2).assign(step=np.arange(300) / 10)
    found = tb.watch(fitted(), frame, time="step", every="7.5")
    assert [one.start for one in found.periods] == ["0", "7.5", "15", "22.5"]
    with fails("TB008", 'every= does not fit: "step" holds numbers'):
        tb.watch(fitted(), frame, time="step", every="week")
    with fails("TB008", 'every= does not fit: "seen" holds dates'):
        tb.watch(fitted(), frame, time="seen", every="7")
    with fails("TB161", "more than 5,000 periods"):
        tb.watch(fitted(), frame.assign(step=frame["step"] * 1e6), time="step", every="1")


def test_bad_input_is_a_coded_error(run, tmp_path):
    frame = weeks(0, [0.3])
    with fails("TB103", "when"):
        tb.watch(run, frame, time="when")
    with fails("TB121", "not dates or numbers"):
        tb.watch(run, frame, time="town")
    with fails("TB121", "no value in row"):
        tb.watch(
            run, frame.assign(seen=frame["seen"].mask(np.arange(len(frame)) == 3)), time="seen"
        )
    with fails("TB008", "every= must be day, week or month"):
        tb.watch(run, frame, time="seen", every="fortnight")
    with fails("TB008", "risk"):
        tb.watch(run, frame, time="seen", risk=2)
    with fails("TB109", "amount"):
        tb.watch(run, frame.drop(columns="amount"), time="seen")
    frame.drop(columns="amount").to_csv("bad.csv", index=False)
    assert command("bad.csv").exit_code in (1, 2)
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize("name", ["watch.html", "periods.jsonl"])
def test_files_of_somebody_else_are_left_alone(run, tmp_path, name):
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / name).write_text("mine")
    (tmp_path / "w" / ".mine.part").write_text("mine too")
    weeks(0, [0.3]).to_csv("a.csv", index=False)
    assert command("a.csv").stderr.startswith("TB104")
    assert sorted(path.name for path in (tmp_path / "w").iterdir()) == sorted([name, ".mine.part"])


def test_rows_of_the_fit_are_said(run):
    fit = claims(300, seed=3).assign(seen=str(MONDAY))
    fit.to_csv("fit.csv", index=False)
    command_line = "fit fit.csv --label known --id case --drop seen --preset fast -o own"
    assert CliRunner().invoke(main, command_line.split()).exit_code == 0
    done = CliRunner().invoke(main, ["watch", "own", "fit.csv", "--time", "seen", "-o", "w"])
    assert '"fit.csv" was part of the fit' in done.output


def test_a_forged_or_damaged_state_is_refused(run):
    weeks(0, [0.3] * 2).to_csv("a.csv", index=False)
    weeks(2, [0.3]).to_csv("b.csv", index=False)
    assert command("a.csv").exit_code == 0
    whole = (run.parent / "w/watch.json").read_text()
    state = json.loads(whole)
    short = [{**one, "columns": one["columns"][:-1]} for one in state["periods"]]
    bins = [{**one, "bins": one["bins"][:-1]} for one in state["periods"]]
    for bad in (
        whole[:50],
        "[]",
        json.dumps({**state, "periods": short}),
        json.dumps({**state, "periods": bins}),
        json.dumps({**state, "columns": ["no such"] * len(state["columns"])}),
        json.dumps({**state, "run": "0" * 64}),
        json.dumps({**state, "periods": [{**one, "start": "x"} for one in state["periods"]]}),
        json.dumps({**state, "periods": state["periods"][::-1]}),
        json.dumps({**state, "cuts": [[0.0] * 9] * len(state["cuts"])}),
        json.dumps({**state, "periods": [{**one, "rows": -1} for one in state["periods"]]}),
        json.dumps({**state, "periods": [{**state["periods"][0], "start": "nan"}]}),
        json.dumps({**state, "periods": [{**state["periods"][0], "start": "2020"}]}),
        json.dumps({**state, "periods": [{**state["periods"][0], "start": "2020-01-07"}]}),
        json.dumps({**state, "periods": [{**one, "rows": 7} for one in state["periods"]]}),
        whole[:-2] + ', "more": ' + 100_000 * "[" + 100_000 * "]" + "}",
    ):
        (run.parent / "w/watch.json").write_text(bad)
        done = command("b.csv")
        assert (done.exit_code, "TB161" in done.output) == (2, True), done.output
        assert (run.parent / "w/watch.json").read_text() == bad
