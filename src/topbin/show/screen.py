"""What the screen says: how far a fit is, and its answer as text."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from topbin.core.estimate import RANGE_ONLY, AlphaEstimate
from topbin.core.formatting import counted, figure, range_ends
from topbin.evaluate.audit.judging import WITH_SCORES
from topbin.evaluate.curves import what_to_expect
from topbin.evaluate.verdict import RUN
from topbin.store.answer import Answer
from topbin.store.runs import CANDIDATES

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


@contextmanager
def shown(console: Any) -> Iterator[Callable[[Event], None]]:
    """A function that shows events: on a terminal and in a notebook a bar, in a log a few lines."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    live = console.is_terminal or console.is_jupyter
    left_in_words = TextColumn("{task.description}")
    columns = TextColumn("{task.fields[what]}"), BarColumn(), MofNCompleteColumn(), left_in_words
    bar = Progress(*columns, console=console, transient=True, disable=not live)
    with bar if live else nullcontext():  # rich before 14.3 ends also a hidden bar with a line
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


def summarize(answer: Answer, read: Sequence[str] = (), run: str = RUN) -> str:
    """An answer as text; `read` are lines about how the data was read, `run` is its folder."""
    estimate, listed = answer.estimate, answer.candidates
    lines = [f"stopped early   {answer.stopped}; best so far:"] if answer.stopped else []
    lines += [] if answer.verdict is None else answer.verdict.lines(run)
    lines += audit_lines(answer)
    lines += [] if answer.remedy is None else [f"remedy          {answer.remedy.sentence}"]
    lines += [answer.estimate_lines, f"agreement       {answer.agreement}", *read]
    if answer.labeling is not None:
        lines += answer.labeling.lines if answer.novel is None else []
    elif answer.random_labels is not None and not answer.random_labels.says_nothing:
        lines.append(f"random labels?  {answer.random_labels.sentence}")
    for one in answer.by:
        lines += one.lines()
    ends = listed.precision, listed.precision_low, listed.precision_high
    about = f"{listed.why}; {what_to_expect(estimate, *ends, answer.listed)}"
    lines.append(f"candidates      {counted(listed.rows)}: {about}")
    if estimate.worth_p >= RANGE_ONLY and estimate.interval is not None:
        cases = (f"{c.case} {figure(c.alpha)}: {counted(c.rows)}" for c in answer.sensitivity)
        lines.append("what if         " + "; ".join(cases))
    lines += [] if answer.gamma is None else answer.gamma.lines()
    return "\n".join(lines)


def audit_lines(answer: Answer) -> list[str]:
    """α with the audit and without it, and what each needs; nothing if there was no audit."""
    audit, first = answer.audit, answer.estimate
    if audit is None:
        return []
    n_u, level = answer.data.n_u, f"{100 * audit.confidence:g} %"
    both = audit.together or audit  # older runs have only what the audit says alone
    is_both = audit.together is not None and not audit.together.alone
    lines = [] if answer.novel is None else [f"novel           {answer.novel}"]
    lines += [
        f"with the audit  α = {figure(both.alpha)} of the {n_u:,} unlabeled "
        f"{answer.in_words('are positive')} (about {counted(round(both.alpha * n_u))})",
        f"{level} interval   {_ends(both.interval)}   {WITH_SCORES if is_both else audit.assumes}",
    ]
    lines += [f"audit alone     {_ends(audit.interval)}   {audit.assumes}"] if is_both else []
    ends = "" if first.interval is None else f"; {_ends(first.interval)}"
    lines.append(f"without it      {first.in_short}{ends}   {first.interval_assumes}")
    lines.append(f"audit           {answer.in_words(audit.sentence)}")
    names = ", ".join(f'"{name}"' for name in audit.proxies)
    lines += [f"proxies         {names}, as far as the answers agree with them"] if names else []
    lines += [f"labels          {audit.labels}"] if audit.labels else []
    lines += [f"if selective    {audit.gamma.sentence}"] if audit.gamma else []
    lines += [f"recall          {audit.recall.sentence}"] if audit.recall else []
    return lines + [f"also            {other.sentence}" for other in audit.others]


def _ends(interval: Sequence[float]) -> str:
    return "{} to {}".format(*map(figure, interval))


def run_lines(answer: Answer) -> list[str]:
    """What a run folder holds, in the words of its screen."""
    data, listed = answer.data, answer.candidates
    lines = [
        f"data            {', '.join(data.source)}: {counted(data.rows)}, {data.hash}",
        f"labels          {data.label_note}",
        answer.estimate_lines,
        f"agreement       {answer.agreement}",
        f"candidates      {counted(listed.rows)} in {CANDIDATES}",
    ]
    lines += audit_lines(answer)
    lines += [f"stopped early   {answer.stopped}"] if answer.stopped else []
    model = f"{answer.model.name}, preset {answer.preset}, seed {answer.seed}"
    return [*lines, f"model           {model}, topbin {answer.topbin}"]
