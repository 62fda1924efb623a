"""What the screen says: how far a fit is, and its answer as text."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from topbin.core.estimate import AlphaEstimate
from topbin.core.formatting import counted, figure, line, low_to_high, range_ends
from topbin.evaluate.audit.judging import WITH_SCORES
from topbin.evaluate.verdict import RUN
from topbin.store.answer import Answer
from topbin.store.runs import CANDIDATES

# Of images: what is said while the stage is under way, and of those that are done. Not "decoding"
# in a log: a resumed run has them from before.
IMAGE_STAGES = {"decode": ("decoding", "decoded"), "encode": ("encoding", "encoded")}
FIRST_LINE = line("first estimate", "between {} and {}; refining (Ctrl-C keeps the best so far)")


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
def progress_on(console: Any) -> Iterator[Callable[[Event], None]]:
    """A function that shows events: on a terminal and in a notebook a bar, in a log a few lines."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    is_live = console.is_terminal or console.is_jupyter
    left_in_words = TextColumn("{task.description}")
    columns = TextColumn("{task.fields[what]}"), BarColumn(), MofNCompleteColumn(), left_in_words
    bar = Progress(*columns, console=console, transient=True, disable=not is_live)
    with bar if is_live else nullcontext():  # rich before 14.3 ends also a hidden bar with a line
        task, before = bar.add_task("", total=None, what="starting"), dict[str, int]()

        def log(name: str, text: str) -> None:
            if not is_live:
                console.print(line(name, text))

        def images(event: Event) -> None:
            doing, done = IMAGE_STAGES[event.stage]
            if event.stage not in before:
                bar.reset(task, total=event.total, what=doing)
            left = time_left(bar.tasks[0].time_remaining)
            bar.update(task, completed=event.done, description=left)
            if passes_quarter(before.get(event.stage, 0), event.done, event.total):
                log(done, f"{event.done:,} of {counted(event.total, 'image')}")
            before[event.stage] = event.done

        def tell(event: Event) -> None:
            left = time_left(event.seconds_left)
            if event.stage == "first" and event.estimate is not None:
                ends = range_ends(*(event.estimate.interval or (0.0, 1.0)))
                console.print(FIRST_LINE.format(*ends))
                bar.update(task, description=left, what="refining")
                if left:
                    log("refining", left)
            elif event.stage in IMAGE_STAGES:
                images(event)
            elif event.stage == "refine":
                bar.update(task, completed=event.done, total=event.total, description=left)
                if passes_quarter(event.done - 1, event.done, event.total):
                    also = f", {left}" if left else ""
                    log("refining", f"{event.done} of {event.total} steps{also}")

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


def passes_quarter(before: int, done: int, total: int) -> bool:
    """Whether a quarter of the work was completed since: four lines for a log, not hundreds.

    >>> [done for done in range(1, 19) if passes_quarter(done - 1, done, 18)]
    [5, 9, 14, 18]
    """
    return 4 * done // total > 4 * before // total


def summarize(answer: Answer, read: Sequence[str] = (), run: str = RUN) -> str:
    """An answer as text; `read` are lines about how the data was read, `run` is its folder."""
    estimate, listed = answer.estimate, answer.candidates
    lines = [line("stopped early", f"{answer.stopped}; best so far:")] if answer.stopped else []
    lines += [] if answer.verdict is None else answer.verdict.lines(run)
    lines += audit_lines(answer)
    lines += [] if answer.remedy is None else [line("remedy", answer.remedy.sentence)]
    lines += [answer.estimate_lines, line("agreement", answer.agreement), *read]
    if answer.labeling is not None:
        lines += answer.labeling.lines if answer.novel is None else []
    elif answer.random_labels is not None and not answer.random_labels.says_nothing:
        lines.append(line("random labels?", answer.random_labels.sentence))
    for groups in answer.by:
        lines += groups.lines()
    about = f"{counted(listed.rows)}: {listed.why}; {answer.expected}"
    lines.append(line("candidates", about))
    if estimate.headline.kind not in ("range", "unknown") and estimate.interval is not None:
        cases = (f"{c.case} {figure(c.alpha)}: {counted(c.rows)}" for c in answer.sensitivity)
        lines.append(line("what if", "; ".join(cases)))
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
    lines = [] if answer.novel is None else [line("novel", answer.novel)]
    share = f"α = {figure(both.alpha)} of the {n_u:,} unlabeled {answer.in_words('are positive')}"
    lines.append(line("with the audit", f"{share} (about {counted(round(both.alpha * n_u))})"))
    assumes = WITH_SCORES if is_both else audit.assumes
    lines.append(f"{level} interval   {low_to_high(both.interval)}   {assumes}")
    alone = f"{low_to_high(audit.interval)}   {audit.assumes}"
    lines += [line("audit alone", alone)] if is_both else []
    ends = "" if first.interval is None else f"; {low_to_high(first.interval)}"
    lines.append(line("without it", f"{first.in_short}{ends}   {first.interval_assumes}"))
    lines.append(line("audit", answer.in_words(audit.sentence)))
    names = ", ".join(f'"{name}"' for name in audit.proxies)
    lines += [line("proxies", f"{names}, as far as the answers agree with them")] if names else []
    lines += [line("labels", audit.labels)] if audit.labels else []
    lines += [line("if selective", audit.gamma.sentence)] if audit.gamma else []
    lines += [line("recall", audit.recall.sentence)] if audit.recall else []
    return lines + [line("also", other.sentence) for other in audit.others]


def run_lines(answer: Answer) -> list[str]:
    """What a run folder holds, in the words of its screen."""
    data, listed = answer.data, answer.candidates
    lines = [
        line("data", f"{', '.join(data.source)}: {counted(data.rows)}, {data.hash}"),
        line("labels", data.label_note),
        answer.estimate_lines,
        line("agreement", answer.agreement),
        line("candidates", f"{counted(listed.rows)} in {CANDIDATES}"),
    ]
    lines += audit_lines(answer)
    lines += [line("stopped early", answer.stopped)] if answer.stopped else []
    model = f"{answer.model.name}, preset {answer.preset}, seed {answer.seed}"
    return [*lines, line("model", f"{model}, topbin {answer.topbin}")]
