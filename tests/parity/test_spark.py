"""Spark on local[2]: equal bits, and a task that fails once changes nothing."""

import os
import shutil
import socket
import sys
import time

import numpy as np
import pytest
from asked import fit
from claims import claims, read_all, small_run, watched, write_claims
from how_to import run_page, write_files
from score_files import same, scored, spoil, whole, write

from topbin.core.errors import InputError, MissingExtra
from topbin.engines import Local, bin_scores, count_from, open_engine, tails_from
from topbin.engines.spark import _check_reached
from topbin.job.score import score_files

pytest.importorskip("pyspark", reason='needs pip install "topbin[spark]"')
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java 17 and there is no java on the path", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("default")

COLUMNS = {"score": "score", "label": "label"}


@pytest.fixture(scope="module")
def engine():
    with pytest.MonkeyPatch.context() as patch:
        # In so short a session a second compiler and parallel collectors do not pay off.
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        with open_engine("spark", "local[2,2]") as engine:  # two threads, two attempts per task
            yield engine


def test_ties_empty_parts_and_parts_of_one_row(engine, tmp_path):
    table = scored(ties=5)
    files = write(tmp_path, table)
    found = tails_from(engine, files, **COLUMNS)
    assert same(found, tails_from(Local(), files, **COLUMNS))
    assert same(found, whole(table))


def test_parts_of_positives_alone_and_groups(engine, tmp_path):
    table = scored(kind="float32")
    order = np.argsort(-table["label"], kind="stable")
    table = {name: values[order] for name, values in table.items()}
    n_p = int(table["label"].sum())
    files = write(tmp_path, table, (n_p // 2, n_p), group=100)
    assert same(tails_from(engine, files, **COLUMNS), whole(table))
    here = count_from(Local(), files, **COLUMNS, by="town")
    assert count_from(engine, files, **COLUMNS, by="town").tails == here.tails


def test_a_spoiled_file_is_named(engine, tmp_path):
    files = write(tmp_path, scored())
    spoil(tmp_path / "part-3.parquet")
    with pytest.raises(InputError, match=r"TB102 .*part-3.parquet"):
        tails_from(engine, files, **COLUMNS)


def test_a_task_that_fails_once_changes_nothing(engine, tmp_path):
    table = scored()
    files = write(tmp_path, table)
    failed = tmp_path / "failed"
    assert same(tails_from(FailingOnce(engine, failed), files, **COLUMNS), whole(table))
    assert failed.exists()


class FailingOnce:
    """An engine whose first task to begin a part fails."""

    def __init__(self, engine, sign):
        self.engine, self.sign = engine, sign

    def total(self, task, parts, shared):
        sign = str(self.sign)

        def fail_once(shared, part):
            try:
                os.close(os.open(sign, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return task(shared, part)
            raise OSError("a disk that was away for a moment")

        return self.engine.total(fail_once, parts, shared)


def test_scores_are_equal_to_the_last_byte_also_when_a_task_fails(engine, tmp_path):
    run = small_run(tmp_path / "run")
    files = write_claims(tmp_path / "in", claims(1200, seed=1))
    score_files(Local(), run, files, tmp_path / "here")
    score_files(engine, run, files, tmp_path / "there")
    failing = FailingOnce(engine, tmp_path / "failed")
    score_files(failing, run, files, tmp_path / "failed there")
    assert (tmp_path / "failed").exists()
    assert len(read_all(tmp_path / "here")) == 4
    assert read_all(tmp_path / "here") == read_all(tmp_path / "there")
    assert read_all(tmp_path / "here") == read_all(tmp_path / "failed there")
    assert watched(run, files, engine) == watched(run, files, Local())
    spoil(tmp_path / "in/day-3.parquet", column=1)
    with pytest.raises(InputError, match=r"TB102 .*day-3.parquet"):
        score_files(engine, run, files, tmp_path / "out")


def test_a_sampled_fit_and_binned_scores_are_the_same_to_the_bit(engine, tmp_path):
    claims(2000, seed=2).to_parquet(tmp_path / "a.parquet", row_group_size=300)
    asked = {"sample": 300, "preset": "fast", "id": "case"}
    here, there = (
        fit(tmp_path / "a.parquet", "known", engine=e, **asked) for e in (Local(), engine)
    )
    assert there.estimate == here.estimate
    assert there.evidence.tails == here.evidence.tails
    assert there.candidates().equals(here.candidates())
    assert there.by("town") == here.by("town")
    files = write(tmp_path, scored())
    here, there = (bin_scores(e, count_from(e, files, **COLUMNS)) for e in (Local(), engine))
    assert here.counts.tobytes() == there.counts.tobytes()
    assert here.estimate("dedpul") == there.estimate("dedpul")


def test_the_how_to_page_runs_from_first_to_last(engine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    assert run_page("spark.md", "spark://head:7077", "local[2,2]") == 3
    assert (tmp_path / "probabilities/_SUCCESS").exists()


def test_a_task_that_always_fails_is_a_coded_error(engine):
    def fail(shared, part):
        raise OSError("gone")

    with pytest.raises(InputError, match="TB402 Spark gave up on a part: "):
        engine.total(fail, [1], 0)


def test_a_session_that_runs_already_is_used_and_left_running(engine):
    with open_engine("spark") as second:
        assert second.total(lambda shared, part: shared + part, [1, 2, 3], 10) == 36
    assert engine.total(lambda shared, part: part, [1, 2], None) == 3


def test_a_cluster_that_cannot_be_had_is_a_coded_error(engine, monkeypatch):
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    def refuse(builder):
        raise PySparkRuntimeError("no gateway")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refuse)
    with (
        pytest.raises(InputError, match='TB401 Spark cannot start with master "yarn": no'),
        open_engine("spark", "yarn"),
    ):
        pass


@pytest.mark.parametrize("address", ["spark://127.0.0.1:9", "spark://x", "spark://127.0.0.1:9,y:1"])
def test_an_unreachable_master_is_said_within_seconds(address):
    begun = time.monotonic()
    with (
        pytest.raises(InputError, match="TB401 no Spark master answers at"),
        open_engine("spark", address),
    ):
        pass
    assert time.monotonic() - begun < 15


def test_a_master_that_answers_is_left_to_spark():
    with socket.create_server(("127.0.0.1", 0)) as server:
        _check_reached(f"spark://127.0.0.1:9,127.0.0.1:{server.getsockname()[1]}")


def test_without_pyspark_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with (
        pytest.raises(MissingExtra, match=r'TB011 .* pip install "topbin\[spark\]"'),
        open_engine("spark"),
    ):
        pass
