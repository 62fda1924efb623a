"""How far a fit is and how long it will take, as events and as a bar for people who wait."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from topbin.core.estimate import AlphaEstimate
from topbin.core.formatting import counted, range_ends
from topbin.learn.crossfit import Plan

IMAGE_STAGES = "decode", "encode"
FIRST_LINE = "first estimate  between {} and {}; refining (Ctrl-C keeps the best so far)"


@dataclass(frozen=True, slots=True)
class Event:
    """News for whoever waits: a stage, how far it is, and an estimate if there is one.

    `seconds_left` is a forecast, None while there is nothing to make it from.
    """

    stage: str
    done: int = 0
    total: int = 0
    estimate: AlphaEstimate | None = None
    seconds_left: float | None = None


@dataclass(slots=True)
class Forecast:
    """When the careful estimate will be ready.

    At first from what the first estimate took, then from the steps that were run. `kept` steps
    were there before and took no time.
    """

    began: float
    kept: int = 0

    def after_first(self, first: Plan, careful: Plan) -> float | None:
        """Seconds for the careful plan, the first one being done; from here on steps are timed."""
        taken, self.began = monotonic() - self.began, monotonic()
        return None if self.kept else taken * work_of(careful) / work_of(first)

    def after_step(self, done: int, total: int) -> float | None:
        """Seconds for the steps that are not done."""
        ran = done - self.kept
        return (monotonic() - self.began) * (total - done) / ran if ran > 0 else None


def work_of(plan: Plan) -> float:
    """How many fits of all rows a plan is worth; a fit without a fold's rows is worth less.

    >>> work_of(Plan(outer=3, inner=2, repeats=1, warm=1, rounds=2))     # 3 × (3 · ⅔ + 1)
    9.0
    """
    per_round = plan.inner - 1 if plan.inner > 1 else 1
    return float(plan.repeats * (plan.warm + plan.rounds) * per_round * plan.outer)


@contextmanager
def shown(console: Any) -> Iterator[Callable[[Event], None]]:
    """A function that shows events: on a terminal and in a notebook a bar, in a log a few lines."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    live = console.is_terminal or console.is_jupyter
    left_in_words = TextColumn("{task.description}")
    columns = TextColumn("{task.fields[what]}"), BarColumn(), MofNCompleteColumn(), left_in_words
    with Progress(*columns, console=console, transient=True, disable=not live) as bar:
        task, quarters = bar.add_task("", total=None, what="starting"), dict[str, int]()

        def decoded(stage: str, done: int, total: int) -> None:
            if stage not in quarters:
                bar.reset(task, total=total, what=f"{stage[:-1]}ing")
            left = time_left(bar.tasks[0].time_remaining)
            bar.update(task, completed=done, description=left)
            if not live and 4 * done // total > quarters.get(stage, 0):
                # Not "decoding": a resumed run has them from before.
                console.print(f"{stage}d         {done:,} of {counted(total, 'image')}")
            quarters[stage] = 4 * done // total

        def tell(event: Event) -> None:
            left = time_left(event.seconds_left)
            if event.stage == "first" and event.estimate is not None:
                ends = range_ends(*(event.estimate.interval or (0.0, 1.0)))
                console.print(FIRST_LINE.format(*ends))
                bar.update(task, description=left, what="refining")
                if left and not live:
                    console.print(f"refining        {left}")
            elif event.stage in IMAGE_STAGES:
                decoded(event.stage, event.done, event.total)
            elif event.stage == "refine":
                bar.update(task, completed=event.done, total=event.total, description=left)
                if not live and _is_quarter(event.done, event.total):
                    also = f", {left}" if left else ""
                    console.print(f"refining        {event.done} of {event.total} steps{also}")

        yield tell


def time_left(seconds: float | None) -> str:
    """A forecast in words, as exact as it can be; nothing where there is none.

    >>> time_left(7.2), time_left(130), time_left(9000), time_left(None)
    ('about 7 s left', 'about 2 min left', 'about 2.5 h left', '')
    """
    return "" if seconds is None or seconds < 0.5 else f"about {in_words(seconds)} left"


def in_words(seconds: float) -> str:
    """Seconds, minutes or hours, whichever a person would say.

    >>> in_words(7.2), in_words(130), in_words(9000)
    ('7 s', '2 min', '2.5 h')
    """
    if seconds < 100:
        return f"{max(1, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _is_quarter(done: int, total: int) -> bool:
    """Whether this step completes a quarter of the work: four lines for a log, not hundreds.

    >>> [done for done in range(1, 19) if _is_quarter(done, 18)]
    [5, 9, 14, 18]
    """
    return 4 * done // total > 4 * (done - 1) // total
