"""The options of every verb that runs on an engine, and the engine that they name."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import click

from topbin.cli.verb import Command, option
from topbin.engines.engine import ENGINES
from topbin.engines.engine import open_engine as open_by_name


def engine_options(about: str, default: str | None = None) -> Callable[[Command], Command]:
    """`--engine`, and for each engine with a cluster the option that names the cluster."""

    def add(command: Command) -> Command:
        for engine in reversed(ENGINES.values()):
            if engine.option:
                named = {"metavar": engine.metavar, "help": engine.help}
                command = option(f"--{engine.option}", group="Engine", **named)(command)
        choice = {"type": click.Choice(list(ENGINES)), "default": default, "help": about}
        return option("--engine", group="Engine", **choice)(command)

    return add


def open_engine(options: dict[str, Any]) -> AbstractContextManager[Any]:
    """The engine that the options name, `local` if they name none."""
    name = options["engine"] or "local"
    return open_by_name(name, options.get(ENGINES[name].option or ""))
