"""What people drew and answered in the audits of a run: two files of the run folder.

`audit.json` holds every draw and the question, replaced as a whole; `answers.jsonl` holds one line
per answer, appended under the folder's lock and flushed before the call returns, so that a killed
process loses nothing and two people at once lose nothing either. The last answer to a row counts.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pandas as pd
from msgspec import Meta

from topbin.core.atomic import lock, write_text
from topbin.core.checks import stored_as
from topbin.core.errors import InputError, option
from topbin.core.estimate import Share
from topbin.core.formatting import counted
from topbin.data.table import read_table
from topbin.data.write import ANSWER, read_export
from topbin.evaluate.audit import BLANK, NEGATIVE, POSITIVE, AuditSample, TopBin, read_answers
from topbin.store.answer import plain
from topbin.store.runs import (
    WAIT,
    append_lines,
    cut_torn_line,
    read_events,
    read_result,
    read_text,
    to_json,
)

DRAWN, ANSWERS = "audit.json", "answers.jsonl"
MOST_ROW = 2**63 - 1
LONGEST = 300  # letters of a question
NO_ANSWER = "no audited row has an answer yet; label some rows first."
RowPlace = Annotated[int, Meta(ge=0, le=MOST_ROW)]
RowPlaces = Annotated[tuple[RowPlace, ...], Meta(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """A draw as audit.json keeps it, and `AuditSample` describes it.

    `rows` are positions among the unlabeled rows, and `row` their numbers in the table, in the
    order in which they are to be labeled. `data` is the hash of the rows that it was drawn from,
    `n` how many were asked for, `where` among which rows, and `bin` the rows above a cut that was
    fixed before anybody labeled one.
    """

    rows: RowPlaces
    stratum: RowPlaces
    sizes: RowPlaces
    seed: int
    row: RowPlaces
    data: str
    n: Annotated[int, Meta(ge=1)] | None = None
    where: Literal["anywhere", "top", "recall"] = "anywhere"
    bin: TopBin | None = None
    cuts: tuple[Share, ...] = ()
    expected: tuple[Annotated[float, Meta(ge=0, le=2.0**63)], ...] = ()

    def __post_init__(self) -> None:
        lengths = {len(self.rows), len(self.stratum), len(self.row)}
        fits = len(lengths) == 1 and max(self.stratum) < len(self.sizes)
        if self.expected or self.cuts:
            is_in_order = all(low < high for low, high in pairwise(self.cuts))
            by_cut = len(self.expected) == len(self.cuts) + 1 == len(self.sizes)
            fits = fits and is_in_order and by_cut and sum(self.expected) > 0
        if not fits:
            raise ValueError("the lists of a draw do not fit each other")

    @classmethod
    def of(cls, sample: AuditSample, **about: Any) -> "Draw":
        """A sample as it is kept, with the other fields."""
        rows, stratum = tuple(sample.rows.tolist()), tuple(sample.stratum.tolist())
        return cls(
            rows=rows, stratum=stratum, sizes=sample.sizes, seed=sample.seed, cuts=sample.cuts,
            expected=sample.expected, **about,
        )  # fmt: skip

    @property
    def by_strata(self) -> bool:
        """Whether equally many rows of each stratum were drawn."""
        return len(self.sizes) > 1 and not self.expected

    @property
    def sample(self) -> AuditSample:
        """The sample that was drawn."""
        rows, stratum = np.asarray(self.rows, np.int64), np.asarray(self.stratum, np.int64)
        return AuditSample(rows, stratum, self.sizes, self.seed, self.cuts, self.expected)


@dataclass(frozen=True, slots=True)
class AuditFile:
    """What audit.json holds: every draw, oldest first, and what people are asked about a row."""

    draws: tuple[Draw, ...] = ()
    question: Annotated[str, Meta(max_length=LONGEST)] = ""  # empty: in the words of the data


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLine:
    """A line of answers.jsonl: an answer to a row, or what a look at the result showed.

    An answer that `corrects` replaces another one, on purpose.
    """

    data: str
    row: RowPlace | None = None
    answer: Literal["positive", "negative", "unsure", "blank"] | None = None
    corrects: bool = False
    interval: tuple[float, float] | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class AuditState:
    """Every draw of a run, oldest first, every answer by row number, and every look at the result.

    `undrawn_answers` are answers to rows that were not drawn, which only a refit reads.
    """

    draws: tuple[Draw, ...]
    answers: Mapping[int, str]
    undrawn_answers: Mapping[int, str]
    looks: tuple[AnswerLine, ...]
    is_new: bool = False  # whether an answer came after the last look

    @property
    def drawn(self) -> set[int]:
        """The numbers of all rows that were drawn."""
        return {row for draw in self.draws for row in draw.row}

    @property
    def all_answers(self) -> dict[int, str]:
        """Every answer by row number, whether the row was drawn or not."""
        return {**self.undrawn_answers, **self.answers}

    def answers_of(self, draw: Draw) -> list[str | None]:
        """The answers to the rows of a draw in its order; None where a person is not there yet.

        Rows after the last answered one count as not drawn: the order is random. Rows that
        were passed over on the way are blank.
        """
        given = [self.answers.get(row) for row in draw.row]
        end = max((place for place, said in enumerate(given) if said is not None), default=-1)
        return [said or BLANK for said in given[: end + 1]] + [None] * (len(given) - end - 1)

    def is_begun(self, draw: Draw) -> bool:
        """Whether any row of the draw has an answer."""
        return any(row in self.answers for row in draw.row)

    def open_rows(self, draw: Draw) -> list[int]:
        """The numbers of the rows of a draw that have no answer yet, in the order to label them."""
        return [row for row in draw.row if self.answers.get(row, BLANK) == BLANK]


def read_state(run: str | Path) -> AuditState:
    """Everything drawn and answered so far; needs no lock."""
    folder = Path(run)
    data = read_result(folder).data.hash
    draws = tuple(draw for draw in read_drawn(folder).draws if draw.data == data)
    answers: dict[int, str] = {}
    undrawn: dict[int, str] = {}
    looks: list[AnswerLine] = []
    is_new, drawn = False, {row for draw in draws for row in draw.row}
    for number, event in enumerate(read_events(folder / ANSWERS), 1):
        try:
            line = stored_as(event, AnswerLine)
        except ValueError as error:
            raise InputError(
                "TB114",
                f'line {number:,} of "{folder / ANSWERS}" is not an answer ({error}). Remove the '
                "line, or copy the file again.",
            ) from error
        if line.data != data:
            continue
        if line.answer is not None and line.row is not None:
            (answers if line.row in drawn else undrawn)[line.row] = line.answer
        if line.corrects:
            looks = [replace(look, interval=(0.0, 1.0)) for look in looks]  # of other answers
        if line.interval is not None:
            looks.append(line)
        is_new = line.interval is None
    return AuditState(draws, answers, undrawn, tuple(looks), is_new)


def record_answers(
    run: str | Path, answers: Mapping[int, Any], *, force: bool = False, model_only: bool = False
) -> int:
    """`Audit.record` in a run folder; `model_only`: also of rows that were not drawn."""
    new = understood(answers)
    with lock(run, wait=WAIT):
        return add_answers(Path(run), new, force=force, model_only=model_only)


def understood(answers: Mapping[Any, Any]) -> dict[int, str]:
    """Answers by row number, or an error if one of them, or a number, is not understood."""
    numbers = (row for row in answers if isinstance(row, int | np.integer))
    strange = answers.keys() - {row for row in numbers if 0 < row <= MOST_ROW}
    if strange:
        raise InputError(
            "TB117",
            f"answers are given by the number of a row, as topbin audit wrote it; got "
            f"{strange.pop()!r:.80}.",
        )
    return dict(zip(map(int, answers), read_answers(answers.values()), strict=True))


def add_answers(
    folder: Path, new: Mapping[int, str], *, force: bool = False, model_only: bool = False
) -> int:
    """Save answers that were read, for a process that holds the lock; return how many are new."""
    state, data = read_state(folder), read_result(folder).data.hash
    if not model_only:
        _check_drawn(folder, new, state)
    before = state.all_answers
    differ = [row for row, said in new.items() if _contradicts(before.get(row), said)]
    if differ and not force:
        row = differ[0]
        raise InputError(
            "TB119",
            f"{counted(len(differ))} {was(differ)} answered differently before: row {row:,} was "
            f"{before[row]} and is {new[row]} now. Nothing was saved. If the new answers are "
            f"right, add {option('force', True)}.",
        )
    return write_answers(folder, data, before, new)


def write_answers(
    folder: Path, data: str, before: Mapping[int, str], new: Mapping[int, str]
) -> int:
    """Append what is new, for a process that holds the lock and knows the answers so far."""
    news = {row: said for row, said in new.items() if _is_news(before.get(row), said)}
    lines: list[Mapping[str, object]] = []
    for row, said in news.items():
        corrects = {"corrects": True} if _contradicts(before.get(row), said) else {}
        lines.append({"data": data, "row": row, "answer": said, **corrects})
    _append(folder, *lines)
    return len(news)


def add_look(folder: Path, data: str, kind: str, interval: Iterable[float]) -> None:
    """Remember that people saw this interval; the caller holds the lock."""
    _append(folder, {"data": data, "kind": kind, "interval": list(interval)})


def _append(folder: Path, *lines: Mapping[str, Any]) -> None:
    cut_torn_line(folder / ANSWERS)  # of a process that was killed while it wrote
    if lines:
        append_lines(folder / ANSWERS, *lines)


def read_drawn(folder: Path) -> AuditFile:
    """Every draw of the run, and the question."""
    path = folder / DRAWN
    if not os.path.lexists(path):
        return AuditFile()
    try:
        content = msgspec.json.decode(read_text(folder, DRAWN), type=dict[str, Any])
        for draw in (*content["draws"],):
            stored_as(draw, Draw)  # which refuses unknown fields
        return stored_as(content, AuditFile)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            "TB114",
            f'"{path}" does not say which rows were drawn: it is damaged, or of an older topbin '
            f"({error}). Remove it and draw again.",
        ) from error


def write_drawn(folder: Path, drawn: AuditFile) -> None:
    """Replace the draws of a run and its question; the caller holds the lock."""
    write_text(folder / DRAWN, to_json(plain(drawn)), force=True)


def file_versions(folder: Path, *names: str) -> tuple[tuple[int, int, int], ...]:
    """What changes whenever one of these files of a folder does; nothing for those not there,
    nor for a link in a circle, which whoever reads it refuses.
    """
    versions = []
    for name in names:
        with suppress(OSError):
            about = os.stat(folder / name)
            versions.append((about.st_ino, about.st_size, about.st_mtime_ns))
    return tuple(versions)


def ask_in_words(folder: Path, question: str) -> None:
    """Keep what people are to be asked about a row from now on."""
    if not question.strip() or len(question) > LONGEST:
        raise InputError(
            "TB008",
            f"{option('question')} must be 1 to {LONGEST} letters, as in "
            f'"Is this claim fraudulent?"; got {len(question):,}.',
        )
    with lock(folder, wait=WAIT):
        write_drawn(folder, replace(read_drawn(folder), question=question.strip()))


def check_any_drawn(folder: Path, state: AuditState) -> None:
    """TB114 if no audit was drawn."""
    if not state.draws:
        raise InputError(
            "TB114", f'"{folder}" has no audit; draw one first: topbin audit RUN --n 100'
        )


def _check_drawn(folder: Path, new: Mapping[int, str], state: AuditState) -> None:
    check_any_drawn(folder, state)
    drawn = state.drawn
    foreign = [row for row in new if row not in drawn]
    if foreign:
        raise InputError(
            "TB117",
            f"{counted(len(foreign), 'answered row')} {was(foreign)} not drawn for an audit of "
            f"this run, row {foreign[0]:,} for example. Answer only rows that topbin audit drew; "
            f"with {option('refit', True)}, other rows can teach the model.",
        )


def was(rows: Sequence[int]) -> str:
    """The verb of a sentence about these rows."""
    return "was" if len(rows) == 1 else "were"


def _contradicts(before: str | None, said: str) -> bool:
    return {before, said} == {POSITIVE, NEGATIVE}


def _is_news(before: str | None, said: str) -> bool:
    """A blank says nothing; "unsure" and answers replace each other."""
    return said not in (before, BLANK)


def read_returned(answers: str | Path, state: AuditState) -> dict[int, str]:
    """The answers of a file that was drawn for a run, by row number; TB117 if it is another one."""
    said = read_export(answers)
    if said is None:
        frame = _read_filled(answers)
        draw = _draw_of(frame["row"].tolist(), state.draws, answers)
        said = frame.set_index("row")[ANSWER].loc[list(draw.row)].to_dict()
    return dict(zip(said, read_answers(said.values()), strict=True))


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


def _draw_of(rows: Sequence[Any], draws: Sequence[Draw], answers: str | Path) -> Draw:
    """The draw that these rows are, in any order; TB117 says how they differ from the nearest."""
    seen = Counter(rows)
    nearest = max(draws, key=lambda draw: (Counter(draw.row) & seen).total())
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
