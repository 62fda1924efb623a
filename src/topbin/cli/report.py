"""`topbin report`: write the page of a run again."""

from pathlib import Path
from typing import Any

import click

from topbin.cli.verb import (
    Verb,
    again_options,
    json_option,
    named_again,
    option,
    screen,
    write_json,
)
from topbin.core.figures import counted


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@option(
    "--candidates",
    group="Rows",
    type=click.IntRange(1),
    help="List so many rows in candidates.csv; nothing is fitted again.",
)
@again_options
@json_option
def report(run: Path, candidates: int | None, as_json: bool, **named: Any) -> None:
    """Write report.html again, with an audit that came after the run, or with more candidates.

    \b
      topbin report run1
      topbin report run1 --candidates 300
    """  # fmt: skip
    from topbin.job.files import write_report

    if candidates is not None:
        from topbin.job.audits.rows import list_rows

        listed = list_rows(run, candidates, again=named_again(named))
        screen(as_json).print(f"wrote           {run}/candidates.csv: {counted(listed.rows)}")
    path = write_report(run)
    screen(as_json).print(f"wrote           {path}")
    if as_json:
        write_json({"report": str(path)})
