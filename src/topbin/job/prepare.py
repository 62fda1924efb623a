"""From a table to what a model reads: labels, features, and what was noticed on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.errors import InputError
from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.core.hashing import find_twins
from topbin.core.labels import Labels, LabelValues, read_labels, resolve_labels
from topbin.data.batch import Batch
from topbin.data.columns import Columns
from topbin.data.features import Features, fit_features
from topbin.data.findings import Finding, find_in_columns, overlap
from topbin.data.schema import check_columns
from topbin.data.table import Pair, open_table, read_pair
from topbin.mpe.alarms import shared_rows

# Findings that the encoder already names among the columns it leaves out.
DROPPED_ANYWAY = {"constant", "identifier", "free-text"}


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A table whose labels are read and whose features are coded.

    `alarms` are reasons not to trust an estimate from these rows.
    """

    table: Batch
    labels: Labels
    encoder: Features
    X: Any
    findings: tuple[Finding, ...]
    sources: tuple[str, ...]
    label: str | None = None
    id: str | None = None
    alarms: tuple[Alarm, ...] = ()

    @property
    def unlabeled_rows(self) -> Any:
        """Positions of the unlabeled rows in the table."""
        return np.flatnonzero(self.labels.is_unlabeled)

    @property
    def row_numbers(self) -> Any:
        """Numbers of the unlabeled rows, from 1, in the table or the unlabeled file they are in."""
        before = 0 if self.label is not None else self.labels.n_p  # a pair stacks positives first
        return self.unlabeled_rows + 1 - before

    def lines(self) -> list[str]:
        """How the table was read, as text: its labels, columns left out, and what was noticed."""
        unknown = () if self.label is None else (v for v in self.labels.unlabeled if v == 0)
        return [
            f"labels          {self.labels.note}",
            *(f'                {v!r} is read as "unknown", not as "negative"' for v in unknown),
            *(f"left out        {column.reason}" for column in self.encoder.dropped),
            *(f"noticed         {finding}" for finding in self.findings),
        ]

    def doubted(self, estimate: AlphaEstimate) -> AlphaEstimate:
        """An estimate from these rows, with the alarms that the rows themselves give reason for."""
        return replace(estimate, alarms=(*estimate.alarms, *self.alarms))


def from_table(
    table: Batch,
    label: str,
    *,
    positive: Any = None,
    negative: Any = None,
    id: str | None = None,
    drop: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    sources: Sequence[str] = (),
    values: LabelValues | None = None,
) -> Prepared:
    """Read one table whose label column marks the positives.

    `values` says what the labels mean, where that is already known.
    """
    check_columns([label], list(table.kinds), table.name)
    coded = table.coded(label)
    if values is None:
        roles = {"positive": positive, "negative": negative}
        values = resolve_labels(coded.counts(), **roles, name=f'column "{label}"')
    return _prepare(table, values.read(coded), label, id, drop, text, sources)


def from_pair(
    pair: Pair,
    *,
    id: str | None = None,
    drop: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    sources: Sequence[str] = (),
) -> Prepared:
    """Read a table of positives and one of unlabeled rows."""
    table, is_positive = pair.stack()
    two = pair.positives.rows, pair.positives.name, pair.unlabeled.rows, pair.unlabeled.name
    labels = replace(read_labels(is_positive), note=note_of_two(*two))
    prepared = _prepare(table, labels, None, id, drop, text, sources)
    if not pair.shared_ids:
        return prepared
    raise InputError(
        "TB116",
        f'{pair.shared_ids:,} unlabeled rows have the "{id}" of a known positive. Remove them from '
        "the unlabeled file: a row that is known positive is not unlabeled.",
    )


def note_of_two(n_p: int, positives: str, n_u: int, unlabeled: str) -> str:
    """How rows from two places are read.

    >>> note_of_two(100, '"known.csv"', 4000, '"rest.csv"')
    '100 known positives in "known.csv", 4,000 unlabeled rows in "rest.csv"'
    """
    return f"{n_p:,} known positives in {positives}, {n_u:,} unlabeled rows in {unlabeled}"


def from_settings(settings: Mapping[str, Any]) -> Prepared:
    """Read what a run's settings name: `source` with `label`, or `positives` and `unlabeled`."""
    shared: dict[str, Any] = {
        "id": settings.get("id"),
        "drop": settings.get("drop", ()),
        "text": settings.get("text", ()),
    }
    if "positives" in settings:
        two = settings["positives"], settings["unlabeled"]
        return from_pair(read_pair(*two, id=shared["id"]), **shared, sources=two)
    table = open_table(settings["source"], sql=settings.get("sql")).whole()
    shared |= {key: settings.get(key) for key in ("positive", "negative")}
    return from_table(table, settings["label"], **shared, sources=settings["source"])


def _prepare(
    table: Batch,
    labels: Labels,
    label: str | None,
    id: str | None,
    drop: str | Sequence[str],
    text: str | Sequence[str],
    sources: Sequence[str],
) -> Prepared:
    if id is not None:
        table.column(id)
        if id == label:
            raise InputError("TB008", f'"{id}" cannot be the label and the id at once.')
    hidden = [name for name in (label, id) if name is not None]
    drop, text = names_in(drop), names_in(text)
    columns = Columns(table)
    encoder = fit_features(columns, exclude=[*hidden, *drop], text=text)
    X = encoder.encode(columns)
    read = [name for name in encoder.columns if name not in text]
    findings, alarms = notice(columns, X, labels, read)
    return Prepared(
        table=table,
        labels=labels,
        encoder=encoder,
        X=X,
        findings=tuple(found for found in findings if found.code not in DROPPED_ANYWAY),
        sources=tuple(sources) or (table.name,),
        label=label,
        id=id,
        alarms=alarms,
    )


def names_in(columns: str | Sequence[str]) -> list[str]:
    """Names of columns; a plain text is one name, not its letters.

    >>> names_in("note"), names_in(("a", "b"))
    (['note'], ['a', 'b'])
    """
    return [columns] if isinstance(columns, str) else list(columns)


def notice(
    columns: Columns, X: Any, labels: Labels, names: Sequence[str]
) -> tuple[tuple[Finding, ...], tuple[Alarm, ...]]:
    """What to know about a table before any model sees it, and the alarms that follow from it.

    `names` are the columns to check one by one. Known negatives count on neither side. A leak makes
    every unlabeled row look negative, so that α̂ is near 0 and its interval is narrow.
    """
    is_p, is_u = labels.is_positive, labels.is_unlabeled
    found = find_in_columns((columns[name] for name in names), is_p, is_u)
    twins = find_twins(X[is_p], X[is_u])
    leaks = (
        Alarm(
            "leak",
            f'"{finding.column}" alone separates positives from unlabeled rows; if it leaks the '
            "label, this estimate is not to be trusted.",
            "down",
        )
        for finding in found
        if finding.code == "leak"
    )
    return (*found, *overlap(twins)), (*leaks, *shared_rows(twins))


def as_numbers(X: Any) -> NDArray[np.float64] | Any:
    """A frame of features as an array, as the models read it; a sparse one stays as it is."""
    return X.to_numpy(np.float64) if hasattr(X, "to_numpy") else X
