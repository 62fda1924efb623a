"""Errors with a code: what happened, what was seen, what to do.

Each code has a section in docs/reference/codes.md. A message names options by `option`, so that
everybody reads them as they write them: `group=` in Python, `--group` in the command.
"""

import shlex
from collections.abc import Callable
from typing import Any

OPEN, GIVEN, CLOSE = "\ue000", "\ue001", "\ue002"  # around an option in a message
NEXT = "\ue003"  # between two options that are to be given together
ARGUMENT = "source"  # which the command takes without a name
NO_MARKS = dict.fromkeys(map(ord, OPEN + GIVEN + CLOSE + NEXT))


def option(name: str, value: Any = None) -> str:
    """An option in the message of an error, perhaps with a value to give it; True: as a flag.

    A list is several values.

    >>> error = InputError("TB008", f"leave out {option('group')}, or say {option('positive', 1)}.")
    >>> error.message, error.in_command
    ('leave out group=, or say positive=1.', 'leave out --group, or say --positive 1.')
    """
    if value is None or value == []:
        return f"{OPEN}{name}{CLOSE}"
    several = value if isinstance(value, list) else [value]
    typed = f" {_in_command(name)} ".replace("  ", " ").join(shlex.quote(str(v)) for v in several)
    words = ("True", "") if value is True else (repr(value if several[1:] else several[0]), typed)
    return f"{OPEN}{name}{GIVEN}{GIVEN.join(map(unmarked, words))}{CLOSE}"


def unmarked(text: str) -> str:
    """Text without the characters that mark options."""
    return text.translate(NO_MARKS)


class TopbinError(Exception):
    """The base of all errors topbin raises; `code` names the section that explains it.

    `marked` is the message with its options marked.

    >>> raise InputError("TB001", "scores_p is empty; pass at least one positive score.")
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB001 scores_p is empty; pass at least one positive score.
    """

    def __init__(self, code: str, marked: str) -> None:
        self.code, self.marked = code, marked
        self.message = _shown(marked.replace(NEXT, ", "), _in_python)
        super().__init__(f"{code} {self.message}")

    @property
    def in_command(self) -> str:
        """The message with options as the command has them."""
        return _shown(self.marked.replace(NEXT, " "), _in_command)

    def __reduce__(self) -> tuple[type["TopbinError"], tuple[str, str]]:
        # Errors cross process borders in parallel folds; the default would lose one argument.
        return type(self), (self.code, self.marked)


def _shown(marked: str, style: Callable[..., str]) -> str:
    """The message with its options in this style; marks that are not ours are removed."""
    first, *others = marked.split(OPEN)
    shown = [first]
    for part in others:
        marked, is_closed, rest = part.partition(CLOSE)
        fields = marked.split(GIVEN)
        is_ours = is_closed and len(fields) in (1, 3)
        shown += [style(*fields), rest] if is_ours else [part]
    return unmarked("".join(shown))


def _in_python(name: str, value: str = "", _: str = "") -> str:
    return f"{name}={value}"


def _in_command(name: str, _: str = "", value: str = "") -> str:
    if name == ARGUMENT:
        return value
    return f"--{name.replace('_', '-')}{' ' * bool(value)}{value}"


class InputError(TopbinError, ValueError):
    """What the caller passed cannot be used."""


class MissingExtra(TopbinError, ImportError):
    """An optional package is needed and absent."""


class FileError(TopbinError, OSError):
    """A file could not be written, or another run holds the folder."""
