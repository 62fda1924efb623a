"""What a job leaves in its run folder, and what later verbs read back from it."""

import csv
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.atomic import write_text
from topbin.core.errors import InputError
from topbin.core.figures import percent
from topbin.data.batch import Batch
from topbin.data.images.rows import Images
from topbin.data.table import read_table
from topbin.data.write import write_table
from topbin.evaluate.candidates import list_precision
from topbin.job.images import keep_images
from topbin.job.prepare import Prepared
from topbin.job.result import Result, in_front
from topbin.show.page import page
from topbin.show.pictures import Picture, open_pictures
from topbin.store.folder import check_regular
from topbin.store.models import load, reading, save
from topbin.store.runs import ROWS, RunFolder, read_result
from topbin.store.scorer import MODEL as MODEL
from topbin.store.scorer import after_audit

CANDIDATES, REPORT = "candidates.csv", "report.html"
SHOWN = 25
LONG, EXCERPT = 60, 140  # letters of a text, and of the part that the report shows
FOR = re.compile(r"= … (.+) … \(\+")  # a reason that speaks for the row
TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s+[\w-]+\s*=[^<>]*)?\s*/?>")  # <br />, <a href="…">
CHANGED = {
    "code": "changed-candidates",
    "sentence": f"{CANDIDATES} is not as the run wrote it: somebody edited it, or it is damaged.",
}


def write_files(result: Result, run: RunFolder, *, keep_rows: bool = False) -> None:
    """Everything a run leaves; result.json last, so that its presence means "complete".

    `keep_rows` leaves the unlabeled rows too, if they are in memory, for runs whose settings may
    name no file to read again.
    """
    folder, content = run.folder, result.to_dict()
    frame = result.candidates(why="importance" in content)
    save(result.classifier, folder / MODEL, encoder=result.data.encoder, force=True)
    write_table(folder / CANDIDATES, frame, force=True)
    content["candidates"]["sum"] = sum_of(folder / CANDIDATES)
    keep_images(result.data, folder)
    if (keep_rows and result.data.rest is None) or isinstance(result.data.X, Images):
        write_table(folder / ROWS, unlabeled_rows(result.data), force=True)
    html = page(content, result.classifier, _shown(frame), pictures_of(folder, content, frame))
    write_text(folder / REPORT, html, force=True)
    run.write_result(content)


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
    write_text(path / REPORT, report_of(path, read_result(path)), force=True)
    return path / REPORT


@dataclass(frozen=True, slots=True, eq=False)
class Relisted:
    """The candidates after an audit: what result.json says of them, how likely each is, their file.

    Without a `text` the file stays as it is.
    """

    content: dict[str, Any]
    likely: Any = None
    text: str | None = None


def report_of(folder: Path, result: dict[str, Any], listed: Relisted | None = None) -> str:
    """The page of a run; it says so if candidates.csv is not as the run left it.

    `listed` are the candidates as they will be, if their file is about to change.
    """
    rows, known = read_stored(folder, CANDIDATES), result["candidates"].get("sum")
    if listed is not None and listed.text is not None:
        rows = rows.assign(probability=listed.likely)
    elif known not in (None, sum_of(folder / CANDIDATES)):
        findings = [*result["data"]["findings"], CHANGED]
        result = {**result, "data": {**result["data"], "findings": findings}}
    model = load(folder / MODEL)
    with reading(folder):
        model = after_audit(model, result)
        return page(result, model, _shown(rows), pictures_of(folder, result, rows))


def relisted(folder: Path, result: Mapping[str, Any]) -> Relisted:
    """The candidates of a run after an audit.

    Their order stays, because the probability grows with the score; only how likely they are
    changes. A file that somebody edited is left alone.
    """
    listed, path = dict(result["candidates"]), folder / CANDIDATES
    known = load(folder / MODEL)
    if listed.get("sum") != sum_of(path) or not known.evidence_.has_scores:
        return Relisted(listed)
    with reading(folder):
        changed, rows = after_audit(known, result), _cells(path)
        place = rows[0].index("probability")
        was = known.probability_map_
        scores = np.interp([float(row[place]) for row in rows[1:]], was(was.knots), was.knots)
        best = list_precision(known.evidence_, changed.estimate_, scores)
        likely = changed.probability_map_(scores).round(4)
        for row, value in zip(rows[1:], likely.tolist(), strict=True):
            row[place] = str(value)
    last, positives = listed["rows"] - 1, changed.estimate_.alpha * result["data"]["n_u"]
    if listed["precision"] is not None and 0 <= last < best.value.size:
        ends = (float(end[last]) for end in (best.value, best.low, best.high))
        listed |= dict(zip(("precision", "precision_low", "precision_high"), ends, strict=True))
        found = listed["rows"] * listed["precision"] / positives if positives else 0.0
        listed["recall"] = min(1.0, found)
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    listed["sum"] = hashlib.sha256(text.getvalue().encode()).hexdigest()
    return Relisted(listed, likely, text.getvalue())


def _cells(path: Path) -> list[list[str]]:
    """The cells of a csv file that we wrote, as text, so that they stay as they are."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def pictures_of(folder: Path, result: dict[str, Any], rows: Any) -> list[Picture]:
    """Small pictures of the first candidates, if the rows of the run are images."""
    about = result["data"].get("image", {})
    column = about.get("column")
    if column not in rows:
        return []
    pictures = open_pictures(folder, about.get("root", ""))
    first = rows.head(SHOWN)
    told = zip(first["rank"], first["probability"], first[column], strict=True)
    return [
        Picture(f"{rank} · {percent(likely)} %", str(path), pictures.of(str(path)))
        for rank, likely, path in told
    ]


def read_stored(folder: Path, name: str) -> Any:
    """The rows of a table that a run left, which must be a file inside its folder."""
    try:
        check_regular(folder / name)
    except FileNotFoundError:
        pass  # the reader of tables says so
    except OSError as error:
        raise InputError("TB114", f'"{folder / name}" cannot be read: {error.strerror}.') from error
    return read_table(folder / name, dates="iso", decimal="text").frame


def sum_of(path: Path) -> str:
    """The sum that shows whether a file is as it was written."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _shown(frame: Any) -> list[dict[str, Any]]:
    """The first rows and columns as people read them, and the reasons."""
    why = [name for name in frame.columns if str(name).startswith("reason_")]
    own = [name for name in frame.columns[:12] if name not in why]
    rows = frame[[*own, *why]].head(SHOWN).astype(object)
    rows = rows.where(rows.notna(), "")
    texts = [name for name in own if rows[name].map(lambda value: len(str(value))).max() > LONG]
    first = [*own[:3], *texts, *(name for name in own[3:4] if name not in texts)]
    order = [*first, *why, *(name for name in own if name not in first)]
    records = rows[order].to_dict("records")
    return [
        {str(key): _cell(v, [row[w] for w in why]) for key, v in row.items()} for row in records
    ]


def _cell(value: Any, reasons: Sequence[str]) -> str:
    """A value as people read it; of a long text, the part around the word that speaks for the row.

    >>> rain = "It rained. " * 20
    >>> _cell(f"{rain}A gem<br /> of a film. {rain}", ["text = … gem … (+1.2)"])
    '… It rained. ...It rained. A gem of a film. It rained...It rained. …'
    """
    if isinstance(value, float):
        return f"{value:g}"
    text = " ".join(str(value).split())
    if len(text) <= LONG:
        return text
    text = " ".join(TAG.sub(" ", text).split())
    words = [found[1] for reason in reasons if (found := FOR.search(str(reason)))]
    places = [text.lower().find(f" {word}") for word in words]
    middle = next((place for place in places if place >= 0), 0)
    start = max(0, min(middle - EXCERPT // 2, len(text) - EXCERPT))
    return _cut(text, start, start + EXCERPT)


def _cut(text: str, start: int, end: int) -> str:
    """The part of a text from start to end, cut at spaces, unless a word is as long as that."""
    if start > 0:
        space = text.find(" ", start - 1, end)
        start = start if space < 0 else space + 1
    if end < len(text):
        space = text.rfind(" ", start, end + 1)
        end = end if space <= start else space
    before, after = "… " * (start > 0), " …" * (end < len(text))
    return f"{before}{text[start:end].strip()}{after}"
