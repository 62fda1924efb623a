"""candidates.csv after an audit: new probabilities, and not one other byte."""

import csv
import hashlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from asked import fit
from claims import claims, fitted, small_run
from coded import fails
from stored import forge_result, result_of

import topbin as tb
from topbin.data.write import write_table
from topbin.job import candidates, files
from topbin.job.audits import judge as audits
from topbin.job.files import StoredRun, relisted, sum_of
from topbin.store.runs import CANDIDATES, REPORT, read_result

ODD = ["007", "1.50", "+1", 'say "yes"', "it's", "a,b", "two\nlines", "", "NA", "'=1+1", "é\u2028x"]


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "run")


def truth():
    return claims()["amount"] > 1.5


def record(run, n=60, *, is_positive=None):
    opened = tb.audit(run)
    rows = opened.draw(n)["row"]
    answers = truth() if is_positive is None else is_positive
    opened.record({row: bool(answers[row - 1]) for row in rows})
    return opened


def cells(run):
    with (run / CANDIDATES).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def replace_list(run, frame):
    """Put another list in place of the one of a run, as if the run had written it."""
    write_table(run / CANDIDATES, frame, force=True)
    found = result_of(run)
    listed = {**found["candidates"], "rows": len(frame), "sum": sum_of(run / CANDIDATES)}
    forge_result(run, {**found, "candidates": listed})


def without(lines):
    """The bytes of each line without the third cell."""
    parts = (line.split(b",", 3) for line in lines)
    return [(*part[:2], *part[3:]) for part in parts]


def test_only_the_probabilities_change(run):
    before, opened = cells(run), record(run)
    old = (run / CANDIDATES).read_bytes().splitlines()
    opened.judge()
    after = cells(run)
    place = before[0].index("probability")
    assert [row[:place] + row[place + 1 :] for row in after] == [
        row[:place] + row[place + 1 :] for row in before
    ]
    assert without((run / CANDIDATES).read_bytes().splitlines()) == without(old)
    likely = [float(row[place]) for row in after[1:]]
    assert likely == sorted(likely, reverse=True)
    model = tb.load(run).model
    scores = np.sort(model.evidence_.scores[1])[::-1][: len(likely)]
    assert likely == model.probability_map_(scores).round(4).tolist()
    assert likely != [float(row[place]) for row in before[1:]]


def test_odd_cells_stay_as_they_are(run):
    frame = pd.read_csv(run / CANDIDATES, keep_default_na=False, dtype=str)
    likely = fitted().candidates()["probability"]
    odd = {f"odd {k}": np.roll(np.resize(ODD, len(frame)), k) for k in range(3)}
    replace_list(run, frame.assign(probability=likely, **odd))
    check_bytes(run)


def test_cells_with_carriage_returns_which_are_all_quoted_stay_as_they_are(run):
    frame = pd.read_csv(run / CANDIDATES, keep_default_na=False)
    frame["odd"] = np.resize(["a\rb", "c\r\nd", '"', ""], len(frame))
    replace_list(run, frame)
    assert (run / CANDIDATES).read_bytes().startswith(b'"rank","row","probability",')
    check_bytes(run)


def check_bytes(run):
    """An audit changes the third cell of each row, and nothing else; quoting decides rows."""
    old, path = cells(run), run / CANDIDATES
    content = path.read_bytes().decode()
    record(run).judge()
    new = cells(run)
    for was, now in zip(old[1:], new[1:], strict=True):
        start = f"{was[0]},{was[1]},"
        content = content.replace(f"\n{start}{was[2]},", f"\n{start}{now[2]},", 1)
    assert path.read_bytes().decode() == content
    assert [row[:2] + row[3:] for row in new] == [row[:2] + row[3:] for row in old]
    assert [row[2] for row in new] != [row[2] for row in old]


def test_a_list_of_three_columns(run):
    frame = pd.read_csv(run / CANDIDATES)[["rank", "row", "probability"]]
    replace_list(run, frame)
    record(run).judge()
    after = pd.read_csv(run / CANDIDATES)
    pd.testing.assert_frame_equal(after[["rank", "row"]], frame[["rank", "row"]])
    assert (after["probability"] != frame["probability"]).any()


def test_what_result_json_says_follows_the_list(run):
    record(run).judge()
    found, frame = result_of(run), pd.read_csv(run / CANDIDATES)
    listed, both = found["candidates"], found["audit"]["together"]
    assert listed["sum"] == hashlib.sha256((run / CANDIDATES).read_bytes()).hexdigest()
    assert listed["precision"] == pytest.approx(frame["probability"].mean(), abs=1e-4)
    assert listed["precision_low"] <= listed["precision"] <= listed["precision_high"]
    positives = both["alpha"] * found["data"]["n_u"]
    made = min(1.0, listed["rows"] * listed["precision"] / positives)
    assert listed["recall"] == pytest.approx(made)
    assert "is not as the run wrote it" not in (run / REPORT).read_text()


def test_a_second_audit_starts_from_the_scores_not_from_the_first_list(run):
    """After an audit that finds no positive, the list says hardly anything; the scores still do."""
    record(run, is_positive=np.zeros(len(claims()), bool)).judge()
    first = pd.read_csv(run / CANDIDATES)["probability"]
    record(run, 80).judge()
    model = tb.load(run).model
    second = pd.read_csv(run / CANDIDATES)["probability"]
    scores = np.sort(model.evidence_.scores[1])[::-1][: len(second)]
    assert second.tolist() == model.probability_map_(scores).round(4).tolist()
    assert second.mean() > first.mean()
    again = (run / CANDIDATES).read_bytes()
    tb.audit(run).judge()  # the same answers, so the same list
    assert (run / CANDIDATES).read_bytes() == again


def test_rows_outside_a_sample_are_listed_by_the_probability_that_they_had(tmp_path):
    claims(900, seed=5).to_parquet(tmp_path / "rows.parquet")
    asked = {"id": "case", "preset": "fast", "sample": 200, "candidates": 40}
    run = fit(tmp_path / "rows.parquet", "known", **asked).save(tmp_path / "run")
    before = pd.read_csv(run / CANDIDATES)
    is_positive = (claims(900, seed=5)["amount"] > 1.5).to_numpy()
    for n in (60, 40):
        record(run, n, is_positive=is_positive).judge()
        after, model = pd.read_csv(run / CANDIDATES), tb.load(run).model
        rest = [name for name in before if name != "probability"]
        pd.testing.assert_frame_equal(after[rest], before[rest])
        assert after["probability"].is_monotonic_decreasing
        assert after["probability"].between(0, 1).all()
        old, new = tb.load(run / "model").probability_map_, model.probability_map_
        scores = np.interp(before["probability"], old(old.knots), old.knots)
        np.testing.assert_allclose(after["probability"], new(scores), atol=0.02)


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("1,", "9,", 1),
        lambda text: text + text.splitlines()[1] + "\n",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "rank,row\n",
        lambda text: "",
    ],
)
def test_an_edited_list_is_left_alone(run, edit):
    path = run / CANDIDATES
    path.write_bytes(edit(path.read_bytes().decode()).encode())
    edited, opened = path.read_bytes(), record(run)
    before = result_of(run)["candidates"]
    now = read_result(run)
    found = relisted(StoredRun.open(run), replace(now, audit=judged(run)))
    assert (found.listed, found.text) == (now.candidates, None)
    if edited.count(b"\n") > 1:  # an empty table cannot be shown
        opened.judge()
        assert result_of(run)["audit"]["n"] == 60
        assert "is not as the run wrote it" in (run / REPORT).read_text()
    assert path.read_bytes() == edited
    assert result_of(run)["candidates"] == before


def judged(run):
    return audits.judged_state(StoredRun.open(run), audits.read_state(run))


def test_a_list_that_is_not_ours_is_left_alone_though_its_sum_fits(run):
    frame = pd.read_csv(run / CANDIDATES)
    replace_list(run, frame[["row", "rank", "probability"]])
    edited = (run / CANDIDATES).read_bytes()
    record(run).judge()
    assert (run / CANDIDATES).read_bytes() == edited


@pytest.mark.parametrize("rows", ["1,5,much\n", "1,5\n", '1,5,"0.5"\n', "1,5,0.5"])
def test_a_forged_list_is_refused_with_a_code_or_left_alone(run, rows):
    (run / CANDIDATES).write_text(f"rank,row,probability\n{rows}")
    found = result_of(run)
    listed = {**found["candidates"], "rows": 10**6, "sum": sum_of(run / CANDIDATES)}
    forge_result(run, {**found, "candidates": listed})
    content = (run / CANDIDATES).read_bytes()
    try:
        record(run).judge()
    except tb.core.TopbinError as error:
        assert error.code in ("TB102", "TB110", "TB114")
        assert (run / CANDIDATES).read_bytes() == content


def test_a_failure_before_writing_changes_nothing(run, monkeypatch):
    opened = record(run)
    names = CANDIDATES, REPORT, "result.json"
    before = {name: (run / name).read_bytes() for name in names}

    def fail(*_):
        raise OSError(28, "No space left on device")

    for owner, name in ((files, "page"), (audits, "report_of"), (candidates, "list_precision")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fail)
            with pytest.raises((OSError, tb.core.TopbinError)):
                opened.judge()
        assert {name: (run / name).read_bytes() for name in names} == before
    opened.judge()
    assert (run / CANDIDATES).read_bytes() != before[CANDIDATES]


def test_an_edit_while_the_report_is_drawn_is_not_overwritten(run, monkeypatch):
    opened, drawn, seen = record(run), audits.report_of, []

    def report_of(run, *found):
        if not seen:
            seen.append(True)
            path = run.folder / CANDIDATES
            path.write_text(path.read_text().replace("rank", "Rank", 1))
        return drawn(run, *found)

    monkeypatch.setattr(audits, "report_of", report_of)
    opened.judge()
    assert (run / CANDIDATES).read_text().startswith("Rank,")
    assert result_of(run)["audit"]["n"] == 60


def test_a_missing_list_is_said(run):
    opened = record(run)
    (run / CANDIDATES).unlink()
    with fails("TB101", CANDIDATES):
        opened.judge()
    assert result_of(run).get("audit") is None
