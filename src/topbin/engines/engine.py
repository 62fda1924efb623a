"""What an engine does: hand a small value to every part of the data, and add up what comes back."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial, reduce
from importlib import import_module
from operator import add
from typing import Any, Protocol, TypeVar

from topbin.core.checks import check_count
from topbin.core.errors import InputError, TopbinError, option

Shared = TypeVar("Shared")
PartT = TypeVar("PartT")
Sum = TypeVar("Sum")

REACH_SECONDS = 5
BRANCH = 16  # sums that are added at a time, so that no machine receives all of them


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """Where an engine is defined, and the option of the command that names its cluster."""

    module: str
    cls: str
    option: str | None = None
    metavar: str = ""
    help: str = ""


ENGINES = {
    "local": EngineSpec("topbin.engines.engine", "Local"),
    "dask": EngineSpec("topbin.engines.dask", "Dask", "scheduler", "ADDRESS", "Of a Dask cluster."),
    "spark": EngineSpec("topbin.engines.spark", "Spark", "master", "URL", "Of a Spark cluster."),
}


class Engine(AbstractContextManager["Engine"], Protocol):
    """Map over parts with a value they share, and reduce by `+`; an engine knows no formula.

    The order of additions must not matter. After a failure a part may be computed again; its result
    counts once.
    """

    def total(
        self, task: Callable[[Shared, PartT], Sum], parts: Sequence[PartT], shared: Shared
    ) -> Sum:
        """The sum of `task(shared, part)` over all parts; there is at least one part."""
        ...


def added(sums: Sequence[Any]) -> Any:
    """The sum of at least one value, whatever `+` means to it.

    >>> added([[1], [2]])
    [1, 2]
    """
    return reduce(add, sums)


class Local(AbstractContextManager["Local"]):
    """The engine of one machine: as many threads as there are cores, or `threads`.

    Threads are enough, since reading and sorting leave the interpreter's lock.

    >>> Local(threads=2).total(lambda shared, part: shared + part, [1, 2], 100)
    203
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = check_count(threads or os.cpu_count() or 1, "threads")

    def total(
        self, task: Callable[[Shared, PartT], Sum], parts: Sequence[PartT], shared: Shared
    ) -> Sum:
        """The sum of `task(shared, part)`; the first error stops parts that have not started."""
        pool = ThreadPoolExecutor(self.threads)
        try:
            sums: Sum = added(list(pool.map(partial(task, shared), parts)))
        except KeyboardInterrupt:
            from topbin.data.formats.duck import interrupt  # the list of engines needs no database

            interrupt()  # threads do not hear it
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return sums

    def __exit__(self, *error: object) -> None:
        """Nothing to close."""


def engine_of(engine: Any) -> AbstractContextManager[Any]:
    """An engine that is open, which stays so, or one by its name; None is this machine."""
    if isinstance(engine, str):
        return open_engine(engine)
    return nullcontext(Local() if engine is None else engine)


def check_engine(name: str) -> None:
    """Refuse a name that no engine has (TB008)."""
    if name not in ENGINES:
        rule = f"{option('engine')} must be one of {', '.join(ENGINES)}"
        raise InputError("TB008", f"{rule}; got {name!r}.")


@contextmanager
def open_engine(name: str = "local", address: str | None = None) -> Iterator[Engine]:
    """An engine by its name, with the address of its scheduler or master, if it has one.

    Parameters
    ----------
    name
        "local", "dask" or "spark".
    address
        Of the scheduler or master; None: one on this machine.

    Returns
    -------
    context manager
        Which gives the engine, and closes it.

    Examples
    --------
    >>> with open_engine("local") as engine:
    ...     engine.total(lambda shared, part: shared * part, [1, 2, 3], 10)
    60
    """
    check_engine(name)
    made = getattr(import_module(ENGINES[name].module), ENGINES[name].cls)
    with made(address) if ENGINES[name].option else made() as engine:
        yield engine


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The sum of what parts gave, and the errors of those that failed, by file."""

    value: Any = None
    bad: dict[str, TopbinError] = field(default_factory=dict)

    def __add__(self, other: "Outcome") -> "Outcome":
        values = [one.value for one in (self, other) if one.value is not None]
        return Outcome(added(values) if values else None, {**other.bad, **self.bad})

    def first_error(self) -> TopbinError:
        """The error of the first file in alphabetical order, whatever part failed first."""
        return self.bad[min(self.bad)]


def total_of(
    engine: Engine, task: Callable[[Any, PartT], Any], parts: Sequence[PartT], shared: Any
) -> Outcome:
    """The sum of `task(shared, part)`, in which a coded error is a result and not a failure."""
    # An engine would repeat a task that raises, and Spark would lose the code of the error.
    return engine.total(_guarded, parts, (task, shared))


def total(
    engine: Engine, task: Callable[[Any, PartT], Any], parts: Sequence[PartT], shared: Any
) -> Any:
    """The sum over all parts, or the error of the first file that has one."""
    outcome = total_of(engine, task, parts, shared)
    if outcome.bad:
        raise outcome.first_error()
    return outcome.value


def _guarded(task_and_shared: tuple[Callable[[Any, Any], Any], Any], part: Any) -> Outcome:
    task, shared = task_and_shared
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
        way_out = f"Fix or remove the file, or leave it out with {option('skip_bad', True)}."
        raise InputError("TB102", f"{error.marked} {way_out}") from error
