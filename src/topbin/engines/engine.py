"""What an engine does: hand a small value to every part of the data, and add up what comes back."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from operator import add
from typing import Any, Protocol, TypeVar

from topbin.core.errors import InputError

Shared = TypeVar("Shared")
Part = TypeVar("Part")
Sum = TypeVar("Sum")

REACH_SECONDS = 5
BRANCH = 16  # sums that are added at a time, so that no machine receives all of them


@dataclass(frozen=True, slots=True)
class Known:
    """Where an engine is defined, and the option of the command that names its cluster."""

    module: str
    cls: str
    option: str | None = None
    metavar: str = ""
    help: str = ""


ENGINES = {
    "local": Known("topbin.engines.local", "Local"),
    "dask": Known("topbin.engines.dask", "Dask", "scheduler", "ADDRESS", "Of a Dask cluster."),
    "spark": Known("topbin.engines.spark", "Spark", "master", "URL", "Of a Spark cluster."),
}


class Engine(AbstractContextManager["Engine"], Protocol):
    """Map over parts with a value they share, and reduce by `+`; an engine knows no formula.

    The order of additions must not matter. After a failure a part may be computed again; its result
    counts once.
    """

    def total(
        self, task: Callable[[Shared, Part], Sum], parts: Sequence[Part], shared: Shared
    ) -> Sum:
        """The sum of `task(shared, part)` over all parts; there is at least one part."""
        ...


def added(sums: Sequence[Any]) -> Any:
    """The sum of at least one value, whatever `+` means to it.

    >>> added([[1], [2]])
    [1, 2]
    """
    return reduce(add, sums)


@contextmanager
def open_engine(name: str = "local", address: str | None = None) -> Iterator[Engine]:
    """An engine by its name, with the address of its scheduler or master, if it has one.

    >>> with open_engine("local") as engine:
    ...     engine.total(lambda shared, part: shared * part, [1, 2, 3], 10)
    60
    """
    if name not in ENGINES:
        known = ", ".join(ENGINES)
        raise InputError("TB008", f"no engine is called {name!r}; the engines are {known}.")
    made = getattr(import_module(ENGINES[name].module), ENGINES[name].cls)
    with made(address) if ENGINES[name].option else made() as engine:
        yield engine
