"""What the answers of all audits of a run say about α, kept in the run; and how many would do.

All draws of one kind are one random sample: what they take of a row together is what its answer is
divided by.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.atomic import lock, write_text
from topbin.core.checks import check_fraction
from topbin.core.errors import InputError, option
from topbin.core.options import CONFIDENCE
from topbin.data.write import write_table
from topbin.evaluate.audit import (
    NEGATIVE,
    POSITIVE,
    AuditPlan,
    AuditResult,
    AuditSample,
    TopBin,
    WidthPlan,
    judge,
    judge_top,
    plan_either_way,
    plan_width,
)
from topbin.evaluate.audit.draw import merged
from topbin.evaluate.audit.judging import update_by_all
from topbin.evaluate.audit.scored import ANYWHERE, RECALL, TOP, WHERE, Pooled
from topbin.evaluate.sensitivity import Reconciled, reconcile
from topbin.evaluate.verdict import verdict_of
from topbin.job.audits.answers import (
    ANSWERS,
    DRAWN,
    NO_ANSWER,
    AuditState,
    add_answers,
    add_look,
    check_any_drawn,
    file_versions,
    read_returned,
    read_state,
)
from topbin.job.audits.proxies import read_proxies
from topbin.job.files import StoredRun, probabilities_of, relisted, report_of
from topbin.store.answer import Answer
from topbin.store.runs import (
    CANDIDATES,
    PROBABILITIES,
    REPORT,
    RESULT,
    WAIT,
    read_result,
    write_result,
)

JUDGED_FROM = RESULT, CANDIDATES, DRAWN, ANSWERS  # files
TRIES = 2  # to judge while others label, before they have to wait
ENOUGH = 30  # answers with which the audit that assumes least leads
RANDOM = ("simple", "stratified", "weighted")  # ways to draw from all unlabeled rows
# Rows that were drawn at random are a random sample of these rows, however they are grouped.
OF_THESE_ROWS = "rows were drawn, not groups, so it holds for these rows"


def read_audit(
    run: str | Path, answers: str | Path, *, force: bool = False, recall: float | None = None
) -> AuditResult:
    """Save the answers of a file, and judge all answers so far as `Audit.judge` does.

    Rows are known by their number, so the file may have been sorted. Cells may be empty: rows that
    were drawn after the last answered one count as not drawn, as in a review. An export of a
    labeling tool may have only those that were answered. `force` says that answers which differ
    from earlier ones are right. A file that is refused changes nothing.
    """
    folder = Path(run)
    if recall is not None:
        check_fraction(recall, "recall")  # before an answer is saved
    with lock(folder, wait=WAIT):
        state = read_state(folder)
        check_any_drawn(folder, state)
        add_answers(folder, read_returned(answers, state), force=force)
    return judge_audit(folder, recall=recall)


def judge_audit(run: str | Path, *, recall: float | None = None) -> AuditResult:
    """`Audit.judge` of the run in a folder."""
    folder = Path(run)
    if recall is not None:
        check_fraction(recall, "recall")
        StoredRun.open(folder).refuse_classes(option("recall"))
    # Drawing the report takes seconds. Nobody who labels has to wait for it: the folder is locked
    # only to write, if nothing has changed meanwhile.
    for _ in range(TRIES):
        ready = _Judged.of(folder, recall)
        with lock(folder, wait=WAIT):
            if ready.files == file_versions(folder, *JUDGED_FROM):
                return ready.written(folder)
    with lock(folder, wait=WAIT):
        return _Judged.of(folder, recall).written(folder)


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """What is to be written after an audit was judged, and the files that it was read from."""

    files: tuple[Any, ...]
    audit: AuditResult
    answer: Answer
    html: str
    candidates: str | None
    probabilities: Any
    is_look: bool

    @classmethod
    def of(cls, folder: Path, recall: float | None) -> "_Judged":
        files = file_versions(folder, *JUDGED_FROM)
        run, state = StoredRun.open(folder), read_state(folder)
        judged = judged_state(run, state, recall)
        audited = replace(run.answer, audit=judged)
        if audited.novel is None:  # what follows is about positives
            judged = replace(judged, gamma=_reconciled(run, judged))
            n_u, remedy = audited.data.n_u, audited.remedy
            verdict = verdict_of(audited.estimate, n_u, run.scores, remedy=remedy, audit=judged)
            audited = replace(audited, audit=judged, verdict=verdict)
        after = relisted(run, audited)
        audited = replace(audited, candidates=after.listed)
        html = report_of(run, audited, after)  # may fail, and then nothing has changed
        likely, is_look = probabilities_of(run, audited), judged.look > len(state.looks)
        return cls(files, judged, audited, html, after.text, likely, is_look)

    def written(self, folder: Path) -> AuditResult:
        """Write all of it; the caller holds the lock."""
        if self.candidates is not None:
            write_text(folder / CANDIDATES, self.candidates, force=True)
        if self.probabilities is not None:
            write_table(folder / PROBABILITIES, self.probabilities, force=True)
        write_result(folder, self.answer)
        write_text(folder / REPORT, self.html, force=True)
        if self.is_look:
            add_look(folder, self.answer.data.hash, self.audit.kind, self.audit.interval)
        return self.audit


def _reconciled(run: StoredRun, judged: AuditResult) -> Reconciled | None:
    """How selective labels must be, if the audit contradicts the estimate.

    An audit of the top bin assumes random labels itself, so it cannot say.
    """
    if judged.verdict != "contradicts" or judged.kind == TOP:
        return None
    return reconcile(run.fitted, judged.interval)


def judged_state(run: StoredRun, state: AuditState, recall: float | None = None) -> AuditResult:
    """What the answers of a state say; nothing is written.

    The audit that assumes least leads, if it has enough answers.
    """
    estimate, threshold = run.answer.estimate, run.answer.candidates.threshold
    level, look = estimate.confidence or CONFIDENCE, max(1, len(state.looks) + state.is_new)
    drawn = {where: pooled(run, state, where) for where in WHERE}
    judged = []
    for where in (ANYWHERE, RECALL, TOP):
        sample, said, top = drawn[where].sample, drawn[where].answers, drawn[where].top
        if not {POSITIVE, NEGATIVE} & set(said) or not sample.drawn.all():
            continue
        more: Any = {"confidence": level, "look": look, "within": _seen(state, where, look)}
        if where == TOP and top is not None:
            judged.append(judge_top(top.in_groups(estimate), said, estimate, **more))
        elif where == RECALL:
            judged.append(replace(judge(sample, said, estimate, **more), kind=RECALL))
        else:
            judged.append(_judged_anywhere(run, state, drawn[where], more))
    if run.answer.data.group:
        judged = [replace(audit, assumes=f"{audit.assumes}; {OF_THESE_ROWS}") for audit in judged]
    if not judged:
        raise InputError("TB001", NO_ANSWER)
    judged.sort(key=lambda audit: audit.n_positive + audit.n_negative < ENOUGH)
    bound, asks_recall = None, recall is not None or drawn[RECALL].sample.n
    if run.scores is not None and threshold is not None and asks_recall:
        both_draws = drawn[ANYWHERE], drawn[RECALL]
        bound = run.scores.recall(both_draws, threshold, confidence=level, look=look, goal=recall)
    both = update_by_all(estimate, judged)
    return replace(judged[0], others=tuple(judged[1:]), recall=bound, together=both)


def _judged_anywhere(run: StoredRun, state: AuditState, drawn: Pooled, more: Any) -> AuditResult:
    """What answers to rows from all unlabeled ones say, with the scores of the run."""
    scored, proxies, labels = run.scores, read_proxies(run), None
    f_u = None if scored is None else scored.f_u
    judged = judge(
        drawn.sample, drawn.answers, run.answer.estimate, **more,
        probabilities=f_u, proxies=proxies.values,
    )  # fmt: skip
    # Shares of known classes may have moved, and then their scores have too.
    if scored is not None and run.answer.novel is None:
        labels = scored.compare(drawn)
    return replace(judged, kind=_kind_of(state), labels=labels, proxies=proxies.names)


def _kind_of(state: AuditState) -> str:
    """How the random rows were drawn: "weighted" or "stratified" if any of them were."""
    begun = [draw for draw in state.draws if state.is_begun(draw) and draw.bin is None]
    if any(draw.expected for draw in begun):
        return "weighted"
    return "stratified" if any(len(draw.sizes) > 1 for draw in begun) else "simple"


def _seen(state: AuditState, where: str, look: int) -> tuple[float, float]:
    """What the intervals of earlier looks at audits of this kind have in common."""
    kinds = (where,) if where != ANYWHERE else RANDOM
    looks = (line for line in state.looks[: look - 1] if line.kind in kinds)
    seen = [line.interval for line in looks if line.interval is not None]
    return max((low for low, _ in seen), default=0.0), min((h for _, h in seen), default=1.0)


def pooled(run: StoredRun, state: AuditState, where: str) -> Pooled:
    """All rows of one kind that people have reached, as one sample, with their answers."""
    draws = [draw for draw in state.draws if draw.where == where]
    bins = [draw.bin for draw in draws if state.is_begun(draw)]
    draws = [draw for draw in draws if draw.bin == bins[-1]] if bins else []
    seen: dict[int, tuple[str, int]] = {}
    reached = []
    for draw in draws:
        said = [answer for answer in state.answers_of(draw) if answer is not None]
        for place, stratum, answer in zip(draw.rows, draw.stratum, said, strict=False):
            seen.setdefault(place, (answer, stratum))
        reached.append(len(said))
    rows = np.fromiter(seen, np.int64, len(seen))
    f_u = None if run.scores is None else run.scores.f_u
    if f_u is not None and rows.size and rows.max() >= f_u.size:
        raise run.other_rows()
    top = bins[-1] if bins else None
    strata, sizes = np.zeros(rows.size, np.int64), [run.answer.data.n_u]
    if where == RECALL and top is not None:
        strata = np.array([stratum for _, stratum in seen.values()], np.int64)
        sizes = [top.n_u - top.above_u, top.above_u]
    sample = AuditSample(rows, strata, tuple(sizes), 0)
    if f_u is not None and any(draw.expected for draw in draws):
        parts = [
            (draw.cuts, draw.expected or (len(draw.rows),), m / len(draw.rows))
            for draw, m in zip(draws, reached, strict=True)
        ]
        cuts, expected = merged(parts, f_u)
        sample = replace(sample, cuts=cuts, expected=expected)
    return Pooled(sample, [answer for answer, _ in seen.values()], top)


def plan_audit_widths(run: str | Path, *widths: float) -> tuple[WidthPlan, ...]:
    """`Audit.plan` for each width; by default for half and a quarter of the width of now."""
    stored = StoredRun.open(run)
    answer, scored, top = stored.answer, stored.scores, None
    now, level = answer.audited or answer.estimate, answer.estimate.confidence or CONFIDENCE
    if not widths:
        low, high = now.interval or (0.0, 0.2)
        halves = (float(f"{(high - low) / parts:.2g}") for parts in (2, 4))
        widths = tuple(width for width in halves if width > 0)
    if scored is not None and answer.novel is None:
        top = TopBin.at(scored.p, scored.u).in_groups(answer.estimate)
    more: Any = {"probabilities": None if scored is None else scored.f_u, "top": top}
    return tuple(
        plan_width(now.alpha, width, answer.data.n_u, **more, confidence=level) for width in widths
    )


def plan_audit(run: str | Path, error: float) -> AuditPlan:
    """How many rows it takes to notice that α̂ is off by `error`, as the verdict counts them."""
    return plan_either_way(read_result(run).estimate, error)
