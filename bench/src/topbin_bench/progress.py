"""Progress of a run: a live table on a terminal, plain lines elsewhere."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from time import perf_counter
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from topbin_bench.grid import Job
from topbin_bench.runner import Finished


class Watch:
    """Counts finished jobs per task and estimates the time left from jobs of the same kind."""

    def __init__(self, todo: Sequence[Job], console: Console, *, workers: int = 1) -> None:
        self.total = Counter(job.cells[0].task for job in todo)
        self.left = Counter((job.cells[0].task, job.trainer) for job in todo)
        self.console = console
        self.workers = workers
        self.done: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.seconds: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        self.began = perf_counter()
        self.live = Live(console=console, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> "Watch":
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def __call__(self, finished: Finished) -> None:
        """Count a finished job and show it."""
        task, trainer = finished.job.cells[0].task, finished.job.trainer
        self.done[task] += 1
        self.failed[task] += bool(finished.failed)
        self.left[task, trainer] -= 1
        self.seconds[task, trainer].append(finished.seconds)
        if self.live is not None:
            self.live.update(self.table(), refresh=True)
            return
        cell = finished.job.cells[0]
        self.console.print(
            f"{self.done.total()}/{self.total.total()}  {task} α={cell.alpha:g} "
            f"split {cell.seed}  {trainer}  {finished.seconds:.1f} s  "
            f"{finished.reason or 'done'}  left {clock(self.time_left())}",
            markup=False,
            soft_wrap=True,
        )

    def time_left(self) -> float:
        """Seconds, if a job takes as long as others of its task and trainer, or as all so far."""
        every = [s for known in self.seconds.values() for s in known]
        usual = sum(every) / max(1, len(every))
        left = 0.0
        for kind, count in self.left.items():
            known = self.seconds.get(kind) or [usual]
            left += count * sum(known) / len(known)
        return left / self.workers

    def table(self) -> Table:
        """One line per task, the time in the title."""
        spent = perf_counter() - self.began
        table = Table(title=f"{clock(spent)} so far, about {clock(self.time_left())} left")
        for column in ("task", "jobs", "done", "failed"):
            table.add_column(column, justify="left" if column == "task" else "right")
        for task, total in self.total.items():
            table.add_row(task, str(total), str(self.done[task]), str(self.failed[task]))
        return table


def clock(seconds: float) -> str:
    """Seconds as a clock shows them.

    >>> clock(75), clock(7300)
    ('1:15', '2:01:40')
    """
    hours, rest = divmod(round(seconds), 3600)
    minutes, last = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{last:02}" if hours else f"{minutes}:{last:02}"
