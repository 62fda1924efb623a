"""Sums over parts in which a coded error is a result, so that an engine does not repeat it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from topbin.core.errors import InputError, TopbinError, option
from topbin.data.batch import Part
from topbin.engines.engine import Engine


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The sum of what parts gave, and the errors of those that failed, by file."""

    value: Any = None
    bad: dict[str, TopbinError] = field(default_factory=dict)

    def __add__(self, other: "Outcome") -> "Outcome":
        values = [one.value for one in (self, other) if one.value is not None]
        total = sum(values[1:], values[0]) if values else None
        return Outcome(total, {**other.bad, **self.bad})

    def first_error(self) -> TopbinError:
        """The error of the first file in alphabetical order, whatever part failed first."""
        return self.bad[min(self.bad)]


def total_of(
    engine: Engine, task: Callable[[Any, Part], Any], parts: Sequence[Part], shared: Any
) -> Outcome:
    """The sum of `task(shared, part)`, in which a coded error is a result and not a failure.

    An engine would repeat a task that raises, although a damaged file stays damaged, and Spark
    would lose the code of the error.
    """
    return engine.total(_guarded, parts, (task, shared))


def total(
    engine: Engine, task: Callable[[Any, Part], Any], parts: Sequence[Part], shared: Any
) -> Any:
    """The sum over all parts, or the error of the first file that has one."""
    found = total_of(engine, task, parts, shared)
    if found.bad:
        raise found.first_error()
    return found.value


def _guarded(given: tuple[Callable[[Any, Part], Any], Any], part: Part) -> Outcome:
    task, shared = given
    try:
        return Outcome(task(shared, part))
    except TopbinError as error:
        return Outcome(bad={part.path: error})


@contextmanager
def advising_to_skip(skip_bad: bool) -> Iterator[None]:
    """Say, of a file that cannot be read, that it can be left out."""
    try:
        yield
    except InputError as error:
        if skip_bad or error.code != "TB102":
            raise
        way_out = f"leave it out with {option('skip_bad', True)}"
        advice = f"{error.told} Fix or remove the file, or {way_out}."
        raise InputError("TB102", advice) from error
