"""What the benchmark cannot do, in one sentence, with the exit code of the command."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

import click

Value = TypeVar("Value")


class BenchError(click.ClickException):
    """Data or results are missing, damaged or in use; exit code 1."""


class UnknownName(BenchError):
    """No task, method or profile has this name; exit code 2."""

    exit_code = 2


def look_up(name: str, table: Mapping[str, Value], kind: str) -> Value:
    """The entry of this name, or an error that suggests a similar one.

    >>> look_up("concret", {"concrete": 1}, "task")
    Traceback (most recent call last):
    topbin_bench.errors.UnknownName: no task is called 'concret'. Did you mean 'concrete'?
    """
    if name in table:
        return table[name]
    near = get_close_matches(name, table, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else "`topbin-bench list` shows all names."
    raise UnknownName(f"no {kind} is called {name!r}. {hint}")
