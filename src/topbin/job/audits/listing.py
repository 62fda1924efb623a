"""List more rows of a run, or fewer: their scores are known, so nothing is fitted again."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.atomic import lock
from topbin.core.checks import check_count
from topbin.core.errors import InputError
from topbin.core.options import Request
from topbin.data.batch import add_columns
from topbin.data.write import write_table
from topbin.evaluate.candidates import list_precision
from topbin.job.audits.answers import WAIT
from topbin.job.audits.rows import read_unlabeled
from topbin.job.files import CANDIDATES, MODEL, read_numbered, sum_of
from topbin.job.result import candidates_of, highest, in_front
from topbin.store.answer import Answer, Candidates
from topbin.store.models import load, reading
from topbin.store.runs import read_result, write_result
from topbin.store.scorer import after_audit

REASONS = re.compile(r"reason_\d_*")  # the columns that say why a row is listed


def list_rows(run: str | Path, n: int, *, again: Request = Request()) -> Candidates:
    """Write candidates.csv again with the n best unlabeled rows; `again` as in `draw_audit`.

    Rows that are new in the list have no reasons: the models that held them out are not kept.
    """
    folder, n = Path(run), check_count(n, "n")
    with lock(folder, wait=WAIT):
        found = read_result(folder)
        if found.data.sample is not None:
            raise InputError(
                "TB117",
                "the run was fitted on a sample, and only its best rows were kept. To list others, "
                "score the files: topbin score RUN FILES -o scored.parquet",
            )
        frame, listed = _listed(folder, found, n, again)
        write_table(folder / CANDIDATES, frame, force=True)
        listed = replace(listed, sum=sum_of(folder / CANDIDATES))
        write_result(folder, replace(found, candidates=listed))
    return listed


def _listed(folder: Path, found: Answer, n: int, again: Request) -> tuple[Any, Candidates]:
    rows, before = read_unlabeled(folder, found.data, again), read_numbered(folder, CANDIDATES)
    model = load(folder / MODEL)
    with reading(folder):
        model = after_audit(model, found)
        scores = model.evidence_.scores[1]
        order = np.argsort(-scores, kind="stable")[:n]
        best = list_precision(model.evidence_, model.estimate_, scores[order])
        likely = model.probability_map_(scores[order]).round(4)
        frame = rows.iloc[order].reset_index(drop=True)
        ours = [name for name in before if REASONS.fullmatch(name) and name not in frame]
        reasons = before.set_index("row")[ours].reindex(frame["row"])
    estimate, size, why = model.estimate_, order.size, highest(order.size)
    listed = candidates_of(estimate, best, scores[order], size, found.data.n_u, why, estimate.alpha)
    numbers = frame.pop("row").to_numpy()
    if found.data.id in frame:
        frame = frame[[found.data.id, *(name for name in frame if name != found.data.id)]]
    first = {"rank": np.arange(1, size + 1), "row": numbers, "probability": likely}
    frame = in_front(frame, first)
    return add_columns(frame, {name: reasons[name].to_numpy() for name in reasons}), listed
