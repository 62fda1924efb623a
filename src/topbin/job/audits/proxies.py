"""Cheaper labels of all unlabeled rows, such as what a language model says, used by audits.

A proxy is a column that is copied into the run folder once, and that every audit of the run uses
from then on. The answers of people show what it is worth, so it may be wrong (see `judge`).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.atomic import lock
from topbin.core.checks import Floats
from topbin.core.errors import InputError, option
from topbin.core.labels import NEGATIVE, POSITIVE
from topbin.core.options import Request
from topbin.data.schema import check_columns
from topbin.data.write import write_table
from topbin.evaluate.audit import read_answers
from topbin.evaluate.audit.planning import AuditWidths
from topbin.evaluate.audit.scored import sharpened
from topbin.job.files import StoredRun, read_stored, unlabeled_rows
from topbin.store.runs import PROXIES, WAIT, damaged

LABELS = 100  # of the audit whose width is shown
MOST_PROXIES = 20


@dataclass(frozen=True, slots=True, eq=False)
class Proxies:
    """The proxies of a run: their names, and a column of values for each; or none."""

    names: tuple[str, ...] = ()
    values: Floats | None = None


@dataclass(frozen=True, slots=True)
class ProxyGain:
    """What proxies are worth, by the known positives: the share of these that each one finds.

    `without` and `width` are how wide the interval of an audit of `labels` rows is about to be; if
    the known positives are not at hand, `finds` is empty, and the width is not known.
    """

    proxies: tuple[str, ...]
    finds: tuple[float, ...]
    labels: int
    without: float
    width: float | None

    def __str__(self) -> str:
        names = ", ".join(f'"{name}"' for name in self.proxies)
        if self.width is None:
            them = "it" if len(self.proxies) == 1 else "them"
            return (
                f"{names} will narrow the intervals of this run's audits if the answers agree with "
                f"{them}"
            )
        shares = ", ".join(f"{100 * share:.0f} %" for share in self.finds)
        return (
            f"{names} find {shares} of the known positives. If they find as many of the others, "
            f"{self.labels:,} labels give an interval {self.width:.3f} wide instead of "
            f"{self.without:.3f}; if not, it is wider, and still valid"
        )


def add_proxies(
    run: str | Path, columns: Sequence[str], *, sources: Request = Request()
) -> ProxyGain:
    """`Audit.use_proxies` of the run in a folder; `sources` as in `StoredRun`."""
    stored, names = StoredRun.open(run, sources), tuple(dict.fromkeys(columns))
    stored.refuse_classes(option("proxy"))
    if len(names) > MOST_PROXIES:
        raise InputError(
            "TB008",
            f"a run has at most {MOST_PROXIES} proxies; {option('proxy')} names {len(names)}.",
        )
    stored.refuse_sample("so its audits have no proxies.")
    known = None
    if stored.keeps_rows:
        frame = stored.unlabeled()
    else:
        data = stored.prepared()
        frame, known = unlabeled_rows(data), data.table.frame[data.labels.is_positive]
    check_columns(names, list(frame), f'"{stored.folder}"')
    values = pd.DataFrame({name: _proxy(frame[name], name) for name in names})
    finds: tuple[float, ...] = ()
    if known is not None and known[[*names]].notna().any().all():
        finds = tuple(float(_proxy(known[name], name).mean()) for name in names)
    with lock(stored.folder, wait=WAIT):
        write_table(stored.folder / PROXIES, values, force=True)
    return _gain(stored, values, finds)


def _gain(run: StoredRun, values: pd.DataFrame, finds: tuple[float, ...]) -> ProxyGain:
    """What proxies of these values are worth, if they find these shares of the known positives."""
    estimate, scored = run.answer.audited or run.answer.estimate, run.scores
    assert scored is not None  # a run on a sample has no proxies
    alpha, n_u, f_u = float(estimate.alpha), run.answer.data.n_u, scored.f_u
    labels, width = min(LABELS, n_u), None
    if finds:
        sharper = sharpened(f_u, values.to_numpy(), finds, alpha)
        width = AuditWidths(alpha, n_u, sharper).anywhere(labels)
    without = float(AuditWidths(alpha, n_u, f_u).anywhere(labels))
    return ProxyGain(tuple(values), finds, labels, without, width)


def read_proxies(run: StoredRun) -> Proxies:
    """The proxies of a run; TB114 if they are not a number from 0 to 1 for every unlabeled row."""
    path = run.folder / PROXIES
    if not os.path.lexists(path):
        return Proxies()
    frame = read_stored(run.folder, PROXIES)
    is_sound = len(frame) == run.answer.data.n_u and 1 <= frame.shape[1] <= MOST_PROXIES
    if not is_sound or not all(dtype.kind in "iuf" for dtype in frame.dtypes):
        raise damaged(path, "it does not have a number for every unlabeled row")
    values = frame.to_numpy(np.float64, na_value=np.nan)
    if not (values >= 0).all() or not (values <= 1).all():
        raise damaged(path, "not all of its numbers are between 0 and 1")
    return Proxies(tuple(frame), values)


def _proxy(cells: Any, name: str) -> Floats:
    """A column as numbers from 0 to 1."""
    if pd.api.types.is_numeric_dtype(cells.dtype) and not pd.api.types.is_bool_dtype(cells.dtype):
        values = cells.to_numpy(np.float64, na_value=np.nan)
    else:
        meaning = {POSITIVE: 1.0, NEGATIVE: 0.0}
        try:
            values = np.array([meaning.get(word, np.nan) for word in read_answers(cells)])
        except InputError as error:
            what = error.marked.removeprefix("audit answers not understood: ")
            raise InputError("TB002", f'the proxy "{name}" is not understood: {what}') from error
    if not values.size or np.isnan(values).all():
        raise InputError("TB008", f'the proxy "{name}" has no value in any row.')
    if np.nanmin(values) < 0 or np.nanmax(values) > 1:
        seen = f"{np.nanmin(values):g} to {np.nanmax(values):g}"
        raise InputError(
            "TB008", f'the proxy "{name}" must be yes or no, or a number from 0 to 1; it is {seen}.'
        )
    return np.asarray(np.where(np.isnan(values), np.nanmean(values), values))
