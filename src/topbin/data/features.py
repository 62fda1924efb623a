"""From a table to a matrix that models read, in a way that new rows repeat exactly.

Numbers and booleans stay as they are, with NaN where a value is missing. A date becomes year,
month, weekday and days since the first date, and the hour if the dates have times. A string becomes
the position of its category, and NaN if the category is new. Where the categories are many, a few
hashes of their letters follow (Weinberger et al. 2009), which similar strings share. With a text
column (`topbin.data.text_features`) the matrix is sparse: categories are one-hot, and everything
else is scaled with missing values at the mean; both are as small as words (`BESIDE_TEXT`). With
vectors it is scaled too, but dense.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from topbin.core.checks import Floats, stored_as
from topbin.core.errors import InputError, option
from topbin.core.formatting import counted
from topbin.core.options import SIDES
from topbin.data.batch import Batch
from topbin.data.columns import Cells, Column, as_columns, numeric_marks, read_numbers
from topbin.data.encoders import fitted
from topbin.data.encoders.texts import Encoder
from topbin.data.findings import TEXTUAL, find_useless
from topbin.data.formats.written import AS_TEXT, ISO, MARKS, ORDERS
from topbin.data.schema import Kind, check_columns, nearest, quoted, shortened
from topbin.data.text_features import check_is_text, learn_words, text_matrix
from topbin.data.vectors import COMPONENTS, WIDE, principal_axes, project

FAR = 1e6  # the largest scaled number; one of another scale must not become infinite
DATE_PARTS = ("year", "month", "weekday", "days", "hour")  # the hour only if there are times
MANY = 40  # categories; trees cannot pick out more than that by their position alone
HASHES = 16  # more find a little more in long strings, and more noise in strings without meaning
# The standard deviation of a number beside text, and the entry of a category. The largest column
# of words of long texts has a root mean square of .055. Only a penalty on weights keeps a linear
# model from fitting noise, and columns twenty times as large hardly feel it: (TED)ⁿ then discarded
# rows by noise, and every round trusted the noise more (bench/results/mixed_tables.md).
BESIDE_TEXT = 0.05
VECTORS = ("vector", "encoded")
LINEAR = ("text", *VECTORS)  # kinds for which a linear model is tried
FITS: Mapping[str, tuple[Kind, ...]] = {
    "number": ("number", "boolean", "string", "blank"),  # text if its cells hold numbers
    "boolean": ("boolean", "number", "blank"),
    "date": ("date", "blank"),
    "string": ("string", "blank"),
    "text": ("string", "blank"),
    "vector": ("vector", "blank"),
    "encoded": ("string", "blank"),
    "image": ("string",),  # paths, which a net reads; if an encoder does, it is a vector
    "number or date": ("number", "boolean", "date", "blank"),  # of earlier versions; see `Code`
}
MOST_NUMBERS = 1 << 20  # that a column of a stored encoder may become


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One column of the table, and what was learned about it.

    `center` and `scale` have one value for each number that the column becomes, and are used beside
    text and vectors only. A category has no center, and beside text one scale.
    """

    name: str
    kind: str  # one of `FITS`
    categories: tuple[str, ...] = ()
    hashes: int = 0
    first_day: str | None = None
    has_times: bool = False
    center: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    terms: tuple[str, ...] = ()
    idf: tuple[float, ...] = ()
    letters: tuple[str, ...] = ()
    letters_idf: tuple[float, ...] = ()
    mark: str = ""  # what decimals follow, if cells held more than plain numbers
    size: int = 0  # how many numbers a vector becomes
    mean: tuple[float, ...] = ()  # of long vectors, which are read by their components
    axes: tuple[float, ...] = ()  # of these components, one after the other
    encoder: str = ""  # what makes vectors of the texts or images: a folder, or the name of ours
    digest: str = ""  # which encoder that was
    shape: tuple[int, ...] = ()  # of an image: channels, height, width

    def __post_init__(self) -> None:
        pairs = (self.terms, self.idf), (self.letters, self.letters_idf)
        is_known = self.kind in FITS and self.mark in ("", *MARKS)
        if not is_known or any(len(terms) != len(idf) for terms, idf in pairs):
            raise ValueError(f"column {self.name!r} has no known kind, or terms without weights")
        if not (0 <= self.hashes <= MOST_NUMBERS and 0 <= self.size <= MOST_NUMBERS):
            raise ValueError(f"column {self.name!r} becomes too many numbers")
        if self.shape and (len(self.shape) != 3 or not all(1 <= n <= SIDES[1] for n in self.shape)):
            raise ValueError(f"column {self.name!r} has images of the shape {self.shape}")

    @property
    def is_text(self) -> bool:
        """Whether the column holds text: words, categories, or paths of images."""
        return self.kind in ("string", "text") or bool(self.shape or self.encoder)

    @property
    def date_parts(self) -> tuple[str, ...]:
        """What a date becomes."""
        return DATE_PARTS if self.has_times else DATE_PARTS[:-1]

    def names(self, *, scaled: bool) -> list[str]:
        """What its columns of the matrix are called."""
        if self.kind in VECTORS:
            return [f"{self.name} {i}" for i in range(self.size)]
        words = (*self.terms, *(f"~{letters}~" for letters in self.letters))
        parts = {"date": self.date_parts, "text": words, "string": self.categories}
        if self.kind in parts and (scaled or self.kind == "date"):
            return [f"{self.name} {part}" for part in parts[self.kind]]
        return [self.name, *(f"{self.name} hash {i}" for i in range(self.hashes))]

    def read(self, column: Column) -> Column:
        """The column as this feature reads it: numbers in cells of text as numbers.

        If no cell of the fit held a word, a word is TB109.
        """
        if self.kind != "number" or column.kind != "string":
            return column
        words = [] if self.mark else Cells.of(column, ".").words
        if words:
            now = f'is a string now, such as "{shortened(words[0])}"'
            raise _of_another_type(self.name, "a number", now)
        return read_numbers(column, self.mark or ".")

    def to_dict(self) -> dict[str, Any]:
        """The fields that this feature uses."""
        return {key: v for key, v in asdict(self).items() if v not in ((), None, False, 0, "")}


def _of_another_type(column: str, was: str, now: str) -> InputError:
    before = f'column "{column}" was {was} when the model was fitted'
    return InputError("TB109", f"{before} and {now}. Give it the type it had.")


@dataclass(frozen=True, slots=True)
class Dropped:
    """A column that no model sees, and why.

    >>> fit_features({"age": [31, 47], "town": ["Ulm", "Ulm"]}).dropped
    (Dropped(name='town', reason='"town" is the same in every row.'),)
    """

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Features:
    """A fitted encoder: columns, their order, kinds and categories.

    It encodes every later table in the same way. `dates` is the order of day, month and year in
    csv files, by column, where dates were not in ISO 8601; `decimals` is "," or ".", by column,
    where numbers had decimal commas or separated thousands.

    >>> features = fit_features({"age": [31, 47, 52], "town": ["Ulm", "Köln", None]})
    >>> features.encode({"town": ["Ulm", "Rom"], "age": [20, None]})      # in any column order
    array([[20.,  1.],
           [nan, nan]])
    """

    features: tuple[Feature, ...]
    dropped: tuple[Dropped, ...] = ()
    dates: Mapping[str, str] = field(default_factory=dict)
    decimals: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        read, numbers = counted(len(self.features), "column"), counted(len(self.names), "number")
        return f"<Features: {read}, {len(self.dropped):,} left out; {numbers} per row>"

    @property
    def scaled(self) -> bool:
        """Whether numbers are scaled and categories one-hot, as linear models need it."""
        return any(feature.kind in LINEAR for feature in self.features)

    @property
    def sparse(self) -> bool:
        """Whether the matrix is sparse: a column is text, or categories outnumber vectors."""
        hot = sum(len(feature.categories) for feature in self.features)
        wide = sum(feature.size for feature in self.features)
        return self.scaled and (any(f.kind == "text" for f in self.features) or hot > wide)

    @property
    def image(self) -> Feature | None:
        """The column of images, if there is one; it has an encoder, or else a net reads it."""
        return next((feature for feature in self.features if feature.shape), None)

    @property
    def is_opaque(self) -> bool:
        """Whether models see one image or vector, and nothing else that could be a reason."""
        return len(self.features) == 1 and self.features[0].kind in (*VECTORS, "image")

    def matrix_columns(self, wanted: Callable[[Feature], object]) -> list[int]:
        """The columns of the matrix that are made of some columns of the table."""
        own = (f for f in self.features for _ in f.names(scaled=self.scaled))
        return [i for i, feature in enumerate(own) if wanted(feature)]

    @property
    def vector_columns(self) -> list[int]:
        """Which columns of the matrix come from vectors."""
        return self.matrix_columns(lambda feature: feature.kind in VECTORS)

    def vectors(self, X: Any) -> Floats:
        """What rows of the matrix have of vectors, as models read them."""
        own: Any = X[:, self.vector_columns]
        return np.asarray(own.toarray() if hasattr(own, "toarray") else own)

    @property
    def columns(self) -> list[str]:
        """The columns that a table must have."""
        return [feature.name for feature in self.features]

    @property
    def names(self) -> list[str]:
        """What the columns of the matrix are called."""
        return [name for f in self.features for name in f.names(scaled=self.scaled)]

    def encode(self, table: Any) -> Any:
        """The matrix of a table: an array of floats, or a csr matrix if a column is text.

        `table` is a `Batch`, its `Columns`, or whatever `topbin.data.columns.as_batch` takes.
        """
        columns = as_columns(table)
        self.check(columns.table)
        parts = ((f, f.read(columns[f.name])) for f in self.features)
        if not self.scaled:
            return np.column_stack([x for f, column in parts for x in numbers(f, column)])
        blocks = [SPARSE.get(f.kind, _scaled)(f, column) for f, column in parts]
        if self.sparse:
            return hstack([csr_array(block) for block in blocks], format="csr")
        return np.hstack([b if isinstance(b, np.ndarray) else b.toarray() for b in blocks])

    def by_name(self) -> "Features":
        """The same, ordered by name: a model must not see how the columns of a file are ordered."""
        return replace(self, features=tuple(sorted(self.features, key=lambda f: f.name)))

    def check(self, table: Batch) -> None:
        """Refuse a table whose columns or kinds are not those of the fit, with TB109."""
        for feature in self.features:
            name = feature.name
            if name not in table.kinds:
                way_out = f" Give the vectors with {option('embeddings')}, or as that column."
                raise InputError(
                    "TB109",
                    f'{table.name} has no column "{name}", which the model reads.'
                    f"{nearest(name, table.kinds)} Its columns are "
                    f"{quoted(list(table.kinds)) or 'none'}."
                    f"{way_out if feature.kind == 'vector' else ''}",
                )
            fits = FITS[feature.kind]
            if feature.shape or (feature.kind == "vector" and feature.encoder):
                fits = ("string", "vector")
            if (kind := table.kinds[name]) not in fits:
                was = "text" if feature.kind == "text" else f"a {feature.kind}"
                raise _of_another_type(name, was, f"is a {kind} in {table.name}")

    def orders(self, given: str | None) -> dict[str, str]:
        """How to read dates of new files: as in the fit, or as given; what was text stays text."""
        known = {f.name: ISO if f.is_text else given for f in self.features}
        return {name: order for name, order in known.items() if order} | {**self.dates}

    def marks(self, given: str | None) -> dict[str, str]:
        """How to read numbers of new files: as in the fit, or as given; text stays text."""
        known = {f.name: AS_TEXT if f.is_text else given for f in self.features}
        own = {f.name: f.mark for f in self.features if f.mark}
        return {name: mark for name, mark in known.items() if mark} | own | {**self.decimals}

    def read_by(self, folder: str) -> "Features":
        """The same with the encoder of texts in another folder."""
        place = os.path.abspath(folder) if os.path.isdir(folder) else folder  # or a name of ours
        features = [replace(f, encoder=place) if f.encoder else f for f in self.features]
        return replace(self, features=tuple(features))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        features = [feature.to_dict() for feature in self.features]
        dropped = [asdict(column) for column in self.dropped]
        written = {"dates": dict(self.dates), "decimals": dict(self.decimals)}
        used = {key: ways for key, ways in written.items() if ways}
        return {"features": features, "dropped": dropped, **used}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Features":
        """The inverse of `to_dict`, after a trip through JSON; TB110 if the values are damaged."""
        try:
            features = tuple(stored_as(feature, Feature) for feature in stored["features"])
            dropped = tuple(stored_as(column, Dropped) for column in stored["dropped"])
            dates, decimals = (dict(stored.get(key, {})) for key in ("dates", "decimals"))
            if not ({*dates.values()} <= {*ORDERS} and {*decimals.values()} <= {*MARKS}):
                raise ValueError(f"unknown orders of dates or decimal marks: {dates}, {decimals}")
            return cls(features, dropped, dates, decimals)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError("TB110", f"the stored encoder is damaged: {error!r}.") from error


def Code(name: str, texts: Sequence[str] | None) -> Feature:
    """A column as classifiers of earlier versions stored it: its categories, if it had any.

    These classifiers read a date as a number of microseconds.
    """
    kind = "number or date" if texts is None else "string"
    return Feature(name=name, kind=kind, categories=tuple(texts or ()))


def fit_features(
    table: Any,
    *,
    exclude: Sequence[str] = (),
    text: Sequence[str] = (),
    encoder: str | None = None,
    decimal: str | None = None,
) -> Features:
    """Learn how to encode a table; say which columns are dropped, and why.

    `exclude` names columns that are not features (label, id); `text` those to read as words, beside
    those that look like free text. `encoder` is the folder of one that reads the texts instead of
    words. Text whose cells hold numbers (`topbin.data.columns`) is read as numbers; `decimal` is
    what decimals follow if both marks fit, and "text" leaves it as it is. `table` is what
    `Features.encode` takes.

    >>> fit_features({"day": ["2020-02-03", "2020-05-01"], "paid": [1, 0]}).names
    ['day year', 'day month', 'day weekday', 'day days', 'paid']
    """
    columns = as_columns(table)
    kinds, where = columns.table.kinds, columns.table.name
    check_columns([*exclude, *text], list(kinds), where)
    names = [name for name in kinds if name not in exclude]
    read = [columns[name] for name in names]  # so that whoever gave the columns has them too
    in_cells = [] if decimal == AS_TEXT else [column for column in read if column.name not in text]
    marks = numeric_marks(in_cells, decimal)
    columns = columns.as_numbers(marks)
    findings = {name: finding for name in names if (finding := find_useless(columns[name]))}
    texts = {*text, *(name for name, finding in findings.items() if finding.code in TEXTUAL)}
    reasons = {
        name: finding.sentence
        for name, finding in findings.items()
        if name not in texts or finding.code == "unreadable" or columns[name].missing.all()
    }
    dropped = tuple(Dropped(name, reason) for name, reason in reasons.items())
    used = [name for name in names if name not in reasons]
    if not used:
        seen = " ".join(column.reason for column in dropped[:8]) or "Every column is left out."
        raise InputError("TB108", f"{where} has no column to learn from. {seen}")
    scaled = bool(texts & set(used)) or any(kinds[name] in LINEAR for name in used)
    if encoder is not None and texts.isdisjoint(used):
        message = f"{where} has no text to encode; name a column with {option('text')}."
        raise InputError("TB108", message)

    learned = (_learn(columns[name], name in texts, scaled, encoder) for name in used)
    features = [replace(f, mark=marks.get(f.name, "")) for f in learned]
    if any(feature.kind == "text" for feature in features):
        features = [_as_small_as_words(feature) for feature in features]
    return Features(tuple(features), dropped)


def _as_small_as_words(feature: Feature) -> Feature:
    """A number, date or category of a table with text; vectors and texts stay as they are."""
    if feature.kind not in ("number", "boolean", "date", "string"):
        return feature
    scale = (min(s / BESIDE_TEXT, sys.float_info.max) for s in feature.scale or (1.0,))
    return replace(feature, scale=tuple(scale))


def _learn(column: Column, is_text: bool, scaled: bool, encoder: str | None) -> Feature:
    name, kind = column.name, column.kind
    if is_text and encoder is not None:
        check_is_text(column)
        own = Encoder(os.path.abspath(encoder))
        feature = Feature(name=name, kind="encoded", encoder=own.folder, digest=own.digest)
        return _learn_vectors(feature, column)
    if is_text:
        return Feature(name=name, kind="text", **learn_words(column))
    if kind in ("string", "blank"):
        seen = sorted(text for text in column.texts if text.strip())  # blank text is missing
        hashes = HASHES if len(seen) > MANY and not scaled else 0
        return Feature(name=name, kind="string", categories=tuple(seen), hashes=hashes)
    feature = Feature(name=name, kind=kind)
    if kind == "vector":
        return _learn_vectors(feature, column)
    if kind == "date":
        first = str(np.nanmin(column.values).astype("datetime64[D]"))
        has_times = bool(_hours(column.values[~column.missing]).any())
        feature = replace(feature, first_day=first, has_times=has_times)
    return _with_scale(feature, numbers(feature, column)) if scaled else feature


def _learn_vectors(feature: Feature, column: Column) -> Feature:
    """Vectors as they are, every number scaled; long ones by their components.

    A component is divided by the root of its own standard deviation and the largest one: as they
    are the first few would drown the others, and made equal the last ones would be mostly noise.
    """
    raw = _raw_vectors(feature, column)
    if raw.shape[1] <= WIDE or len(raw) <= COMPONENTS:
        feature = replace(feature, size=raw.shape[1])
        return _with_scale(feature, _components(feature, raw))
    mean, axes = principal_axes(raw)
    flat = axes.ravel().round(7)
    feature = replace(feature, size=len(axes), mean=tuple(mean.tolist()), axes=tuple(flat.tolist()))
    feature = _with_scale(feature, _components(feature, raw))
    spread = np.array(feature.scale)
    return replace(feature, scale=tuple(np.sqrt(spread * spread.max()).tolist()))


def _with_scale(feature: Feature, arrays: Sequence[Floats]) -> Feature:
    center, scale = zip(*map(_center_and_scale, arrays), strict=True)
    return replace(feature, center=center, scale=scale)


def _center_and_scale(values: Floats) -> tuple[float, float]:
    """Mean and standard deviation, without overflow of numbers near the largest float.

    >>> _center_and_scale(np.array([1.0, 3.0, np.nan]))
    (2.0, 1.0)
    """
    values = np.sort(values)  # the order of rows would move the last bits
    unit = 2.0 ** min(1023, int(np.frexp(np.nanmax(np.abs(values)))[1]))  # exact to divide by
    return float(np.nanmean(values / unit) * unit), float(np.nanstd(values / unit) * unit) or 1.0


def numbers(feature: Feature, column: Column) -> list[Floats]:
    """What a column becomes in a dense matrix: one array, or several for a date."""
    if feature.kind == "string":
        return [_categories(feature, column), *_letters(feature, column)]
    if feature.kind == "date":
        return _date_parts(feature, column)
    if feature.kind in VECTORS:
        return _dimensions(feature, column)
    values: Floats = column.numbers
    if infinite := np.count_nonzero(np.isinf(values)):
        seen = f'column "{feature.name}" has {infinite:,} infinite values'
        raise InputError("TB004", f"{seen}. Leave them blank, or drop the rows.")
    if feature.kind == "boolean" and not np.isin(values[~column.missing], (0, 1)).all():
        raise _of_another_type(feature.name, "a boolean", "holds other numbers now")
    return [values]


def _dimensions(feature: Feature, column: Column) -> list[Floats]:
    if column.kind == "blank":
        return [column.values] * feature.size
    raw, expected = _raw_vectors(feature, column), len(feature.mean) or feature.size
    if (size := raw.shape[1]) != expected:
        before = f'column "{feature.name}" had vectors of {expected:,} numbers in the fit'
        raise InputError("TB109", f"{before} and has {size:,} now. Use the same model for both.")
    return _components(feature, raw)


def _components(feature: Feature, raw: NDArray[Any]) -> list[Floats]:
    """One array per number of a vector, or per component of a long one."""
    if feature.axes:
        axes = np.array(feature.axes).reshape(feature.size, -1)
        raw = project(raw, np.array(feature.mean), axes)
    return list(np.asarray(raw, np.float64).T)


def _raw_vectors(feature: Feature, column: Column) -> NDArray[Any]:
    """The vectors of a column, or those that the encoder of the fit makes of its texts."""
    if feature.kind != "encoded":
        return column.values
    encoder = fitted(Encoder, feature.encoder, feature.digest)
    width = len(feature.mean) or feature.size
    known: Any = encoder.vectors(column.texts) if column.texts else np.zeros((0, width), np.float32)
    return column.per_row(known)


def _categories(feature: Feature, column: Column) -> Floats:
    place = {category: float(i) for i, category in enumerate(feature.categories)}
    return column.per_row([place.get(text, np.nan) for text in column.texts])


def _letters(feature: Feature, column: Column) -> Floats:
    """Hashed counts of three and four letters in a row, one array per hash."""
    from sklearn.feature_extraction.text import HashingVectorizer

    if not feature.hashes:
        return np.empty((0, column.values.size))
    hashing = HashingVectorizer(n_features=feature.hashes, analyzer="char_wb", ngram_range=(3, 4))
    known: Floats = hashing.transform([*column.texts, ""]).toarray()
    known[[not text.strip() for text in (*column.texts, "")]] = np.nan  # blank text is missing
    return known[column.codes].T


def _date_parts(feature: Feature, column: Column) -> list[Floats]:
    """Year, month, weekday from Monday = 0, days since the first, hour; NaN if there is no date.

    >>> day = Column("day", "date", np.array(["2020-02-03T12", "NaT"], "datetime64[us]"))
    >>> feature = Feature(name="day", kind="date", first_day="2020-02-01", has_times=True)
    >>> [part.tolist() for part in _date_parts(feature, day)]
    [[2020.0, nan], [2.0, nan], [0.0, nan], [2.5, nan], [12.0, nan]]
    """
    if column.kind == "blank":
        return [column.values] * len(feature.date_parts)
    days = pd.DatetimeIndex(column.values)
    elapsed = (column.values - np.datetime64(str(feature.first_day))) / np.timedelta64(1, "D")
    parts = [days.year, days.month, days.day_of_week, elapsed, _hours(column.values)]
    return [np.asarray(part, np.float64) for part in parts[: len(feature.date_parts)]]


def _hours(moments: NDArray[np.datetime64]) -> Floats:
    """Hours since midnight."""
    return np.asarray((moments - moments.astype("datetime64[D]")) / np.timedelta64(1, "h"))


def _scaled(feature: Feature, column: Column) -> Any:
    values = np.column_stack(numbers(feature, column))
    center, scale = np.array(feature.center), np.array(feature.scale)
    with np.errstate(over="ignore"):
        scaled = values / scale - center / scale
    return np.clip(np.nan_to_num(scaled, nan=0.0), -FAR, FAR)


def _one_hot(feature: Feature, column: Column) -> Any:
    codes = _categories(feature, column)
    known = np.flatnonzero(~np.isnan(codes))
    places = (known, codes[known].astype(np.intp))
    entries = np.full(known.size, 1 / feature.scale[0] if feature.scale else 1.0)
    return csr_array((entries, places), shape=(codes.size, len(feature.categories)))


SPARSE: Mapping[str, Callable[[Feature, Column], Any]] = {"string": _one_hot, "text": text_matrix}
