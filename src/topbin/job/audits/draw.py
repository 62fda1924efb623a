"""Which rows an audit draws, and the file in which they go out to people.

Every draw takes random rows that no earlier one of its kind took, so together they are one random
sample. Rows need not be equally likely: each draw says how many rows of each stratum it takes on
average. Rows are read again from what the run was made from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.atomic import lock, refuse_existing, write_text
from topbin.core.errors import InputError, option
from topbin.core.formatting import sentence
from topbin.core.options import Request
from topbin.data.batch import add_columns
from topbin.data.write import ANSWER, in_front, tasks_of, unused, write_table
from topbin.engines.engine import Local
from topbin.evaluate.audit import AuditSample, TopBin
from topbin.evaluate.audit import draw as draw_sample
from topbin.evaluate.audit.scored import ANYWHERE, RECALL, TOP, WHERE
from topbin.job.audits.answers import AuditState, Draw, read_drawn, read_state, write_drawn
from topbin.job.files import StoredRun, numbered
from topbin.job.labeled import open_labeled
from topbin.job.sampling import AUDITING, SAMPLING, count_labels, pick, split_sample
from topbin.store.answer import Answer
from topbin.store.runs import WAIT
from topbin.store.sources import read_again

ABOUT = "about this file"
SHOWN = 12  # known classes, in a question
ROWS_NOT_GROUPS = " Rows were drawn, not groups: judge each by itself."
NOTE = "Add no rows from candidates.csv: those are not random, and would bias the audit."


@dataclass(frozen=True, slots=True)
class DrawWords:
    """What the file of a draw says about its rows, and what the screen adds to "random rows"."""

    about: str
    which: str = ""


DRAW_WORDS = {
    "simple": DrawWords("Random rows, drawn without looking at the scores."),
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


@dataclass(frozen=True, slots=True)
class DrawRequest:
    """What was asked of a draw; see `Audit.draw`."""

    n: int
    where: str = ANYWHERE
    stratified: bool = False
    seed: int | None = None

    def settled(self, state: AuditState) -> "DrawRequest":
        """The request with a seed: that of an equal draw without answers, or the next one."""
        if self.seed is not None:
            return self
        alike = [draw for draw in state.draws if self._is_like(draw) and not state.is_begun(draw)]
        following = max((draw.seed for draw in state.draws), default=-1) + 1
        return replace(self, seed=alike[-1].seed if alike else following)

    def earlier(self, state: AuditState) -> Draw | None:
        """The draw that was asked for in these words before, if there is one."""
        alike = (draw for draw in state.draws if self._is_like(draw) and draw.seed == self.seed)
        return next(alike, None)

    def _is_like(self, drawn: Draw) -> bool:
        is_alike = len(drawn.row) == self.n and drawn.where == self.where
        by_strata = self.stratified and self.n >= 10
        return is_alike and (self.where != ANYWHERE or by_strata == drawn.by_strata)


@dataclass(frozen=True, slots=True, eq=False)
class RowsToAnswer:
    """A draw, its rows as a frame, and its bin if it has one."""

    sample: AuditSample
    frame: Any
    top: TopBin | None = None


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
    """`Audit.draw` into a file; return the draw. `sources` as in `StoredRun`.

    With `tool`, "label-studio" or "argilla", the file is one that this labeling tool imports.
    """
    stored, request = StoredRun.open(run, sources), DrawRequest(n, where, stratified, seed)
    return draw_rows(stored, request, output, force=force, tool=tool).sample


def draw_rows(
    run: StoredRun,
    request: DrawRequest,
    output: str | Path | None = None,
    *,
    force: bool = False,
    tool: str | None = None,
) -> RowsToAnswer:
    """A draw, kept in the run, with its rows as people get them; in a file too if `output` is one.

    Every draw of a run is kept, so that any of the files can come back, also when two audits of a
    run are drawn at once or one of them is killed.
    """
    folder, where = run.folder, request.where
    if where not in WHERE:
        raise InputError("TB008", f"where must be one of {', '.join(WHERE)}; got {where!r}.")
    if where != ANYWHERE:
        run.refuse_classes(option("where"))
    with lock(folder, wait=WAIT):
        before, state = read_drawn(folder), read_state(folder)
        settled = request.settled(state)
        earlier = settled.earlier(state)
        draw_from = _draw_from_rows if run.answer.data.sample is None else _draw_from_files
        drawn = draw_from(run, settled, earlier, _taken(state, where, earlier))
        numbers = drawn.frame.pop("row").tolist()
        tasks = None if tool is None else tasks_of(drawn.frame, numbers, tool)
        drawn = replace(drawn, frame=_to_fill_in(run.answer, drawn, numbers, where))
        kept = Draw.of(
            drawn.sample, row=tuple(numbers), data=run.answer.data.hash, n=request.n, where=where,
            bin=drawn.top,
        )  # fmt: skip
        others = [other for other in before.draws if sorted(other.row) != sorted(numbers)]
        if output is not None:
            refuse_existing(Path(output), force=force)
        # A draw without its file does no harm; a file whose draw is not known could not come back.
        write_drawn(folder, before if earlier else replace(before, draws=(*others, kept)))
        if output is not None and tasks is not None:
            write_text(output, tasks, force=force)
        elif output is not None:
            write_table(output, drawn.frame, force=force)
    return drawn


def _to_fill_in(answer: Answer, drawn: RowsToAnswer, numbers: list[int], where: str) -> Any:
    """The rows of a draw with an empty column for the answer, and what the file is about."""
    words = words_of(drawn.sample, where).about
    words += ROWS_NOT_GROUPS if answer.data.group else ""
    words += "" if (means := question(answer)) is None else f" {sentence(means)}."
    frame = in_front(drawn.frame, {"row": numbers, ANSWER: ""})
    about_file = [f"{words} {NOTE}"] + [""] * (drawn.sample.n - 1)
    return add_columns(frame, {unused(ABOUT, frame): about_file})


def words_of(sample: AuditSample, where: str) -> DrawWords:
    """What is said of a draw."""
    return DRAW_WORDS[sample.kind if where == ANYWHERE else where]


def question(answer: Answer) -> str | None:
    """What an answer means, if not that a row is positive or is not."""
    if answer.labeling is None or answer.novel is None:
        return None
    names = [str(share.label) for share in answer.labeling.shares]
    more = f" or {len(names) - SHOWN:,} others" if len(names) > SHOWN else ""
    classes = f"{', '.join(names[:SHOWN])}{more}"
    return f"yes: the row is of a known class ({classes}); no: it is of none of them"


def _taken(state: AuditState, where: str, earlier: Draw | None) -> list[int]:
    """Positions that earlier draws of this kind have, which a new one leaves out."""
    before = state.draws[: None if earlier is None else state.draws.index(earlier)]
    alike = (draw for draw in before if draw.where == where)
    return sorted({place for draw in alike for place in draw.rows})


def _draw_from_rows(
    run: StoredRun, request: DrawRequest, earlier: Draw | None, taken: Sequence[int]
) -> RowsToAnswer:
    """A draw from all unlabeled rows in memory, by their scores."""
    frame = run.unlabeled()
    if earlier is not None:
        sample, top = earlier.sample, earlier.bin
    else:
        assert run.scores is not None  # the caller knows that this is no run on a sample
        sample, top = run.scores.draw(
            request.n, request.where, seed=request.seed or 0, stratified=request.stratified,
            taken=taken, threshold=float(run.answer.candidates.threshold or 0.0),
        )  # fmt: skip
    if sample.rows.max() >= len(frame):
        raise run.other_rows()
    return RowsToAnswer(sample, frame.iloc[sample.rows].reset_index(drop=True), top)


def _draw_from_files(
    run: StoredRun, request: DrawRequest, earlier: Draw | None, taken: Sequence[int]
) -> RowsToAnswer:
    """A draw from the files of a run on a sample, in one pass; its `rows` are places in all rows.

    The pass also draws the sample of the run again, which shows whether the files have changed.
    """
    data, drawn_from = run.answer.data, run.answer.data.sample
    assert drawn_from is not None  # as the caller knows
    if request.stratified or request.where != ANYWHERE:
        run.refuse_sample(
            "so not every row has a score to draw by. Draw without "
            f"{option('stratified')} and without {option('where')}."
        )
    seed = request.seed or 0
    sample = draw_sample(data.n_u - len(taken), request.n, seed=seed)
    of_run, engine = read_again(run.folder, data, run.sources), Local()
    table = open_labeled(of_run.rows, of_run.read)
    counted = count_labels(engine, table, of_run.rows.positive, of_run.rows.negative)
    sampled = drawn_from.seed, SAMPLING, 2 * drawn_from.rows
    # As many more as earlier draws have, in case all of these come first.
    most = min(data.n_u, request.n + len(taken))
    positives, both, rows = pick(engine, counted, sampled, (seed, AUDITING, most))
    run.check_unchanged(split_sample(positives, both, drawn_from.rows).table.hash())
    rows = rows.take(np.flatnonzero(~np.isin(rows.places, taken))[: request.n])
    sample = replace(sample, rows=rows.places, sizes=(data.n_u,))
    return RowsToAnswer(sample, numbered(rows, data.label))
