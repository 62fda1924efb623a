"""Scores for files of any size, by an engine: a file of scores for each part, whole or not there.

The name of an output file holds a hash of all that its content depends on (model, version, input
file and row groups), so a file of that name is finished work, and nothing else has to be kept in
order to go on after a kill.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import topbin
from topbin.core.atomic import lock, new_file, remove, remove_parts, write_errors, write_text
from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.data.addresses import stamp
from topbin.data.features import Encoder
from topbin.data.files import SourceLike, find_files, open_files, skipped
from topbin.data.rows import RowPart, find_row_parts, read_rows
from topbin.data.scan import kind_of, merge_types
from topbin.data.tables import Batch
from topbin.engines.engine import Engine
from topbin.engines.outcome import Outcome, total_of
from topbin.job.files import MODEL, read_model
from topbin.store.models import SUMS, reading
from topbin.store.scorer import POSITIVE, PROBABILITY, refuse_scored

DONE = "_SUCCESS"  # as Hadoop and Spark mark a folder that is complete
NOT_NEEDED = ("scores_p_", "scores_u_", "oof_proba_")


@dataclass(frozen=True, slots=True)
class Scored:
    """What was written: rows and files in all, how many files were there before, and notes."""

    rows: int
    files: int
    before: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What every part needs; it is sent to each worker once."""

    model: Any
    encoder: Encoder
    folder: Path
    key: str

    def target(self, part: RowPart) -> Path:
        """Where the scores of a part belong."""
        told = (self.key, part.path, *stamp(part.path), part.groups)
        name = f"{Path(part.path).stem}-{part.groups[0]:05d}"
        return (
            self.folder / f"{name}-{hashlib.sha256(repr(told).encode()).hexdigest()[:12]}.parquet"
        )

    def score(self, batch: Any) -> Any:
        """The batch with two columns more; its own keep their types."""
        arrow = require("pyarrow", extra="dask", caller="topbin score --engine")
        table = Batch.from_frame(batch.select(self.encoder.columns))
        X = self.encoder.encode(table)
        with reading("the model of the run"):
            p = self.model.predict_proba(X)[:, 1]
        found = batch.append_column(PROBABILITY, arrow.array(p))
        return found.append_column(POSITIVE, arrow.array(p > 0.5))


def score_files(
    engine: Engine,
    run: str | os.PathLike[str],
    source: SourceLike,
    output: str | os.PathLike[str],
    *,
    force: bool = False,
    skip_bad: bool = False,
) -> Scored:
    """Score parquet files with the model of a run into a folder of parquet files.

    Each part of the input, a run of row groups, becomes one file. Called again after it was
    stopped, it goes on with the parts that have none; called with more files, it scores these.
    `force` removes scores in the folder that belong to another job, which are otherwise TB104.
    `skip_bad` leaves files out that cannot be read, which are otherwise TB102.
    """
    paths = find_files(source)
    job = _job(Path(run), Path(output), paths)
    files, unreadable = open_files(paths, skip_bad=skip_bad)
    parts = find_row_parts([file.path for file in files])
    _check_columns([(file.path, file.types) for file in files], job.encoder)
    if not parts:
        raise InputError("TB001", "the files have columns but no rows.")
    targets = {part: job.target(part) for part in parts}
    with write_errors(job.folder):
        job.folder.mkdir(parents=True, exist_ok=True)
    with lock(job.folder), threadpool_limits(limits=1):
        _make_room(job.folder, set(targets.values()), force=force)
        todo = [part for part in parts if not targets[part].exists()]
        done = total_of(engine, write_part, todo, job) if todo else Outcome(0)
        bad = _settle(done, targets, skip_bad) | unreadable.keys()
        write_text(job.folder / DONE, "", force=True)
    kept = [part for part in parts if part.path not in bad]
    rows = sum(part.rows for part in kept)
    return Scored(rows, len(kept), len(parts) - len(todo), tuple(skipped(bad)))


def write_part(job: Job, part: RowPart) -> int:
    """Score a part into its file and return the number of rows."""
    target = job.target(part)
    if target.exists():
        return part.rows  # by a worker that was given up on and finished all the same
    writer = None
    parquet = require("pyarrow.parquet", extra="dask", caller="topbin score --engine")
    with new_file(target, force=True) as half:
        try:
            for _, batch in read_rows(part):
                scored = job.score(batch)
                writer = writer or parquet.ParquetWriter(half, scored.schema)
                writer.write_batch(scored)
        finally:
            if writer is not None:
                writer.close()
    return part.rows


def _job(run: Path, output: Path, paths: Sequence[str]) -> Job:
    folder = Path(os.path.abspath(output))
    if folder.is_file():
        raise InputError("TB104", f'"{folder}" is a file; with an engine, name a folder.')
    if any(Path(path).parent == folder for path in paths):
        raise InputError("TB104", f'"{folder}" holds the files to score; name another folder.')
    model, encoder = read_model(run)
    lean = copy(model)
    for name in NOT_NEEDED:
        vars(lean).pop(name, None)
    sums = (run / MODEL / SUMS).read_text("ascii")  # just read, so it is there
    key = hashlib.sha256(f"{topbin.__version__}\n{sums}".encode()).hexdigest()
    return Job(lean, encoder, folder, key)


def _check_columns(tables: list[tuple[str, dict[str, str]]], encoder: Encoder) -> None:
    """Before any work: files that differ in what the model reads, or do not have it."""
    import pandas as pd

    merge_types([(f'"{path}"', types) for path, types in tables], encoder.columns)
    for path, own in tables:
        refuse_scored(own, f'"{path}"')
        kinds = {column: kind_of(type_) for column, type_ in own.items()}
        encoder.check(Batch(pd.DataFrame(columns=list(kinds)), kinds, f'"{path}"'))


def _make_room(folder: Path, ours: set[Path], *, force: bool) -> None:
    """Remove what a killed run left unfinished; refuse scores of another job, or remove them."""
    remove_parts(folder)
    remove(folder / DONE)
    others = [path for path in sorted(folder.glob("*.parquet")) if path not in ours]
    if others and not force:
        raise InputError(
            "TB104",
            f'"{folder}" holds {len(others):,} files of another job, such as "{others[0].name}": '
            "of another model, or of files that have changed since. Choose another folder, or "
            "remove them with --force (force=True), which keeps what is finished of this job.",
        )
    for path in others:
        remove(path)


def _settle(done: Outcome, targets: dict[RowPart, Path], skip_bad: bool) -> set[str]:
    """The files that had to be left out; of these no part stays."""
    if any(error.code != "TB102" for error in done.bad.values()) or (done.bad and not skip_bad):
        raise done.first_error()
    _remove(target for part, target in targets.items() if part.path in done.bad)
    return set(done.bad)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        remove(path)
