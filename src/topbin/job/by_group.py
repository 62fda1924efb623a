"""Groups from a column of the rows, and α of each: `by` of a job, and `Result.by` after it."""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.errors import InputError, option
from topbin.core.formatting import counted
from topbin.data.batch import Batch
from topbin.data.columns import Column, read_column
from topbin.data.schema import CONTENT, check_columns, shortened
from topbin.evaluate.parts import ByGroup, Groups, Whole, by_group
from topbin.learn.crossfit import blind_scores
from topbin.learn.labeling.propensity import matrix_columns

MOST_GROUPS, MOST_NUMBERS, QUANTILES = 50, 10, 4
WITHOUT = "(no value)"  # the group of rows that have none
SEEN = (
    'the models also read "{}", and their scores may depend on it beyond the share of positives; '
    "fit again without it as a feature to be sure"
)


def read_groups(table: Batch, label: str | None, name: str) -> Groups:
    """The groups of a column; TB160 if it has none.

    Text and yes/no values are groups as they are, and so are up to ten different numbers; more
    numbers, and dates, are cut into quarters of the rows. Rows without a value are a group.
    """
    check_columns([name], list(table.kinds), table.name)
    if name == label:
        raise InputError("TB160", f'"{name}" is the label itself, which makes no groups.')
    if table.kinds[name] in ("vector", "blank", "other"):
        raise InputError(
            "TB160", f'"{name}" holds {CONTENT[table.kinds[name]]}, which make no groups.'
        )
    column = read_column(table.select([name]), name)
    missing = column.missing
    codes, names, notes = _valued(column)
    if missing.any():
        codes, names = np.where(missing, len(names), codes), (*names, WITHOUT)
    if len(names) > MOST_GROUPS:
        raise InputError(
            "TB160",
            f'"{name}" has {len(names):,} different values, and {option("by")} takes columns with '
            f"at most {MOST_GROUPS}. Join values into larger groups in a column of its own.",
        )
    if len(names) < 2:
        raise InputError(
            "TB160", f'"{name}" has the same value in all rows, so there is nothing to compare.'
        )
    return Groups(name, names, np.asarray(codes, np.intp), notes)


def _valued(column: Column) -> tuple[Any, tuple[str, ...], tuple[str, ...]]:
    """The code of each row with a value, the names of the groups, and how they were made."""
    values, missing = column.numbers, column.missing
    if column.kind == "string":
        texts = np.array(column.texts, object)[column.places[~missing]]
        names, codes = np.unique(texts.astype(str), return_inverse=True)
        return _spread(codes, missing), tuple(map(shortened, names)), ()
    used, codes = np.unique(values[~missing], return_inverse=True)
    if column.kind == "boolean":
        return _spread(codes, missing), tuple("yes" if v else "no" for v in used), ()
    if column.kind == "number" and used.size <= MOST_NUMBERS:
        return _spread(codes, missing), tuple(_shown(v, "number") for v in used), ()
    if not used.size:
        return _spread(codes, missing), (), ()
    cuts = np.unique(np.quantile(values[~missing], np.arange(1, QUANTILES) / QUANTILES))
    cuts = cuts[cuts < used[-1]]  # no group is empty
    codes = np.searchsorted(cuts, values[~missing])
    ends = [_shown(end, column.kind) for end in (used[0], *cuts, used[-1])]
    ranges = [f"{low} to {high}" for low, high in itertools.pairwise(ends)]
    ranges[1:] = [f"above {one}" for one in ranges[1:]]
    note = f"cut into {counted(len(ranges), 'group')} with about as many rows"
    return _spread(codes, missing), tuple(ranges), (note,)


def _spread(codes: Any, missing: Any) -> Any:
    """Codes of the rows with a value as codes of all rows."""
    spread = np.zeros(missing.size, np.intp)
    spread[~missing] = codes
    return spread


def _shown(value: float, kind: str) -> str:
    return f"{value:.10g}" if kind == "number" else str(pd.Timestamp(int(value), unit="us").date())


def by_column(result: Any, name: str) -> ByGroup:
    """α of each group of a column, by the models of a fit; nothing is fitted again."""
    data, estimate = result.data, result.estimate
    if estimate.posterior is None:
        raise InputError(
            "TB126", f"{option('by')} needs an interval of α, and this estimate has none."
        )
    groups = read_groups(data.table, data.label, name)
    rows = np.flatnonzero(~data.labels.is_negative)  # that took part
    is_p, scores, notes = data.labels.is_positive[rows], None, []
    if data.rest is not None:
        notes.append(f"groups are compared by the {is_p.size - is_p.sum():,} sampled rows")
    if name in data.encoder.columns:
        scores = _blind(result, name, rows, is_p)
        notes += [SEEN.format(name)] if scores is None else []
    whole = Whole.of(result.evidence, estimate, scores)
    own = Groups(name, groups.names, groups.codes[rows], groups.notes)
    return by_group(whole, own, is_p, estimate.confidence, notes)


def _blind(result: Any, name: str, rows: Any, is_p: Any) -> Any:
    """Scores that do not depend on a feature; None if the models cannot give them."""
    data = result.data
    if not result.chains or data.by_net:
        return None
    columns = matrix_columns(data.encoder, [name])
    z = blind_scores(result.chains, data.X[rows], columns, data.request.certainty.seed)
    return z[is_p], z[~is_p]
