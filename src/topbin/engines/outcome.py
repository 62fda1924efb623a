"""Sums over parts in which a coded error is a result, so that an engine does not repeat it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from topbin.core.errors import TopbinError
from topbin.data.rows import RowPart
from topbin.engines.engine import Engine


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What parts gave, added up, and the errors of those that failed, by file."""

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
    engine: Engine, task: Callable[[Any, RowPart], Any], parts: Sequence[RowPart], shared: Any
) -> Outcome:
    """The sum of `task(shared, part)`, in which a coded error is a result and not a failure.

    An engine would repeat a task that raises, though a damaged file stays damaged, and Spark would
    lose the code.
    """
    return engine.total(_guarded, parts, (task, shared))


def _guarded(given: tuple[Callable[[Any, RowPart], Any], Any], part: RowPart) -> Outcome:
    task, shared = given
    try:
        return Outcome(task(shared, part))
    except TopbinError as error:
        return Outcome(bad={part.path: error})
