"""Scores in parts: the same as at once, and never half of a part, whatever stops the work."""

import os
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import warm
from claims import claims, fitted, read_all, small_run, write_claims
from score_files import spoil

from topbin.core.errors import InputError
from topbin.core.options import Read
from topbin.data import batch, table, write_table
from topbin.data.formats import parquet
from topbin.engines import Local
from topbin.job.score import PartScorer, score_files, write_part

pytestmark = pytest.mark.usefixtures("quick_fits")

ENGINE = Local(threads=2)


class Idle:
    """An engine that must not be asked."""

    def total(self, task, parts, shared):
        raise AssertionError("work began")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("fitted") / "run")


@pytest.fixture
def files(tmp_path):
    return write_claims(tmp_path / "in", claims(1200, seed=1))


def scored_frame(folder):
    return pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])


def test_every_row_has_the_probability_that_the_model_gives_it(run, files, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "PART_ROWS", 200)
    monkeypatch.setattr(batch, "CHUNK_ROWS", 70)
    done = score_files(ENGINE, run, files, tmp_path / "out")
    assert (done.rows, done.files, done.before, done.notes) == (1200, 8, 0, ())
    assert (tmp_path / "out/_SUCCESS").exists()
    found = scored_frame(tmp_path / "out").sort_values("case")
    new = claims(1200, seed=1)
    expected = fitted().classifier.predict_proba(fitted().data.encoder.encode(new))[:, 1]
    assert np.array_equal(found["topbin_probability"], expected)
    assert np.array_equal(found["topbin_positive"], expected > 0.5)
    for column in new:
        pd.testing.assert_series_equal(
            found[column].reset_index(drop=True), new[column], check_dtype=False
        )


def test_columns_that_the_model_does_not_read_may_differ(run, files, tmp_path):
    claims(10).drop(columns=["known"]).assign(case="word").to_parquet(tmp_path / "in/day-8.parquet")
    assert score_files(ENGINE, run, files, tmp_path / "out").rows == 1210


def test_columns_keep_their_types(run, tmp_path):
    table = pa.Table.from_pandas(claims(50), preserve_index=False)
    table = table.append_column("tags", pa.array([["a"]] * 50))
    table = table.set_column(0, "case", pa.array(np.arange(50), pa.int16()))
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in/a.parquet")
    score_files(ENGINE, run, tmp_path / "in/a.parquet", tmp_path / "out")
    (path,) = (tmp_path / "out").glob("*.parquet")
    given, found = pq.read_schema(tmp_path / "in/a.parquet"), pq.read_schema(path)
    assert found.names == [*given.names, "topbin_probability", "topbin_positive"]
    assert found.types == [*given.types, pa.float64(), pa.bool_()]


def test_finished_parts_are_not_done_again_and_new_files_are_added(run, files, tmp_path):
    out = tmp_path / "out"
    score_files(ENGINE, run, files, out)
    written = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert score_files(Idle(), run, files, out).before == 4
    (out / next(iter(written))).unlink()
    pq.write_table(pa.Table.from_pandas(claims(60)), tmp_path / "in/day-9.parquet")
    again = score_files(ENGINE, run, files, out)
    assert (again.files, again.before) == (5, 3)
    kept = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert len(written.items() & kept.items()) == 3


def test_parts_that_another_decimal_mark_reads_otherwise_are_other_parts(run, tmp_path):
    """Nothing but the option differs: the file, its groups and the model are the same."""
    amount = [f"{value:,.3f}".partition(".")[0] + ",125" for value in range(1, 61)]  # 7,125
    claims(60).assign(amount=amount).to_csv(tmp_path / "new.csv", index=False)
    parts = {}
    for mark in (".", ","):
        read, out = Read(decimal=mark), tmp_path / "out"
        done = score_files(ENGINE, run, tmp_path / "new.csv", out, read=read, force=True)
        parts[mark] = scored_frame(out)["amount"].tolist()
        assert (done.rows, done.before) == (60, 0)
    assert (parts["."][6], parts[","][6]) == (7125, 7.125)


SLOW = """
import sys, time
from topbin.job import score
from topbin.data import batch
from topbin.engines import Local
batch.CHUNK_ROWS = 50
plain = score.PartScorer.score
def slow(job, *given):
    time.sleep(0.05)
    return plain(job, *given)
score.PartScorer.score = slow
score.score_files(Local(threads=2), *sys.argv[1:4])
"""


def test_a_run_killed_in_the_middle_goes_on_to_the_same_bytes(run, tmp_path, monkeypatch):
    frame = claims(1200, seed=1)
    files = write_claims(tmp_path / "in", frame, tuple(range(100, 1200, 100)))
    out = tmp_path / "out"
    working = warm.begin(warm.program, SLOW, [run, files, out], said=tmp_path / "said.txt")
    until = time.monotonic() + 180
    # Killed when some parts are whole and others are being written.
    while not (len(list(out.glob("*.parquet"))) >= 3 and list(out.glob(".*.part"))):
        assert time.monotonic() < until
        assert working.is_alive()
        time.sleep(0.01)
    working.kill()
    working.join()
    whole = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert 3 <= len(whole) < 12
    assert list(out.glob(".*.part"))
    assert not (out / "_SUCCESS").exists()
    monkeypatch.setattr(batch, "CHUNK_ROWS", 50)
    done = score_files(ENGINE, run, files, out)
    assert (done.rows, done.files, done.before) == (1200, 12, len(whole))
    assert not list(out.glob(".*"))
    now = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert whole.items() <= now.items()
    score_files(ENGINE, run, files, tmp_path / "fresh")
    assert read_all(out) == read_all(tmp_path / "fresh")


def test_a_part_that_another_worker_finished_is_left_alone(tmp_path):
    path = str(tmp_path / "a.parquet")
    part = parquet.RowGroups(path=path, name=path, types={}, groups=(0,), size=7)
    (tmp_path / "a.parquet").write_text("never opened")
    job = PartScorer(None, tmp_path, "key")
    job.target(part).write_text("finished")
    assert write_part(job, part).rows == 7
    assert job.target(part).read_text() == "finished"


def test_a_spoiled_page_is_named_and_with_skip_bad_no_part_of_its_file_stays(
    run, files, tmp_path, monkeypatch
):
    monkeypatch.setattr(table, "PART_ROWS", 200)
    spoil(tmp_path / "in/day-3.parquet", column=1)
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"TB102 \".*day-3.parquet\" cannot be read"):
        score_files(ENGINE, run, files, out)
    assert not (out / "_SUCCESS").exists()
    done = score_files(ENGINE, run, files, out, skip_bad=True)
    assert (done.rows, done.files) == (601, 5)
    assert done.notes[0].startswith("1 file skipped because it cannot be read: ")
    assert not list(out.glob("day-3*"))


def test_a_broken_footer_is_named_before_any_work(run, files, tmp_path):
    (tmp_path / "in/day-7.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(InputError, match=r"TB102 \".*day-7.parquet\" cannot be read"):
        score_files(Idle(), run, files, tmp_path / "out")
    done = score_files(ENGINE, run, files, tmp_path / "out", skip_bad=True)
    assert done.rows == 1200
    assert "day-7.parquet" in done.notes[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"amount": "much"}, 'TB106 column "amount" holds numbers .* and text'),
        ({"town": None}, r"TB106 the tables have different columns: .*day-8.* has no .town."),
        (
            {"topbin_positive": True},
            r'TB115 there is a column "topbin_positive" in .*day-8.* already',
        ),
    ],
)
def test_files_that_differ_are_refused_before_any_work(run, files, tmp_path, change, message):
    ((name, value),) = change.items()
    frame = claims(10).assign(**{name: value})
    frame = frame.drop(columns=[name]) if value is None else frame
    frame.to_parquet(tmp_path / "in/day-8.parquet")
    with pytest.raises(InputError, match=message):
        score_files(Idle(), run, files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"town": 3.0}, 'TB109 column "town" was a string .* and is a number in ".*a.parquet"'),
        ({"topbin_positive": True}, 'TB115 there is a column "topbin_positive" in .* already'),
    ],
)
def test_files_that_do_not_fit_are_refused_before_any_work(run, tmp_path, change, message):
    claims(10).assign(**change).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=message):
        score_files(Idle(), run, tmp_path / "a.parquet", tmp_path / "out")


def test_values_that_no_model_reads_are_refused_with_their_number(run, tmp_path):
    claims(10).assign(amount=np.inf).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match='TB004 column "amount" has 10 infinite values'):
        score_files(ENGINE, run, tmp_path / "a.parquet", tmp_path / "out", skip_bad=True)
    claims(10).assign(amount=np.nan).to_parquet(tmp_path / "a.parquet")
    score_files(ENGINE, run, tmp_path / "a.parquet", tmp_path / "out")
    assert np.isfinite(scored_frame(tmp_path / "out")["topbin_probability"]).all()


def test_scores_of_another_job_are_not_mixed_in(run, files, tmp_path):
    out = tmp_path / "out"
    score_files(ENGINE, run, files, out)
    (out / "notes.txt").write_text("mine")
    kept = out / next(iter(read_all(out)))
    os.utime(tmp_path / "in/day-3.parquet", ns=(1, 1))
    with pytest.raises(InputError, match=r'TB104 .* holds 1 file of another job, such as "day-3'):
        score_files(ENGINE, run, files, out)
    stamp = kept.stat().st_mtime_ns
    assert score_files(ENGINE, run, files, out, force=True).before == 3
    assert kept.stat().st_mtime_ns == stamp
    assert (out / "notes.txt").exists()
    assert len(read_all(out)) == 4


def test_places_where_nothing_may_be_written(run, files, tmp_path):
    with pytest.raises(InputError, match=r"TB104 .* holds the files to score"):
        score_files(Idle(), run, files, tmp_path / "in", force=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"TB104 .* is a file; with an engine, name a folder"):
        score_files(Idle(), run, files, tmp_path / "file")


def test_no_rows_are_refused(run, tmp_path):
    claims(10)[:0].to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"TB001 .*a.parquet. has columns but no rows"):
        score_files(Idle(), run, tmp_path / "a.parquet", tmp_path / "out")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_text_files_are_scored_whole_by_file(run, tmp_path, ending, monkeypatch):
    monkeypatch.setattr(batch, "CHUNK_ROWS", 2048)
    frame = claims(3000, seed=1)
    frame.loc[2900:, "case"] = np.nan  # whole numbers in the first batch, missing ones in the last
    frame["never"] = None
    for i, rows in enumerate((frame[:2950], frame[2950:])):
        write_table(tmp_path / f"{i}.{ending}", rows)
    done = score_files(ENGINE, run, str(tmp_path / f"*.{ending}"), tmp_path / "out")
    assert (done.rows, done.files) == (3000, 2)
    found = scored_frame(tmp_path / "out")
    expected = fitted().classifier.predict_proba(fitted().data.encoder.encode(frame))[:, 1]
    assert np.array_equal(found["topbin_probability"], expected)
    assert found["town"].tolist() == frame["town"].tolist()
    assert score_files(Idle(), run, str(tmp_path / f"*.{ending}"), tmp_path / "out").before == 2
