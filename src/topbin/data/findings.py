"""Checks of a table before any model sees it: columns that say nothing, or say too much.

A column that alone tells labeled from unlabeled rows usually leaks the label. The measure is the
AUC of positives against unlabeled rows (`topbin.metrics.pu_auc`), whose ceiling is 1 − α/2: if no
column leaks, an AUC of .99 means that at most 2 % of the unlabeled are positive.
"""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.checks import check_fraction
from topbin.core.errors import InputError
from topbin.core.hashing import GOLDEN, splitmix64
from topbin.core.labels import Mask, read_labels
from topbin.core.ranks import share_below
from topbin.data.columns import Column, raw_columns, read_column

LEAK_AUC = 0.98
FEW_VALUES = 50
FEW_ROWS = 20
NEARLY_ALL = 0.95
WORDS_OF_A_TEXT = 4
ID_NAME = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|key|index|rowid|row_number)($|[^a-z])")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know about a table: a code, the column it is about, a figure, a sentence."""

    code: str
    column: str | None
    figure: float
    sentence: str

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence}"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(self)


def check_table(
    table: Any, s: Any, *, positive: Any = None, negative: Any = None, leak: float = LEAK_AUC
) -> tuple[Finding, ...]:
    """Everything worth saying about the columns of a table with labels s, column by column.

    >>> table = {"town": ["Bern"] * 8, "seen": [9, 8, 9, 8, 1, 2, 1, 2], "age": [3, 1] * 4}
    >>> for finding in check_table(table, [1, 1, 1, 1, 0, 0, 0, 0]):
    ...     print(finding)
    constant: "town" is the same in every row.
    leak: "seen" alone tells positives from unlabeled rows (AUC 1.000). If it does not leak the
    label, at most 0.0 % of the unlabeled are positive. If it does, leave it out: --drop seen
    (drop=["seen"]).
    """
    check_fraction(leak, "leak")
    labels = read_labels(s, positive=positive, negative=negative)
    raw = raw_columns(table)
    if raw[0][1].size != labels.is_positive.size:
        raise InputError(
            "TB005", f"{raw[0][1].size:,} rows and {labels.is_positive.size:,} labels."
        )
    columns = (read_column(name, array) for name, array in raw)
    return check_columns(columns, labels.is_positive, labels.is_unlabeled, leak)


def check_columns(
    columns: Iterable[Column], is_p: Mask, is_u: Mask, leak: float = LEAK_AUC
) -> tuple[Finding, ...]:
    """What to say of each column, and of rows that are equal in all of them but identifiers."""
    found = []
    keys = np.zeros(is_p.size, np.uint64)
    for column in columns:
        finding = constant(column) or identifier(column) or leaking(column, is_p, is_u, leak)
        if finding is not None:
            found.append(finding)
        if finding is None or finding.code not in ("constant", "identifier"):
            keys = _mixed(keys, column.values)
    return (*found, *_copies(keys, is_p, is_u)) if keys.any() else tuple(found)


def constant(column: Column) -> Finding | None:
    """One value in every row, or none in any.

    >>> constant(read_column("x", np.array([7, 7]))).code
    'constant'
    """
    missing = column.missing
    if missing.all():
        return Finding("constant", column.name, 0, f'"{column.name}" is empty in every row.')
    if missing.any() or column.values.min() < column.values.max():
        return None
    return Finding("constant", column.name, 1, f'"{column.name}" is the same in every row.')


def identifier(column: Column) -> Finding | None:
    """Values that name a row rather than describe it: hardly one of them comes twice.

    Text needs no more. Whole numbers must all differ and be dense, in order, or called an id:
    amounts in cents may well all differ, and describe.

    >>> identifier(read_column("claim", np.arange(1000, 1100))).figure
    1.0
    """
    seen = column.values[~column.missing]
    if seen.size < FEW_ROWS or column.kind not in ("text", "whole"):
        return None
    if column.kind == "text":
        share = len(column.texts) / seen.size
        if share < NEARLY_ALL:
            return None
        words = np.mean([len(str(text).split()) for text in column.texts[:1000]])
        if words >= WORDS_OF_A_TEXT:
            sentence = f'"{column.name}" looks like free text: {100 * share:.0f} % are different.'
            return Finding("free-text", column.name, share, sentence)
    else:
        share = np.unique(seen).size / seen.size
        steps = np.diff(seen)
        dense = seen.max() - seen.min() < 10 * seen.size
        in_order = bool((steps > 0).all() or (steps < 0).all())
        if share < 1 or not (dense or in_order or _named_like_id(column.name)):
            return None
    sentence = f'"{column.name}" looks like an identifier: {100 * share:.0f} % are different.'
    return Finding("identifier", column.name, float(share), sentence)


def leaking(column: Column, is_p: Mask, is_u: Mask, leak: float = LEAK_AUC) -> Finding | None:
    """A column that alone tells the labeled rows from the others."""
    auc = separation(column, is_p, is_u)
    if auc < leak:
        return None
    sentence = (
        f'"{column.name}" alone tells positives from unlabeled rows (AUC {auc:.3f}). If it does '
        f"not leak the label, at most {200 * (1 - auc):.1f} % of the unlabeled are positive. If it "
        f'does, leave it out: --drop {quote(column.name)} (drop=["{column.name}"]).'
    )
    return Finding("leak", column.name, auc, sentence)


def separation(column: Column, is_p: Mask, is_u: Mask) -> float:
    """The best AUC of positives against unlabeled rows that reads this column alone.

    Numbers count in both directions, with missing values below or above all others; text, numbers
    of few values, and being missing at all, also as categories.

    >>> rows = read_column("x", np.array([5.0, np.nan, np.nan, 1.0]))
    >>> separation(rows, np.array([0, 1, 1, 0], bool), np.array([1, 0, 0, 1], bool))
    1.0
    """
    values = column.values
    found = [0.5]
    codes = None
    if column.kind == "text":
        codes = np.where(column.missing, len(column.texts), values).astype(np.int64)
        gone = column.missing.astype(np.int64)
        found.append(_category_auc(gone, is_p, is_u))
    else:
        for end in (-np.inf, np.inf) if column.missing.any() else (0.0,):
            filled = np.where(column.missing, end, values)
            auc = _mean_rank(filled[is_p], filled[is_u])
            found += [auc, 1 - auc]
        sample = np.unique(values[:: max(1, values.size // (4 * FEW_VALUES))])
        if sample.size <= FEW_VALUES + 1:
            distinct, codes = np.unique(values, return_inverse=True)
            codes = codes if distinct.size <= FEW_VALUES + 1 else None
    if codes is not None:
        found.append(_category_auc(codes, is_p, is_u))
    return float(max(found))


def _mean_rank(values_p: NDArray[np.float64], values_u: NDArray[np.float64]) -> float:
    return float(share_below(values_p, np.sort(values_u), np.ones(values_u.size)).mean())


def _category_auc(codes: NDArray[np.int64], is_p: Mask, is_u: Mask) -> float:
    """Rank categories by how many positives they hold per unlabeled row.

    Each positive is ranked by the others of its category, so that rare categories, which are rich
    in positives by luck alone, prove nothing.
    """
    size = int(codes.max()) + 1
    x, y = np.bincount(codes[is_p], minlength=size), np.bincount(codes[is_u], minlength=size)
    others, rows_u = np.maximum(x - 1, 0), np.maximum(y, 0.5)
    rates, rates_without = x / rows_u, others / rows_u
    order = np.argsort(rates, kind="stable")
    beaten = share_below(rates_without, rates[order], y[order].astype(np.float64))
    # Against its own category a positive ties, whatever leaving it out did to the rate.
    share = y / y.sum()
    own = np.where(rates_without < rates, 0.0, 0.5)
    return float(x @ (beaten + (0.5 - own) * share) / x.sum())


def _named_like_id(name: str) -> bool:
    return bool(ID_NAME.search(name.lower())) or name.endswith(("Id", "ID"))


def _copies(keys: NDArray[np.uint64], is_p: Mask, is_u: Mask) -> tuple[Finding, ...]:
    """Positive rows that stand among the unlabeled too."""
    distinct, counts = np.unique(keys[is_u], return_counts=True)
    shared, n_p = int(np.isin(keys[is_p], distinct).sum()), int(is_p.sum())
    usual = counts[counts > 1].sum() / counts.sum()
    where = f", where {100 * usual:.0f} % of the rows have one too" if usual >= 0.005 else ""
    return overlap(shared, n_p, "an exact copy", where)


def overlap(shared: int, n_p: int, what: str, where: str = "") -> tuple[Finding, ...]:
    """One finding, or none where nothing is shared."""
    if shared == 0:
        return ()
    has = "has" if shared == 1 else "have"
    sentence = f"{shared:,} of {n_p:,} positives {has} {what} among the unlabeled{where}."
    return (Finding("overlap", None, shared, sentence),)


def _mixed(keys: NDArray[np.uint64], values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """64 bits a row that two different rows share about never: one more column mixed in."""
    # NaN has many bit patterns and zero has two; equal values must have equal bits.
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    return splitmix64(keys * GOLDEN + plain.view(np.uint64) + np.uint64(1))
