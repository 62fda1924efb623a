"""The audit of a run: rows go out to a person, answers come back, and α is estimated from them."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.atomic import lock, refuse_existing, write_text
from topbin.core.checks import check_fraction
from topbin.core.errors import InputError, option
from topbin.core.formatting import sentence
from topbin.core.options import CONFIDENCE, Read, Request, Rows
from topbin.data.batch import add_columns
from topbin.data.table import read_table
from topbin.data.write import ANSWER, in_front, read_export, tasks_of, unused, write_table
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
    read_answers,
)
from topbin.evaluate.audit.judging import update_by_all
from topbin.evaluate.audit.scored import ANYWHERE, RECALL, TOP, WHERE
from topbin.evaluate.sensitivity import Reconciled, reconcile
from topbin.evaluate.verdict import verdict_of
from topbin.job.audits.answers import (
    ANSWERS,
    DRAWN,
    NO_ANSWER,
    AuditState,
    Draw,
    add_answers,
    add_look,
    check_any_drawn,
    file_versions,
    read_drawn,
    read_state,
    record_answers,
    write_drawn,
)
from topbin.job.audits.rows import (
    DrawRequest,
    ProxyGain,
    add_proxies,
    draw_from_files,
    draw_from_rows,
    kind_of,
    pooled,
    read_proxies,
    read_scores,
    refuse_classes,
)
from topbin.job.candidates import relisted
from topbin.job.files import probabilities_of, report_of
from topbin.job.result import Result
from topbin.store.answer import Answer
from topbin.store.models import load
from topbin.store.runs import (
    CANDIDATES,
    MODEL,
    PROBABILITIES,
    REPORT,
    RESULT,
    WAIT,
    read_result,
    write_result,
)

ABOUT = "about this file"
JUDGED_FROM = RESULT, CANDIDATES, DRAWN, ANSWERS  # files
SHOWN = 12  # known classes, in a question
TRIES = 2  # to judge while others label, before they have to wait
ENOUGH = 30  # answers with which the audit that assumes least leads


@dataclass(frozen=True, slots=True)
class DrawWords:
    """What the file of a draw says about its rows, and what the screen adds to "random rows"."""

    about: str
    which: str = ""


DRAW_WORDS = {
    "simple": DrawWords("Random rows, drawn without a look at the score."),
    "stratified": DrawWords(
        "Random rows, equally many from each group of similar scores, in random order.",
        ", equally many from each group of similar scores",
    ),
    "weighted": DrawWords(
        "Random rows, with more of those that look like the rarer class, in random order.",
        ", with more of those that look like the rarer class",
    ),
    TOP: DrawWords("Random rows of the top bin, in random order.", " of the top bin"),
    RECALL: DrawWords(
        "Random rows from both sides of the threshold, in random order.",
        " from both sides of the candidates' threshold",
    ),
}
RANDOM = ("simple", "stratified", "weighted")  # ways to draw from all unlabeled rows
ROWS_NOT_GROUPS = " Rows were drawn, not groups: judge each by itself."
# Rows that were drawn at random are a random sample of these rows, however they are grouped.
OF_THESE_ROWS = "rows were drawn, not groups, so it holds for these rows"
NOTE = "Add no rows from candidates.csv: those are not random, and would bias the audit."


@dataclass(frozen=True, slots=True)
class Audit:
    """The audits of a run folder; `topbin.audit(folder)` opens them.

    Answers are saved as they come, and all audits of a run add up.
    """

    folder: Path
    sources: Request = Request()

    @property
    def state(self) -> AuditState:
        """Every draw and every answer so far."""
        return read_state(self.folder)

    def draw(
        self,
        n: int = 100,
        *,
        where: str = ANYWHERE,
        stratified: bool = False,
        seed: int | None = None,
    ) -> Any:
        """Draw n rows and return them, with a column for the answer; see `draw_audit`."""
        return _draw(self.folder, DrawRequest(n, where, stratified, seed, self.sources), None)[1]

    def record(self, answers: Mapping[int, Any], *, force: bool = False) -> int:
        """Save answers by row number; see `record_answers`."""
        return record_answers(self.folder, answers, force=force)

    def judge(self, *, recall: float | None = None) -> AuditResult:
        """α with all answers so far; result.json and the report show it from now on.

        `recall` asks whether so many of the positives are among the candidates.
        """
        return judge_audit(self.folder, recall=recall)

    def use_proxies(self, *columns: str) -> ProxyGain:
        """Let cheaper labels of all rows sharpen the audits of this run; see `add_proxies`."""
        return add_proxies(self.folder, columns, sources=self.sources)

    def refit(self) -> Any:
        """Train with the answers; see `topbin.job.audits.refit`."""
        from topbin.job.audits.refit import refit_audit

        return refit_audit(self.folder, sources=self.sources)

    def plan(self, width: float) -> WidthPlan:
        """How many labels of each kind make the interval no wider than this."""
        return plan_audit_width(self.folder, width)


def audit(
    run: Result | str | Path, source: Any = None, *, positives: Any = None, read: Read = Read()
) -> Audit:
    """Open the audits of a run: draw rows, save answers, and estimate α from them.

    `run` is a run folder, or a result that was saved to one.

    `source` and `positives` name again what the run was made from, as in `topbin.fit`, and `read`
    its query, embeddings and encoder. That is needed if the folder cannot vouch for them: see
    TB151 in the list of codes.

    >>> import tempfile, numpy as np, pandas as pd, topbin as tb
    >>> rng = np.random.default_rng(0)
    >>> x = np.r_[rng.normal(5, 1, 150), rng.normal(0, 1, 150)]
    >>> frame = pd.DataFrame({"x": x, "known": np.arange(300) < 100})
    >>> folder = tb.fit(frame, "known", budget="fast").save(tempfile.mkdtemp() + "/run")
    >>> audit = tb.audit(folder)
    >>> rows = audit.draw(60)                                    # for a person to label
    >>> audit.record({row: row <= 150 for row in rows["row"]})   # the first 150 are positive
    60
    >>> found = audit.judge()                                    # 50 of 200 are positive
    >>> found.interval[0] < 0.25 < found.interval[1]
    True
    """
    folder: Any = run.folder if isinstance(run, Result) else run
    if folder is None:
        raise InputError(
            "TB114",
            "this result is in memory only, and an audit keeps its rows and answers in a run "
            'folder. Save it first: result.save("run1"), then topbin.audit(result).',
        )
    if not isinstance(folder, str | os.PathLike):
        got = type(folder).__name__
        raise InputError("TB006", f"an audit needs a run folder or a saved result; got {got}.")
    read_result(folder)
    named: Any = {"source" if positives is None else "unlabeled": source}
    return Audit(Path(folder), Request(rows=Rows(**named, positives=positives), read=read))


def draw_audit(
    run: str | Path,
    n: int,
    output: str | Path,
    *,
    where: str = ANYWHERE,
    stratified: bool = False,
    seed: int | None = None,
    force: bool = False,
    sources: Request = Request(),
    tool: str | None = None,
) -> AuditSample:
    """Write n random unlabeled rows, with an empty column for the answer; return the draw.

    `where` is "anywhere", "top" (above the cut of `TopBin`) or "recall" (on both sides of the
    threshold of the candidates). Rows of earlier draws of the same kind are not drawn again,
    so that audits add up. A draw that is asked for again in the same words is the same rows,
    unless no seed is given and they have been answered.

    A run that was made from a query, or from files that the folder cannot vouch for, needs its
    `sources` named again: a folder may come from someone else.
    With `tool`, "label-studio" or "argilla", the file is one that this labeling tool imports.
    The rows are in random order and carry no score, so that whoever labels them is blind to it.
    Every draw of a run is kept, so that any of the files can come back, also when two audits of a
    run are drawn at once or one of them is killed.
    """
    wanted = DrawRequest(n, where, stratified, seed, sources)
    return _draw(Path(run), wanted, output, force=force, tool=tool)[0]


def _draw(
    folder: Path,
    request: DrawRequest,
    output: str | Path | None,
    *,
    force: bool = False,
    tool: str | None = None,
) -> tuple[AuditSample, Any]:
    """The draw and its rows as a frame, in a file too if `output` names one."""
    result, where = read_result(folder), request.where
    if where not in WHERE:
        raise InputError("TB008", f"where must be one of {', '.join(WHERE)}; got {where!r}.")
    if where != ANYWHERE:
        refuse_classes(result, option("where"))
    with lock(folder, wait=WAIT):
        before, state = read_drawn(folder), read_state(folder)
        settled = request.settled(state)
        earlier = settled.earlier(state)
        source = draw_from_rows if result.data.sample is None else draw_from_files
        sample, frame, top = source(folder, result, settled, earlier, _taken(state, where, earlier))
        rows = frame.pop("row").tolist()
        tasks = None if tool is None else tasks_of(frame, rows, tool)
        frame = in_front(frame, {"row": rows, ANSWER: ""})
        words = words_of(sample, where).about
        words += ROWS_NOT_GROUPS if result.data.group else ""
        words += "" if (means := question(result)) is None else f" {sentence(means)}."
        about_file = [f"{words} {NOTE}"] + [""] * (sample.n - 1)
        frame = add_columns(frame, {unused(ABOUT, frame): about_file})
        about = {"row": tuple(rows), "data": result.data.hash, "n": request.n, "where": where}
        drawn = Draw.of(sample, **about, bin=top)
        others = [one for one in before.draws if sorted(one.row) != sorted(rows)]
        if output is not None:
            refuse_existing(Path(output), force=force)
        # A draw without its file does no harm; a file whose draw is not known could not come back.
        write_drawn(folder, before if earlier else replace(before, draws=(*others, drawn)))
        if output is not None and tasks is not None:
            write_text(output, tasks, force=force)
        elif output is not None:
            write_table(output, frame, force=force)
    return sample, frame


def words_of(sample: AuditSample, where: str) -> DrawWords:
    """What is said of a draw."""
    return DRAW_WORDS[sample.kind if where == ANYWHERE else where]


def question(answer: Answer) -> str | None:
    """What an answer means, if not that a row is positive or is not."""
    if answer.labeling is None or answer.novel is None:
        return None
    names = [str(one.label) for one in answer.labeling.shares]
    more = f" or {len(names) - SHOWN:,} others" if len(names) > SHOWN else ""
    classes = f"{', '.join(names[:SHOWN])}{more}"
    return f"yes: the row is of a known class ({classes}); no: it is of none of them"


def _taken(state: AuditState, where: str, earlier: Draw | None) -> list[int]:
    """Positions that earlier draws of this kind have, which a new one leaves out."""
    before = state.draws[: None if earlier is None else state.draws.index(earlier)]
    alike = (one for one in before if one.where == where)
    return sorted({place for one in alike for place in one.rows})


def read_audit(
    run: str | Path, answers: str | Path, *, force: bool = False, recall: float | None = None
) -> AuditResult:
    """Save the answers of a file, and judge all answers so far as `judge_audit` does.

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
        said = read_export(answers)
        if said is None:
            frame = _read_filled(answers)
            stored = _draw_of(frame["row"].tolist(), state.draws, answers)
            said = frame.set_index("row")[ANSWER].loc[list(stored.row)].to_dict()
        given = dict(zip(said, read_answers(said.values()), strict=True))
        add_answers(folder, given, force=force)
    return judge_audit(folder, recall=recall)


def read_answered(answers: str | Path) -> dict[int, Any]:
    """The answers of a file with any unlabeled rows, such as candidates, by row number."""
    if (said := read_export(answers)) is not None:
        return dict(said)
    frame = _read_filled(answers)
    twice = frame["row"][frame["row"].duplicated()]
    if len(twice) or frame["row"].dtype.kind not in "iu" or frame["row"].isna().any():
        what = f"row {twice.iloc[0]} twice" if len(twice) else "row numbers that are not numbers"
        raise InputError("TB117", f'"{answers}" has {what}; keep each row once, by its number.')
    by_row: dict[int, Any] = frame.set_index("row")[ANSWER].to_dict()
    return by_row


def _read_filled(answers: str | Path) -> Any:
    """Row numbers and answers of a file, without the empty lines that spreadsheets add."""
    frame = read_table(answers, columns=["row", ANSWER]).frame.dropna(how="all")
    with np.errstate(invalid="ignore"):  # pandas before 3 casts what no int can hold
        frame = frame.convert_dtypes()
        numbers = pd.to_numeric(frame["row"], errors="coerce").convert_dtypes()
    # Sheets keep numbers as text where a cell says so.
    return frame.assign(row=numbers) if numbers.notna().all() else frame


def judge_audit(run: str | Path, *, recall: float | None = None) -> AuditResult:
    """Estimate α from all answers so far, keep it in result.json beside the first estimate.

    The audit that assumes least leads, if it has enough answers; `others` are those of other kinds.
    """
    folder = Path(run)
    if recall is not None:
        check_fraction(recall, "recall")
        refuse_classes(read_result(folder), option("recall"))
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
    result: Answer
    html: str
    candidates: str | None
    probabilities: Any
    is_look: bool

    @classmethod
    def of(cls, folder: Path, recall: float | None) -> "_Judged":
        files = file_versions(folder, *JUDGED_FROM)
        result, state = read_result(folder), read_state(folder)
        judged, look = judged_state(folder, result, state, recall)
        audited = replace(result, audit=judged)
        if result.novel is None:  # what follows is about positives
            judged = replace(judged, gamma=_reconciled(folder, judged))
            scored = read_scores(folder, result)
            n_u, remedy = result.data.n_u, result.remedy
            verdict = verdict_of(result.estimate, n_u, scored, remedy=remedy, audit=judged)
            audited = replace(result, audit=judged, verdict=verdict)
        listed = relisted(folder, result, audited)
        audited = replace(audited, candidates=listed.listed)
        html = report_of(folder, audited, listed)  # may fail, and then nothing has changed
        likely = probabilities_of(folder, audited)
        return cls(files, judged, audited, html, listed.text, likely, look > len(state.looks))

    def written(self, folder: Path) -> AuditResult:
        """Write all of it; the caller holds the lock."""
        if self.candidates is not None:
            write_text(folder / CANDIDATES, self.candidates, force=True)
        if self.probabilities is not None:
            write_table(folder / PROBABILITIES, self.probabilities, force=True)
        write_result(folder, self.result)
        write_text(folder / REPORT, self.html, force=True)
        if self.is_look:
            add_look(folder, self.result.data.hash, self.audit.kind, self.audit.interval)
        return self.audit


def _reconciled(folder: Path, judged: AuditResult) -> Reconciled | None:
    """How selective labels must be, if the audit contradicts the estimate.

    An audit of the top bin assumes random labels itself, so it cannot say.
    """
    if judged.verdict != "contradicts" or judged.kind == TOP:
        return None
    return reconcile(load(folder / MODEL), judged.interval)


def judged_state(
    folder: Path, result: Answer, state: AuditState, recall: float | None = None
) -> tuple[AuditResult, int]:
    """What the answers of a state say, and the number of this look; nothing is written."""
    estimate, n_u = result.estimate, result.data.n_u
    level, look = estimate.confidence or CONFIDENCE, max(1, len(state.looks) + state.is_new)
    scored, judged = read_scores(folder, result), []
    drawn = {where: pooled(folder, state, where, scored, n_u) for where in WHERE}
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
            f_u = None if scored is None else scored.f_u
            names, proxies = read_proxies(folder, n_u)
            one = judge(sample, said, estimate, **more, probabilities=f_u, proxies=proxies)
            # Shares of known classes may have moved, and then their scores have too.
            labels = None
            if scored is not None and result.novel is None:
                labels = scored.compare(drawn[where])
            judged.append(replace(one, kind=kind_of(state), labels=labels, proxies=names))
    if result.data.group:
        judged = [replace(one, assumes=f"{one.assumes}; {OF_THESE_ROWS}") for one in judged]
    if not judged:
        raise InputError("TB001", NO_ANSWER)
    judged.sort(key=lambda one: one.n_positive + one.n_negative < ENOUGH)
    bound, threshold = None, result.candidates.threshold
    asks_recall = recall is not None or drawn[RECALL].sample.n
    if scored is not None and threshold is not None and asks_recall:
        both_draws = drawn[ANYWHERE], drawn[RECALL]
        bound = scored.recall(both_draws, threshold, confidence=level, look=look, goal=recall)
    both = update_by_all(estimate, judged)
    return replace(judged[0], others=tuple(judged[1:]), recall=bound, together=both), look


def _seen(state: AuditState, where: str, look: int) -> tuple[float, float]:
    """What the intervals of earlier looks at audits of this kind have in common."""
    kinds = (where,) if where != ANYWHERE else RANDOM
    looks = (one for one in state.looks[: look - 1] if one.kind in kinds)
    seen = [one.interval for one in looks if one.interval is not None]
    return max((low for low, _ in seen), default=0.0), min((h for _, h in seen), default=1.0)


def plan_audit_widths(run: str | Path) -> tuple[WidthPlan, ...]:
    """The labels that it takes for intervals half and a quarter as wide as that of the run now."""
    result = read_result(run)
    low, high = (result.audited or result.estimate).interval or (0.0, 0.2)
    widths = (float(f"{(high - low) / parts:.2g}") for parts in (2, 4))
    return tuple(plan_audit_width(run, width) for width in widths if width > 0)


def plan_audit_width(run: str | Path, width: float) -> WidthPlan:
    """How many labels of each kind make the interval no wider than `width`."""
    folder, result = Path(run), read_result(run)
    scored, top = read_scores(folder, result), None
    if scored is not None and result.novel is None:
        top = TopBin.at(scored.p, scored.u).in_groups(result.estimate)
    alpha, f_u = (result.audited or result.estimate).alpha, None if scored is None else scored.f_u
    level = result.estimate.confidence or CONFIDENCE
    return plan_width(alpha, width, result.data.n_u, probabilities=f_u, top=top, confidence=level)


def plan_audit(run: str | Path, error: float) -> AuditPlan:
    """How many rows it takes to notice that α̂ is off by `error`, as the verdict counts them."""
    return plan_either_way(read_result(run).estimate, error)


def _draw_of(rows: Sequence[Any], draws: Sequence[Draw], answers: str | Path) -> Draw:
    """The draw that these rows are, in any order; TB117 says how they differ from the nearest."""
    seen = Counter(rows)
    nearest = max(draws, key=lambda one: (Counter(one.row) & seen).total())
    drawn = Counter(nearest.row)
    if seen == drawn:
        return nearest
    common = (seen & drawn).total()
    if not common:
        differ = "has no row of any audit drawn for this run"
    else:
        more = seen - drawn
        twice = sum(count for row, count in more.items() if row in drawn)
        differ = (
            "is not an audit drawn for this run. Compared with the nearest draw, of "
            f"{drawn.total():,} rows: {drawn.total() - common:,} missing, {twice:,} there twice, "
            f"{more.total() - twice:,} added"
        )
    raise InputError(
        "TB117",
        f'"{answers}" {differ}. Fill in a drawn file itself and keep all of its rows, in any '
        "order; rows from candidates.csv do not belong in an audit.",
    )
