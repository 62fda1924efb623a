"""Scores for new rows: into one file, a batch at a time, or by an engine into one file per part.

The file of a part is whole or not there. Its name holds a hash of everything that its content
depends on (model, version, input file and row groups). So a file of that name is finished work, and
nothing else has to be kept in order to go on after a kill.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

import topbin
from topbin.core.atomic import lock, new_file, remove, remove_parts, write_errors, write_text
from topbin.core.errors import InputError, option
from topbin.core.formatting import counted
from topbin.core.hashing import sha256_of
from topbin.core.optional import require
from topbin.core.options import Read
from topbin.data.batch import Batch, Part
from topbin.data.features import Features
from topbin.data.formats.parquet import stamp
from topbin.data.images.cache import REFUSE, bad_sentences
from topbin.data.paths import SourceLike, find_images, is_image_name, names_images
from topbin.data.schema import Types, kinds_of, nearest
from topbin.data.table import Table, attached, skipped
from topbin.data.vectors import EMBEDDING
from topbin.data.write import write_table
from topbin.engines.engine import Engine, Outcome, advising_to_skip, total_of
from topbin.job.labeled import COLUMN, check_paths, root_of
from topbin.store.models import SUMS
from topbin.store.runs import MODEL
from topbin.store.scorer import (
    ColumnCoverage,
    Scorer,
    open_new,
    read_scorer,
    refuse_none_left,
    refuse_scored,
    with_scores,
)

DONE = "_SUCCESS"  # as Hadoop and Spark mark a folder that is complete
SCORED_AT_ONCE = 4_096  # images; so many that all cores decode them
EXPECTED = 'Score a folder of images, image files, or a table with paths in a column "{}".'


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """What was written: rows and files in all, how many files were there before, and notes."""

    rows: int
    files: int = 1
    before: int = 0
    notes: tuple[str, ...] = ()
    row: str = "row"  # how people call one


def score_table(
    run: str | os.PathLike[str],
    source: Sequence[str],
    output: str | os.PathLike[str],
    *,
    read: Read = Read(),
    force: bool = False,
    why: bool = False,
    tell: Callable[[str], object],
) -> ScoreSummary:
    """Score files or images with the model of a run into one table, a batch at a time.

    So memory does not grow with the input. `tell` hears how the files are read, before any row is.
    """
    scorer = read_scorer(Path(run), encoder=read.encoder)
    of_images = scorer.encoder.image is not None
    if of_images:
        batches = _image_batches(source, scorer.encoder, read)
    else:
        batches = _batches(scorer, source, read, tell)
    coverage, bad, done = ColumnCoverage(0), dict[str, str](), 0

    def scored() -> Iterator[Any]:
        nonlocal coverage, done
        for batch, root in batches:
            rated = scorer.rate(batch, why=why, bad_images=read.bad_images, root=root)
            coverage += rated.coverage
            bad.update(rated.bad)
            done += len(rated.rows)
            if len(rated.rows) or not rated.bad:
                yield with_scores(batch.readable, rated)
        if bad:
            refuse_none_left(done, bad)

    rows = write_table(output, scored(), force=force)
    notes = (*bad_sentences(bad), *coverage.doubts())
    return ScoreSummary(rows, notes=notes, row="image" if of_images else "row")


def _batches(
    scorer: Scorer, source: Sequence[str], read: Read, tell: Callable[[str], object]
) -> Iterator[tuple[Batch, str | None]]:
    """Batches of tables; what is wrong with the files is said before the output is opened."""
    scorer.refuse_images(list(source))
    beside, columns = read.embeddings, scorer.encoder.columns
    needed = [name for name in columns if not (beside and name == EMBEDDING)]
    table = open_new(scorer.encoder, list(source), read, needed)
    if not beside and EMBEDDING in columns and EMBEDDING not in table.types:
        raise InputError(
            "TB109",
            f"the model reads a vector of each row, and {table.name} has none. Give the file of "
            f"vectors with {option('embeddings')}, or a column of vectors that is called "
            f'"{EMBEDDING}".',
        )
    for line in table.date_lines:
        tell(f"dates           {line}")
    for line in table.decimal_lines:
        tell(f"numbers         {line}")
    return ((batch, None) for batch in attached(table, beside))


def _image_batches(
    source: Sequence[str], encoder: Features, read: Read
) -> Iterator[tuple[Batch, str | None]]:
    """New images to score: folders and files, or tables with the column of paths; some at a time.

    With them comes the folder that their paths are relative to, if there is one.
    """
    assert encoder.image is not None
    column = encoder.image.name
    if names_images(list(source)):
        paths = find_images(source)
        for start in range(0, len(paths), SCORED_AT_ONCE):
            frame = pd.DataFrame({column: paths[start : start + SCORED_AT_ONCE]})
            yield replace(Batch.from_frame(frame, name="the images"), first=start), None
        return
    _refuse_folders(source, column)
    table = open_new(encoder, list(source), read)
    if column not in table.types:
        near = "" if column == COLUMN else nearest(column, table.types)
        message = f'the run was fitted on images, and {table.name} has no column "{column}".{near}'
        raise InputError("TB109", f"{message} {EXPECTED.format(column)}")
    root = root_of(list(source), read.image_root)
    for batch in table.batches(rows=SCORED_AT_ONCE):
        check_paths(batch, column)
        for start in range(0, batch.rows, SCORED_AT_ONCE):
            yield batch.take(slice(start, start + SCORED_AT_ONCE)), root


def _refuse_folders(source: Sequence[str], column: str) -> None:
    """TB130 for a folder without files, and TB109 for one whose files are no images."""
    for path in filter(os.path.isdir, source):
        named = [is_image_name(name) for name in find_images(path)]
        images, others = sum(named), len(named) - sum(named)
        has = f"{counted(images, 'image file')} and {counted(others, 'other file')}"
        message = f'the run was fitted on images, and "{path}" has {has}.'
        raise InputError("TB109", f"{message} {EXPECTED.format(column)}")


@dataclass(frozen=True, slots=True, eq=False)
class PartScorer:
    """Scores the parts of the input into files of a folder; it is sent to each worker once."""

    scorer: Scorer
    folder: Path
    key: str
    image_root: str | None = None

    def target(self, part: Part) -> Path:
        """Where the scores of a part belong."""
        root = () if self.image_root is None else (self.image_root,)
        input_file = part.path, *stamp(part.path), part.groups
        made_of = self.key, *input_file, *sorted(part.ways.items()), *root
        name = f"{Path(part.path).stem}-{(part.groups or (0,))[0]:05d}"
        return self.folder / f"{name}-{sha256_of(repr(made_of))[:12]}.parquet"

    def score(self, batch: Batch, types: Types, path: str) -> tuple[Any, ColumnCoverage]:
        """The batch as Arrow rows with two columns more, and what its columns told the model."""
        arrow = require("pyarrow", extra="dask", caller="topbin score --engine")
        root = self.image_root or os.path.dirname(path)
        rated = self.scorer.rate(batch, bad_images=REFUSE, root=root)
        rows = batch.to_arrow(types)
        for name, values in rated.columns.items():
            rows = rows.append_column(name, arrow.array(values))
        return rows, rated.coverage


def score_files(
    engine: Engine,
    run: str | os.PathLike[str],
    source: SourceLike,
    output: str | os.PathLike[str],
    *,
    read: Read = Read(),
    force: bool = False,
    skip_bad: bool = False,
) -> ScoreSummary:
    """Score files with the model of a run into a folder of parquet files.

    Each part of the input becomes one file: a run of row groups of a parquet file, or a whole file
    of another format. Called again after it was stopped, it continues with the parts that have
    none; called with more files, it scores these. `force` removes scores in the folder that belong
    to another job, which are otherwise TB104. `skip_bad` leaves out files that cannot be read,
    which are otherwise TB102. `read` has what is said of dates, decimals, partitions and the folder
    of images.
    """
    scorer, key = read_scorer(Path(run), encoder=read.encoder).lean(), _key(Path(run))
    with advising_to_skip(skip_bad):
        table = _opened(source, scorer.encoder, read, skip_bad)
        parts = table.placed_parts()
    root = None if read.image_root is None else os.path.abspath(read.image_root)
    folder = _folder(output, table)
    shared = PartScorer(scorer, folder, key, root)
    targets = {part: shared.target(part) for part in parts}
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with lock(folder), threadpool_limits(limits=1):
        _make_room(folder, set(targets.values()), force=force)
        todo = [part for part in parts if not targets[part].exists()]
        done = total_of(engine, write_part, todo, shared) if todo else Outcome(ColumnCoverage(0))
        with advising_to_skip(skip_bad):
            bad = _settle(done, targets, skip_bad) | table.bad.keys()
        write_text(folder / DONE, "", force=True)
    scored = [part for part in parts if part.path not in bad]
    rows = sum(part.count() for part in scored)
    notes = (*skipped(bad), *table.date_lines, *table.decimal_lines)
    doubts = () if done.value is None else done.value.doubts()
    return ScoreSummary(rows, len(scored), len(parts) - len(todo), (*notes, *doubts))


def _opened(source: SourceLike, encoder: Features, read: Read, skip_bad: bool) -> Table:
    if encoder.image is not None and names_images(source):
        raise InputError(
            "TB136",
            "an engine scores tables of paths, not folders of images. Write the paths into a csv "
            f'or parquet file beside the images, in a column "{encoder.image.name}", and score '
            f"that; or leave out {option('engine')}.",
        )
    table = open_new(encoder, source, read, skip_bad=skip_bad)
    _check_columns(table, encoder)
    return table


def write_part(scorer: PartScorer, part: Part) -> ColumnCoverage:
    """Write the scores of one part to its file; return what its columns told the model."""
    target = scorer.target(part)
    if target.exists():
        return ColumnCoverage(part.count())  # by a worker that was given up on but finished later
    writer, coverage = None, ColumnCoverage(0)
    parquet = require("pyarrow.parquet", extra="dask", caller="topbin score --engine")
    with new_file(target, force=True) as half:
        try:
            for batch in part.batches():
                scored, new = scorer.score(batch, part.types, part.path)
                coverage += new
                writer = writer or parquet.ParquetWriter(half, scored.schema)
                writer.write_batch(scored)
        finally:
            if writer is not None:
                writer.close()
    return coverage


def _key(run: Path) -> str:
    """What tells the model from others."""
    sums = (run / MODEL / SUMS).read_text("ascii")  # just read, so it is there
    return sha256_of(f"{topbin.__version__}\n{sums}")


def _folder(output: str | os.PathLike[str], table: Table) -> Path:
    folder = Path(os.path.abspath(output))
    if folder.is_file():
        raise InputError("TB104", f'"{folder}" is a file; with an engine, name a folder.')
    if any(Path(file.path).parent == folder for file in table.files):
        raise InputError("TB104", f'"{folder}" holds the files to score; name another folder.')
    return folder


def _check_columns(table: Table, encoder: Features) -> None:
    """Before any work: refuse files that do not have what the model reads."""
    for file in table.files:
        refuse_scored(file.types, file.name)
        kinds = kinds_of(file.types)
        encoder.check(Batch(pd.DataFrame(columns=list(kinds)), kinds, file.name))


def _make_room(folder: Path, ours: set[Path], *, force: bool) -> None:
    """Remove what a killed run left unfinished; refuse scores of another job, or remove them."""
    remove_parts(folder)
    remove(folder / DONE)
    others = [path for path in sorted(folder.glob("*.parquet")) if path not in ours]
    if others and not force:
        raise InputError(
            "TB104",
            f'"{folder}" holds {counted(len(others), "file")} of another job, such as '
            f'"{others[0].name}": '
            "of another model, or of files that have changed since. Choose another folder, or "
            f"remove them with {option('force', True)}, which keeps what is finished of this job.",
        )
    for path in others:
        remove(path)


def _settle(done: Outcome, targets: dict[Part, Path], skip_bad: bool) -> set[str]:
    """The files that had to be left out; of these no part stays."""
    if any(error.code != "TB102" for error in done.bad.values()) or (done.bad and not skip_bad):
        raise done.first_error()
    for part, target in targets.items():
        if part.path in done.bad:
            remove(target)
    return set(done.bad)
