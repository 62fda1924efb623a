"""Dask over real processes: equal bits, whatever the parts and whoever dies."""

import os
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest
from asked import fit
from claims import claims, read_all, small_run, watched, write_claims
from how_to import run_page, write_files
from score_files import same, scored, spoil, whole, write

from topbin.core.errors import InputError, MissingExtra
from topbin.engines import Local, bin_scores, count_from, dask, open_engine, tails_from
from topbin.job.score import score_files

distributed = pytest.importorskip("distributed", reason='needs pip install "topbin[dask]"')
# Closing sockets of a killed worker is Dask's affair, and shows as warnings of its own.
pytestmark = pytest.mark.filterwarnings("default")

COLUMNS = {"score": "score", "label": "label"}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def engine(cluster):
    with open_engine("dask", cluster.scheduler_address) as engine:
        yield engine


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_ties_empty_parts_and_parts_of_one_row(engine, tmp_path, kind):
    table = scored(kind=kind, ties=5)
    files = write(tmp_path, table)
    found = tails_from(engine, files, **COLUMNS)
    assert same(found, tails_from(Local(), files, **COLUMNS))
    assert same(found, whole(table))


def test_parts_of_positives_alone(engine, tmp_path):
    table = scored()
    order = np.argsort(-table["label"], kind="stable")
    table = {name: values[order] for name, values in table.items()}
    n_p = int(table["label"].sum())
    files = write(tmp_path, table, (n_p // 2, n_p), group=100)
    assert same(tails_from(engine, files, **COLUMNS), whole(table))


def test_more_parts_than_one_sum_adds(engine, tmp_path):
    table = scored()
    files = write(tmp_path, table, tuple(range(100, 3000, 100)))
    counted = count_from(engine, files, **COLUMNS, by="town")
    here = count_from(Local(), files, **COLUMNS, by="town")
    assert counted.tails == here.tails
    assert counted.notes == here.notes


def test_a_spoiled_file_is_named_across_the_cluster(engine, tmp_path):
    files = write(tmp_path, scored())
    spoil(tmp_path / "part-3.parquet")
    with pytest.raises(InputError, match=r"TB102 .*part-3.parquet"):
        tails_from(engine, files, **COLUMNS)
    here = count_from(Local(), files, **COLUMNS, skip_bad=True)
    there = count_from(engine, files, **COLUMNS, skip_bad=True)
    assert (there.tails, there.notes) == (here.tails, here.notes)


def test_an_error_in_a_part_keeps_its_code(engine):
    def refuse(shared, part):
        from topbin.core.errors import InputError

        raise InputError("TB008", "no")

    with pytest.raises(InputError, match="TB008 no"):
        engine.total(refuse, [1, 2], 0)


def test_a_killed_worker_changes_nothing(engine, tmp_path):
    table = scored()
    files = write(tmp_path, table)
    killed = tmp_path / "killed"

    assert same(tails_from(DyingOnce(engine, killed), files, **COLUMNS), whole(table))
    assert killed.exists()


def test_a_part_that_kills_worker_after_worker_is_a_coded_error(engine, monkeypatch):
    def give_up(future):
        raise distributed.KilledWorker("a part", SimpleNamespace(address="tcp://x:1"), 3)

    monkeypatch.setattr(distributed.Future, "result", give_up)
    with pytest.raises(InputError, match="TB402 Dask gave up"):
        engine.total(lambda shared, part: part, [1], 0)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x"])
def test_an_unreachable_scheduler_is_said_within_seconds(address, monkeypatch):
    monkeypatch.setattr(dask, "REACH_SECONDS", 1)
    begun = time.monotonic()
    with (
        pytest.raises(InputError, match="TB401 no Dask scheduler answers at"),
        open_engine("dask", address),
    ):
        pass
    assert time.monotonic() - begun < 15


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with (
        pytest.raises(MissingExtra, match=r'TB011 .* pip install "topbin\[dask\]"'),
        open_engine("dask"),
    ):
        pass


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("fitted") / "run")


class DyingOnce:
    """An engine whose first worker to begin a part is killed."""

    def __init__(self, engine, sign):
        self.engine, self.sign = engine, sign

    def total(self, task, parts, shared):
        sign = str(self.sign)

        def die_once(shared, part):
            try:
                os.close(os.open(sign, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return task(shared, part)
            os.kill(os.getpid(), signal.SIGKILL)

        return self.engine.total(die_once, parts, shared)


def test_scores_are_equal_to_the_last_byte_also_when_a_worker_is_killed(engine, run, tmp_path):
    files = write_claims(tmp_path / "in", claims(1200, seed=1))
    score_files(Local(), run, files, tmp_path / "here")
    score_files(engine, run, files, tmp_path / "there")
    dying = DyingOnce(engine, tmp_path / "killed")
    score_files(dying, run, files, tmp_path / "killed there")
    assert (tmp_path / "killed").exists()
    assert len(read_all(tmp_path / "here")) == 4
    assert read_all(tmp_path / "here") == read_all(tmp_path / "there")
    assert read_all(tmp_path / "here") == read_all(tmp_path / "killed there")
    assert not list((tmp_path / "killed there").glob(".*.part"))


def test_a_spoiled_file_is_named_by_score_too(engine, run, tmp_path):
    files = write_claims(tmp_path / "in", claims(1200, seed=1))
    spoil(tmp_path / "in/day-3.parquet", column=1)
    with pytest.raises(InputError, match=r"TB102 .*day-3.parquet"):
        score_files(engine, run, files, tmp_path / "out")
    done = score_files(engine, run, files, tmp_path / "out", skip_bad=True)
    assert (done.rows, done.files) == (601, 3)


def test_the_shared_value_goes_to_each_worker_once(engine, tmp_path):
    class Model:
        """Something to share that notes each time it is unpacked."""

        def __init__(self, log):
            self.log = log

        def __getstate__(self):
            return self.log

        def __setstate__(self, log):
            self.log = log
            with open(log, "a") as file:
                file.write("x")

    log = tmp_path / "log"
    assert engine.total(lambda shared, part: part, list(range(40)), Model(str(log))) == 780
    assert len(log.read_text()) <= 4  # two workers, of which one hands it to the other


def test_a_sampled_fit_is_the_same_to_the_bit(engine, tmp_path):
    claims(2000, seed=2).to_parquet(tmp_path / "a.parquet", row_group_size=300)
    asked = {"sample": 300, "preset": "fast", "id": "case"}
    here, there = (
        fit(tmp_path / "a.parquet", "known", engine=e, **asked) for e in (Local(), engine)
    )
    assert there.estimate == here.estimate
    assert there.evidence.tails == here.evidence.tails
    assert there.candidates().equals(here.candidates())
    assert there.by("town") == here.by("town")


def test_a_watch_is_the_same_to_the_bit_also_when_a_worker_is_killed(engine, run, tmp_path):
    files = write_claims(tmp_path / "in", claims(1200, seed=1))
    here = watched(run, files, Local())
    assert sum(one.known for one in here.state.periods) == claims(1200, seed=1)["known"].sum()
    assert watched(run, files, engine) == here
    assert watched(run, files, DyingOnce(engine, tmp_path / "killed")) == here
    assert (tmp_path / "killed").exists()


def test_text_files_give_the_same_as_here(engine, run, tmp_path):
    rows = claims(2000, seed=2).assign(score=lambda frame: frame["amount"])
    for i, part in enumerate((rows[:700], rows[700:])):
        part.to_csv(tmp_path / f"{i}.csv", index=False)
    files = str(tmp_path / "*.csv")
    columns = {"score": "score", "label": "known"}
    assert tails_from(engine, files, **columns) == tails_from(Local(), files, **columns)
    score_files(Local(), run, files, tmp_path / "here")
    score_files(engine, run, files, tmp_path / "there")
    assert len(read_all(tmp_path / "here")) == 2
    assert read_all(tmp_path / "here") == read_all(tmp_path / "there")
    asked = {"sample": 300, "preset": "fast", "id": "case", "positive": "true"}
    here, there = (fit(files, "known", engine=e, **asked) for e in (Local(), engine))
    assert there.estimate == here.estimate
    assert there.evidence.tails == here.evidence.tails
    assert there.candidates().equals(here.candidates())


def test_odd_cells_and_other_encodings_give_the_same_as_here(engine, tmp_path):
    rows = claims(2000, seed=2)
    rows["amount"] = [f"{100 * v:,.1f} €" for v in rows["amount"]]
    rows.loc[::7, "amount"] = "?"
    for i, (part, encoding) in enumerate(((rows[:700], "cp1252"), (rows[700:], "utf-16"))):
        part.to_csv(tmp_path / f"{i}.csv", index=False, encoding=encoding)
    files = str(tmp_path / "*.csv")
    asked = {"sample": 300, "preset": "fast", "id": "case", "positive": "true"}
    here, there = (fit(files, "known", engine=e, **asked) for e in (Local(), engine))
    assert here.data.encoder.features[0].kind == "number"
    assert there.estimate == here.estimate
    assert there.evidence.tails == here.evidence.tails
    assert there.candidates().equals(here.candidates())
    run = here.save(tmp_path / "run")
    score_files(Local(), run, files, tmp_path / "here")
    score_files(engine, run, files, tmp_path / "there")
    assert read_all(tmp_path / "here") == read_all(tmp_path / "there")


def test_binned_scores_are_the_same_to_the_bit(engine, tmp_path):
    files = write(tmp_path, scored())
    here, there = (bin_scores(e, count_from(e, files, **COLUMNS)) for e in (Local(), engine))
    assert here.counts.tobytes() == there.counts.tobytes()
    assert here.estimate("dedpul") == there.estimate("dedpul")


def test_the_how_to_page_runs_from_first_to_last(cluster, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    assert run_page("dask.md", "tcp://head:8786", cluster.scheduler_address) == 5
    assert "trained on 300 of" in capsys.readouterr().out
    assert (tmp_path / "probabilities/_SUCCESS").exists()
