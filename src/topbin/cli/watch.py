"""`topbin watch`: the share of positives among new rows, period by period, and alarms."""

from pathlib import Path
from typing import Any

import click

from topbin.cli.options import engine_options, given, open_engine, request_options
from topbin.cli.verb import PASSED, Verb, json_option, option, output_option, screen, write_json
from topbin.core.optional import keep_freed_memory
from topbin.core.options import CONFIDENCE, RISK


@click.command(cls=Verb)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("source", nargs=-1, required=True, type=click.Path())
@option("--time", group="Periods", required=True, help="The column of dates or numbers.")
@option(
    "--every",
    group="Periods",
    default="week",
    metavar="day|week|month|NUMBER",
    help="How long a period is; for a column of numbers, a number.",
)
@option(
    "--risk",
    group="Periods",
    type=float,
    default=RISK,
    help="The chance of a false alarm in a year, of each of the two kinds.",
)
@option("--confidence", group="Periods", type=float, default=CONFIDENCE, help="Of the intervals.")
@output_option("The folder of the watch; with the same one, new files add to it.")
@request_options("dates", "decimal", "partitions", is_usual=False)
@engine_options("What counts the rows.", default="local", is_usual=False)
@json_option
def watch(run: Path, source: tuple[str, ...], output: Path, as_json: bool, **options: Any) -> None:
    """Has the share of positives moved? Exit 3 on an alarm.

    \b
      topbin watch run1 january.csv --time day --every week -o watch1
      topbin watch run1 february.csv --time day --every week -o watch1     # adds to it
    """  # fmt: skip
    keep_freed_memory()
    from topbin.core.options import Read
    from topbin.job.watch import watch as watch_rows
    from topbin.store.answer import plain

    show, read = screen(as_json), Read(**given(options, "read"))
    asked = {name: options[name] for name in ("time", "every", "risk", "confidence")}
    with open_engine(options) as engine:
        done = watch_rows(run, list(source), output=output, read=read, engine=engine, **asked)
    for line in done.lines():
        show.print(line)
    show.print(f"wrote           {output}/watch.html and {output}/periods.jsonl")
    if as_json:
        new = [one for one in done.periods if one.start in done.new]
        write_json({"periods": plain(new), "alarms": plain(done.alarms), "notes": done.notes})
    if done.alarms:
        raise SystemExit(PASSED)
