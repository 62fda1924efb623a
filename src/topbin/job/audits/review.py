"""A person labels rows one by one: which row is next, what was said, and what α is by now.

No web in here. Any number of pages may be open on one `Review`, and any number of processes may
work on one run: every answer is saved under the folder's lock, and an answer that somebody else
gave meanwhile is shown instead of replaced.
"""

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import Any

from topbin.core.atomic import lock
from topbin.core.defaults import CONFIDENCE
from topbin.core.errors import InputError
from topbin.core.options import Request
from topbin.data.formats.text_files import FILE, TEXT
from topbin.evaluate.audit import BLANK, NEGATIVE, POSITIVE, UNSURE, read_answers
from topbin.evaluate.audits.live import live_estimate
from topbin.job.audits.answers import ANSWERS, WAIT, AuditState, read_state, write_answers
from topbin.job.audits.audit import Audit, judge_audit
from topbin.job.audits.pooled import pooled
from topbin.job.audits.rows import ANYWHERE, TOP, Scored, read_scores
from topbin.job.files import CANDIDATES, read_stored
from topbin.show.pictures import LARGE, Pictures, open_pictures
from topbin.store.answer import Answer, DataRead
from topbin.store.runs import damaged, read_asked, read_result

NO_FILES = "a frame", "an array of images"  # as settings call positives that were in memory
AWAY = 30.0  # seconds without a sign of life after which a page no longer holds its row


@dataclass(slots=True, eq=False)
class Review:
    """Rows to label, by number in the order to label them; `open_review` makes one.

    `where` is where the rows of an audit were drawn, or None for candidates, which are not random:
    their answers train the model and never estimate α. `rows` are (column, text) pairs.
    """

    folder: Path
    where: str | None
    rows: Mapping[int, Sequence[tuple[str, str]]]
    result: Answer
    scored: Scored | None = None
    given: "Counter[str]" = field(default_factory=Counter)  # answers saved through this Review
    pictures: Pictures | None = None  # of the images of the run, by path
    question: str = "Is this row positive?"
    _state: AuditState = field(init=False)
    _stamp: Any = None
    _held: dict[str, tuple[int, float]] = field(default_factory=dict)
    _live: Any = None
    _mutex: Any = field(default_factory=RLock)

    def next_row(self, page: str) -> dict[str, Any] | None:
        """A row without an answer that no other open page holds, if there is one; None at the end.

        Where every open row is held by somebody, two people get the same one.
        """
        with self._mutex:
            answers, others = self._answers(), self._held_by_others(page)
            left = [row for row in self.rows if answers.get(row, BLANK) == BLANK]
            row = next((row for row in left if row not in others), left[0] if left else None)
            self._held.pop(page, None)
            if row is None:
                return None
            self._held[page] = row, time.monotonic()
            return self.row(row)

    def row(self, number: int) -> dict[str, Any]:
        """A row with its columns and its answer so far."""
        cells = [{"name": name, "text": text} for name, text in self._cells(number)]
        found = {"row": number, "cells": cells, "answer": self._answers().get(number)}
        return {**found, "pictures": self._pictures(number)}

    def _pictures(self, number: int) -> list[str]:
        """Pictures of a row, as addresses that hold them; only a row of the run has any."""
        if self.pictures is None:
            return []
        image = self.result.data.image
        paths = [text for name, text in self._cells(number) if image and name == image.column]
        found = (self.pictures.of(path, LARGE) for path in paths)
        return [address for address in found if address is not None]

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

    def live(self) -> dict[str, Any] | None:
        """α and an interval that holds at every moment; None where answers say nothing about it."""
        state = self._read()
        if self._live is None or self._live[0] is not state:
            self._live = state, self._estimate(state)
        return dict(self._live[1]) if self._live[1] else None

    def _estimate(self, state: AuditState) -> dict[str, Any] | None:
        if self.where not in (ANYWHERE, TOP):
            return None
        n_u, told = self.result.data.n_u, self.result.estimate
        found = pooled(self.folder, state, self.where, self.scored, n_u)
        known = found.in_order(None if self.scored is None else self.scored.f_u)
        if not {POSITIVE, NEGATIVE} & set(known["answers"]):
            return None
        level = told.confidence or CONFIDENCE
        alpha, interval = live_estimate(**known, confidence=level, top=found.top)
        return {"alpha": alpha, "interval": interval, "confidence": level}

    def judged(self) -> dict[str, Any] | None:
        """The result of the audit, if it counts all answers so far."""
        state = self._read()
        is_known = self.where is not None and state.looks and not state.is_new
        found = read_result(self.folder).audit if is_known else None
        if found is None:
            return None
        told = {"alpha": found.alpha, "interval": found.interval}
        return {**told, "sentence": found.sentence, "verdict": found.verdict}

    def judge(self) -> dict[str, Any] | None:
        """Estimate α with all rows of the draw answered, for result.json and the report.

        Only then, because α was on the page all the time: whoever stops where it looks good gets
        an interval that is too narrow. The one on the page holds at any time.
        """
        told = self.progress()
        if self.where is None or told["done"] < told["total"]:
            raise InputError(
                "TB117",
                f"{told['done']:,} of {told['total']:,} rows have an answer; the audit is judged "
                "when all rows of the draw have one (? counts as one).",
            )
        if self.judged() is None:
            judge_audit(self.folder)
        return self.judged()

    def _cells(self, number: int) -> Sequence[tuple[str, str]]:
        if number not in self.rows:
            raise InputError("TB117", f"row {number:,} is not one of the rows to label here.")
        return self.rows[number]

    def _held_by_others(self, page: str) -> set[int]:
        now = time.monotonic()
        held = {key: value for key, value in self._held.items() if now - value[1] < AWAY}
        self._held = held
        return {row for key, (row, _) in held.items() if key != page}

    def _answers(self) -> dict[int, str]:
        state = self._read()
        return {**state.known, **state.answers}

    def _read(self) -> AuditState:
        """The state as it is on the disk, read again only if another process has added to it."""
        with self._mutex:
            if self._stamp is None or self._stamp != _stamp(self.folder):
                self._stamp = _stamp(self.folder)
                self._state = read_state(self.folder)
            return self._state

    def _remember(self, row: int, said: str) -> None:
        """Add what was just written, by the holder of the lock."""
        state = replace(self._state, is_new=True)
        if self.where is None:
            self._state = replace(state, known={**state.known, row: said})
        else:
            self._state = replace(state, answers={**state.answers, row: said})
        self._stamp = _stamp(self.folder)


def open_review(
    run: str | Path,
    *,
    n: int = 100,
    where: str = ANYWHERE,
    stratified: bool = False,
    candidates: bool = False,
    again: Request = Request(),
) -> Review:
    """Open the last draw of this kind that has rows without an answer, or draw n rows.

    With `candidates`, the rows of candidates.csv, best first; those that an audit has drawn are
    left to it, where nobody sees their rank.
    """
    folder, result = Path(run), read_result(run)
    image = result.data.image
    pictures = None if image is None else open_pictures(folder, image.root or "")
    question = question_of(result.data, read_asked(folder).rows.positives or ())
    if candidates:
        frame = read_stored(folder, CANDIDATES)
        if "row" not in frame or frame["row"].dtype.kind not in "iu":
            raise damaged(folder / CANDIDATES, "it has no numbers of rows")
        drawn = {row for one in read_state(folder).draws for row in one.row}
        frame = frame[~frame["row"].isin(drawn)]
        rows = _texts(frame["row"], frame.drop(columns="row"))
        return Review(folder, None, rows, result, pictures=pictures, question=question)
    audits = Audit(folder, again)
    state = audits.state
    alike = [one for one in state.draws if one.where == where]
    begun = next((one for one in reversed(alike) if state.open_rows(one)), None)
    if begun is None:
        frame = audits.draw(n, where=where, stratified=stratified)
    else:
        is_stratified = where == ANYWHERE and len(begun.sizes) > 1 and not begun.expected
        how: Any = {"where": where, "stratified": is_stratified, "seed": begun.seed}
        frame = audits.draw(len(begun.row), **how)
    # Around the columns of the table, a draw has the number, the answer and a note.
    rows = _texts(frame["row"], frame.iloc[:, 2:-1])
    known: Any = {"pictures": pictures, "question": question}
    return Review(folder, where, rows, result, read_scores(folder, result), **known)


def question_of(data: DataRead, positives: Sequence[str] = ()) -> str:
    """What "yes" means, in the words of whoever named the data of the run."""
    is_text = data.features == (TEXT,) and data.id == FILE
    one = "text" if is_text else "row" if data.image is None else "image"
    value, marked, _ = data.label_note.partition(" = positive (")
    if positives:
        named = ", ".join(positives)
        like = "the known ones" if named in NO_FILES else f'those in "{named}"'
        return f"Is this {one} positive, like {like}?"
    if data.label and marked:
        return f"Is this {one} positive: {data.label} = {value}?"
    return f"Is this {one} positive?"


def _texts(numbers: Any, frame: Any) -> dict[int, list[tuple[str, str]]]:
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


def _stamp(folder: Path) -> Any:
    try:
        found = os.stat(folder / ANSWERS)
    except FileNotFoundError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
