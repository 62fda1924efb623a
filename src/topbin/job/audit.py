"""The audit of a run: rows out to a person, answers back, and what they say of α̂."""

import json
from pathlib import Path

from topbin.core.errors import InputError
from topbin.evaluate.audit import (
    AuditPlan,
    AuditResult,
    AuditSample,
    draw,
    draw_stratified,
    judge,
    plan,
)
from topbin.io.atomic import write_text
from topbin.io.models import load
from topbin.io.plain import to_json
from topbin.io.runs import RESULT, read_result, read_settings
from topbin.io.tables import read_table
from topbin.io.write import write_table
from topbin.job.files import MODEL, read_text, write_report
from topbin.job.prepare import Prepared, from_settings
from topbin.job.result import estimate_from, in_front, unused

ANSWER, DRAWN, ABOUT = "is_positive", "audit.json", "about this file"
NOTE = (
    "Random rows, drawn without a look at the score. Add no rows from candidates.csv: those are "
    "not random, and would bias the audit."
)


def draw_audit(
    run: str | Path,
    n: int,
    output: str | Path,
    *,
    stratified: bool = False,
    seed: int = 0,
    force: bool = False,
) -> int:
    """Write n random unlabeled rows, with an empty column for the answer; return how many.

    The rows stand in random order and carry no score, so that whoever labels them is blind to it.
    """
    folder = Path(run)
    data = _same_data(folder)
    if stratified:
        sample = draw_stratified(load(folder / MODEL).scores_u_, n, seed=seed)
    else:
        sample = draw(data.labels.n_u, n, seed=seed)
    rows = data.unlabeled_rows[sample.rows]
    frame = data.table.frame.drop(columns=[data.label or ""], errors="ignore")
    frame = in_front(frame.iloc[rows].reset_index(drop=True), {"row": rows + 1, ANSWER: ""})
    frame[unused(ABOUT, frame)] = [NOTE] + [""] * (sample.n - 1)
    write_table(output, frame, force=force)
    write_text(
        folder / DRAWN, to_json({**sample.to_dict(), "row": (rows + 1).tolist()}), force=True
    )
    return sample.n


def read_audit(run: str | Path, answers: str | Path) -> AuditResult:
    """Judge the answers, keep them in result.json apart from everything else, renew the report."""
    folder = Path(run)
    stored = json.loads(read_text(folder / DRAWN, "draw an audit first: topbin audit RUN --n 100"))
    sample = AuditSample.from_dict(stored)
    frame = read_table(answers, columns=["row", ANSWER]).frame
    if frame["row"].tolist() != stored["row"]:
        raise InputError(
            "TB117",
            f'"{answers}" does not hold the rows that were drawn, in their order. Fill in the '
            "drawn file itself; rows from candidates.csv do not belong in an audit.",
        )
    result = read_result(folder)
    judged = judge(sample, frame[ANSWER], estimate_from(result["estimate"]))
    write_text(folder / RESULT, to_json({**result, "audit": judged.to_dict()}), force=True)
    write_report(folder)
    return judged


def plan_audit(run: str | Path, error: float) -> AuditPlan:
    """How many rows it takes to notice that α̂ is off by `error`."""
    return plan(read_result(run)["estimate"]["alpha"], error)


def _same_data(folder: Path) -> Prepared:
    """The rows the run was made from; refused if they have changed since."""
    result = read_result(folder)
    if "sample" in result["data"]:
        raise InputError(
            "TB117",
            "the run was fitted on a sample of files that may not fit in memory, so an audit "
            "cannot draw from all of them. Draw unlabeled rows at random yourself and label these.",
        )
    data = from_settings(read_settings(folder))
    if data.table.hash() != result["data"]["hash"]:
        raise InputError(
            "TB117",
            f"{', '.join(data.sources)} has changed since the run, so its rows cannot be drawn. "
            "Run topbin fit again.",
        )
    return data
