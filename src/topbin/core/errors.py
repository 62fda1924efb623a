"""Errors with a code: what happened, what was seen, what to do.

Each code has a section in docs/reference/codes.md.
"""


class TopbinError(Exception):
    """The base of all errors topbin raises; `code` names the section that explains it.

    >>> raise InputError("TB001", "scores_p is empty; pass at least one positive score.")
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB001 scores_p is empty; pass at least one positive score.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code} {message}")
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type["TopbinError"], tuple[str, str]]:
        # Errors cross process borders in parallel folds; the default would lose one argument.
        return type(self), (self.code, self.message)


class InputError(TopbinError, ValueError):
    """What the caller passed cannot be used."""


class MissingExtra(TopbinError, ImportError):
    """An optional package is needed and absent."""


class FileError(TopbinError, OSError):
    """A file could not be written, or another run holds the folder."""
