"""`topbin inspect`: what a run or a model folder holds, without loading a model."""

import json
from pathlib import Path

import click

from topbin.cli.verb import Grouped, Verb, screen, write_json


@click.command(cls=Verb)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--json",
    "as_json",
    cls=Grouped,
    group="Output",
    is_flag=True,
    help="Only JSON on standard output.",
)
def inspect(folder: Path, as_json: bool) -> None:
    """Show what a run folder or a model folder holds.

    \b
      topbin inspect run1
      topbin inspect run1/model --json
    """  # fmt: skip
    from topbin.io.models import inspect_model
    from topbin.io.runs import RESULT, read_result

    if (folder / RESULT).exists():
        found = read_result(folder)
        shown = {"data": found["data"]["source"], "labels": found["data"].get("label_note"),
                 "estimate": found["estimate"], "candidates": found.get("candidates"),
                 "topbin": found["topbin"]}  # fmt: skip
    else:
        shown = inspect_model(folder)
    if as_json:
        write_json(shown)
        return
    for key, value in shown.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        screen().print(f"{key:<15} {text}", soft_wrap=True, markup=False)
