"""`topbin inspect`: what a run or a model folder holds, without loading a model."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from topbin.cli.verb import Verb, json_option, screen, write_json


@click.command(cls=Verb)
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def inspect(folder: Path, as_json: bool) -> None:
    """Show what a run folder or a model folder holds.

    \b
      topbin inspect run1
      topbin inspect run1/model --json
    """  # fmt: skip
    from topbin.show.summary import run_lines
    from topbin.store.models import inspect_model
    from topbin.store.runs import RESULT, SCHEMA, SETTINGS, read_result

    if any(os.path.exists(folder / name) for name in (RESULT, SETTINGS)):
        found = read_result(folder)
        told, lines = {"schema": SCHEMA, **found.to_dict()}, run_lines(found)
    else:
        told = inspect_model(folder)
        lines = _model_lines(told)
    if as_json:
        return write_json(told)
    for line in lines:
        screen().print(line)


def _model_lines(found: Mapping[str, Any]) -> list[str]:
    """A model folder: the class, what saved it, and its files."""
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    files = ", ".join(f"{name} ({size:,} bytes)" for name, size in found["files"].items())
    return [
        f"model           {found['class']}",
        f"saved by        topbin {found['topbin']} (format {found['format']}), {versions}",
        f"files           {files}",
    ]
