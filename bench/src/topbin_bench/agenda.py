"""The plan behind the results page, and what its fits cost where they were run."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from topbin_bench.grid import Cell, Job, grid, jobs_of
from topbin_bench.methods import CONTENDERS
from topbin_bench.store import DONE

IMAGE_METHODS = ("tedn", "cvir", "pvu", "nnpu", "dedpul", "bbe")


@dataclass(frozen=True, slots=True)
class Item:
    """One command of the plan; no methods mean all, no α those of the task."""

    tasks: str
    profile: str
    seeds: int
    methods: tuple[str, ...] = ()
    alphas: tuple[float, ...] = ()

    def cells(self) -> list[Cell]:
        """The cells that the command runs."""
        return grid(
            [self.tasks], self.profile, methods=self.methods, alphas=self.alphas, seeds=self.seeds
        )

    def command(self) -> str:
        """As it is typed.

        >>> Item("uci", "paper", 3, ("tedn", "bbe"), (0.5,)).command()
        'topbin-bench run uci --profile paper --seeds 3 --jobs 2 --method tedn,bbe --alpha 0.5'
        """
        words = [f"topbin-bench run {self.tasks} --profile {self.profile} --seeds {self.seeds}"]
        words += ["--jobs 2"]
        words += [f"--method {','.join(self.methods)}"] if self.methods else []
        return " ".join([*words, *(f"--alpha {alpha:g}" for alpha in self.alphas)])


AGENDA = (
    Item("uci", "paper", 10),
    Item("uci", "paper", 10, ("topbin-bbe",)),
    Item("uci", "paper", 10, ("tedn-auto",), (0.5,)),
    Item("uci", "paper", 3, ("tedn-w0", "tedn-w10", "tedn-w50"), (0.5,)),
    Item("mnist", "cpu", 3, (), (0.5,)),
    Item("mnist", "cpu", 3, ("topbin-bbe",), (0.5,)),
    Item("mnist", "cpu", 3, ("tedn", "cvir"), (0.2, 0.8)),
    Item("imdb", "cpu", 3, (), (0.5,)),
    Item("imdb", "cpu", 3, ("topbin-bbe",), (0.5,)),
    Item("cifar", "cpu", 1, IMAGE_METHODS, (0.5,)),
    Item("cifar", "cpu-allconv", 1, IMAGE_METHODS, (0.5,)),
    Item("cifar_dog_cat", "fast", 5, (), (0.5,)),
    Item("cifar_dog_cat", "fast", 3, ("tedn", "cvir"), (0.2, 0.8)),
    Item("binarized_cifar", "fast", 3, (), (0.5,)),
    Item("gsec", "paper", 10),
)  # fmt: skip


def everything() -> list[Cell]:
    """Every cell of the plan, once."""
    return list({cell.key: cell for item in AGENDA for cell in item.cells()}.values())


def cpu_hours(cells: Iterable[Cell], rows: pd.DataFrame) -> tuple[float, int]:
    """The CPU hours of these cells by what the same fits took in `rows`, and fits without a record.

    Cells that share a training cost it once. A fit that was never run costs as much as the others
    of its task, profile and trainer.
    """
    known = seconds_of(rows)
    jobs = jobs_of(cells)
    found = [known[_kind(job)] for job in jobs if _kind(job) in known]
    return sum(found) / 3600, len(jobs) - len(found)


def seconds_of(rows: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """Mean CPU seconds of a fit, by task, profile and trainer."""
    if "seconds" not in rows:
        return {}
    done = rows[(rows["status"] == DONE) & rows["method"].isin(CONTENDERS)]
    trainers = done["method"].map(lambda method: CONTENDERS[method].trainer)
    means = done.assign(trainer=trainers).groupby(["task", "profile", "trainer"])["seconds"].mean()
    return {(str(task), str(profile), str(t)): float(s) for (task, profile, t), s in means.items()}


def _kind(job: Job) -> tuple[str, str, str]:
    first = job.cells[0]
    return first.task, first.profile, job.trainer
