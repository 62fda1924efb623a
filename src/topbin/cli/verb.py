"""What every verb shares: coded errors as sentences, exit codes, and options.

The options of a fit are made from the fields of `topbin.core.options`.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from inspect import cleandoc
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import click
from rich.console import Console

from topbin.cli import EXIT_CODES
from topbin.core.errors import TopbinError
from topbin.core.formatting import line, visible
from topbin.core.options import Names, Option, Request, options, read_request
from topbin.engines.engine import ENGINES, open_engine

Command = TypeVar("Command", bound=Callable[..., Any])
FAILED, WRONG_USE, EXCEEDED = 1, 2, 3
# Errors about what was asked for, rather than about what happened while doing it.
USE = {
    "TB007", "TB008", "TB012", "TB103", "TB104", "TB120", "TB121", "TB122", "TB123", "TB126",
    "TB130", "TB135", "TB136", "TB139", "TB160", "TB161",
}  # fmt: skip
TITLES = {
    "rows": "Rows and labels", "read": "How rows are read", "labeling": "If labels are not random",
    "budget": "Budget", "listing": "Output", "certainty": "Output",
}  # fmt: skip
AGAIN = "positives", "unlabeled", "embeddings", "encoder", "sql"
NOT_HERE = ("source", "engine")  # an argument, and an option that engines add to
SEED = click.IntRange(0, 2**31 - 1)


class Grouped(click.Option):
    """An option that the help shows under a heading; `--help` shows those that are usual."""

    def __init__(self, *args: Any, group: str, usual: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group, self.usual = group, usual


def option(names: str, group: str, about: str, **settings: Any) -> Callable[[Command], Command]:
    """An option under a heading of the help, which shows its default; names as "-o --output"."""
    shown: Any = {"cls": Grouped, "group": group, "help": about, "show_default": True}
    return click.option(*names.split(), **shown, **settings)


flag = partial(option, is_flag=True)
path_argument = partial(click.argument, type=click.Path(path_type=Path))
sources_argument = partial(click.argument, "source", nargs=-1, type=click.Path())
max_alpha_option = partial(
    option, "--max-alpha", "Output", type=click.FloatRange(0, 1), usual=False
)
json_option = flag("--json as_json", "Output", "Only JSON on standard output.")


def output_option(about: str, **settings: Any) -> Callable[[Command], Command]:
    """`-o`: where the verb writes; it must be given if there is no default."""
    # To click, a default of None is a default, and nothing would be missing.
    usual = {"type": click.Path(path_type=Path), "required": "default" not in settings}
    return option("-o --output", "Output", about, **(usual | settings))


def _debug(ctx: click.Context, _: Any, value: bool) -> None:
    ctx.meta["debug"] = value


def _is_usual(param: click.Parameter) -> bool:
    return getattr(param, "usual", True)


class Verb(click.Command):
    """A command whose coded errors become one sentence and an exit code, never a traceback.

    `--debug` shows the traceback nevertheless.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("epilog", EXIT_CODES)
        super().__init__(*args, **kwargs)
        self.help = examples_first(self.help or "")
        eager = partial(flag, group="Output", expose_value=False, is_eager=True)
        is_long = not all(map(_is_usual, self.params))  # then only `--help-all` shows some
        about = "Show the traceback of an error."
        eager("--debug", about=about, usual=not is_long, callback=_debug)(self)
        if is_long:
            for each in (param for param in self.params if param.name == "as_json"):
                each.usual = False  # type: ignore[attr-defined]
            count = sum(isinstance(param, click.Option) for param in self.params)
            eager("--help-all", about=f"Show all {count} options.", callback=_show_all)(self)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; say what went wrong in its own words."""
        try:
            with _tidy_when_told_to_stop():
                return super().invoke(ctx)
        except TopbinError as error:
            if ctx.meta.get("debug"):
                raise
            click.echo(visible(f"{error.code} {_indented(error.in_command)}"), err=True)
            ctx.exit(WRONG_USE if error.code in USE else FAILED)
        except BrokenPipeError:  # the reader of our output is gone
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (Python flushes it at exit)
            ctx.exit(FAILED)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options under the headings of their groups, as groups appear; Output comes last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            is_shown = ctx.meta.get("all") or _is_usual(param)
            if is_shown and record is not None and isinstance(param, click.Option):
                groups.setdefault(getattr(param, "group", "Output"), []).append(record)
        groups["Output"] = groups.pop("Output")
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records)


@contextmanager
def _tidy_when_told_to_stop() -> Iterator[None]:
    """Let TERM and HUP end the verb as an error does, so that unfinished files are removed."""

    def leave(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    is_main = threading.current_thread() is threading.main_thread()
    ours = [n for n in numbers if is_main and signal.getsignal(n) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


class Screen(Console):
    """A console that shows control characters instead of sending them to the terminal."""

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print; control characters are shown as escapes."""
        super().print(*(visible(o) if isinstance(o, str) else o for o in objects), **settings)

    def print_lines(self, lines: Iterable[str]) -> None:
        """Print each on a line of its own."""
        for text in lines:
            self.print(text)

    def say(self, name: str, text: object) -> None:
        """Print what there is to say about something, in a column beside its name."""
        self.print(line(name, text))


def screen(as_json: bool = False, quiet: bool = False) -> Screen:
    """Where people read: standard output, or standard error when that is for JSON."""
    # No markup: a column or a folder may be called [/b].
    return Screen(stderr=as_json, quiet=quiet, highlight=False, markup=False, soft_wrap=True)


def write_json(value: Any) -> None:
    """A value as one JSON document on standard output."""
    from topbin.store.answer import plain

    click.echo(visible(json.dumps(plain(value), indent=2, ensure_ascii=False)))


def examples_first(text: str) -> str:
    """A verb's help with its example lines, which \\b marks, above everything else.

    >>> examples_first("What it does.\\n\\n\\b\\n  topbin fit t.csv")
    '\\x08\\n  topbin fit t.csv\\n\\nWhat it does.'
    """
    parts = cleandoc(text).split("\n\n")
    return "\n\n".join(sorted(parts, key=lambda part: not part.startswith("\b")))


def _show_all(ctx: click.Context, _: Any, value: bool) -> None:
    if value:
        ctx.meta["all"] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _indented(message: str) -> str:
    """A message whose further lines stand below its first one, if they do not yet."""
    return message if "\n      " in message else message.replace("\n", "\n      ")


def request_options(*names: str, usual: bool = True) -> Callable[[Command], Command]:
    """The options of these names, or of a whole fit if there are none.

    Of a fit, those that say so are usual.
    """

    def add(command: Command) -> Command:
        known = [each for each in options() if each.name not in NOT_HERE]
        for each in reversed([each for each in known if each.name in names or not names]):
            command = click_option(each, usual=usual if names else each.usual)(command)
        return command

    return add


def click_option(each: Option, *, usual: bool) -> Callable[[Command], Command]:
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
    return option(names, TITLES[each.place], about, **settings)


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


def again_options(command: Command) -> Command:
    """What a run was made from, to be named again where its folder cannot vouch for it."""
    about = "The query that the run was made from, if it was: a query in a folder is never run."
    command = option("--sql", TITLES["read"], about, usual=False)(command)
    named = (name for name in AGAIN if name != "sql")
    return sources_argument()(request_options(*named, usual=False)(command))


def named_again(values: Mapping[str, Any]) -> Request:
    """What was named again, as a request."""
    return read_request(given({name: values[name] for name in ("source", *AGAIN)}))


def engine_options(
    about: str = "", default: str | None = None, *, usual: bool = True
) -> Callable[[Command], Command]:
    """`--engine`, and for each engine with a cluster the option that names the cluster."""
    about = about or next(each.help for each in options() if each.name == "engine")

    def add(command: Command) -> Command:
        named = partial(option, group="Engine", usual=usual)
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
