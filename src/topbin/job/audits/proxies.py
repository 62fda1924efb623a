"""Cheaper labels of all unlabeled rows, such as what a language model says, for sharper audits.

A proxy is a column of the rows. It is copied into the run folder once, and every audit of the run
uses it from then on: the answers of people show what it is worth, so it may be wrong (see `judge`).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from topbin.core.atomic import lock
from topbin.core.cells import NEGATIVE, POSITIVE, read_answers
from topbin.core.checks import Floats
from topbin.core.errors import InputError, option
from topbin.core.options import Request
from topbin.data.schema import check_columns
from topbin.data.write import write_table
from topbin.evaluate.audit.planning import AuditWidths
from topbin.job.audits.answers import WAIT
from topbin.job.audits.rows import prepared_again, read_unlabeled, refuse_classes, scores_of
from topbin.job.files import read_stored, unlabeled_rows
from topbin.store.runs import PROXIES, ROWS, damaged, read_result

LEAST_RIGHT = (
    0.02  # a proxy is never taken to be right, or wrong, in more than all but so many rows
)
LABELS = 100  # of the audit whose width is shown
MOST_PROXIES = 20


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
            return f"{names} will sharpen the audits of this run, as far as the answers agree"
        found = ", ".join(f"{100 * share:.0f} %" for share in self.finds)
        return (
            f"{names} find {found} of the known positives. If they find as many of the others, "
            f"{self.labels:,} labels give an interval {self.width:.3f} wide instead of "
            f"{self.without:.3f}; if not, it is wider, and still right"
        )


def add_proxies(
    run: str | Path, columns: Sequence[str], *, again: Request = Request()
) -> ProxyGain:
    """Use columns of the rows as proxies in all audits of a run, in place of earlier ones.

    A cell is yes or no as in an audit, or a number from 0 to 1; blank cells count as the mean.
    `again` as in `draw_audit`.
    """
    folder = Path(run)
    found, names = read_result(folder), tuple(dict.fromkeys(columns))
    refuse_classes(found, option("proxy"))
    if found.data.sample is not None:
        raise InputError("TB117", "the run was fitted on a sample, so its audits have no proxies.")
    known = None
    if os.path.lexists(folder / ROWS):
        frame = read_unlabeled(folder, found.data, again)
    else:
        data = prepared_again(folder, found.data, again)
        frame, known = unlabeled_rows(data), data.table.frame[data.labels.is_positive]
    check_columns(names, list(frame), f'"{folder}"')
    values = pd.DataFrame({name: _worth(frame[name], name) for name in names})
    finds: tuple[float, ...] = ()
    if known is not None and known[[*names]].notna().any().all():
        finds = tuple(float(_worth(known[name], name).mean()) for name in names)
    with lock(folder, wait=WAIT):
        write_table(folder / PROXIES, values, force=True)
    estimate, scored = found.audited or found.estimate, scores_of(folder)
    alpha, n_u = float(estimate.alpha), found.data.n_u
    sharper = _sharpened(scored.f_u, values.to_numpy(), finds, alpha) if finds else None
    labels = min(LABELS, n_u)
    width, without = (
        None if f is None else AuditWidths(alpha, n_u, f).anywhere(labels)
        for f in (sharper, scored.f_u)
    )
    return ProxyGain(names, finds, labels, float(without or 0.0), width)


def read_proxies(folder: Path, n_u: int) -> tuple[tuple[str, ...], Floats | None]:
    """The names and values of a run's proxies, a column each; TB114 if they are no such values."""
    if not os.path.lexists(folder / PROXIES):
        return (), None
    frame = read_stored(folder, PROXIES)
    is_sound = len(frame) == n_u and 1 <= frame.shape[1] <= MOST_PROXIES
    if not is_sound or not all(dtype.kind in "iuf" for dtype in frame.dtypes):
        raise damaged(folder / PROXIES, "it does not have a number for every unlabeled row")
    values = frame.to_numpy(np.float64, na_value=np.nan)
    if not (values >= 0).all() or not (values <= 1).all():
        raise damaged(folder / PROXIES, "not all of its numbers are between 0 and 1")
    return tuple(frame), values


def _worth(cells: Any, name: str) -> Floats:
    """A column as numbers from 0 to 1."""
    if pd.api.types.is_numeric_dtype(cells.dtype) and not pd.api.types.is_bool_dtype(cells.dtype):
        values = cells.to_numpy(np.float64, na_value=np.nan)
    else:
        meaning = {POSITIVE: 1.0, NEGATIVE: 0.0}
        try:
            values = np.array([meaning.get(word, np.nan) for word in read_answers(cells)])
        except InputError as error:
            what = error.told.removeprefix("audit answers not understood: ")
            raise InputError("TB002", f'the proxy "{name}" is not understood: {what}') from error
    if not values.size or np.isnan(values).all():
        raise InputError("TB008", f'the proxy "{name}" has no value in any row.')
    if np.nanmin(values) < 0 or np.nanmax(values) > 1:
        seen = f"{np.nanmin(values):g} to {np.nanmax(values):g}"
        raise InputError(
            "TB008", f'the proxy "{name}" must be yes or no, or a number from 0 to 1; it is {seen}.'
        )
    return np.asarray(np.where(np.isnan(values), np.nanmean(values), values))


def _sharpened(f_u: Floats, proxies: Floats, finds: Sequence[float], alpha: float) -> Floats:
    """Probabilities by the model and the proxies, if these err independently of it (naive Bayes).

    How often a proxy says yes to a negative follows from its mean over all unlabeled rows.
    """
    log_odds = logit(f_u.clip(1e-9, 1 - 1e-9))
    for proxy, found in zip(proxies.T, finds, strict=True):
        false = (proxy.mean() - alpha * found) / max(1e-9, 1 - alpha)
        yes, wrong = np.clip([found, false], LEAST_RIGHT, 1 - LEAST_RIGHT)
        log_odds = log_odds + np.log(proxy * yes + (1 - proxy) * (1 - yes))
        log_odds -= np.log(proxy * wrong + (1 - proxy) * (1 - wrong))
    return np.asarray(expit(log_odds))
