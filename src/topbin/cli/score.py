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
    output_option,
    partitions_option,
    screen,
    write_json,
)


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("source", nargs=-1, required=True)
@output_option("File to write: .csv, .tsv, .parquet or .jsonl; with --engine, a folder.")
@option("--force", group="Output", is_flag=True, help="Replace the output.")
@engine_options("Score files in parts, into a folder; continues where it was stopped.")
@option("--skip-bad", group="Engine", is_flag=True, help="Leave out files that cannot be read.")
@dates_option
@partitions_option
@option("--why", group="Output", is_flag=True, help="Three columns more: what moved each score.")
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
    show = screen(as_json)
    told: dict[str, Any]
    if options["engine"] is None:
        from topbin.data.table import open_table
        from topbin.data.write import write_table
        from topbin.store.scorer import read_scorer

        scorer = read_scorer(run)
        how = {"partitions": options["partitions"]}
        dates = scorer.encoder.orders(options["dates"])
        table = open_table(list(source), needed=scorer.encoder.columns, dates=dates, **how)
        for line in table.date_lines:
            show.print(f"dates           {line}")
        # One batch at a time, so that memory does not grow with the file.
        batches = (scorer.score(batch, why=options["why"]) for batch in table.batches())
        rows = write_table(output, batches, force=force)
        told = {"rows": rows, "output": str(output)}
        show.print(f"scored          {rows:,} rows into {output}")
    elif options["why"]:
        raise click.UsageError("--why works without --engine; score the rows in question alone")
    else:
        from topbin.job.score import score_files

        how = {name: options[name] for name in ("skip_bad", "dates", "partitions")}
        with open_engine(options) as engine:
            done = score_files(engine, run, source, output, force=force, **how)
        told = {"rows": done.rows, "files": done.files, "before": done.before}
        told |= {"output": str(output), "notes": list(done.notes)}
        for note in done.notes:
            show.print(f"note            {note}")
        before = f", {done.before:,} of them from before" if done.before else ""
        wrote = f"{done.rows:,} rows into {done.files:,} files in {output}{before}"
        show.print(f"scored          {wrote}")
    if as_json:
        write_json(told)
