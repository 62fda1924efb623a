"""From a table to what a model reads: labels, features, and what was noticed on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.errors import InputError
from topbin.core.labels import Labels, read_labels
from topbin.evaluate.table import Finding, check_table
from topbin.io.features import Encoder, fit_encoder
from topbin.io.tables import Pair, Table, read_pair, read_table

# Findings that the encoder already names among the columns it leaves out.
DROPPED_ANYWAY = {"constant", "identifier", "free-text"}


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A table whose labels are read and whose features are coded."""

    table: Table
    labels: Labels
    encoder: Encoder
    X: Any
    findings: tuple[Finding, ...]
    sources: tuple[str, ...]
    label: str | None = None
    id: str | None = None

    @property
    def unlabeled_rows(self) -> Any:
        """Positions of the unlabeled rows in the table."""
        return np.flatnonzero(self.labels.is_unlabeled)

    @property
    def row_numbers(self) -> Any:
        """Numbers of the unlabeled rows, from 1, in the table or the unlabeled file they are in."""
        before = 0 if self.label is not None else self.labels.n_p  # a pair stacks positives first
        return self.unlabeled_rows + 1 - before


def from_table(
    table: Table,
    label: str,
    *,
    positive: Any = None,
    negative: Any = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    sources: Sequence[str] = (),
) -> Prepared:
    """Read one table whose label column marks the positives."""
    labels = read_labels(
        table.column(label), positive=positive, negative=negative, name=f'column "{label}"'
    )
    return _prepare(table, labels, label, id, drop, text, sources)


def from_pair(
    pair: Pair,
    *,
    id: str | None = None,
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    sources: Sequence[str] = (),
) -> Prepared:
    """Read a table of positives and one of unlabeled rows."""
    table, is_positive = pair.stack()
    prepared = _prepare(table, read_labels(is_positive), None, id, drop, text, sources)
    if not pair.shared_ids:
        return prepared
    raise InputError(
        "TB116",
        f'{pair.shared_ids:,} unlabeled rows have the "{id}" of a known positive. Remove them from '
        "the unlabeled file: a row that is known positive is not unlabeled.",
    )


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
    table = read_table(settings["source"], sql=settings.get("sql"))
    column = table.column(settings["label"])
    values = {key: as_in(column, settings.get(key)) for key in ("positive", "negative")}
    return from_table(table, settings["label"], **values, **shared, sources=settings["source"])


def as_in(column: Any, typed: str | None) -> Any:
    """A label value that was typed, as the column has it: a word, a number or a truth value.

    >>> import pandas as pd
    >>> as_in(pd.Series([1.0, 0.0]), "1"), as_in(pd.Series([True]), "true"), as_in([], "yes")
    (1.0, True, 'yes')
    """
    if typed is None:
        return None
    known = pd.unique(pd.Series(column).dropna()).tolist()
    word = typed.strip()
    same = [value for value in known if str(value).strip() == word]
    alike = [v for v in known if str(v).strip().lower() == word.lower() or _number(word) == v]
    return next(iter(same + alike), typed)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _prepare(
    table: Table,
    labels: Labels,
    label: str | None,
    id: str | None,
    drop: Sequence[str],
    text: Sequence[str],
    sources: Sequence[str],
) -> Prepared:
    if id is not None:
        table.column(id)
        if id == label:
            raise InputError("TB008", f'"{id}" cannot be the label and the id at once.')
    hidden = [name for name in (label, id) if name is not None]
    encoder = fit_encoder(table, exclude=[*hidden, *drop], text=text)
    seen = {name: table.frame[name].to_numpy() for name in encoder.columns if name not in text}
    findings = check_table(seen, labels.is_positive) if seen else ()
    return Prepared(
        table=table,
        labels=labels,
        encoder=encoder,
        X=encoder.encode(table),
        findings=tuple(found for found in findings if found.code not in DROPPED_ANYWAY),
        sources=tuple(sources) or (table.name,),
        label=label,
        id=id,
    )
