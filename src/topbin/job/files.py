"""What a job leaves in its run folder, and what later verbs read there and write again."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.atomic import check_regular, lock, read_file, write_text
from topbin.core.checks import Scores, check_count
from topbin.core.errors import InputError, option
from topbin.core.hashing import sha256_of
from topbin.core.options import Request
from topbin.data.batch import Batch, add_columns
from topbin.data.findings import Finding
from topbin.data.table import read_table
from topbin.data.write import in_front, write_table
from topbin.evaluate.audit.scored import Scored
from topbin.job.candidates import RankedRows, highest, likely, order, ranked
from topbin.job.prepare import Prepared, prepare
from topbin.job.result import Result
from topbin.learn.explain import is_explanation
from topbin.show.page import page
from topbin.show.rows import gallery_of, shown_rows
from topbin.store.answer import Answer, Candidates
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
from topbin.store.sources import changed, read_again

NOT_OURS = f"{CANDIDATES} is not as the run wrote it: somebody edited it, or it is damaged."
CHANGED = Finding("changed-candidates", None, None, NOT_OURS)
OURS = ("rank", "row", "probability")  # the first columns of candidates.csv
PLACE = OURS.index("probability")
LINE = re.compile(r'(?:[^"\n]++|"[^"]*+")*+\n')  # of a csv file; a quoted cell may have line ends


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
    ids = {} if data.id is None else {data.id: rows.frame[data.id]}
    ours = {"row": rows.places + 1, "probability": result.probabilities}
    return in_front(pd.DataFrame(ids, index=range(rows.rows)), ours)


def unlabeled_rows(data: Prepared) -> Any:
    """All unlabeled rows as a frame: the number of each, then its columns without the label."""
    return numbered(data.table.take(data.unlabeled_rows), data.label)


def numbered(rows: Batch, label: str | None) -> Any:
    """These rows as a frame: the number of each, then its columns without the label."""
    frame = rows.readable.drop(columns=[label or ""], errors="ignore")
    return in_front(frame, {"row": rows.places + 1})


def sum_of(path: Path) -> str:
    """The sum that shows whether a file is as it was written."""
    return sha256_of(path.read_bytes())


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


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A finished run that a verb reads again: what it found, its model, its scores, its rows.

    The model is loaded once, so a value serves one call only: between two calls another process
    may write the folder. `sources` are what the user names again, to be read.
    """

    folder: Path
    answer: Answer
    sources: Request = Request()

    @classmethod
    def open(cls, folder: str | Path, sources: Request = Request()) -> "StoredRun":
        """The run in a folder; TB114 if it is not finished."""
        return cls(Path(folder), read_result(folder), sources)

    @property
    def keeps_rows(self) -> bool:
        """Whether the unlabeled rows are in the folder itself."""
        return os.path.lexists(self.folder / ROWS)

    @cached_property
    def fitted(self) -> Any:
        """The model as it was fitted. Audits read it: rows are drawn by its probabilities."""
        return load(self.folder / MODEL)

    def model(self, answer: Answer | None = None) -> Any:
        """The model after the audits of the run, or of another answer."""
        return after_audit(self.fitted, self.answer if answer is None else answer)

    @cached_property
    def scores(self) -> Scored | None:
        """The scores and probabilities of all rows; None for a run on a sample."""
        if self.answer.data.sample is not None:
            return None
        with reading(self.folder / MODEL):
            evidence, probability_map = self.fitted.evidence_, self.fitted.probability_map_
            scores_p, scores_u = evidence.scores
            f_p, f_u = probability_map(scores_p), probability_map(scores_u)
            return Scored(scores_p, scores_u, f_p, f_u, evidence.groups_p, evidence.groups_u)

    def unlabeled(self) -> Any:
        """All unlabeled rows with their numbers."""
        if self.keeps_rows:
            if self.sources.rows.main is not None:
                raise InputError(
                    "TB008",
                    f'"{self.folder}" keeps its rows, so no source is read again. To read '
                    f"answers, name their file with {option('labels')}.",
                )
            return read_numbered(self.folder, ROWS)
        if self.answer.data.image is not None:
            raise damaged(self.folder / ROWS, "the rows of a run on images are not there")
        return unlabeled_rows(self.prepared())

    def prepared(self) -> Prepared:
        """The rows of the run, read again from what it was made from."""
        rows = prepare(read_again(self.folder, self.answer.data, self.sources))
        self.check_unchanged(rows.hash)
        return rows

    def check_unchanged(self, hash_now: str) -> None:
        """Refuse rows that are not those of the run."""
        if hash_now != self.answer.data.hash:
            raise changed(self.answer.data.source)

    def other_rows(self) -> InputError:
        """The refusal of a model that does not fit the rows of the run."""
        why = "its scores are of other rows than those of the run"
        return damaged(self.folder / MODEL, why)

    def refuse_sample(self, why: str) -> None:
        """TB117 for what a run on a sample cannot do; `why` says what follows, and the way out."""
        if self.answer.data.sample is not None:
            raise InputError("TB117", f"the run was fitted on a sample, {why}")

    def refuse_classes(self, what: str) -> None:
        """TB126 for something that a run with known classes does not have."""
        if self.answer.data.classes is not None:
            raise InputError(
                "TB126",
                f"{what} is about positives, and this run tells known classes apart. Audit random "
                "rows (topbin audit RUN --n 100), and say of each whether it is of a known class; "
                "or label some rows of candidates.csv as a class of their own, and fit again.",
            )


def write_report(folder: str | Path) -> Path:
    """Write report.html again from what the run left, with an audit that came later."""
    path = Path(folder)
    read_result(path)  # before a folder that is no run gets a lock
    with lock(path, wait=WAIT):
        run = StoredRun.open(path)
        write_text(path / REPORT, report_of(run, run.answer), force=True)
    return path / REPORT


@dataclass(frozen=True, slots=True, eq=False)
class Relisted:
    """The candidates after an audit: what an answer says of them, how likely each is, their file.

    Without a `text` the file stays as it is.
    """

    listed: Candidates
    probability: Any = None
    text: str | None = None


def report_of(run: StoredRun, answer: Answer, after: Relisted | None = None) -> str:
    """The page of a run; it says so if candidates.csv is not as the run left it.

    `after` are the candidates as they will be, if their file is about to change.
    """
    folder, known = run.folder, answer.candidates.sum
    rows = read_stored(folder, CANDIDATES)
    if after is not None and after.text is not None:
        with reading(folder):
            rows = rows.assign(probability=after.probability)
    elif known not in (None, sum_of(folder / CANDIDATES)):
        data = replace(answer.data, findings=(*answer.data.findings, CHANGED))
        answer = replace(answer, data=data)
    with reading(folder):
        pictures = gallery_of(folder, answer, rows)
        return page(answer, run.model(answer), shown_rows(rows), pictures)


def probabilities_of(run: StoredRun, answer: Answer) -> Any:
    """All probabilities of a run with an audit that came later; None if it has no such file."""
    if not os.path.lexists(run.folder / PROBABILITIES):
        return None
    rows = read_stored(run.folder, PROBABILITIES)
    with reading(run.folder):
        model, novel = run.model(answer), answer.novel is not None
        probability = likely(model.probability_map_, model.evidence_.scores[1], novel=novel)
        return add_columns(rows, {"probability": probability})


def relisted(run: StoredRun, after: Answer) -> Relisted:
    """The candidates of a run, once it was audited and its answer is the one `after` that.

    Their order stays, because the probability grows with the score; only how likely they are
    changes. A file that somebody edited is left alone.
    """
    before, listed = run.answer, run.answer.candidates
    with reading(run.folder):
        evidence = run.fitted.evidence_
        rows = _rows_as_written(run.folder / CANDIDATES, listed.sum)
        if rows is None or not evidence.has_scores:
            return Relisted(listed)
        now, novel = run.model(after), before.novel is not None
        scores = _scores_of(rows[1:], run)
        probability = likely(now.probability_map_, scores, novel=novel).round(4)
        for row, value in zip(rows[1:], probability.tolist(), strict=True):
            row[PLACE] = str(value)
        text = "".join(",".join(row) + "\n" for row in rows)
        if listed.precision is not None and 0 < listed.rows <= scores.size:
            best = RankedRows(scores, evidence, now.estimate_, before.data.n_u, novel)
            new = best.top(listed.rows, listed.why)
            listed = replace(new, threshold=listed.threshold)
    listed = replace(listed, sum=sha256_of(text))
    return Relisted(listed, probability, text)


def _rows_as_written(path: Path, known: str | None) -> list[list[str]] | None:
    """The lines of candidates.csv, if it is as we wrote it: our own cells, then all others as one.

    Other cells are not read, so that they stay as they are.
    """
    try:
        content = read_file(path)
    except OSError:
        return None  # the report says why
    if sha256_of(content) != known:
        return None
    text = content.decode()
    lines = LINE.findall(text)
    if not lines or "".join(lines) != text:
        return None
    rows = [line[:-1].split(",", len(OURS)) for line in lines]
    return rows if [name.strip('"') for name in rows[0][: len(OURS)]] == [*OURS] else None


def _scores_of(rows: Sequence[Sequence[str]], run: StoredRun) -> Scores:
    """The scores of the candidates; of rows outside a sample those that give their probability.

    Only the scores of the sample are kept.
    """
    if run.answer.data.sample is None:
        scores: Scores = run.fitted.evidence_.scores[1]
        return scores[order(scores, len(rows), novel=run.answer.novel is not None)]
    probability_map = run.model().probability_map_
    known, knots = [float(row[PLACE]) for row in rows], probability_map.knots
    return np.asarray(np.interp(known, probability_map(knots), knots))


def list_rows(run: str | Path, n: int, *, sources: Request = Request()) -> Candidates:
    """Write candidates.csv again with the n best unlabeled rows; `sources` as in `StoredRun`.

    Rows that are new in the list have no reasons: the models that held them out are not kept.
    """
    folder, n = Path(run), check_count(n, "n")
    with lock(folder, wait=WAIT):
        stored = StoredRun.open(folder, sources)
        stored.refuse_sample(
            "and only its best rows were kept. To list others, score the files: "
            "topbin score RUN FILES -o scored.parquet"
        )
        rows, before = stored.unlabeled(), read_numbered(folder, CANDIDATES)
        data, novel = stored.answer.data, stored.answer.novel is not None
        with reading(folder):
            model = stored.model()
            evidence, scores = model.evidence_, model.evidence_.scores[1]
            best = order(scores, n, novel=novel)
            ranking = RankedRows(scores[best], evidence, model.estimate_, data.n_u, novel)
            listed = ranking.top(best.size, highest(best.size))
            probability = likely(model.probability_map_, scores[best], novel=novel).round(4)
            frame = rows.iloc[best].reset_index(drop=True)
            ours = [name for name in before if is_explanation(name) and name not in frame]
            explained = before.set_index("row")[ours].reindex(frame["row"])
        frame = ranked(frame, frame.pop("row").to_numpy(), probability, data.id)
        frame = add_columns(frame, {name: explained[name].to_numpy() for name in ours})
        write_table(folder / CANDIDATES, frame, force=True)
        listed = replace(listed, sum=sum_of(folder / CANDIDATES))
        write_result(folder, replace(stored.answer, candidates=listed))
    return listed
