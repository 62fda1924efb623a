"""The options of every verb that runs on an engine, and the engine they name."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import click

from topbin.cli.verb import Grouped

Command = TypeVar("Command", bound=Callable[..., Any])
NAMES = ("local", "dask", "spark")


def engine_options(
    about: str, default: str | None = None, names: tuple[str, ...] = NAMES
) -> Callable[[Command], Command]:
    """`--engine`, `--scheduler` and, where Spark is one of them, `--master`."""

    def add(command: Command) -> Command:
        if "spark" in names:
            command = _option("--master", metavar="URL", help="Of a Spark cluster.")(command)
        command = _option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster.")(command)
        return _option("--engine", type=click.Choice(names), default=default, help=about)(command)

    return add


def open_engine(options: dict[str, Any]) -> AbstractContextManager[Any]:
    """The engine that the options name, `local` if they name none."""
    from topbin import engines

    name = options["engine"] or "local"
    addresses = {"dask": options["scheduler"], "spark": options.get("master")}
    return engines.open_engine(name, addresses.get(name))


def _option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    return click.option(*names, cls=Grouped, group="Engine", show_default=True, **settings)
