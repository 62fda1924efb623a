"""Running: resumes after a kill, repeats nothing, records failures, and never shows the truth."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from topbin.core import InputError
from topbin_bench import runner, trainers
from topbin_bench.errors import BenchError
from topbin_bench.grid import Cell, grid, jobs_of
from topbin_bench.methods import CONTENDERS, USUAL
from topbin_bench.runner import run, run_job
from topbin_bench.store import Store, write_table
from topbin_bench.tasks import TASKS, Split, Truth

QUICK = ["km1", "tice"]


def cells_of(methods, *, tasks=("gaussians",), seeds=1, alphas=(0.5,)):
    return grid(tasks, "smoke", methods=methods, alphas=alphas, seeds=seeds)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Every method once, on one task."""
    store = Store(tmp_path_factory.mktemp("whole"))
    failed = run(cells_of(USUAL), store)
    return store, failed


def test_every_method_has_a_row(whole):
    store, failed = whole
    rows = store.frame().set_index("method")
    assert failed == 0
    assert set(rows.index) == set(USUAL)
    assert (rows["status"] == "done").all()
    for name, contender in CONTENDERS.items():
        if name in USUAL:
            assert contender.estimates == pd.notna(rows.loc[name, "alpha_last"]), name
            assert contender.classifies == pd.notna(rows.loc[name, "accuracy_last"]), name


def test_rows_are_the_summary_of_curves(whole):
    store, _ = whole
    curves = store.frame("curves")
    row = store.frame().set_index("method").loc["dedpul"]
    path = curves[curves["key"] == row["key"]].sort_values("epoch")
    errors = (path["alpha_hat"] - 0.5).abs()
    assert path["epoch"].tolist() == [1, 3, 6, 7, 8, 9]
    assert row["alpha_error_last"] == pytest.approx(errors.tail(3).mean())
    assert row["alpha_error_oracle"] == errors.min()
    assert row["accuracy_oracle"] == path["accuracy"].max()
    assert row["accuracy_pu"] == path["accuracy"][path["risk"].idxmin()]
    assert row["epoch_pu"] == path["epoch"][path["risk"].idxmin()]


def test_a_pu_stop_never_falls_in_the_warm_start(whole):
    store, _ = whole
    row = store.frame().set_index("method").loc["tedn"]
    assert row["epoch_pu"] > 3


def test_an_interval_stands_with_those_it_is_made_for(whole):
    store, _ = whole
    rows = store.frame().set_index("method")
    ours = rows.loc[["tedn", "overlap", "bbe", "bbe_cp", "topbin"]]
    assert set(rows.index[rows["low"].notna()]) == set(ours.index)
    assert ((ours["low"] <= ours["alpha_last"]) & (ours["alpha_last"] <= ours["high"])).all()
    assert ((ours["low"] <= 0.5) & (ours["high"] >= 0.5)).all()  # Gaussians 4σ apart
    assert (ours["upper_bound"] >= 0.5).all()


def test_pvn_has_no_pu_stop(whole):
    store, _ = whole
    rows = store.frame().set_index("method")
    assert pd.isna(rows.loc["pvn", "accuracy_pu"])
    assert pd.notna(rows.loc["pvn", "accuracy_oracle"])


def test_scores_are_kept_by_the_key_of_a_cell(whole):
    store, _ = whole
    scores = store.frame("scores")
    assert set(scores["key"]) <= set(store.frame()["key"])
    assert set(scores["trainer"]) == {"pvu", "tedn"}
    sizes = scores.groupby("sample")["scores"].first().map(len)
    assert sizes["held_p"] == 500
    assert sizes["train_u_positive"] + sizes["train_u_negative"] == 1000


def test_nothing_is_left_unpacked(whole):
    store, _ = whole
    assert list(store.parts.iterdir()) == []
    assert {path.name for path in store.folder.iterdir()} == {
        "rows.parquet", "curves.parquet", "scores.parquet", "parts", ".lock",
    }  # fmt: skip


def test_a_finished_cell_is_never_repeated(tmp_path, monkeypatch):
    store, ran = Store(tmp_path), []
    monkeypatch.setattr(runner, "run_job", lambda job: ran.append(job) or run_job(job))
    run(cells_of(QUICK, seeds=1), store)
    run(cells_of(QUICK, seeds=2), store)
    run(cells_of(QUICK, seeds=2), store)
    assert [(job.trainer, job.cells[0].seed) for job in ran] == [
        ("km1", 0), ("tice", 0), ("km1", 1), ("tice", 1),
    ]  # fmt: skip


def test_the_same_cell_gives_the_same_row():
    (job,) = jobs_of(cells_of(["tedn"]))
    once, again = (run_job(job)["rows"][0] for _ in range(2))
    for row in (once, again):
        row.pop("seconds")
    assert once == again


def test_a_method_that_fails_takes_no_other_along(tmp_path, monkeypatch):
    def broken(look, contender):
        if contender.name == "scott" and look.fitted.epoch.epoch > 5:
            raise ValueError("no such luck")
        return measure(look, contender)

    measure = runner.measure
    monkeypatch.setattr(runner, "measure", broken)
    store, seen = Store(tmp_path), []
    assert run(cells_of(["bbe", "scott", "pvu"]), store, watch=seen.append) == 1
    rows = store.frame().set_index("method")
    assert rows["status"].to_dict() == {"bbe": "done", "scott": "failed", "pvu": "done"}
    assert rows.loc["scott", "reason"] == "ValueError: no such luck"
    assert (seen[0].failed, seen[0].reason) == (1, "ValueError: no such luck")
    assert set(store.frame("curves")["method"]) == {"bbe", "pvu"}


def test_two_workers_give_what_one_gives(tmp_path):
    cells = cells_of(QUICK, tasks=("gaussians", "beta"))
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    run(cells, one)
    run(cells, two, jobs=2)
    frames = [s.frame().sort_values("key").drop(columns="seconds") for s in (one, two)]
    pd.testing.assert_frame_equal(*(frame.reset_index(drop=True) for frame in frames))


def test_a_failure_is_recorded_and_retried_on_request(tmp_path, monkeypatch):
    store = Store(tmp_path)

    def broken(split, method, settings):
        raise InputError("TB004", "a feature is NaN.")

    with monkeypatch.context() as patch:
        patch.setattr(runner, "fit_features", broken)
        assert run(cells_of(QUICK), store) == 2
    rows = store.frame()
    assert set(rows["status"]) == {"failed"}
    assert set(rows["reason"]) == {"InputError: TB004 a feature is NaN."}
    assert run(cells_of(QUICK), store) == 0
    assert set(store.frame()["status"]) == {"failed"}  # not asked for
    assert run(cells_of(QUICK), store, retry=True) == 0
    assert store.frame()["status"].tolist() == ["done", "done"]


def test_missing_data_is_a_failure_with_a_reason(tmp_path, monkeypatch):
    monkeypatch.delenv("TOPBIN_DATA", raising=False)
    seen = []
    assert run([Cell("gsec_pu", "tice", float("nan"), 0, "smoke")], Store(tmp_path),
               watch=seen.append) == 1  # fmt: skip
    assert "TOPBIN_DATA is not set" in seen[0].reason


def test_an_interrupt_keeps_what_is_done(tmp_path):
    store = Store(tmp_path)

    def stop(finished):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(cells_of(QUICK), store, watch=stop)
    assert len(store.frame()) == 1
    assert (store.folder / "rows.parquet").exists()


def test_results_are_packed_while_a_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PACK_EVERY", 0.0)
    store, packed = Store(tmp_path), []
    run(cells_of(QUICK, seeds=2), store,
        watch=lambda _: packed.append((store.folder / "rows.parquet").exists()))  # fmt: skip
    assert packed == [False, True, True, True]


COMMAND = [
    sys.executable, "-c", "from topbin_bench.cli import bench; bench()",
    "run", "gaussians", "beta", "--profile", "smoke",
    "--method", "km1,km2,tice", "--seeds", "8", "-o",
]  # fmt: skip


def test_kill_9_loses_one_job_at_most(tmp_path, monkeypatch):
    store = Store(tmp_path / "killed")
    process = subprocess.Popen([*COMMAND, str(store.folder)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while len(list(store.parts.glob("*.rows.parquet"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    cells = cells_of(["km1", "km2", "tice"], tasks=("gaussians", "beta"), seeds=8)
    survived = len(store.frame())
    assert 3 <= survived < len(cells)

    ran = []
    monkeypatch.setattr(runner, "run_job", lambda job: ran.append(job) or run_job(job))
    assert run(cells, store) == 0
    assert len(ran) == len(cells) - survived
    rows = store.frame()
    assert sorted(rows["key"]) == sorted(cell.key for cell in cells)
    by_key = {row["key"]: row["alpha_last"] for job in jobs_of(cells[:6])
              for row in run_job(job)["rows"]}  # fmt: skip
    found = rows.set_index("key")["alpha_last"]
    assert {key: found[key] for key in by_key} == by_key


WORKERS = """
import os, sys, time
from joblib import Parallel, delayed
def work(run, folder):
    from topbin_bench.runner import end_with
    end_with(run)
    open(f"{folder}/{os.getpid()}", "w").close()
    time.sleep(60)
Parallel(n_jobs=2)(delayed(work)(os.getpid(), sys.argv[1]) for _ in range(2))
"""


def test_no_worker_outlives_a_killed_run(tmp_path):
    """They stayed idle for minutes."""
    process = subprocess.Popen([sys.executable, "-c", WORKERS, tmp_path])
    while len(os.listdir(tmp_path)) < 2 and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.wait()
    until = time.monotonic() + 20
    while alive := [name for name in os.listdir(tmp_path) if _is_alive(int(name))]:
        assert time.monotonic() < until, alive
        time.sleep(0.1)


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_second_run_into_the_folder_is_refused(tmp_path):
    store = Store(tmp_path)

    def again(finished):
        run(cells_of(QUICK), store)

    with pytest.raises(BenchError, match="another run is writing to"):
        run(cells_of(QUICK), store, watch=again)


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"not parquet")
    with pytest.raises(BenchError, match=r"rows\.parquet. cannot be read"):
        Store(tmp_path).frame()


def test_a_part_without_rows_is_not_a_result(tmp_path):
    store = Store(tmp_path)
    store.parts.mkdir()
    write_table(pd.DataFrame({"key": ["a"]}), store.parts / "x.curves.parquet")
    assert len(store.frame("curves")) == 0
    assert store.missing([Cell("beta", "bbe", 0.5, 0, "smoke")])


# ---------------------------------------------------------------- truth


def flipped(truth):
    """The same problem with every true label turned round."""
    return replace(truth, y_u=~truth.y_u, y_held_u=~truth.y_held_u, y_test=~truth.y_test)


def run_twice(job, monkeypatch, change):
    """A job with the truth as it is, and with another truth of the same rows."""
    task = TASKS["gaussians"]
    honest = run_job(job)
    split, truth = task.split(0.5, 0)
    fake = replace(task, make=lambda alpha, rng: (split, change(truth)))
    monkeypatch.setitem(TASKS, "gaussians", fake)
    return honest, run_job(job)


def jobs_without(told):
    chosen = [m for m in USUAL if not getattr(CONTENDERS[m], told)]
    return pytest.mark.parametrize("job", jobs_of(cells_of(chosen)), ids=lambda job: job.trainer)


@jobs_without("oracle")
def test_turning_every_true_label_round_changes_no_estimate(job, monkeypatch):
    honest, blind = run_twice(job, monkeypatch, flipped)
    for kind, columns in {"rows": ["alpha_last", "alpha_pu", "epoch_pu", "low", "high"],
                          "curves": ["loss", "risk", "alpha_hat", "n_kept"]}.items():  # fmt: skip
        for a, b in zip(honest[kind], blind[kind], strict=True):
            assert [str(a.get(c)) for c in columns] == [str(b.get(c)) for c in columns]
    for a, b in zip(honest["rows"], blind["rows"], strict=True):
        if CONTENDERS[a["method"]].classifies:  # the judge does look at the truth
            assert a["accuracy_last"] == pytest.approx(1 - b["accuracy_last"])


@jobs_without("known_alpha")
def test_another_true_alpha_changes_no_estimate(job, monkeypatch):
    """The rows are those of α = .5; the truth says .9."""
    honest, blind = run_twice(job, monkeypatch, lambda truth: replace(truth, alpha=0.9))
    columns = ["alpha_last", "alpha_pu", "epoch_pu", "low", "high", "upper_bound"]
    for a, b in zip(honest["rows"], blind["rows"], strict=True):
        assert [str(a.get(c)) for c in columns] == [str(b.get(c)) for c in columns]


def test_nothing_that_fits_takes_the_truth():
    for name in ("fit_net", "fit_features", "fit_default", "pooled"):
        hints = getattr(trainers, name).__annotations__
        assert hints["split"] is Split
        assert Truth not in hints.values()


def test_the_oracle_says_so():
    assert [name for name, c in CONTENDERS.items() if c.oracle] == ["pvn"]


def test_a_pu_native_task_has_estimates_and_no_errors(monkeypatch):
    rng = np.random.default_rng(0)
    split = Split(*(rng.normal(shift, 1, (n, 3)).astype(np.float32)
                    for n, shift in ((60, 2), (90, 1), (30, 2), (40, 1))))  # fmt: skip
    task = replace(TASKS["gsec_pu"], make=lambda alpha, rng: (split, Truth(None, None, None)))
    monkeypatch.setitem(TASKS, "gsec_pu", task)
    for job in jobs_of(grid(["gsec_pu"], "smoke", methods=["tedn", "bbe", "dedpul", "topbin"])):
        for row in run_job(job)["rows"]:
            assert 0 <= row["alpha_last"] <= 1
            assert np.isnan(row["alpha_error_last"])
            assert np.isnan(row["accuracy_last"])


def test_warm_starts_of_their_own():
    rows = {}
    for job in jobs_of(cells_of(["tedn", "tedn-w0", "tedn-auto"])):
        rows[job.trainer] = run_job(job)["curves"]
    assert [p["phase"] for p in rows["tedn"]] == ["warm-start"] * 2 + ["tedn"] * 4
    assert {p["phase"] for p in rows["tedn-w0"]} == {"tedn"}
    assert [p["phase"] for p in rows["tedn-auto"]][:2] == ["warm-start"] * 2  # 10 at the least


def test_jobs_of_a_split_make_it_once():
    made = []
    task = replace(TASKS["gaussians"], make=lambda alpha, rng: made.append(alpha) or (None, None))
    for alpha in (0.5, 0.5, 0.1):
        runner.problem(task, alpha, 0)
    assert made == [0.5, 0.1]
