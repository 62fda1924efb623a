"""What a job leaves in its run folder, and what later verbs read back from it."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from topbin.core.atomic import (
    check_regular,
    lock,
    write_text,
)
from topbin.core.errors import InputError
from topbin.data.batch import Batch, add_columns
from topbin.data.findings import Finding
from topbin.data.table import read_table
from topbin.data.write import in_front, write_table
from topbin.job.candidates import Ranking, Relisted
from topbin.job.prepare import Prepared
from topbin.job.result import Result
from topbin.show.page import page
from topbin.show.rows import gallery_of, shown_rows
from topbin.store.answer import Answer
from topbin.store.models import load, reading, save
from topbin.store.runs import (
    CANDIDATES,
    MODEL,
    PROBABILITIES,
    REPORT,
    ROWS,
    WAIT,
    RunFolder,
    damaged,
    read_result,
    write_known,
    write_result,
)
from topbin.store.scorer import after_audit

NOT_OURS = f"{CANDIDATES} is not as the run wrote it: somebody edited it, or it is damaged."
CHANGED = Finding("changed-candidates", None, None, NOT_OURS)


def write_files(result: Result, run: RunFolder, *, keep_rows: bool = False) -> None:
    """Everything a run leaves; result.json last, so that its presence means "complete".

    `keep_rows` leaves the unlabeled rows too, if they are in memory, for runs whose settings may
    name no file to read again.
    """
    folder, answer = run.folder, result.answer
    known = result.known_positives
    frame = result.listed(why=bool(answer.importance) or known is not None)
    save(result.classifier, folder / MODEL, encoder=result.data.encoder, force=True)
    if known is not None:
        write_known(folder, known)
    write_table(folder / CANDIDATES, frame, force=True)
    listed = replace(answer.candidates, sum=sum_of(folder / CANDIDATES))
    answer = replace(answer, candidates=listed)
    if result.data.image is not None:
        result.data.image.keep(result.data.table, folder)
    if (keep_rows and result.data.rest is None) or result.data.image is not None:
        write_table(folder / ROWS, unlabeled_rows(result.data), force=True)
    if result.data.rest is None:  # of a sample, only the best rows are kept
        write_table(folder / PROBABILITIES, _all_rows(result), force=True)
    html = page(answer, result.classifier, shown_rows(frame), gallery_of(folder, answer, frame))
    write_text(folder / REPORT, html, force=True)
    write_result(folder, answer)


def _all_rows(result: Result) -> Any:
    """The probability of every unlabeled row, by models that never saw it, and its number."""
    data = result.data
    rows = data.table.take(data.unlabeled_rows)
    own = {} if data.id is None else {data.id: rows.frame[data.id]}
    likely = {"row": rows.places + 1, "probability": result.probabilities}
    return in_front(pd.DataFrame(own, index=range(rows.rows)), likely)


def probabilities_of(folder: Path, answer: Answer) -> Any:
    """All probabilities of a run with an audit that came later; None if it has no such file."""
    if not os.path.lexists(folder / PROBABILITIES):
        return None
    rows, model = read_stored(folder, PROBABILITIES), load(folder / MODEL)
    with reading(folder):
        model = after_audit(model, answer)
        ranking = Ranking(model.evidence_.scores[1], answer.novel is not None)
        return add_columns(rows, {"probability": ranking.likely(model.probability_map_)})


def unlabeled_rows(data: Prepared) -> Any:
    """All unlabeled rows as a frame: the number of each, then its columns without the label."""
    return numbered(data.table.take(data.unlabeled_rows), data.label)


def numbered(rows: Batch, label: str | None) -> Any:
    """These rows as a frame: the number of each, then its columns without the label."""
    frame = rows.readable.drop(columns=[label or ""], errors="ignore")
    return in_front(frame, {"row": rows.places + 1})


def write_report(folder: str | Path) -> Path:
    """Write report.html again from what the run left, with an audit that came later."""
    path = Path(folder)
    with lock(path, wait=WAIT):
        write_text(path / REPORT, report_of(path, read_result(path)), force=True)
    return path / REPORT


def report_of(folder: Path, answer: Answer, after: Relisted | None = None) -> str:
    """The page of a run; it says so if candidates.csv is not as the run left it.

    `after` are the candidates as they will be, if their file is about to change.
    """
    rows, known = read_stored(folder, CANDIDATES), answer.candidates.sum
    if after is not None and after.text is not None:
        with reading(folder):
            rows = rows.assign(probability=after.likely)
    elif known not in (None, sum_of(folder / CANDIDATES)):
        data = replace(answer.data, findings=(*answer.data.findings, CHANGED))
        answer = replace(answer, data=data)
    model = load(folder / MODEL)
    with reading(folder):
        model = after_audit(model, answer)
        return page(answer, model, shown_rows(rows), gallery_of(folder, answer, rows))


def read_stored(folder: Path, name: str) -> Any:
    """The rows of a table that a run left, which must be a file inside its folder."""
    try:
        check_regular(folder / name)
    except FileNotFoundError:
        pass  # the reader of tables says so
    except OSError as error:
        raise InputError("TB114", f'"{folder / name}" cannot be read: {error.strerror}.') from error
    return read_table(folder / name, dates="iso", decimal="text").frame


def read_numbered(folder: Path, name: str) -> Any:
    """The rows of a table of a run with their numbers, in a column "row"; TB114 if it has none."""
    frame = read_stored(folder, name)
    if "row" not in frame or frame["row"].dtype.kind not in "iu":
        raise damaged(folder / name, "it has no numbers of rows")
    return frame


def sum_of(path: Path) -> str:
    """The sum that shows whether a file is as it was written."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
