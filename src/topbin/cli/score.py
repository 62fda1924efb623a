"""`topbin score`: probabilities for new rows with the model of a run, here or on a cluster."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from topbin.cli.options import engine_options, given, open_engine, request_options
from topbin.cli.verb import Verb, flag, json_option, output_option, screen, write_json
from topbin.core.formatting import counted
from topbin.core.optional import keep_freed_memory


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("source", nargs=-1, required=True, type=click.Path())
@output_option(
    "File: .csv, .tsv, .parquet or .jsonl; a PostgreSQL table; with --engine, a folder.",
    type=click.Path(),
)
@flag("--force", "Output", "Replace the output.")
@engine_options("Score files in parts, into a folder; continues where it was stopped.")
@flag("--skip-bad", "Engine", "Leave out files that cannot be read.", is_usual=False)
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
@flag("--why", "Output", "Three columns more: what moved each score.")
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
    from topbin.job.score import score_files, score_table
    from topbin.store.scorer import fitted_rows

    show, read = screen(as_json), Read(**given(options, "read"))
    doubt = fitted_rows(run, source)
    if options["engine"] is None:
        why = options["why"]
        done = score_table(run, source, output, read=read, force=force, why=why, tell=show.print)
        wrote = f"{counted(done.rows, done.row)} into {output}"
        summary: dict[str, Any] = {"rows": done.rows, "output": output}
        summary |= {"notes": list(done.notes)} if done.notes else {}
    else:
        _check_for_engine(options, output)
        with open_engine(options) as engine:
            done = score_files(
                engine, run, source, output, read=read, force=force, skip_bad=options["skip_bad"]
            )
        before = f", {done.before:,} of them from before" if done.before else ""
        wrote = f"{counted(done.rows)} into {counted(done.files, 'file')} in {output}{before}"
        summary = {"rows": done.rows, "files": done.files, "before": done.before, "output": output}
        summary["notes"] = list(done.notes)
    for note in done.notes:
        show.print(f"note            {note}")
    show.print(f"scored          {wrote}")
    if doubt is not None:
        show.print(f"note            {doubt}")
        summary["notes"] = [*summary.get("notes", ()), doubt]
    if as_json:
        write_json(summary)


def _check_for_engine(options: Mapping[str, Any], output: str) -> None:
    """Refuse what only a scoring without an engine does."""
    from topbin.data.paths import is_address

    if options["why"]:
        raise click.UsageError("--why works without --engine; score the rows in question alone")
    if options["embeddings"]:
        raise click.UsageError("--embeddings works without --engine, or as a column of the files")
    if is_address(output):
        raise click.UsageError("--engine writes a folder of files; name one")
