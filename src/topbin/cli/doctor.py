"""`topbin doctor`: what is wrong with a table, and how much it can say, before any fit."""

from typing import Any

import click

from topbin.cli.fit import rehearse, request_of
from topbin.cli.options import request_options
from topbin.cli.verb import Verb, json_option, screen, write_json
from topbin.core.options import options

ASKED = [each for each in options() if each.place in ("rows", "read")]


@click.command(cls=Verb)
@click.argument("source", nargs=-1, type=click.Path())
@request_options(*(each.name for each in ASKED if each.usual))
@request_options(*(each.name for each in ASKED if not each.usual), "confidence", is_usual=False)
@json_option
def doctor(source: tuple[str, ...], as_json: bool, **asked: Any) -> None:
    """What is wrong with a table, before any fit?

    Labels, columns that are not read, columns that leak the label, rows that belong together,
    copies, and how wide the interval will be. Nothing is fitted and nothing is written.

    \b
      topbin doctor claims.parquet --label is_fraud --id claim_id
      topbin doctor --positives known.csv --unlabeled rest.csv
    """  # fmt: skip
    show = screen(as_json)
    told = rehearse(show, request_of(source, None, asked), {"engine": None}, is_timed=False)
    if as_json:
        write_json(told)
