"""`topbin report`: write the page of a run again."""

from pathlib import Path

import click

from topbin.cli.verb import Verb, json_option, screen, write_json


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@json_option
def report(run: Path, as_json: bool) -> None:
    """Write report.html again, with an audit that came after the run.

    \b
      topbin report run1
      topbin report run1 --json
    """  # fmt: skip
    from topbin.job.files import write_report

    path = write_report(run)
    screen(as_json).print(f"wrote           {path}")
    if as_json:
        write_json({"report": str(path)})
