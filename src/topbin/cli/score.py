"""`topbin score`: probabilities for new rows, in chunks, with the model of a run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from topbin.cli.verb import Grouped, Verb, screen, write_json


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("source", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    cls=Grouped,
    group="Output",
    required=True,
    type=click.Path(path_type=Path),
    help="File to write: .csv, .tsv, .parquet or .jsonl.",
)
@click.option("--force", cls=Grouped, group="Output", is_flag=True, help="Replace the output.")
@click.option(
    "--json",
    "as_json",
    cls=Grouped,
    group="Output",
    is_flag=True,
    help="Only JSON on standard output.",
)
def score(run: Path, source: tuple[str, ...], output: Path, force: bool, as_json: bool) -> None:
    """Score new rows with the model of a run; columns are checked against it.

    \b
      topbin score run1 new.parquet -o scored.parquet
      topbin score run1 'days/*.csv' -o scored.csv
    """  # fmt: skip
    from topbin.io.write import write_table
    from topbin.job.files import read_model

    model, encoder = read_model(run)
    rows = write_table(output, scored_chunks(model, encoder, list(source)), force=force)
    screen(as_json).print(f"scored          {rows:,} rows into {output}", soft_wrap=True)
    if as_json:
        write_json({"rows": rows, "output": str(output)})


def scored_chunks(model: Any, encoder: Any, source: list[str]) -> Iterator[Any]:
    """Each chunk with two columns more; memory does not grow with the file."""
    from topbin.io.tables import iter_chunks

    for chunk in iter_chunks(source):
        probability = model.predict_proba(encoder.encode(chunk))[:, 1]
        yield chunk.frame.assign(topbin_probability=probability, topbin_positive=probability > 0.5)
