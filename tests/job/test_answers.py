"""Answers are saved one by one, and none is lost or doubled."""

import json

import pandas as pd
import pytest
from claims import small_run
from coded import fails

from topbin.job.audits.answers import ANSWERS, read_state, record_answers
from topbin.job.audits.draw import draw_audit

pytestmark = pytest.mark.usefixtures("quick_fits")


@pytest.fixture
def run(tmp_path):
    folder = small_run(tmp_path / "run")
    for path in (folder / ANSWERS, folder / "audit.json"):
        path.unlink(missing_ok=True)
    draw_audit(folder, 10, tmp_path / "a.csv")
    return folder


@pytest.fixture
def rows(run, tmp_path):
    return pd.read_csv(tmp_path / "a.csv")["row"].tolist()


def test_an_answer_is_on_the_disk_and_comes_back(run, rows):
    assert record_answers(run, {rows[0]: "yes"}) == 1
    assert record_answers(run, {rows[0]: "yes", rows[1]: "?"}) == 1  # the first is no news
    state = read_state(run)
    assert state.answers == {rows[0]: "positive", rows[1]: "unsure"}
    assert len((run / ANSWERS).read_text().splitlines()) == 2
    assert state.open_rows(state.draws[0]) == rows[2:]


def test_rows_not_reached_yet_are_not_blank_and_rows_passed_over_are(run, rows):
    record_answers(run, {rows[0]: "yes", rows[3]: "no"})
    state = read_state(run)
    given = state.answers_of(state.draws[0])
    assert given == ["positive", "blank", "blank", "negative"] + [None] * 6


def test_a_row_that_was_not_drawn_is_refused_and_nothing_is_saved(run, rows):
    with fails("TB117", "1 answered row was not drawn"):
        record_answers(run, {rows[0]: "yes", 10**6: "no"})
    assert read_state(run).answers == {}
    assert record_answers(run, {10**6: "no"}, model_only=True) == 1
    assert read_state(run).undrawn_answers == {10**6: "negative"}


def test_another_answer_to_the_same_row_needs_force(run, rows):
    record_answers(run, {rows[0]: "yes"})
    with fails("TB119", "1 row was answered differently", "was positive and is negative now"):
        record_answers(run, {rows[0]: "no", rows[1]: "no"})
    assert read_state(run).answers == {rows[0]: "positive"}
    assert record_answers(run, {rows[0]: "no"}, force=True) == 1
    assert read_state(run).answers == {rows[0]: "negative"}


def test_doubt_can_be_settled_and_a_blank_takes_nothing_back(run, rows):
    record_answers(run, {rows[0]: "?", rows[1]: "yes", rows[2]: ""})
    assert record_answers(run, {rows[0]: "yes", rows[1]: "", rows[2]: "no"}) == 2
    assert list(read_state(run).answers.values()) == ["positive", "positive", "negative"]


def test_a_line_torn_by_a_kill_is_left_out_and_the_next_answer_is_whole(run, rows):
    record_answers(run, {rows[0]: "yes"})
    with (run / ANSWERS).open("a") as handle:
        handle.write('{"data": "sha')
    assert read_state(run).answers == {rows[0]: "positive"}
    record_answers(run, {rows[1]: "no"})
    assert read_state(run).answers == {rows[0]: "positive", rows[1]: "negative"}


def test_answers_of_other_data_do_not_count(run, rows):
    record_answers(run, {rows[0]: "yes"})
    line = json.loads((run / ANSWERS).read_text())
    (run / ANSWERS).write_text(json.dumps({**line, "data": "other"}) + "\n")
    assert read_state(run).answers == {}


@pytest.mark.parametrize(
    "line", ["{}", '{"data": "x", "row": "a"}', '{"data": 3}', '[1]\n{"a": 1}']
)
def test_a_damaged_line_is_named(run, line):
    (run / ANSWERS).write_text(line + "\n")
    with fails("TB114", "line 1 of"):
        read_state(run)


def test_words_that_are_no_answer_are_refused(run, rows):
    with fails("TB002", "perhaps"):
        record_answers(run, {rows[0]: "perhaps"})
