"""What an engine does: hand a small value to every part of the data, and add up what comes back."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import add
from typing import Any, Protocol, Self, TypeVar

from topbin.core.errors import InputError

Shared = TypeVar("Shared")
Part = TypeVar("Part")
Sum = TypeVar("Sum")

ENGINES = ("local", "dask", "spark")
BRANCH = 16  # sums that are added at a time, so that no machine receives all of them


class Engine(Protocol):
    """Map over parts with a value they share, and reduce by `+`; an engine knows no formula.

    `+` must not care about order. A part may be computed more than once, after a failure; what it
    gave counts once.
    """

    def total(
        self, task: Callable[[Shared, Part], Sum], parts: Sequence[Part], shared: Shared
    ) -> Sum:
        """The sum of `task(shared, part)` over all parts, of which there is at least one."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


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
    if name == "local":
        from topbin.engines.local import Local

        made: Engine = Local()
    elif name == "dask":
        from topbin.engines.dask import Dask

        made = Dask(address)
    elif name == "spark":
        from topbin.engines.spark import Spark

        made = Spark(address)
    else:
        raise InputError("TB008", f"no engine is called {name!r}; there are {', '.join(ENGINES)}.")
    with made as engine:
        yield engine
