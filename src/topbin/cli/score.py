"""`topbin score`: probabilities for new rows with the model of a run, here or on a cluster."""

from pathlib import Path
from typing import Any

import click

from topbin.cli.engines import engine_options, open_engine
from topbin.cli.verb import (
    Verb,
    dates_option,
    json_option,
    option,
    partitions_option,
    screen,
    write_json,
)


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("source", nargs=-1, required=True)
@option(
    "-o",
    "--output",
    group="Output",
    required=True,
    type=click.Path(path_type=Path),
    help="File to write: .csv, .tsv, .parquet or .jsonl; with --engine, a folder.",
)
@option("--force", group="Output", is_flag=True, help="Replace the output.")
@engine_options("Score files in parts, into a folder; continues where it was stopped.")
@option("--skip-bad", group="Engine", is_flag=True, help="Leave out files that cannot be read.")
@dates_option
@partitions_option
@json_option
def score(
    run: Path, source: tuple[str, ...], output: Path, force: bool, as_json: bool, **options: Any
) -> None:
    """Score new rows with the model of a run; columns are checked against it.

    \b
      topbin score run1 new.parquet -o scored.parquet
      topbin score run1 'days/*.csv' -o scored.csv
      topbin score run1 'days/*.parquet' -o scored/ --engine dask --scheduler tcp://head:8786
    """  # fmt: skip
    if options["engine"] is not None:
        _score_parts(run, source, output, force, as_json, options)
        return
    from topbin.data.table import open_table
    from topbin.data.write import write_table
    from topbin.store.scorer import read_scorer

    scorer, show = read_scorer(run), screen(as_json)
    encoder = scorer.encoder
    dates = encoder.orders(options["dates"])
    how = {"dates": dates, "partitions": options["partitions"]}
    table = open_table(list(source), needed=encoder.columns, **how)
    for line in table.date_lines:
        show.print(f"dates           {line}", soft_wrap=True)
    # One batch at a time, so that memory does not grow with the file.
    rows = write_table(output, (scorer.score(batch) for batch in table.batches()), force=force)
    show.print(f"scored          {rows:,} rows into {output}", soft_wrap=True)
    if as_json:
        write_json({"rows": rows, "output": str(output)})


def _score_parts(
    run: Path,
    source: tuple[str, ...],
    output: Path,
    force: bool,
    as_json: bool,
    options: dict[str, Any],
) -> None:
    from topbin.job.score import score_files

    show = screen(as_json)
    how = {name: options[name] for name in ("skip_bad", "dates", "partitions")}
    with open_engine(options) as engine:
        done = score_files(engine, run, source, output, force=force, **how)
    for note in done.notes:
        show.print(f"note            {note}", soft_wrap=True)
    before = f", {done.before:,} of them from before" if done.before else ""
    show.print(
        f"scored          {done.rows:,} rows into {done.files:,} files in {output}{before}",
        soft_wrap=True,
    )
    if as_json:
        told = {"rows": done.rows, "files": done.files, "before": done.before}
        write_json({**told, "output": str(output), "notes": list(done.notes)})
