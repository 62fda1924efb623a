"""What people drew and answered in the audits of a run: two files of the run folder.

`audit.json` holds every draw, replaced as a whole; `answers.jsonl` holds one line per answer,
appended under the folder's lock and flushed before the call returns, so that a killed process
loses nothing and two people at once lose nothing either. The last answer to a row counts.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from topbin.core.atomic import lock, write_text
from topbin.core.errors import InputError, option
from topbin.evaluate.audit import BLANK, NEGATIVE, POSITIVE, read_answers
from topbin.store.plain import to_json
from topbin.store.runs import append_lines, cut_torn_line, read_events, read_result, read_text
from topbin.store.schema import misfit, read_json

DRAWN, ANSWERS = "audit.json", "answers.jsonl"
WAIT = 60.0  # seconds for another audit of the same run to end
MODEL_ONLY = "candidates"  # answers to rows that nobody drew: they train, and never estimate


@dataclass(frozen=True, slots=True, eq=False)
class AuditState:
    """Every draw of a run, oldest first, every answer by row number, and every look at the result.

    `known` are answers to rows that were not drawn, which only a refit reads. A draw is as in
    `schemas/audit-1.json`; its rows are to be labeled in the order of `row`.
    """

    draws: tuple[Mapping[str, Any], ...]
    answers: Mapping[int, str]
    known: Mapping[int, str]
    looks: tuple[Mapping[str, Any], ...]
    is_new: bool = False  # whether an answer came after the last look

    def answers_of(self, draw: Mapping[str, Any]) -> list[str | None]:
        """The answers to the rows of a draw in its order; None where a person is not there yet.

        Rows after the last answered one count as not drawn: the order is random. Rows that
        were passed over on the way are blank.
        """
        given = [self.answers.get(row) for row in draw["row"]]
        end = max((place for place, one in enumerate(given) if one is not None), default=-1)
        return [one or BLANK for one in given[: end + 1]] + [None] * (len(given) - end - 1)

    def is_begun(self, draw: Mapping[str, Any]) -> bool:
        """Whether any row of the draw has an answer."""
        return any(row in self.answers for row in draw["row"])

    def open_rows(self, draw: Mapping[str, Any]) -> list[int]:
        """The numbers of the rows of a draw that have no answer yet, in the order to label them."""
        return [row for row in draw["row"] if self.answers.get(row, BLANK) == BLANK]


def read_state(run: str | Path) -> AuditState:
    """Everything drawn and answered so far; needs no lock."""
    folder = Path(run)
    data = read_result(folder)["data"]["hash"]
    draws = tuple(one for one in read_draws(folder) if one["data"] == data)
    answers: dict[int, str] = {}
    known: dict[int, str] = {}
    looks: list[Mapping[str, Any]] = []
    is_new, drawn = False, {row for one in draws for row in one["row"]}
    for number, line in enumerate(read_events(folder / ANSWERS), 1):
        if (wrong := misfit(line, "answer-1")) is not None:
            raise InputError(
                "TB114",
                f'line {number:,} of "{folder / ANSWERS}" is not an answer ({wrong}). Remove the '
                "line, or copy the file again.",
            )
        if line["data"] != data:
            continue
        if "answer" in line:
            (answers if line["row"] in drawn else known)[line["row"]] = line["answer"]
        if line.get("corrects"):
            looks = [{**look, "interval": [0, 1]} for look in looks]  # they saw other answers
        if "interval" in line:
            looks.append(line)
        is_new = "interval" not in line
    return AuditState(draws, answers, known, tuple(looks), is_new)


def record_answers(
    run: str | Path, answers: Mapping[int, Any], *, force: bool = False, model_only: bool = False
) -> int:
    """Save answers by row number, all or none; return how many are new. They are on the disk then.

    An answer is yes, no, ? or empty, in any of the words of `read_answers`. A row that was not
    drawn is TB117, unless it is to serve the model only; a row that was answered differently
    before is TB119, unless `force` says that the new answer is right.
    """
    folder = Path(run)
    given = dict(zip(map(int, answers), read_answers(answers.values()), strict=True))
    with lock(folder, wait=WAIT):
        return add_answers(folder, given, force=force, model_only=model_only)


def add_answers(
    folder: Path, given: Mapping[int, str], *, force: bool = False, model_only: bool = False
) -> int:
    """The same for answers that were read, by a process that holds the lock."""
    state, data = read_state(folder), read_result(folder)["data"]["hash"]
    if not model_only:
        _check_drawn(folder, given, state)
    before = {**state.known, **state.answers}
    differ = [row for row, said in given.items() if _contradicts(before.get(row), said)]
    if differ and not force:
        row = differ[0]
        raise InputError(
            "TB119",
            f"{len(differ):,} rows were answered differently before: row {row:,} was "
            f"{before[row]} and is {given[row]} now. Nothing was saved. If the new answers are "
            f"right, add {option('force', True)}.",
        )
    return write_answers(folder, data, before, given)


def write_answers(
    folder: Path, data: str, before: Mapping[int, str], given: Mapping[int, str]
) -> int:
    """Append what is new, for a process that holds the lock and knows the answers so far."""
    new = {row: said for row, said in given.items() if _is_news(before.get(row), said)}
    lines: list[dict[str, Any]] = []
    for row, said in new.items():
        lines.append({"data": data, "row": row, "answer": said})
        if _contradicts(before.get(row), said):
            lines[-1]["corrects"] = True
    _append(folder, *lines)
    return len(new)


def add_look(folder: Path, data: str, kind: str, interval: Iterable[float]) -> None:
    """Remember that people saw this interval; the caller holds the lock."""
    _append(folder, {"data": data, "kind": kind, "interval": list(interval)})


def _append(folder: Path, *lines: Mapping[str, Any]) -> None:
    cut_torn_line(folder / ANSWERS)  # of a process that was killed while it wrote
    if lines:
        append_lines(folder / ANSWERS, *lines)


def read_draws(folder: Path) -> list[dict[str, Any]]:
    """Every draw of the run, oldest first."""
    path = folder / DRAWN
    if not os.path.lexists(path):
        return []
    try:
        stored = read_json(read_text(folder, DRAWN))
        wrong = misfit(stored, "audit-1") or next(filter(None, map(_misfit, stored["draws"])), None)
    except ValueError as error:  # a coded one too
        wrong = str(error)
    if wrong is not None:
        raise InputError(
            "TB114",
            f'"{path}" does not say which rows were drawn: it is damaged, or of an older topbin '
            f"({wrong}). Remove it and draw again.",
        )
    return list(stored["draws"])


def write_draws(folder: Path, draws: Iterable[Mapping[str, Any]]) -> None:
    """Replace the draws of a run; the caller holds the lock."""
    write_text(folder / DRAWN, to_json({"draws": list(draws)}), force=True)


def _misfit(drawn: Mapping[str, Any]) -> str | None:
    """Why the lists of a draw do not fit each other, or None."""
    lengths = {len(drawn[name]) for name in ("rows", "stratum", "row")}
    inside = max(drawn["stratum"]) < len(drawn["sizes"])
    cuts, expected = drawn.get("cuts", []), drawn.get("expected", [])
    weighted = not expected and not cuts
    if expected:
        is_in_order = all(low < high for low, high in pairwise(cuts))
        weighted = len(expected) == len(cuts) + 1 == len(drawn["sizes"]) and is_in_order
        weighted = weighted and sum(expected) > 0
    fits = len(lengths) == 1 and inside and weighted
    return None if fits else "the lists of a draw do not fit each other"


def _check_drawn(folder: Path, given: Mapping[int, str], state: AuditState) -> None:
    drawn = {row for one in state.draws for row in one["row"]}
    if not drawn:
        raise InputError(
            "TB114", f'"{folder}" has no audit; draw one first: topbin audit RUN --n 100'
        )
    foreign = [row for row in given if row not in drawn]
    if foreign:
        raise InputError(
            "TB117",
            f"{len(foreign):,} answered rows were not drawn for an audit of this run, row "
            f"{foreign[0]:,} for example. Answer only rows that topbin audit drew; with --refit, "
            "other rows can teach the model.",
        )


def _contradicts(before: str | None, said: str) -> bool:
    return {before, said} == {POSITIVE, NEGATIVE}


def _is_news(before: str | None, said: str) -> bool:
    """A blank never replaces an answer; "unsure" and answers replace each other."""
    return said != before and not (said == BLANK and before is not None)
