"""The audit of a run: rows go out to a person, answers come back, and α̂ is judged by them."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from topbin.core.atomic import lock, refuse_existing, write_text
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.data.table import read_table
from topbin.data.write import write_table
from topbin.engines.local import Local
from topbin.evaluate.audit import (
    AuditPlan,
    AuditResult,
    AuditSample,
    draw,
    draw_stratified,
    judge,
    plan_either_way,
)
from topbin.job.draw import AUDITING, SAMPLING, count_labels, open_labeled, pick, split_sample
from topbin.job.files import MODEL, REPORT, numbered, read_stored, report_of, unlabeled_rows
from topbin.job.prepare import from_settings
from topbin.job.result import in_front, unused
from topbin.store.models import load, reading
from topbin.store.plain import to_json
from topbin.store.runs import (
    ROWS,
    SETTINGS,
    damaged,
    read_result,
    read_settings,
    read_text,
    write_result,
)
from topbin.store.schema import misfit, read_json

ANSWER, DRAWN, ABOUT = "is_positive", "audit.json", "about this file"
WAIT = 60.0  # seconds for another audit of the same run to end
NEEDED = ({"source", "label"}, {"positives", "unlabeled"})
HOW = {
    "simple": "Random rows, drawn without a look at the score.",
    "stratified": "Random rows, equally many from each group of similar scores, in random order.",
}
NOTE = "Add no rows from candidates.csv: those are not random, and would bias the audit."


def draw_audit(
    run: str | Path,
    n: int,
    output: str | Path,
    *,
    stratified: bool = False,
    seed: int = 0,
    force: bool = False,
    sql: str | None = None,
) -> AuditSample:
    """Write n random unlabeled rows, with an empty column for the answer; return the draw.

    A run that was made from a query needs the query again, as `sql`: a folder may come from
    someone else, so no query in one is ever run.
    The rows are in random order and carry no score, so that whoever labels them is blind to it.
    Every draw of a run is kept, so that any of the files can come back, also when two audits of a
    run are drawn at once or one of them is killed.
    """
    folder = Path(run)
    result = read_result(folder)
    with lock(folder, wait=WAIT):
        before = _draws(folder)
        source = _draw_from_files if "sample" in result["data"] else _draw_from_rows
        sample, frame = source(folder, result["data"], n, stratified, seed, sql)
        rows = frame.pop("row").tolist()
        frame = in_front(frame, {"row": rows, ANSWER: ""})
        frame[unused(ABOUT, frame)] = [f"{HOW[sample.kind]} {NOTE}"] + [""] * (sample.n - 1)
        drawn = {**sample.to_dict(), "row": rows, "data": result["data"]["hash"]}
        others = [one for one in before if sorted(one["row"]) != sorted(rows)]
        refuse_existing(Path(output), force=force)
        # A draw without its file does no harm; a file whose draw is not known could not come back.
        write_text(folder / DRAWN, to_json({"draws": [*others, drawn]}), force=True)
        write_table(output, frame, force=force)
    return sample


def read_audit(run: str | Path, answers: str | Path) -> AuditResult:
    """Judge the answers, keep them in result.json apart from everything else, renew the report.

    Rows are known by their number, so the file may have been sorted.
    """
    folder = Path(run)
    with lock(folder, wait=WAIT):
        result = read_result(folder)
        draws = [one for one in _draws(folder) if one["data"] == result["data"]["hash"]]
        if not draws:
            raise InputError(
                "TB114", f'"{run}" has no audit; draw one first: topbin audit RUN --n 100'
            )
        frame = read_table(answers, columns=["row", ANSWER]).frame
        stored = _draw_of(frame["row"].tolist(), draws, answers)
        given = frame.set_index("row")[ANSWER].loc[stored["row"]]
        sample = AuditSample.from_dict(dict(stored))
        judged = judge(sample, given, AlphaEstimate.from_dict(result["estimate"]))
        audited = {**result, "audit": judged.to_dict()}
        html = report_of(folder, audited)  # may fail, and then nothing has changed
        write_result(folder, audited)
        write_text(folder / REPORT, html, force=True)
    return judged


def plan_audit(run: str | Path, error: float) -> AuditPlan:
    """How many rows it takes to notice that α̂ is off by `error`, as the verdict counts them."""
    return plan_either_way(AlphaEstimate.from_dict(read_result(run)["estimate"]), error)


def _draws(folder: Path) -> list[dict[str, Any]]:
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


def _misfit(drawn: Mapping[str, Any]) -> str | None:
    """Why the lists of a draw do not fit each other, or None."""
    lengths = {len(drawn[name]) for name in ("rows", "stratum", "row")}
    inside = max(drawn["stratum"]) < len(drawn["sizes"])
    return None if len(lengths) == 1 and inside else "the lists of a draw do not fit each other"


def _draw_of(
    rows: Sequence[Any], draws: Sequence[Mapping[str, Any]], answers: str | Path
) -> Mapping[str, Any]:
    """The draw that these rows are, in any order; TB117 says how they differ from the nearest."""
    seen = Counter(rows)
    nearest = max(draws, key=lambda one: (Counter(one["row"]) & seen).total())
    drawn = Counter(nearest["row"])
    if seen == drawn:
        return nearest
    common = (seen & drawn).total()
    if not common:
        differ = "has no row of any audit drawn for this run"
    else:
        more = seen - drawn
        twice = sum(count for row, count in more.items() if row in drawn)
        differ = (
            f"is not an audit drawn for this run: of the {drawn.total():,} rows of the nearest "
            f"draw {drawn.total() - common:,} are missing, {twice:,} are there twice, and "
            f"{more.total() - twice:,} other rows were added"
        )
    raise InputError(
        "TB117",
        f'"{answers}" {differ}. Fill in a drawn file itself and keep all of its rows, in any '
        "order; rows from candidates.csv do not belong in an audit.",
    )


def _draw_from_rows(
    folder: Path, told: Mapping[str, Any], n: int, stratified: bool, seed: int, sql: str | None
) -> tuple[AuditSample, Any]:
    """The draw and its rows with their numbers, from all unlabeled rows in memory."""
    if os.path.lexists(folder / ROWS):
        frame = read_stored(folder, ROWS)
    else:
        data = from_settings(_naming_files(folder, sql))
        _check_unchanged(data.hash, told)
        frame = unlabeled_rows(data)
    if stratified:
        with reading(folder / MODEL):
            sample = draw_stratified(load(folder / MODEL).evidence_.scores_u, n, seed=seed)
    else:
        sample = draw(len(frame), n, seed=seed)
    if sample.rows.max() >= len(frame):
        raise damaged(folder / MODEL, "it has scored other rows than the run has")
    return sample, frame.iloc[sample.rows].reset_index(drop=True)


def _draw_from_files(
    folder: Path, told: Mapping[str, Any], n: int, stratified: bool, seed: int, sql: str | None
) -> tuple[AuditSample, Any]:
    """The same from the files of a sampled run, in one pass; `rows` are places among all rows.

    The pass also draws the sample of the run again, which shows whether the files have changed.
    """
    if stratified:
        raise InputError(
            "TB117",
            "the run was fitted on a sample, so not every row has a score to draw by. Draw without "
            "--stratified (stratified=True).",
        )
    sample = draw(told["n_u"], n, seed=seed)
    settings, rows, engine = _naming_files(folder, sql), told["sample"]["rows"], Local()
    source = settings.get("unlabeled") or settings["source"]
    names = ("positives", "dates", "partitions")
    named = {name: settings[name] for name in names if name in settings}
    table = open_labeled(source, told["label"], **named)
    counted = count_labels(engine, table, settings.get("positive"), settings.get("negative"))
    again = told["sample"]["seed"], SAMPLING, 2 * rows
    positives, both, drawn = pick(engine, counted, again, (seed, AUDITING, n))
    _check_unchanged(split_sample(positives, both, rows).table.hash(), told)
    return replace(sample, rows=drawn.places), numbered(drawn, told["label"])


def _naming_files(folder: Path, sql: str | None) -> dict[str, Any]:
    """The settings of a run, if they name the files that it was made from.

    A query in them is not run: TB113, unless the user gives one.
    """
    settings = read_settings(folder)
    if not any(needed <= settings.keys() for needed in NEEDED):
        raise damaged(folder / SETTINGS, "it does not name the files that the run was made from")
    if "sql" in settings and sql is None:
        raise InputError(
            "TB113",
            f'"{folder}" was made from a query, and a query in a folder is never run. If you '
            f"trust it, give it again: --sql {quote(str(settings['sql']))}",
        )
    return settings if sql is None else {**settings, "sql": sql}


def _check_unchanged(found: str, told: Mapping[str, Any]) -> None:
    if found != told["hash"]:
        raise InputError(
            "TB117",
            f"{', '.join(told['source'])} has changed since the run, so its rows cannot be drawn. "
            "Run topbin fit again.",
        )
