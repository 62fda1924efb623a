"""The model of a run on new rows: `topbin score` rates them, `topbin watch` counts them by period.

Both work here or on a cluster.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from topbin.cli import verb
from topbin.cli.verb import engine_from, engine_options, given, request_options
from topbin.core.formatting import counted
from topbin.core.optional import keep_freed_memory
from topbin.core.options import CONFIDENCE, RISK, Read

INTO = "File: .csv, .tsv, .xlsx, .parquet or .jsonl; a PostgreSQL table; with --engine, a folder."
READ = "embeddings", "encoder", "bad_images", "image_root", "dates", "decimal", "partitions"
EVERY = "How long a period is; for a column of numbers, a number."
FALSE_ALARM = "The chance of a false alarm in a year, of each of the two kinds."


@click.command(cls=verb.Verb)
@verb.path_argument("run")
@verb.sources_argument(required=True)
@verb.output_option(INTO, type=click.Path())
@verb.flag("--force", "Output", "Replace the output.")
@engine_options("Score files in parts, into a folder; continues where it was stopped.")
@verb.flag("--skip-bad", "Engine", "Leave out files that cannot be read.", usual=False)
@request_options(*READ, usual=False)
@verb.flag("--why", "Output", "Add three columns that say what moved each score.")
@verb.json_option
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
    from topbin.job.score import score_files, score_table
    from topbin.store.sources import fitted_rows_note

    show, read = verb.screen(as_json), Read(**given(options, "read"))
    seen = filter(None, [fitted_rows_note(run, source)])
    if options["engine"] is None:
        why = options["why"]
        done = score_table(run, source, output, read=read, force=force, why=why, tell=show.print)
        wrote = f"{counted(done.rows, done.row)} into {output}"
        summary: dict[str, Any] = {"rows": done.rows, "output": output}
    else:
        _check_for_engine(options, output)
        with engine_from(options) as engine:
            done = score_files(
                engine, run, source, output, read=read, force=force, skip_bad=options["skip_bad"]
            )
        before = f", {done.before:,} of them from before" if done.before else ""
        wrote = f"{counted(done.rows)} into {counted(done.files, 'file')} in {output}{before}"
        summary = {"rows": done.rows, "files": done.files, "before": done.before, "output": output}
    notes = [*done.notes, *seen]
    for note in notes:
        show.say("note", note)
    show.say("scored", wrote)
    if as_json:
        verb.write_json({**summary, "notes": notes} if notes or options["engine"] else summary)


def _check_for_engine(options: Mapping[str, Any], output: str) -> None:
    """Refuse what only a scoring without an engine does."""
    from topbin.data.paths import is_address

    if options["why"]:
        raise click.UsageError(
            "--why cannot be combined with --engine; score only those rows without --engine"
        )
    if options["embeddings"]:
        raise click.UsageError("--embeddings works without --engine, or as a column of the files")
    if is_address(output):
        raise click.UsageError("--engine writes a folder of files; name one")


@click.command(cls=verb.Verb)
@verb.path_argument("run")
@verb.sources_argument(required=True)
@verb.option("--time", "Periods", "The column of dates or numbers.", required=True)
@verb.option("--every", "Periods", EVERY, default="week", metavar="day|week|month|NUMBER")
@verb.option("--risk", "Periods", FALSE_ALARM, type=float, default=RISK)
@verb.option(
    "--confidence", "Periods", "Confidence level of the intervals.", type=float, default=CONFIDENCE
)
@verb.output_option("The folder of the watch; with the same one, new files add to it.")
@request_options("encoder", "dates", "decimal", "partitions", usual=False)
@engine_options("Where the rows are counted: here or on a cluster.", default="local", usual=False)
@verb.json_option
def watch(run: Path, source: tuple[str, ...], output: Path, as_json: bool, **options: Any) -> None:
    """Has the share of positives moved? Exit 3 on an alarm.

    \b
      topbin watch run1 january.csv --time day --every week -o watch1
      topbin watch run1 february.csv --time day --every week -o watch1     # adds to it
    """  # fmt: skip
    keep_freed_memory()
    from topbin.job.watch import watch as watch_rows
    from topbin.store.answer import plain

    show, read = verb.screen(as_json), Read(**given(options, "read"))
    settings = {name: options[name] for name in ("time", "every", "risk", "confidence")}
    with engine_from(options) as engine:
        done = watch_rows(run, list(source), output=output, read=read, engine=engine, **settings)
    show.print_lines(done.lines())
    show.say("wrote", f"{output}/watch.html and {output}/periods.jsonl")
    if as_json:
        new = [period for period in done.periods if period.start in done.new]
        verb.write_json({"periods": plain(new), "alarms": plain(done.alarms), "notes": done.notes})
    if done.alarms:
        raise SystemExit(verb.EXCEEDED)
