"""`topbin score`: probabilities for new rows with the model of a run, here or on a cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from topbin.cli.options import engine_options, given, open_engine, request_options
from topbin.cli.verb import Verb, json_option, option, output_option, screen, write_json
from topbin.core.errors import InputError
from topbin.core.errors import option as named
from topbin.core.formatting import counted
from topbin.core.memory import keep_freed_memory


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("source", nargs=-1, required=True, type=click.Path())
@output_option(
    "File: .csv, .tsv, .parquet or .jsonl; a PostgreSQL table; with --engine, a folder.",
    type=click.Path(),
)
@option("--force", group="Output", is_flag=True, help="Replace the output.")
@engine_options("Score files in parts, into a folder; continues where it was stopped.")
@option(
    "--skip-bad",
    group="Engine",
    is_flag=True,
    is_usual=False,
    help="Leave out files that cannot be read.",
)
@request_options(
    "embeddings",
    "encoder",
    "bad_images",
    "image_root",
    "dates",
    "decimal",
    "partitions",
    is_usual=False,
)
@option("--why", group="Output", is_flag=True, help="Three columns more: what moved each score.")
@json_option
def score(
    run: Path, source: tuple[str, ...], output: str, force: bool, as_json: bool, **options: Any
) -> None:
    """Score new rows with the model of a run; columns are checked against it.

    \b
      topbin score run1 new.parquet -o scored.parquet
      topbin score run1 'days/*.csv' -o scored.csv
      topbin score run1 postgresql://host/db#visits -o postgresql://host/db#scored
      topbin score run3 photos/new -o scored.csv
      topbin score run1 'days/*.parquet' -o scored/ --engine dask --scheduler tcp://head:8786
    """  # fmt: skip
    keep_freed_memory()
    from topbin.core.options import Read
    from topbin.data.paths import is_address
    from topbin.store.scorer import fitted_rows

    show, read = screen(as_json), Read(**given(options, "read"))
    doubt = fitted_rows(run, source)
    if options["engine"] is None:
        told = _score_here(show, run, source, output, read, force=force, why=options["why"])
    elif options["why"]:
        raise click.UsageError("--why works without --engine; score the rows in question alone")
    elif options["embeddings"]:
        raise click.UsageError("--embeddings works without --engine, or as a column of the files")
    elif is_address(output):
        raise click.UsageError("--engine writes a folder of files; name one")
    else:
        told = _score_in_parts(show, run, source, output, read, force, options)
    if doubt is not None:
        show.print(f"note            {doubt}")
        told["notes"] = [*told.get("notes", ()), doubt]
    if as_json:
        write_json(told)


def _score_here(
    show: Any, run: Path, source: tuple[str, ...], output: str, read: Any, *, force: bool, why: bool
) -> dict[str, Any]:
    """Score into one file, one batch at a time, so that memory does not grow with the input."""
    from topbin.data.images.cache import bad_sentences
    from topbin.data.write import write_table
    from topbin.store.scorer import ColumnCoverage, read_scorer, refuse_none_left, with_scores

    scorer = read_scorer(run, encoder=read.encoder)
    of_images = scorer.encoder.image is not None
    batches = _images(scorer, source, read) if of_images else _rows(show, scorer, source, read)
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
    notes = [*bad_sentences(bad), *coverage.doubts()]
    for note in notes:
        show.print(f"note            {note}")
    show.print(f"scored          {counted(rows, 'image' if of_images else 'row')} into {output}")
    return {"rows": rows, "output": str(output), **({"notes": notes} if notes else {})}


def _rows(
    show: Any, scorer: Any, source: tuple[str, ...], read: Any
) -> Iterator[tuple[Any, str | None]]:
    """Batches of tables; what is wrong with the files is said before the output is opened."""
    from topbin.data.table import attached, open_table
    from topbin.data.vectors import EMBEDDING

    scorer.refuse_images(list(source))
    beside, encoder = read.embeddings, scorer.encoder
    needed = [name for name in encoder.columns if not (beside and name == EMBEDDING)]
    table = open_table(
        list(source), needed=needed, partitions=read.partitions,
        dates=encoder.orders(read.dates), decimal=encoder.marks(read.decimal),
    )  # fmt: skip
    if not beside and EMBEDDING in encoder.columns and EMBEDDING not in table.types:
        raise InputError(
            "TB109",
            f"the model reads a vector of each row, and {table.name} has none. Give the file of "
            f"vectors with {named('embeddings')}, or a column of vectors that is called "
            f'"{EMBEDDING}".',
        )
    for line in table.date_lines:
        show.print(f"dates           {line}")
    for line in table.decimal_lines:
        show.print(f"numbers         {line}")
    return ((batch, None) for batch in attached(table, beside))


def _images(scorer: Any, source: tuple[str, ...], read: Any) -> Iterator[tuple[Any, str | None]]:
    """Batches of images, each with the folder that its paths are relative to."""
    from topbin.job.images import image_batches

    return image_batches(source, scorer.encoder, read)


def _score_in_parts(
    show: Any,
    run: Path,
    source: tuple[str, ...],
    output: str,
    read: Any,
    force: bool,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Score into a folder, one file per part, on an engine."""
    from topbin.job.score import score_files

    how = {"force": force, "skip_bad": options["skip_bad"]}
    with open_engine(options) as engine:
        done = score_files(engine, run, source, output, read=read, **how)
    for note in done.notes:
        show.print(f"note            {note}")
    before = f", {done.before:,} of them from before" if done.before else ""
    wrote = f"{counted(done.rows)} into {counted(done.files, 'file')} in {output}{before}"
    show.print(f"scored          {wrote}")
    told = {"rows": done.rows, "files": done.files, "before": done.before}
    return {**told, "output": str(output), "notes": list(done.notes)}
