"""Cells and how they are enumerated: a cell is (task, method, α, seed) under a profile."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import isnan
from typing import Any

from topbin_bench.methods import USUAL, find_contender
from topbin_bench.profiles import Settings, find_profile
from topbin_bench.tasks import TASKS, find_tasks

FORMAT = 1  # raise it when new code gives numbers that cannot be compared with the old ones


@dataclass(frozen=True, slots=True)
class Cell:
    """One experiment."""

    task: str
    method: str
    alpha: float
    seed: int
    profile: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Cell":
        """The cell of a stored row."""
        return cls(
            row["task"], row["method"], float(row["alpha"]), int(row["seed"]), row["profile"]
        )

    @property
    def settings(self) -> Settings:
        """What the profile decides for this task."""
        return find_profile(self.profile).settings[TASKS[self.task].kind]

    @property
    def key(self) -> str:
        """A hash of everything that determines the result.

        >>> a, b = (Cell("concrete", "bbe", 0.5, seed, "paper") for seed in (0, 1))
        >>> a.key == b.key, len(a.key)
        (False, 16)
        """
        what = [FORMAT, self.task, self.method, self.alpha, self.seed, _said(self.settings)]
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def shared(self) -> tuple[str, float, int, str, str]:
        """Cells with the same value are fitted together."""
        trainer = find_contender(self.method).trainer
        return (self.task, self.alpha, self.seed, self.profile, trainer)


@cache
def _said(settings: Settings) -> dict[str, Any]:
    """The settings as JSON has them; thousands of cells share a few."""
    return asdict(settings)


@dataclass(frozen=True, slots=True)
class Job:
    """Cells that share one training."""

    cells: tuple[Cell, ...]

    @property
    def key(self) -> str:
        """A name for the files of this job."""
        joined = "".join(sorted(cell.key for cell in self.cells))
        return hashlib.sha256(joined.encode()).hexdigest()[:16]

    @property
    def trainer(self) -> str:
        """What is fitted."""
        return find_contender(self.cells[0].method).trainer


def grid(
    names: Sequence[str],
    profile: str,
    *,
    methods: Sequence[str] = (),
    alphas: Sequence[float] = (),
    seeds: int | None = None,
) -> list[Cell]:
    """The cells of these tasks or families: α first, then seeds, so any first part is balanced.

    If nobody knows α, methods that must be told α are skipped. A cell that is asked for twice, as
    a task and through its family, is one cell.

    >>> cells = grid(["uci"], "paper", methods=["tedn"], alphas=[0.5], seeds=2)
    >>> [(cell.task, cell.seed) for cell in cells][4:6]
    [('spambase', 0), ('concrete', 1)]
    """
    chosen = tuple(methods) or USUAL
    for method in chosen:
        find_contender(method)
    tasks = [task for name in names for task in find_tasks(name)]
    rounds = range(find_profile(profile).seeds if seeds is None else seeds)
    most = max(len(task.alphas) for task in tasks)
    cells = (
        Cell(task.name, method, alpha, seed, profile)
        for nth in range(len(alphas) or most)
        for seed in rounds
        for task in tasks
        for alpha in _nth(alphas, task.alphas, nth)
        for method in chosen
        if not (isnan(alpha) and find_contender(method).known_alpha)
    )
    return list({cell.key: cell for cell in cells}.values())


def _nth(asked: Sequence[float], own: Sequence[float], nth: int) -> Iterator[float]:
    """The nth of the given α; a task whose α nobody knows has only its own."""
    values = own if not asked or isnan(own[0]) else asked
    if nth < len(values):
        yield values[nth]


def jobs_of(cells: Iterable[Cell]) -> list[Job]:
    """Cells grouped by what they share, in the order of the first of each group."""
    # By repr, because an unknown α is NaN, which is not equal to itself.
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(repr(cell.shared), []).append(cell)
    return [Job(tuple(group)) for group in groups.values()]
