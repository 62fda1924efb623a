"""Rows are handed out one by one, and no answer is lost, doubled or silently replaced."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from claims import claims, small_run
from coded import fails
from stored import result_of

import topbin as tb
from topbin.job.audits import judge as audits
from topbin.job.audits import review as job
from topbin.job.audits.answers import ANSWERS, read_state, record_answers
from topbin.job.audits.review import open_review


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "run")


@pytest.fixture
def review(run):
    return open_review(run, n=12)


def lines(run):
    return [json.loads(line) for line in (run / ANSWERS).read_text().splitlines()]


def answer_all(review, answer="no", page="a"):
    while (row := review.next_row(page)) is not None:
        assert review.save(row["row"], answer) is None


def test_an_open_draw_continues_and_a_finished_one_is_followed_by_another(run, review):
    first = [review.next_row("a")["row"]]
    review.save(first[0], "yes")
    again = open_review(run, n=99)
    assert list(again.rows) == list(review.rows)
    assert again.next_row("a")["row"] == list(review.rows)[1]
    answer_all(again)
    assert again.progress() == {
        "total": 12, "done": 12, "positive": 1, "negative": 11, "unsure": 0,
    }  # fmt: skip
    more = open_review(run, n=12)
    assert not set(more.rows) & set(review.rows)


def test_more_rows_do_not_disturb_who_goes_through_those_that_are_there(review):
    answer_all(review)
    rows = iter(review.rows)  # as another page does meanwhile
    before = list(review.rows)
    review.more()
    assert list(rows) == before
    assert len(review.rows) > len(before)


def test_the_page_asks_what_yes_means(review):
    assert review.question == "Is this row positive: known = True?"
    rows = review.result.data
    assert job.question_of(rows, ["a frame"]) == "Is this row positive, like the known ones?"
    texts = replace(rows, features=("text",), id="file")
    asked = job.question_of(texts, ["docs/yes"])
    assert asked == 'Is this text positive, like those in "docs/yes"?'


def test_a_row_shows_the_columns_of_the_table_and_nothing_else(review):
    row = review.next_row("a")
    assert [cell["name"] for cell in row["cells"]] == ["case", "amount", "town", "day"]
    assert row["cells"][0]["text"] == str(row["row"] - 1)
    assert all(len(cell["text"]) == 10 for cell in row["cells"] if cell["name"] == "day")
    assert row["answer"] is None


def test_two_pages_get_different_rows_until_only_one_is_left(review, monkeypatch):
    a, b = review.next_row("a"), review.next_row("b")
    assert a["row"] != b["row"]
    assert review.next_row("a")["row"] == a["row"]  # a reload shows the same row
    for row in list(review.rows)[:-1]:
        review.save(row, "no")
    assert review.next_row("a")["row"] == review.next_row("b")["row"]
    now = time.monotonic()
    monkeypatch.setattr(job.time, "monotonic", lambda: now + job.AWAY - 1)
    review.stay("b")
    monkeypatch.setattr(job.time, "monotonic", lambda: now + job.AWAY + 1)
    review.next_row("c")
    assert set(review._held) == {"b", "c"}  # page a was closed long ago


def test_an_answer_that_somebody_else_gave_is_shown_and_not_replaced(run, review):
    row = review.next_row("a")["row"]
    assert review.save(row, "yes") is None
    assert review.save(row, "no") == "positive"
    assert review.save(row, "?") == "positive"
    assert review.save(row, "yes") is None  # they agree: nothing to write
    assert len(lines(run)) == 1
    assert review.save(row, "no", seen="positive") is None
    assert [line.get("corrects") for line in lines(run)] == [None, True]
    assert read_state(run).answers == {row: "negative"}


def test_answers_of_another_process_are_seen_at_once(run, review):
    row, other = review.next_row("a")["row"], open_review(run)
    assert other.save(row, "yes") is None
    assert review.row(row)["answer"] == "positive"
    assert review.save(row, "no") == "positive"
    record_answers(run, {list(review.rows)[1]: "?"})
    assert review.progress()["done"] == 2
    assert review.given.total() == 0


def test_many_people_at_once_lose_and_double_nothing(run):
    reviews = [open_review(run, n=40), open_review(run)]

    def work(page):
        while (row := reviews[page % 2].next_row(str(page))) is not None:
            reviews[page % 2].save(row["row"], "yes" if row["row"] % 3 else "no")

    with ThreadPoolExecutor(4) as people:
        list(people.map(work, range(4)))
    assert sorted(line["row"] for line in lines(run)) == sorted(reviews[0].rows)


def test_a_row_that_is_not_in_the_review_is_refused(review):
    with fails("TB117", "row 99,999 is not one of the rows"):
        review.save(99_999, "yes")
    with fails("TB002", "not understood"):
        review.save(next(iter(review.rows)), "perhaps")


def test_nobody_sees_alpha_before_the_last_row(run):
    first = open_review(run, n=12)
    answer_all(first)
    assert first.judged() is None
    first.judge()
    more = open_review(run, n=5)
    assert more.judged() is None  # the result of the first draw is not shown either
    answer_all(more, "yes")
    found = more.judge()
    assert found["before"]["interval"] == more.result.estimate.interval
    assert 0 <= found["interval"][0] <= found["alpha"] <= found["interval"][1] <= 1


def test_as_many_rows_are_drawn_again_when_all_have_an_answer(run, review):
    first = list(review.rows)
    review.more()
    assert list(review.rows) == first  # some have no answer yet
    answer_all(review)
    review.more()
    assert list(review.rows)[:12] == first
    assert len(review.rows) == 24
    assert review.next_row("a")["row"] == list(review.rows)[12]
    other = open_review(run)
    assert list(other.rows) == list(review.rows)[12:]
    answer_all(review)
    assert review.judge()["interval"]
    assert len(read_state(run).looks) == 1


def test_the_question_can_be_worded_and_is_kept(run):
    assert open_review(run, n=5, question=" Is it fraud? ").question == "Is it fraud?"
    assert open_review(run, n=7).question == "Is it fraud?"  # also after another draw
    assert open_review(run, candidates=True).question == "Is it fraud?"
    before = (run / "audit.json").read_bytes()
    for wrong in ("", "  ", "x" * 301):
        with fails("TB008", "question= must be 1 to 300 letters"):
            open_review(run, n=9, question=wrong)
    assert (run / "audit.json").read_bytes() == before


def test_the_audit_is_judged_once_and_only_when_all_rows_have_an_answer(run, review):
    review.save(next(iter(review.rows)), "yes")
    with fails("TB117", "1 of 12 rows have an answer"):
        review.judge()
    answer_all(review, "no")
    assert review.judged() is None
    found = review.judge()
    assert review.judge() == found == review.judged()
    assert len(read_state(run).looks) == 1
    assert result_of(run)["audit"]["sentence"] == found["sentence"]
    review.save(next(iter(review.rows)), "no", seen="positive")
    assert review.judged() is None  # it does not count the last answer


def test_the_top_bin_can_be_labeled_too(run):
    review = open_review(run, n=20, where="top")
    for row in review.rows:
        review.save(row, "?" if row % 5 == 0 else "yes")
    found = review.judge()
    assert 0 <= found["interval"][0] <= found["alpha"] <= found["interval"][1] <= 1
    assert list(open_review(run, n=20).rows) != list(review.rows)


def test_candidates_serve_the_model_and_leave_drawn_rows_to_the_audit(run):
    everything = list(open_review(run, candidates=True).rows)
    drawn = set(open_review(run, n=60).rows)
    review = open_review(run, candidates=True)
    assert list(review.rows) == [row for row in everything if row not in drawn]
    row = review.next_row("a")
    assert [cell["name"] for cell in row["why"]][:3] == ["rank", "probability", "reason_1"]
    assert [cell["name"] for cell in row["cells"]] == ["case", "amount", "town", "day"]
    review.save(row["row"], "yes")
    assert read_state(run).undrawn_answers == {row["row"]: "positive"}
    assert read_state(run).answers == {}
    assert review.judged() is None
    review.more()
    assert len(review.rows) == len(everything) - len(drawn & set(everything))
    with fails("TB117"):
        review.judge()
    assert open_review(run, candidates=True).progress()["done"] == 1


def test_a_draw_by_strata_continues(run):
    first = open_review(run, n=20, stratified=True)
    assert list(open_review(run).rows) == list(first.rows)


def test_the_second_draw_from_files_continues_with_its_own_rows(tmp_path):
    claims(900, seed=5).to_parquet(tmp_path / "rows.parquet")
    fit = tb.fit(
        tmp_path / "rows.parquet", "known", id="case", budget=tb.Budget(preset="fast", sample=200)
    )
    run = fit.save(tmp_path / "run")
    for n in (300, 150):  # so many that the second draw meets rows of the first
        review = open_review(run, n=n)
        again = open_review(run)
        assert list(again.rows) == list(review.rows) == [*read_state(run).draws[-1].row]
        answer_all(again)
        assert again.judge()["interval"][1] < 0.1


def test_people_label_on_while_the_audit_is_judged(run, review, monkeypatch):
    """The folder is not locked while the report is drawn, and answers of that time count."""
    answer_all(review, "no")
    rows, seen = list(review.rows), []
    drawn = audits.report_of

    def report_of(run, *found):
        if not seen:  # somebody changes an answer meanwhile, without having to wait
            seen.append(record_answers(run.folder, {rows[0]: "yes"}, force=True))
        return drawn(run, *found)

    monkeypatch.setattr(audits, "report_of", report_of)
    found = audits.judge_audit(run)
    assert (seen, found.n_positive, found.n) == ([1], 1, len(rows))
    assert len(read_state(run).looks) == 1
    assert not read_state(run).is_new
