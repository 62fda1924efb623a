"""From a table to model-ready features, in a way that new rows repeat exactly.

Numbers, booleans and missing values stay as they are (a missing value is NaN); a date becomes
year, month, weekday and days since the first date; a string becomes the place of its category,
and NaN if the category is new. With a text column the result is sparse: words weighted by TF-IDF
(Salton & Buckley 1988), categories one-hot, all else scaled, missing at the mean.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from topbin.core.errors import InputError
from topbin.data.batch import Batch
from topbin.data.columns import read_column
from topbin.data.findings import constant, identifier
from topbin.data.schema import Kind, check_columns, nearest

Floats = NDArray[np.float64]
FAR = 1e6  # standard deviations; a value of another scale must not become infinite
DATE_PARTS = ("year", "month", "weekday", "days")
FITS: Mapping[str, tuple[Kind, ...]] = {
    "number": ("number", "boolean", "blank"),
    "boolean": ("boolean", "number", "blank"),
    "date": ("date", "blank"),
    "string": ("string", "blank"),
    "text": ("string", "blank"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One column of the table, and what was learned about it.

    `center` and `scale` hold one value per number it becomes, and are used in sparse tables only.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    first_day: str | None = None
    center: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    terms: tuple[str, ...] = ()
    idf: tuple[float, ...] = ()

    @property
    def names(self) -> list[str]:
        """What its features are called."""
        return (
            [f"{self.name} {part}" for part in DATE_PARTS] if self.kind == "date" else [self.name]
        )


@dataclass(frozen=True, slots=True)
class Dropped:
    """A column that no model sees, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Encoder:
    """Columns, their order, kinds and categories: encodes every later table the same way.

    >>> table = Batch.from_frame(pd.DataFrame({"age": [31, 47, 52], "town": ["Ulm", "Köln", None]}))
    >>> encoder = fit_encoder(table)
    >>> new = pd.DataFrame({"town": ["Ulm", "Rom"], "age": [20, None]})    # any column order
    >>> encoder.encode(new).to_numpy()
    array([[20.,  1.],
           [nan, nan]])
    """

    features: tuple[Feature, ...]
    dropped: tuple[Dropped, ...] = ()

    @property
    def sparse(self) -> bool:
        """Whether a text column makes the result a sparse matrix."""
        return any(feature.kind == "text" for feature in self.features)

    @property
    def columns(self) -> list[str]:
        """The columns a table must have."""
        return [feature.name for feature in self.features]

    def encode(self, table: Any) -> Any:
        """Features of a `Batch` or frame: a frame of floats, or a csr matrix if there is text."""
        table = table if isinstance(table, Batch) else Batch.from_frame(table)
        self.check(table)
        if self.sparse:
            return hstack([_sparse(f, table.frame[f.name]) for f in self.features], format="csr")
        columns = {
            name: values
            for feature in self.features
            for name, values in zip(
                feature.names, numbers(feature, table.frame[feature.name]), strict=True
            )
        }
        return pd.DataFrame(columns, index=table.frame.index)

    def check(self, table: Batch) -> None:
        """Refuse a table whose columns or kinds are not those of the fit, with TB109."""
        for feature in self.features:
            _check_fit(feature, table)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what a feature does not use is left out."""
        features = [
            {key: value for key, value in asdict(feature).items() if value not in ((), None)}
            for feature in self.features
        ]
        return {"features": features, "dropped": [asdict(column) for column in self.dropped]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Encoder":
        """The inverse of `to_dict`, after a trip through JSON; TB110 if it is none of ours."""
        try:
            features: list[dict[str, Any]] = [
                {key: tuple(v) if isinstance(v, list) else v for key, v in feature.items()}
                for feature in stored["features"]
            ]
            found = cls(
                tuple(Feature(**feature) for feature in features),
                tuple(Dropped(**column) for column in stored["dropped"]),
            )
            known = all(f.kind in FITS and len(f.terms) == len(f.idf) for f in found.features)
        except (AttributeError, KeyError, TypeError) as error:
            raise InputError("TB110", f"the stored encoder is damaged: {error!r}.") from error
        if not known:
            raise InputError("TB110", "the stored encoder is damaged: a column of no kind.")
        return found


def fit_encoder(
    table: Batch,
    *,
    exclude: Sequence[str] = (),
    text: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> Encoder:
    """Learn how to encode a table; name every column that is left out, and why.

    `exclude` names columns that are no features (label, id); `text` those to read as words.
    Columns that are constant or look like an identifier are dropped unless `keep` names them.
    """
    check_columns([*exclude, *text, *keep], list(table.kinds), table.name)
    names = [name for name in table.kinds if name not in exclude]
    reasons = {name: _useless(table, name, keep=name in [*text, *keep]) for name in names}
    dropped = tuple(Dropped(name, reason) for name, reason in reasons.items() if reason)
    used = [name for name in names if not reasons[name]]
    if not used:
        seen = "; ".join(column.reason for column in dropped[:8]) or "every column is left out"
        raise InputError("TB108", f"{table.name} has no column to learn from: {seen}")
    sparse = bool(set(text) & set(used))
    features = tuple(_learn(table, name, name in text, sparse) for name in used)
    return Encoder(features, dropped)


def _useless(table: Batch, name: str, *, keep: bool) -> str:
    if table.kinds[name] == "other":
        return f'"{name}" holds lists, bytes, times or mixed values, which no model reads.'
    if keep and table.frame[name].notna().any():
        return ""
    column = read_column(name, table.frame[name].to_numpy())
    finding = constant(column) or identifier(column)
    if finding is None:
        return ""
    hint = f' Read its words with --text "{name}".' if finding.code == "free-text" else ""
    return finding.sentence + hint


def _learn(table: Batch, name: str, is_text: bool, sparse: bool) -> Feature:
    column, kind = table.frame[name], table.kinds[name]
    if is_text:
        return _learn_text(table, name)
    if kind in ("string", "blank"):
        seen = {text for text in column.dropna() if text.strip()}  # blanks are missing
        return Feature(name=name, kind="string", categories=tuple(sorted(seen)))
    first = str(column.min().date()) if kind == "date" else None
    feature = Feature(name=name, kind=kind, first_day=first)
    if not sparse:
        return feature
    found = [_center_and_scale(values) for values in numbers(feature, column)]
    center, scale = zip(*found, strict=True)
    return Feature(name=name, kind=kind, first_day=first, center=center, scale=scale)


def _center_and_scale(values: Floats) -> tuple[float, float]:
    """Mean and standard deviation; numbers near the largest float do not overflow.

    >>> _center_and_scale(np.array([1.0, 3.0, np.nan]))
    (2.0, 1.0)
    """
    unit = 2.0 ** min(1023, int(np.frexp(np.nanmax(np.abs(values)))[1]))  # exact to divide by
    return float(np.nanmean(values / unit) * unit), float(np.nanstd(values / unit) * unit) or 1.0


def _learn_text(table: Batch, name: str) -> Feature:
    from sklearn.feature_extraction.text import TfidfVectorizer

    if table.kinds[name] != "string":
        raise InputError("TB108", f'"{name}" is {table.kinds[name]}, not text; leave out --text.')
    documents = table.frame[name].fillna("")
    for min_df in (2, 1):  # a word seen once tells nothing, unless there is nothing else
        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=min_df)
        try:
            vectorizer.fit(documents)
        except ValueError:
            continue
        terms = tuple(str(term) for term in vectorizer.get_feature_names_out())
        return Feature(name=name, kind="text", terms=terms, idf=tuple(vectorizer.idf_.tolist()))
    raise InputError("TB108", f'"{name}" has no words to read; leave out --text.')


def _check_fit(feature: Feature, table: Batch) -> None:
    if feature.name not in table.kinds:
        raise InputError(
            "TB109",
            f'{table.name} has no column "{feature.name}", which the model reads.'
            f"{nearest(feature.name, table.kinds)}",
        )
    kind = table.kinds[feature.name]
    if kind not in FITS[feature.kind]:
        was = "text" if feature.kind == "text" else f"a {feature.kind}"
        raise InputError(
            "TB109",
            f'column "{feature.name}" was {was} when the model was fitted and is a {kind} in '
            f"{table.name}. Give it the type it had.",
        )


def numbers(feature: Feature, column: pd.Series) -> list[Floats]:
    """What a column becomes in a dense table: one array, or four for a date."""
    if feature.kind == "string":
        known = pd.Index(feature.categories, dtype=object)
        codes = known.get_indexer(column.astype(object))
        return [np.where(codes < 0, np.nan, codes).astype(np.float64)]
    if feature.kind == "date":
        return _date_parts(column.astype("datetime64[us]"), str(feature.first_day))
    values: Floats = column.to_numpy("float64", na_value=np.nan)
    if np.isinf(values).any():
        raise InputError(
            "TB004",
            f'column "{feature.name}" has {int(np.isinf(values).sum()):,} infinite values. '
            "Leave them blank, or drop the rows.",
        )
    if feature.kind == "boolean" and not np.isin(values[~np.isnan(values)], (0, 1)).all():
        raise InputError(
            "TB109",
            f'column "{feature.name}" was a boolean when the model was fitted; now it is not.',
        )
    return [values]


def _date_parts(days: pd.Series, first_day: str) -> list[Floats]:
    elapsed = (days.to_numpy() - np.datetime64(first_day)) / np.timedelta64(1, "D")
    parts: list[Any] = [days.dt.year, days.dt.month, days.dt.day_of_week]
    return [*(part.to_numpy("float64", na_value=np.nan) for part in parts), elapsed]


def _sparse(feature: Feature, column: pd.Series) -> Any:
    return SPARSE.get(feature.kind, _scaled)(feature, column)


def _scaled(feature: Feature, column: pd.Series) -> Any:
    values = np.column_stack(numbers(feature, column))
    center, scale = np.array(feature.center), np.array(feature.scale)
    with np.errstate(over="ignore"):
        scaled = values / scale - center / scale
    return csr_array(np.clip(np.nan_to_num(scaled, nan=0.0), -FAR, FAR))


def _one_hot(feature: Feature, column: pd.Series) -> Any:
    codes = numbers(feature, column)[0]
    known = np.flatnonzero(~np.isnan(codes))
    places = (known, codes[known].astype(np.intp))
    return csr_array((np.ones(known.size), places), shape=(codes.size, len(feature.categories)))


def _words(feature: Feature, column: pd.Series) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, vocabulary=list(feature.terms))
    vectorizer.idf_ = np.array(feature.idf)
    return csr_array(vectorizer.transform(column.fillna("")))


SPARSE: Mapping[str, Callable[[Feature, pd.Series], Any]] = {"string": _one_hot, "text": _words}
