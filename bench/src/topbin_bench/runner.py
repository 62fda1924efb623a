"""Running a grid: only missing cells, one or several jobs at a time, each saved when it ends."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from threading import Thread
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from topbin import AlphaEstimate, estimate_alpha
from topbin.core import TopbinError
from topbin_bench.errors import BenchError
from topbin_bench.grid import Cell, Job, jobs_of
from topbin_bench.judge import Look, Point, answer_point, interval_columns, measure, summary
from topbin_bench.methods import DEFAULT, Contender, find_contender
from topbin_bench.store import DONE, FAILED, Store
from topbin_bench.tasks import TASKS, Split, Task, Truth
from topbin_bench.tasks.task import rng_of
from topbin_bench.trainers import Fitted, fit_default, fit_features, fit_net

PACK_EVERY = 60.0  # seconds
# Scores are kept for the figures: of these trainers, for the first split, at a few epochs.
PICTURED = ("pvu", "tedn")
# What a method may plausibly raise; an interrupt or a full memory must end the run.
FAILURES = (
    BenchError, TopbinError, ArithmeticError, LookupError, OSError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip
Tables = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Finished:
    """A job that ended: how many of its cells failed, why, and how many seconds it took."""

    job: Job
    failed: int
    reason: str
    seconds: float


def run(
    cells: Sequence[Cell],
    store: Store,
    *,
    jobs: int = 1,
    retry: bool = False,
    watch: Callable[[Finished], object] = lambda _finished: None,
) -> int:
    """Run the cells that have no result and return how many failed.

    Only one run at a time may write to a folder. joblib's current backend runs the jobs; under
    `joblib.parallel_config("dask")` the workers of the cluster must see the folder of the store
    under the same path.
    """
    store.parts.mkdir(parents=True, exist_ok=True)
    failed, packed = 0, perf_counter()
    with _only_run(store.folder):
        store.clean()
        todo = jobs_of(store.missing(cells, retry=retry))
        ended = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(run_and_keep)(store, job, os.getpid()) for job in todo
        )
        try:
            for finished in ended:
                failed += finished.failed
                watch(finished)
                if perf_counter() - packed > PACK_EVERY:
                    store.pack()
                    packed = perf_counter()
        finally:
            store.pack()
    return failed


@contextmanager
def _only_run(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise BenchError(
            f'another run is writing to "{folder}". Wait until it ends, or choose another folder.'
        ) from error
    with lock:
        yield


def run_and_keep(store: Store, job: Job, run: int) -> Finished:
    """Run a job on one thread and write its results; a failure is also a result."""
    end_with(run)
    began = perf_counter()
    try:
        tables = run_on_one_thread(job)
    except FAILURES as error:
        tables = {"rows": [_row(cell, FAILED, _said(error)) for cell in job.cells]}
    store.put(job.key, tables)
    reasons = [row["reason"] for row in tables["rows"] if row["status"] == FAILED]
    return Finished(job, len(reasons), "; ".join(dict.fromkeys(reasons)), perf_counter() - began)


@cache
def end_with(run: int) -> None:
    """End this worker if the process of the run is killed; it would wait for minutes otherwise.

    Only a worker that this run has started is concerned: not the run itself, nor one of Dask's.
    """

    def watch() -> None:
        while os.getppid() == run:
            sleep(1)
        os._exit(1)

    if os.getppid() == run:
        Thread(target=watch, daemon=True).start()


def run_on_one_thread(job: Job) -> Tables:
    """How every job runs: more threads change the order of sums and make small nets slower."""
    with threadpool_limits(limits=1):
        return run_job(job)


def run_job(job: Job) -> Tables:
    """Fit once, measure every cell: rows, curves and, for the figures, scores."""
    first = job.cells[0]
    split, truth = problem(TASKS[first.task], first.alpha, first.seed)
    contenders = [find_contender(cell.method) for cell in job.cells]
    began = process_time()
    if contenders[0].learner is None:
        measured = _answer(job, contenders, split, truth)
    else:
        measured = _train(job, contenders, split, truth)
    seconds = process_time() - began
    tables: Tables = {"rows": [], "curves": [], "scores": measured.scores}
    for cell, contender in zip(job.cells, contenders, strict=True):
        if cell.method in measured.reasons:
            tables["rows"].append(_row(cell, FAILED, measured.reasons[cell.method]))
            continue
        points = measured.paths[cell.method]
        columns = summary(points, truth, first.settings.last, pu_stop=not contender.oracle)
        shown = interval_columns(measured.last, columns["alpha_last"]) if contender.bounds else {}
        tables["rows"].append({**_row(cell, DONE), "seconds": seconds, **columns, **shown})
        if len(points) > 1:
            tables["curves"] += [{"key": cell.key, **asdict(point)} for point in points]
    return tables


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The points of each method or the reason of its failure, the last estimate, scores to draw."""

    paths: dict[str, list[Point]]
    last: AlphaEstimate
    reasons: dict[str, str] = field(default_factory=dict)
    scores: list[dict[str, Any]] = field(default_factory=list)


@lru_cache(maxsize=1)
def problem(task: Task, alpha: float, seed: int) -> tuple[Split, Truth]:
    """The split of a job; the next job often has the same one, and a split of texts takes 30 s."""
    return task.split(alpha, seed)


def _answer(job: Job, contenders: Sequence[Contender], split: Split, truth: Truth) -> Measured:
    settings = job.cells[0].settings
    if job.trainer == DEFAULT:
        methods = [contender.alpha_by for contender in contenders]
        answers = fit_default(split, settings, methods=methods, seed=_seed(job))
    else:
        answers = [fit_features(split, job.trainer, settings)]
    both = list(zip(contenders, answers, strict=True))
    paths = {one.name: [answer_point(answer, one, truth)] for one, answer in both}
    # Only one of those that share a fit has an interval of its own.
    shown = next((answer for one, answer in both if one.bounds), answers[0])
    return Measured(paths, shown.estimate)


def _train(job: Job, contenders: Sequence[Contender], split: Split, truth: Truth) -> Measured:
    """Train a net; if one method fails, the others that read the same net go on."""
    first, lead = job.cells[0], contenders[0]
    assert lead.learner is not None
    if lead.oracle and truth.y_u is not None:  # the ceiling: true negatives instead of U
        split = replace(split, X_u=split.X_u[~truth.y_u])
    paths: dict[str, list[Point]] = {contender.name: [] for contender in contenders}
    reasons: dict[str, str] = {}
    scores: list[dict[str, Any]] = []
    fitted = None
    for fitted in fit_net(
        split,
        lead.learner,
        first.settings,
        alpha=truth.alpha,
        warm_start=lead.warm_start,
        warm_stop=lead.warm_stop,
        seed=_seed(job),
    ):
        look = Look.at(fitted, truth)
        for contender in contenders:
            try:
                if contender.name not in reasons:
                    paths[contender.name].append(measure(look, contender))
            except FAILURES as error:
                reasons[contender.name] = _said(error)
        if _pictured(first, job.trainer, fitted.epoch.epoch):
            scores += _keep_scores(job, fitted, split, truth)
    assert fitted is not None
    return Measured(paths, estimate_alpha(fitted.scores_p, fitted.scores_u), reasons, scores)


def _pictured(cell: Cell, trainer: str, epoch: int) -> bool:
    s = cell.settings
    ends = (1, s.warm_start, s.warm_start + s.epochs // 2, s.total)
    measured = [number for number in range(1, s.total + 1) if s.recorded(number)]
    wanted = {min(measured, key=lambda number: abs(number - end)) for end in ends}
    return trainer in PICTURED and cell.seed == 0 and cell.alpha == 0.5 and epoch in wanted


def _keep_scores(job: Job, fitted: Fitted, split: Split, truth: Truth) -> list[dict[str, Any]]:
    """Scores of the hold-out and of the training U, one list per sample and true class."""
    if truth.y_u is None or truth.y_held_u is None:
        return []
    scores_u = fitted.scores(split.X_u)
    samples = {
        "held_p": fitted.scores_p,
        "held_u_positive": fitted.scores_u[truth.y_held_u],
        "held_u_negative": fitted.scores_u[~truth.y_held_u],
        "train_u_positive": scores_u[truth.y_u],
        "train_u_negative": scores_u[~truth.y_u],
    }
    return [
        {
            "key": job.cells[0].key, "task": job.cells[0].task, "trainer": job.trainer,
            "epoch": fitted.epoch.epoch, "sample": name, "scores": values.astype(np.float32),
        }
        for name, values in samples.items()
    ]  # fmt: skip


def _seed(job: Job) -> int:
    """Initial weights and batches depend on (task, trainer, seed)."""
    first = job.cells[0]
    return int(rng_of(first.task, job.trainer, first.seed).integers(2**31))


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _row(cell: Cell, status: str, reason: str = "") -> dict[str, Any]:
    return {"key": cell.key, **asdict(cell), "status": status, "reason": reason}
