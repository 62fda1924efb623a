"""The options of the command, made from the fields of `topbin.core.options`."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal, get_args, get_origin

import click

from topbin.cli.verb import Command, option
from topbin.core.options import Names, Option, Request, options, read_request
from topbin.engines.engine import ENGINES
from topbin.engines.engine import open_engine as open_by_name

TITLES = {
    "rows": "Rows and labels",
    "read": "How rows are read",
    "labeling": "If labels are not random",
    "budget": "Budget",
    "listing": "Output",
    "certainty": "Output",
}
AGAIN = "positives", "unlabeled", "embeddings", "encoder", "sql"
NOT_HERE = ("source", "engine")  # an argument, and an option that engines add to


def request_options(*names: str, is_usual: bool = True) -> Callable[[Command], Command]:
    """The options of these names, or of a whole fit if there are none.

    Of a fit, those that say so are usual.
    """

    def add(command: Command) -> Command:
        known = [each for each in options() if each.name not in NOT_HERE]
        for each in reversed([one for one in known if one.name in names or not names]):
            command = click_option(each, is_usual=is_usual if names else each.usual)(command)
        return command

    return add


def click_option(each: Option, *, is_usual: bool = True) -> Callable[[Command], Command]:
    """An option of the command; None stands for one that was not given."""
    about: dict[str, Any] = {"help": each.help, "metavar": each.metavar, "default": None}
    plain = each.plain
    if each.shown_default:
        about["help"] += f"  [default: {each.shown_default}]"
    if plain is bool:
        about["is_flag"] = True
    elif plain == Names:
        about["multiple"] = True
    elif get_origin(plain) is Literal:
        about["type"] = click.Choice(get_args(plain))
    elif plain in (int, float):
        about["type"] = plain  # its limits are checked with all others
    flag = f"--{each.name.replace('_', '-')}"
    return option(flag, each.name, group=TITLES[each.place], is_usual=is_usual, **about)


def given(values: Mapping[str, Any], place: str | None = None) -> dict[str, Any]:
    """The options that were given, or those of one place; names of columns may have commas.

    >>> given({"drop": ("a,b", "c"), "id": None, "seed": 3, "engine": "dask", "why": True})
    {'drop': ['a', 'b', 'c'], 'seed': 3, 'engine': 'dask'}
    """
    known = {each.name: each for each in options()}
    chosen = {
        name: value
        for name, value in values.items()
        if name in known
        and value is not None
        and value != ()
        and place in (None, known[name].place)
    }
    for name, value in chosen.items():
        if known[name].kind == Names:
            chosen[name] = list(value) if known[name].any else _split(value)
    return chosen


def _split(values: tuple[str, ...]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def again_options(command: Command) -> Command:
    """What a run was made from, to be named again where its folder cannot vouch for it."""
    about = "The query that the run was made from, if it was: a query in a folder is never run."
    command = option("--sql", group=TITLES["read"], is_usual=False, help=about)(command)
    named = (name for name in AGAIN if name != "sql")
    command = request_options(*named, is_usual=False)(command)
    return click.argument("source", nargs=-1, type=click.Path())(command)


def where_option(group: str) -> Callable[[Command], Command]:
    """`--where`: among which rows an audit draws."""
    return option(
        "--where",
        group=group,
        default="anywhere",
        type=click.Choice(["anywhere", "top"]),
        help="Among all unlabeled rows, or among those with the highest scores.",
    )


def named_again(values: Mapping[str, Any]) -> Request:
    """What was named again, as a request."""
    return read_request(given({name: values[name] for name in ("source", *AGAIN)}))


def engine_options(
    about: str = "", default: str | None = None, *, is_usual: bool = True
) -> Callable[[Command], Command]:
    """`--engine`, and for each engine with a cluster the option that names the cluster."""
    about = about or next(each.help for each in options() if each.name == "engine")

    def add(command: Command) -> Command:
        shared: Any = {"group": "Engine", "is_usual": is_usual}
        for engine in reversed(ENGINES.values()):
            if engine.option:
                named = {"metavar": engine.metavar, "help": engine.help}
                command = option(f"--{engine.option}", **shared, **named)(command)
        choice: Any = {"type": click.Choice(list(ENGINES)), "default": default, "help": about}
        return option("--engine", **shared, **choice)(command)

    return add


def open_engine(values: Mapping[str, Any], request: Any = None) -> AbstractContextManager[Any]:
    """The engine that the options name, or the request; `local` if they name none."""
    name = values["engine"] or (request and request.budget.engine) or "local"
    return open_by_name(name, values.get(ENGINES[name].option or ""))
