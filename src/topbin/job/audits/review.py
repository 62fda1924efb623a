"""A person labels rows one by one: which row is next, what was said, and in the end what α is.

No web in here. Any number of pages may be open on one `Review`, and any number of processes may
work on one run: every answer is saved under the folder's lock, and an answer that somebody else
gave meanwhile is shown instead of replaced. While people answer the rows of an audit they see
neither scores nor α, so that nobody stops where it looks good.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any, NotRequired, TypedDict

from topbin.core.atomic import lock
from topbin.core.errors import InputError
from topbin.core.estimate import RANGE_ONLY, AlphaEstimate, Interval
from topbin.core.options import Request
from topbin.data.formats.text_files import FILE, TEXT
from topbin.evaluate.audit import BLANK, NEGATIVE, POSITIVE, UNSURE, read_answers
from topbin.evaluate.audit.scored import ANYWHERE
from topbin.job.audits import Audit
from topbin.job.audits.answers import (
    ANSWERS,
    AuditState,
    ask_in_words,
    file_versions,
    read_drawn,
    read_state,
    write_answers,
)
from topbin.job.audits.judge import judge_audit
from topbin.job.files import StoredRun, read_numbered
from topbin.learn.explain import is_explanation, is_nearest
from topbin.show.rows import LARGE, Pictures, open_pictures
from topbin.store.answer import Answer, DataRead
from topbin.store.runs import CANDIDATES, WAIT, read_asked, read_result

NO_FILES = "a frame", "an array of images"  # as settings call positives that were in memory
Cells = list[tuple[str, str]]
AWAY = 30.0  # seconds without a sign of life after which a page no longer holds its row


class Cell(TypedDict):
    """A column of a row, as text; `picture` is that of a known positive that the row resembles."""

    name: str
    text: str
    picture: NotRequired[str | None]


class RowToLabel(TypedDict):
    """A row as the page shows it: its columns, why it is a candidate, and its answer so far."""

    row: int
    cells: list[Cell]
    why: list[Cell]
    near: list[Cell]
    answer: str | None
    pictures: list[str]


class Before(TypedDict):
    """The estimate of a run as its headline gives it: a point, a bound, or a range alone."""

    alpha: float | None
    sign: str
    interval: Interval | None


class JudgedAudit(TypedDict):
    """What an audit says once all of its rows have an answer."""

    alpha: float
    interval: Interval
    before: Before
    sentence: str
    verdict: str


@dataclass(slots=True, eq=False)
class Review:
    """Rows to label, by number in the order to label them; `open_review` makes one.

    `draw` draws more rows of an audit; it is None for candidates, which are not random: their
    answers train the model and never estimate α. `rows` are (column, text) pairs.
    """

    folder: Path
    where: str | None
    rows: dict[int, Cells]
    result: Answer
    draw: Callable[[], Any] | None = None
    given: "Counter[str]" = field(default_factory=Counter)  # answers saved through this Review
    pictures: Pictures | None = None  # of the images of the run, by path
    question: str = "Is this row positive?"
    _state: AuditState = field(init=False)
    _stamp: Any = None
    _held: dict[str, tuple[int, float]] = field(default_factory=dict)
    _mutex: Any = field(default_factory=RLock)

    def next_row(self, page: str) -> RowToLabel | None:
        """A row without an answer that no other open page holds, if there is one; None at the end.

        Where every open row is held by somebody, two people get the same one.
        """
        with self._mutex:
            others, left = self._held_by_others(page), self._left()
            row = next((row for row in left if row not in others), left[0] if left else None)
            self._held.pop(page, None)
            if row is None:
                return None
            self._held[page] = row, time.monotonic()
            return self.row(row)

    def row(self, number: int) -> RowToLabel:
        """A row with its columns, why it is a candidate, and its answer so far."""
        cells: list[Cell] = [{"name": name, "text": text} for name, text in self._cells(number)]
        ours = [cell for cell in cells if self.draw is None and _is_ours(cell["name"])]
        near = [cell for cell in ours if is_nearest(cell["name"])]
        why = [cell for cell in ours if cell not in near]
        return {
            "row": number,
            "cells": [cell for cell in cells if cell not in ours],
            "why": [cell for cell in why if cell["text"]],
            "near": [
                cell | {"picture": self._small(cell["text"])} for cell in near if cell["text"]
            ],
            "answer": self._answers().get(number),
            "pictures": self._pictures(number),
        }

    def _small(self, path: str) -> str | None:
        return None if self.pictures is None else self.pictures.of(path)

    def _pictures(self, number: int) -> list[str]:
        """Pictures of a row, as addresses that hold them; only a row of the run has any."""
        if self.pictures is None:
            return []
        image = self.result.data.image
        paths = [text for name, text in self._cells(number) if image and name == image.column]
        addresses = (self.pictures.of(path, LARGE) for path in paths)
        return [address for address in addresses if address is not None]

    def save(self, row: int, answer: str, *, seen: str | None = None) -> str | None:
        """Save an answer at once. If another one is there that the person has not seen, return it.

        Then nothing is saved; to replace it, say that it was `seen`.
        """
        (said,) = read_answers([answer])
        self._cells(row)
        with self._mutex, lock(self.folder, wait=WAIT):
            answers = self._answers()
            before = answers.get(row, BLANK)
            if before not in (BLANK, seen, said):
                return before
            if write_answers(self.folder, self.result.data.hash, answers, {row: said}):
                self.given[said] += 1
                self._remember(row, said)
        return None

    @property
    def learns(self) -> bool:
        """Whether the answers can train the model of the run."""
        return self.result.data.image is None

    def stay(self, page: str) -> None:
        """A sign of life: the page keeps its row."""
        with self._mutex:
            if page in self._held:
                self._held[page] = self._held[page][0], time.monotonic()

    def progress(self) -> dict[str, int]:
        """How many rows have an answer, of how many, and what the answers are."""
        answers = self._answers()
        said = Counter(answers.get(row, BLANK) for row in self.rows)
        done = {kind: said[kind] for kind in (POSITIVE, NEGATIVE, UNSURE)}
        return {"total": len(self.rows), "done": sum(done.values()), **done}

    def judged(self) -> JudgedAudit | None:
        """The result of the audit, if it counts all answers and no row is left."""
        state = self._read()
        is_known = self.draw is not None and state.looks and not state.is_new and not self._left()
        result = read_result(self.folder) if is_known else self.result
        if not is_known or result.audit is None:
            return None
        shown = result.audited or result.audit
        return {
            "alpha": shown.alpha,
            "interval": shown.interval,
            "before": estimate_before(result.estimate),
            "sentence": result.audit.sentence,
            "verdict": str(result.verdict or result.audit.verdict),
        }

    def judge(self) -> JudgedAudit | None:
        """Estimate α with all rows of the draw answered, for result.json and the report.

        Only then, because people know what they have answered: whoever stops where it looks good
        gets an interval that is too narrow.
        """
        progress = self.progress()
        done, total = progress["done"], progress["total"]
        if self.draw is None or done < total:
            raise InputError(
                "TB117",
                f"{done:,} of {total:,} rows have an answer; the audit is judged "
                "when all rows of the draw have one (? counts as one).",
            )
        if self.judged() is None:
            judge_audit(self.folder)
        return self.judged()

    def more(self) -> None:
        """Draw as many rows again, if all have an answer; they are labeled after the others."""
        with self._mutex:
            if self.draw is not None and not self._left():
                # Not in place: other threads may be going through the rows.
                self.rows = {**self.rows, **_drawn_texts(self.draw())}
                self._stamp = None

    def _left(self) -> list[int]:
        answers = self._answers()
        return [row for row in self.rows if answers.get(row, BLANK) == BLANK]

    def _cells(self, number: int) -> Cells:
        if number not in self.rows:
            raise InputError("TB117", f"row {number:,} is not one of the rows to label here.")
        return self.rows[number]

    def _held_by_others(self, page: str) -> set[int]:
        now = time.monotonic()
        held = {key: value for key, value in self._held.items() if now - value[1] < AWAY}
        self._held = held
        return {row for key, (row, _) in held.items() if key != page}

    def _answers(self) -> dict[int, str]:
        return self._read().all_answers

    def _read(self) -> AuditState:
        """The state as it is on the disk, read again only if another process has added to it."""
        with self._mutex:
            if self._stamp is None or self._stamp != file_versions(self.folder, ANSWERS):
                self._stamp = file_versions(self.folder, ANSWERS)
                self._state = read_state(self.folder)
            return self._state

    def _remember(self, row: int, said: str) -> None:
        """Add what was just written, by the holder of the lock."""
        state = replace(self._state, is_new=True)
        if self.draw is None:
            self._state = replace(state, undrawn_answers={**state.undrawn_answers, row: said})
        else:
            self._state = replace(state, answers={**state.answers, row: said})
        self._stamp = file_versions(self.folder, ANSWERS)


def open_review(
    run: str | Path,
    *,
    n: int = 100,
    where: str = ANYWHERE,
    stratified: bool = False,
    candidates: bool = False,
    question: str | None = None,
    sources: Request = Request(),
) -> Review:
    """Open the last draw of this kind that has rows without an answer, or draw n rows.

    With `candidates`, the rows of candidates.csv, best first; those that an audit has drawn are
    left to it, where nobody sees their rank. A `question` is kept with the audits of the run.
    """
    stored = StoredRun.open(run)
    stored.refuse_classes("the review page")
    folder, result = stored.folder, stored.answer
    if question is not None:
        ask_in_words(folder, question)
    image = result.data.image
    shown: Any = {
        "pictures": None if image is None else open_pictures(folder, image.root or ""),
        "question": read_drawn(folder).question
        or question_of(result.data, read_asked(folder).rows.positives or ()),
    }
    if candidates:
        frame = read_numbered(folder, CANDIDATES)
        frame = frame[~frame["row"].isin(read_state(folder).drawn)]
        rows = _texts(frame["row"], frame.drop(columns="row"))
        return Review(folder, None, rows, result, **shown)
    audits = Audit(folder, sources)
    state = audits.state
    alike = [draw for draw in state.draws if draw.where == where]
    begun = next((draw for draw in reversed(alike) if state.open_rows(draw)), None)
    if begun is not None:
        n, stratified = len(begun.row), where == ANYWHERE and begun.by_strata
    draw_more = partial(audits.draw, n, where=where, stratified=stratified)
    frame = draw_more(seed=None if begun is None else begun.seed)
    return Review(folder, where, _drawn_texts(frame), result, draw_more, **shown)


def _is_ours(name: str) -> bool:
    """Whether a column of candidates.csv is one that we added."""
    return name in ("rank", "probability") or is_explanation(name)


def _drawn_texts(frame: Any) -> dict[int, Cells]:
    """Around the columns of the table, a draw has the number, the answer and a note."""
    return _texts(frame["row"], frame.iloc[:, 2:-1])


def estimate_before(estimate: AlphaEstimate) -> Before:
    """The estimate of the run, as its headline gives it: a point, a bound, or a range alone."""
    most, has_point = estimate.leading_bound, estimate.worth_p >= RANGE_ONLY
    alpha = estimate.alpha if most is None else most
    return {
        "alpha": alpha if has_point or estimate.interval is None else None,
        "sign": "=" if most is None else "≤",
        "interval": estimate.interval,
    }


def question_of(data: DataRead, positives: Sequence[str] = ()) -> str:
    """What "yes" means, in the words of whoever named the data of the run."""
    is_text = data.features == (TEXT,) and data.id == FILE
    thing = "text" if is_text else "row" if data.image is None else "image"
    value, marked, _ = data.label_note.partition(" = positive (")
    if positives:
        named = ", ".join(positives)
        like = "the known ones" if named in NO_FILES else f'those in "{named}"'
        return f"Is this {thing} positive, like {like}?"
    if data.label and marked:
        return f"Is this {thing} positive: {data.label} = {value}?"
    return f"Is this {thing} positive?"


def _texts(numbers: Any, frame: Any) -> dict[int, Cells]:
    names = list(map(str, frame.columns))
    values = frame.astype(object).where(frame.notna(), None).to_numpy()
    return {
        int(number): list(zip(names, map(_text, row), strict=True))
        for number, row in zip(numbers, values, strict=True)
    }


def _text(value: Any) -> str:
    """A value as people read it; nothing is cut."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value).removesuffix(" 00:00:00")
