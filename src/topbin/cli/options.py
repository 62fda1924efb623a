"""The options of the command, made from the fields of `topbin.core.options`."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Literal, get_args, get_origin

import click

from topbin.cli import verb
from topbin.core.options import Names, Option, Request, options, read_request
from topbin.engines.engine import ENGINES, open_engine

TITLES = {
    "rows": "Rows and labels", "read": "How rows are read", "labeling": "If labels are not random",
    "budget": "Budget", "listing": "Output", "certainty": "Output",
}  # fmt: skip
AGAIN = "positives", "unlabeled", "embeddings", "encoder", "sql"
NOT_HERE = ("source", "engine")  # an argument, and an option that engines add to


def request_options(*names: str, usual: bool = True) -> Callable[[verb.Command], verb.Command]:
    """The options of these names, or of a whole fit if there are none.

    Of a fit, those that say so are usual.
    """

    def add(command: verb.Command) -> verb.Command:
        known = [each for each in options() if each.name not in NOT_HERE]
        for each in reversed([each for each in known if each.name in names or not names]):
            command = click_option(each, usual=usual if names else each.usual)(command)
        return command

    return add


def click_option(each: Option, *, usual: bool) -> Callable[[verb.Command], verb.Command]:
    """An option of the command; None stands for one that was not given."""
    settings: dict[str, Any] = {"metavar": each.metavar, "default": None, "usual": usual}
    if each.plain is bool:
        settings["is_flag"] = True
    elif each.plain == Names:
        settings["multiple"] = True
    elif get_origin(each.plain) is Literal:
        settings["type"] = click.Choice(get_args(each.plain))
    elif each.plain in (int, float):
        settings["type"] = each.plain  # its limits are checked with all others
    about = each.help + (f"  [default: {each.shown_default}]" if each.shown_default else "")
    names = f"--{each.name.replace('_', '-')} {each.name}"
    return verb.option(names, TITLES[each.place], about, **settings)


def given(values: Mapping[str, Any], place: str | None = None) -> dict[str, Any]:
    """The options that were given, or those of one place; names of columns may have commas.

    >>> given({"drop": ("a,b", "c"), "id": None, "seed": 3, "engine": "dask", "why": True})
    {'drop': ['a', 'b', 'c'], 'seed': 3, 'engine': 'dask'}
    """
    known = {each.name: each for each in options() if place in (None, each.place)}
    chosen = {n: v for n, v in values.items() if n in known and v is not None and v != ()}
    for name, value in chosen.items():
        if known[name].kind == Names:  # those of files are not cut at commas
            cut = (part.strip() for text in value for part in text.split(","))
            chosen[name] = list(value if known[name].any else filter(None, cut))
    return chosen


def again_options(command: verb.Command) -> verb.Command:
    """What a run was made from, to be named again where its folder cannot vouch for it."""
    about = "The query that the run was made from, if it was: a query in a folder is never run."
    command = verb.option("--sql", TITLES["read"], about, usual=False)(command)
    named = (name for name in AGAIN if name != "sql")
    return verb.sources_argument()(request_options(*named, usual=False)(command))


def named_again(values: Mapping[str, Any]) -> Request:
    """What was named again, as a request."""
    return read_request(given({name: values[name] for name in ("source", *AGAIN)}))


def engine_options(
    about: str = "", default: str | None = None, *, usual: bool = True
) -> Callable[[verb.Command], verb.Command]:
    """`--engine`, and for each engine with a cluster the option that names the cluster."""
    about = about or next(each.help for each in options() if each.name == "engine")

    def add(command: verb.Command) -> verb.Command:
        named = partial(verb.option, group="Engine", usual=usual)
        for engine in reversed(ENGINES.values()):
            if engine.option:
                cluster = {"about": engine.help, "metavar": engine.metavar}
                command = named(f"--{engine.option}", **cluster)(command)
        choice = click.Choice(list(ENGINES))
        return named("--engine", about=about, type=choice, default=default)(command)

    return add


def engine_from(
    values: Mapping[str, Any], request: Request | None = None
) -> AbstractContextManager[Any]:
    """The engine that the options name, or the request; `local` if they name none."""
    name = values.get("engine") or (request and request.budget.engine) or "local"
    return open_engine(name, values.get(ENGINES[name].option or ""))
