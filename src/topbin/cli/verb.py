"""What every verb shares: coded errors as sentences, exit codes, option groups in the help."""

import json
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import cleandoc
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from topbin.cli import EXIT_CODES
from topbin.core.errors import TopbinError
from topbin.core.figures import visible

Command = TypeVar("Command", bound=Callable[..., Any])
FAILED, WRONG_USE, PASSED = 1, 2, 3
# Errors about what was asked for, rather than about what happened while doing it.
USE = {
    "TB007", "TB008", "TB012", "TB103", "TB104", "TB120", "TB121", "TB122", "TB123", "TB126",
    "TB130", "TB135", "TB136", "TB139",
}  # fmt: skip
ADVICE = re.compile(r"\b(positive|negative|dates|decimal)=(?:'([^']*)'|([\w.-]+)),?")
SEED = click.IntRange(0, 2**31 - 1)


class Grouped(click.Option):
    """An option that the help shows under a heading."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


def option(*names: str, group: str, **settings: Any) -> Callable[[Command], Command]:
    """An option under a heading of the help, which shows its default."""
    return click.option(*names, cls=Grouped, group=group, show_default=True, **settings)


json_option = option(
    "--json", "as_json", group="Output", is_flag=True, help="Only JSON on standard output."
)
dates_option = option(
    "--dates", group="Data", type=click.Choice(["dmy", "mdy", "ymd", "iso"]),
    help="How dates in csv files are written, if not as in ISO 8601; iso leaves them as text.",
)  # fmt: skip
decimal_option = option(
    "--decimal", group="Data", type=click.Choice([",", ".", "text"]),
    help='What decimals follow in csv files, where "1,234" could be either; text: no numbers.',
)  # fmt: skip
partitions_option = option(
    "--partitions", group="Data", is_flag=True,
    help="Also read columns from folders called column=value.",
)  # fmt: skip


bad_images_option = option(
    "--bad-images", group="Data", type=click.Choice(["leave-out", "refuse"]), default="leave-out",
    help="What to do with images that cannot be read.",
)  # fmt: skip
image_root_option = option(
    "--image-root", group="Data", help="The folder of the paths in a table, if not its own."
)


def gamma_options(command: Command) -> Command:
    """How wrong "labeled at random" can be: the Γ to try, and conclusions that are to hold."""
    share = click.FloatRange(0, 1)
    least = option(
        "--at-least", group="If labels are selective", type=share, metavar="SHARE",
        help="Say up to which Γ it holds that α is at least this.",
    )  # fmt: skip
    most = option(
        "--at-most", group="If labels are selective", type=share, metavar="SHARE",
        help="Say up to which Γ it holds that α is at most this.",
    )  # fmt: skip
    gammas = option(
        "--gamma", group="If labels are selective", metavar="Γ,Γ,…",
        help="Intervals if the odds of being labeled differ up to Γ times: 1.5,2,3.",
    )  # fmt: skip
    return gammas(most(least(command)))


def output_option(
    about: str, default: Path | None = None, **kind: bool
) -> Callable[[Command], Command]:
    """`-o`: where the verb writes; it must be given if there is no default."""
    path = click.Path(path_type=Path, **kind)
    # To click, a default of None is a default, and nothing would be missing.
    asked: dict[str, Any] = {"required": True} if default is None else {"default": default}
    return option("-o", "--output", group="Output", type=path, help=about, **asked)


class Verb(click.Command):
    """A command whose coded errors become one sentence and an exit code, never a traceback.

    `--debug` shows the traceback nevertheless.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("epilog", EXIT_CODES)
        super().__init__(*args, **kwargs)
        self.help = examples_first(self.help or "")
        debug: dict[str, Any] = {"is_flag": True, "expose_value": False, "is_eager": True}
        debug["callback"] = lambda ctx, _, value: ctx.meta.update(debug=value)
        option("--debug", group="Output", help="Show the traceback of an error.", **debug)(self)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; say what went wrong in its own words."""
        try:
            with _tidy_when_told_to_stop():
                return super().invoke(ctx)
        except TopbinError as error:
            if ctx.meta.get("debug"):
                raise
            click.echo(visible(as_options(str(error))), err=True)
            ctx.exit(WRONG_USE if error.code in USE else FAILED)
        except BrokenPipeError:  # the reader of our output is gone
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (Python flushes it at exit)
            ctx.exit(FAILED)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options under the headings of their groups, as groups appear; Output comes last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
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


def screen(as_json: bool = False, quiet: bool = False) -> Screen:
    """Where people read: standard output, or standard error when that is for JSON."""
    # No markup: a column or a folder may be called [/b].
    return Screen(stderr=as_json, quiet=quiet, highlight=False, markup=False, soft_wrap=True)


def write_json(value: Any) -> None:
    """One JSON document on standard output."""
    click.echo(visible(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)))


def examples_first(text: str) -> str:
    """A verb's help with its example lines, which \\b marks, above everything else.

    >>> examples_first("What it does.\\n\\n\\b\\n  topbin fit t.csv")
    '\\x08\\n  topbin fit t.csv\\n\\nWhat it does.'
    """
    parts = cleandoc(text).split("\n\n")
    return "\n\n".join(sorted(parts, key=lambda part: not part.startswith("\b")))


def as_options(message: str) -> str:
    """An error's advice in the words of the command: parameters become options, lines are indented.

    >>> as_options("Likely: positive='yes', negative='not yet'   (blank = unlabeled)")
    "Likely: --positive yes --negative 'not yet'   (blank = unlabeled)"
    """
    if "\n      " not in message:
        message = message.replace("\n", "\n      ")
    return ADVICE.sub(lambda match: f"--{match[1]} {shlex.quote(match[2] or match[3])}", message)
