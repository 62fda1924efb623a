"""Why a row scores high: what each column, or word, adds to the score of models that never saw it.

The score that is explained is the mean logit of the models: log-odds of "like the known positives"
against "like the other unlabeled rows". It orders rows as their probabilities do, up to averaging
over folds. For LightGBM, XGBoost and CatBoost the parts are Shapley values of the trees (Lundberg
et al., Nature Machine Intelligence 2020), for linear models coefficient times value; the parts and
the base add up to the score. They explain the score, not the world: of two columns that say the
same, one may get it all.

What groups of letters add is told as words. A group never crosses a space, so each of its
occurrences belongs to one word of the text. What the group adds is divided among these occurrences,
and every word gets the sum of its groups: the total stays the same. Sequences without words keep
their groups.

A vector has no parts that people can read, so no part of it is a reason. What can be shown is which
known positives are nearest to a row. They say what it resembles; the score does not follow from
them. A known positive counts as near if its distance is usual among known positives: 95 % of them
have another one at most as far away. Of a row that is unlike all of them, none is named.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack
from scipy.special import logit
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline

from topbin.core.checks import Floats, RowNumbers
from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.data.features import Feature, Features
from topbin.data.text_features import letters_of
from topbin.learn.crossfit import Chain
from topbin.mpe.samples import is_sparse

REASONS = 3
WORD = re.compile(r"\b\w\w+\b")  # as words are read
LONGEST = 40  # letters of a value
ABSENT = "other letters"
TINY = 1e-12  # the least probability that has a logit here
EDGES = re.compile(r"^\W+|\W+$")
NEAREST = 3  # known positives that are named beside a row
MOST_KNOWN, MEASURED = 10_000, 1_000  # that rows are compared with, and with each other
USUAL = 0.95


@dataclass(frozen=True, slots=True)
class Reason:
    """A column, or a word of a text column, its value in the row, and what it adds to the score.

    >>> print(Reason("amount", "431", 1.3177))
    amount = 431 (+1.32)
    """

    column: str
    value: str
    contribution: float

    def __str__(self) -> str:
        return f"{self.column} = {self.value} ({self.contribution:+.2f})"


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A known positive near a row: its name, and the distance between the vectors.

    >>> print(Neighbor("cats/017.jpg", 0.3))
    cats/017.jpg
    """

    name: str
    distance: float

    def __str__(self) -> str:
        return self.name


Neighbors = tuple[tuple[Neighbor, ...], ...]  # of each row, the nearest first


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """What each column or word adds to the score of each row: `base + parts` is the score.

    Attributes
    ----------
    names, parts
        Columns or words, and an array with one column per name, sparse where words are explained.
    base
        What is left of each row's score without any. If models read nothing but a vector, no part
        of which is a reason, there are no names, and the base is the score.
    rows
        The rows as they came, for the values in `reasons`.
    nearest
        Near known positives of each row, if models read vectors.

    >>> import pandas as pd
    >>> rows = pd.DataFrame({"age": [50], "pay": [7]})
    >>> why = Explanation(("age", "pay"), np.array([[1.0, -2.0]]), np.array([0.5]), rows)
    >>> [str(reason) for reason in why.reasons()[0]], why.score
    (['pay = 7 (-2.00)', 'age = 50 (+1.00)'], array([-0.5]))
    """

    names: tuple[str, ...]
    parts: Any
    base: Floats
    rows: Any
    nearest: Neighbors = ()

    def __repr__(self) -> str:
        return f"<Explanation: {self.base.size:,} rows, {len(self.names):,} columns or words>"

    @property
    def score(self) -> Floats:
        """The mean logit of the models, one per row."""
        parts: Floats = np.asarray(self.parts.sum(axis=1), np.float64).ravel()
        return self.base + parts

    def reasons(self, most: int = REASONS) -> list[list[Reason]]:
        """For each row the columns or words that move its score most, the strongest first."""
        return [self._of(i, most) for i in range(self.base.size)]

    def texts(self, most: int = REASONS) -> dict[str, list[str]]:
        """The same as columns of a table: reason_1, reason_2, …"""
        return _columns("reason", self.reasons(most), min(most, len(self.names)))

    def importance(self) -> dict[str, float]:
        """How much a column or word moves the score of these rows on average, the most first."""
        mean = np.asarray(abs(self.parts).mean(axis=0)).ravel()
        order = np.argsort(-mean, kind="stable")
        return {self.names[j]: float(mean[j]) for j in order if mean[j] > 0}

    def _of(self, i: int, most: int) -> list[Reason]:
        row = self.parts[[i]].toarray()[0] if is_sparse(self.parts) else self.parts[i]
        order = np.argsort(-np.abs(row), kind="stable")[:most]
        return [self._reason(i, int(j), float(row[j])) for j in order if row[j] != 0]

    def _reason(self, i: int, j: int, part: float) -> Reason:
        name = self.names[j]
        if name not in self.rows:  # a word
            column, _, word = name.partition(": ")
            return Reason(column, _excerpt(word, str(self.rows[column].iloc[i])), part)
        value = self.rows[name].iloc[i]
        if isinstance(value, list | tuple | np.ndarray):
            return Reason(name, f"a vector of {len(value):,}", part)
        text = f"{value:g}" if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
        text = "blank" if pd.isna(value) else text
        return Reason(name, text if len(text) <= LONGEST else f"{text[:LONGEST]}…", part)


def _excerpt(word: str, text: str) -> str:
    """How a word stands in a text; trees also read that it does not.

    >>> _excerpt("late bill", "A late, unpaid bill"), _excerpt("bill", "A late, unpaid bill")
    ('without late bill', '… bill …')
    """
    text = text.lower()
    plain = f" {' '.join(WORD.findall(text))} "
    is_there = f" {word} " in plain or word.strip("~") in text
    return f"… {word} …" if is_there else f"without {word}"


def why_columns(explain: Callable[[], Explanation], near: Neighbors) -> dict[str, list[str]]:
    """Reasons and near known positives as columns; the latter alone if there are no reasons."""
    try:
        reasons = explain().texts()
    except InputError as error:
        if error.code != "TB013" or not near:
            raise
        reasons = {}
    return reasons | nearest_columns(near)


def inner_models(model: Any) -> list[Any]:
    """All models of an ensemble; TB013 if it is none, as a net is."""
    models = [each for group in getattr(model, "groups", ()) for each in group]
    if not models:
        raise InputError("TB013", f"the scores of {type(model).__name__} cannot be explained.")
    return models


def explain(models: Sequence[Any], X: Any, features: Features | None, rows: Any) -> Explanation:
    """Explain the mean logit of models for rows of a matrix, and of the frame it was made from.

    Without `features` the matrix has the columns of the frame.
    """
    return _in_words(_explain(models, X, features, rows), features)


def _in_words(explained: Explanation, features: Features | None) -> Explanation:
    """The same parts, with those of letters added to the words of each row that contain them."""
    names, parts = list(explained.names), explained.parts
    for feature in () if features is None else features.features:
        if feature.letters and feature.terms:
            texts = explained.rows[feature.name].tolist()
            names, parts = _one_column(names, parts, feature, texts)
    return replace(explained, names=tuple(names), parts=parts)


def _one_column(
    names: list[str], parts: Any, feature: Feature, texts: Sequence[Any]
) -> tuple[list[str], Any]:
    first = names.index(f"{feature.name}: ~{feature.letters[0]}~")
    last = first + len(feature.letters)
    parts = csr_array(parts)
    others = names[:first] + names[last:]
    place = {name: j for j, name in enumerate(others)}
    cells: defaultdict[tuple[int, int], float] = defaultdict(float)
    for i, (text, own) in enumerate(zip(texts, parts[:, first:last], strict=True)):
        row = own.tocoo()
        added = {feature.letters[int(j)]: v for j, v in zip(row.coords[-1], row.data, strict=True)}
        for word, part in spread(str(text or ""), added).items():
            cells[i, place.setdefault(f"{feature.name}: {word}", len(place))] += part
    coords = np.array([*cells], np.intp).reshape(-1, 2).T
    values: Floats = np.array([*cells.values()], np.float64)
    words: Any = csr_array((values, (coords[0], coords[1])), shape=(parts.shape[0], len(place)))
    rest = hstack([parts[:, :first], parts[:, last:]], format="csr")
    rest.resize((parts.shape[0], len(place)))
    return list(place), rest + words


def spread(text: str, added: dict[str, float]) -> dict[str, float]:
    """What each word of a text adds, from what each group of its letters adds.

    To trees, it also says something that a group is not there.

    >>> spread("No refund, refund!", {"ref": 1.0, "no ": 0.5, "zzz": 0.25})
    {'no': 0.5, 'refund': 1.0, 'other letters': 0.25}
    """
    seen = [(EDGES.sub("", word), letters_of(word)) for word in text.lower().split()]
    counts = Counter(group for _, groups in seen for group in groups)
    by_word: defaultdict[str, float] = defaultdict(float)
    for word, groups in seen:
        share = sum(added.get(group, 0.0) / counts[group] for group in groups)
        if share:
            by_word[word or "…"] += share
    if absent := sum(part for group, part in added.items() if group not in counts):
        by_word[ABSENT] += absent
    return dict(by_word)


def _explain(models: Sequence[Any], X: Any, features: Features | None, rows: Any) -> Explanation:
    """By the columns of the matrix, grouped by the columns of the table; words count each."""
    if features is not None and features.is_opaque:
        if not features.vector_columns:
            raise InputError("TB013", "what a net makes of an image cannot be explained.")
        likely = [np.clip(model.predict_proba(X)[:, 1], TINY, 1 - TINY) for model in models]
        return Explanation((), np.zeros((X.shape[0], 0)), np.mean(logit(likely), axis=0), rows)
    each = [contributions(model, X) for model in models]
    parts, base = sum(part for part, _ in each) / len(each), np.mean([b for _, b in each])
    if features is None:
        return Explanation(tuple(rows.columns), parts, np.full(X.shape[0], base), rows)
    names, grouped = zip(*(_units(feature, features.scaled) for feature in features.features),
                         strict=True)  # fmt: skip
    units = [name for own in names for name in own]
    starts = np.cumsum([0, *map(len, names)])
    unit = np.concatenate([starts[k] + np.array(own) for k, own in enumerate(grouped)])
    shape = (unit.size, len(units))
    together = csr_array((np.ones(unit.size), (np.arange(unit.size), unit)), shape=shape)
    return Explanation(tuple(units), parts @ together, np.full(X.shape[0], base), rows)


def explain_held_out(
    chains: Sequence[Chain], places: RowNumbers, X: Any, features: Features, rows: Any
) -> Explanation:
    """Explain rows, each by the chain that held it out; `places` are its training rows, −1: none.

    A row that took part in no training is explained by the first chain.
    """
    if not chains:
        raise InputError(
            "TB013", "there are no models of held-out rows, so no row can be explained; the fit "
            "was stopped before they were made, or was loaded from a folder.",
        )  # fmt: skip
    done: list[tuple[RowNumbers, Explanation]] = []
    for k, chain in enumerate(chains):
        own = np.isin(places, chain.held_out) | ((places < 0) & (k == 0))
        if own.any():
            own_part = _explain(chain.models, X[own], features, rows[own])
            done.append((np.flatnonzero(own), own_part))
    order = np.argsort(np.concatenate([own for own, _ in done]))
    parts = [own_part.parts for _, own_part in done]
    whole = vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)
    base = np.concatenate([own_part.base for _, own_part in done])
    return _in_words(Explanation(done[0][1].names, whole[order], base[order], rows), features)


def contributions(model: Any, X: Any) -> tuple[Any, float]:
    """What each column of a matrix adds to a model's logit, and what is left without any."""
    if isinstance(model, Pipeline) and len(model.steps) == 2:
        parts, base = contributions(model[1], model[0].transform(X))
        return _in_place(parts, model[0], X), base
    if isinstance(model, LogisticRegression):
        weights = model.coef_[0]
        parts = csr_array(X.multiply(weights)) if is_sparse(X) else np.asarray(X) * weights
        return parts, float(model.intercept_[0])
    shapley = SHAPLEY.get(type(model).__name__)
    if shapley is None:
        raise InputError(
            "TB013",
            f"the scores of {type(model).__name__} cannot be explained. topbin explains LightGBM "
            '(pip install "topbin[boost]" makes it the default model), XGBoost, CatBoost and '
            "logistic regression.",
        )
    values = shapley(model, X)
    values = np.asarray(values.toarray() if hasattr(values, "toarray") else values, np.float64)
    return values[:, :-1], float(values[0, -1])


def _of_xgboost(model: Any, X: Any) -> Any:
    rows = require("xgboost", extra="xgboost", caller="explain").DMatrix(X, missing=model.missing)
    return model.get_booster().predict(rows, pred_contribs=True)


def _of_catboost(model: Any, X: Any) -> Any:
    rows = require("catboost", extra="catboost", caller="explain").Pool(X)
    return model.get_feature_importance(rows, type="ShapValues")


# By class: the parts of each column, and a last column with what is left without any.
SHAPLEY: dict[str, Callable[[Any, Any], Any]] = {
    "LGBMClassifier": lambda model, X: model.booster_.predict(X, pred_contrib=True),
    "XGBClassifier": _of_xgboost,
    "CatBoostClassifier": _of_catboost,
}


def _in_place(parts: Any, step: Any, X: Any) -> Any:
    """The parts of some columns of a matrix, where these columns are."""
    if not isinstance(step, ColumnTransformer):
        return parts
    ((_, _, columns),) = step.transformers
    inner = csr_array(parts).tocoo()
    coords = inner.coords[0], np.asarray(columns, np.intp)[inner.coords[1]]
    return csr_array((inner.data, coords), shape=X.shape)


def _units(feature: Feature, scaled: bool) -> tuple[list[str], list[int]]:
    """What of a column is explained, and to which of these each of its matrix columns belongs.

    All parts of a date and all hashes of a string count as the column; words count each.
    """
    columns = feature.names(scaled=scaled)
    if feature.kind == "text":
        words = [column.removeprefix(f"{feature.name} ") for column in columns]
        return [f"{feature.name}: {word}" for word in words], list(range(len(columns)))
    return [feature.name], [0] * len(columns)


@dataclass(frozen=True, eq=False)
class KnownPositives:
    """Names and vectors of known positives, and the distance up to which one is near.

    >>> known = KnownPositives.of(["a", "b", "c"], np.array([[1.0, 0], [1.1, 0], [9, 9]]))
    >>> [[str(one) for one in row] for row in known.nearest(np.array([[1.05, 0], [0, 0]]), most=1)]
    [['a'], []]
    """

    names: tuple[str, ...]
    vectors: NDArray[np.float32]
    reach: float

    @classmethod
    def of(cls, names: Sequence[str], vectors: Any, seed: int = 0) -> "KnownPositives":
        """Those that have a vector; of very many, some that are drawn at random."""
        given = np.asarray(vectors, np.float32)
        rows = np.flatnonzero(given.any(axis=1))  # a row without a vector has zeros alone
        if rows.size > MOST_KNOWN:
            rows = np.sort(np.random.default_rng(seed).permutation(rows)[:MOST_KNOWN])
        known = cls(tuple(names[i] for i in rows.tolist()), given[rows], 0.0)
        if rows.size < 2:
            return known
        some = known.vectors[:: -(-rows.size // MEASURED)]
        apart, _ = known._search.kneighbors(some, 2)  # the first is the row itself, or a copy
        return cls(known.names, known.vectors, float(np.quantile(apart[:, 1], USUAL)))

    @cached_property
    def _search(self) -> Any:
        return NearestNeighbors(algorithm="brute").fit(self.vectors)

    def nearest(self, vectors: Any, most: int = NEAREST) -> Neighbors:
        """For each row the near known positives, at most so many; none for a row without vector."""
        rows: Any = np.asarray(vectors, np.float32)
        if not len(rows) or not self.names:
            return ((),) * len(rows)
        apart, places = self._search.kneighbors(rows, min(most, len(self.names)))
        near = (apart <= self.reach) & rows.any(axis=1)[:, None]
        return tuple(
            tuple(Neighbor(self.names[j], float(d)) for d, j, is_near in zip(*row, strict=True)
                  if is_near)
            for row in zip(apart, places, near, strict=True)
        )  # fmt: skip


def nearest_columns(near: Neighbors) -> dict[str, list[str]]:
    """The names as columns of a table: nearest_1, nearest_2, …; blank where none is near.

    >>> nearest_columns(((Neighbor("a", 0.1),), ()))["nearest_1"]
    ['a', '']
    """
    return _columns("nearest", near, NEAREST) if near else {}


def is_explanation(column: object, *, begins: str = "(reason|nearest)") -> bool:
    """Whether a column says why a row is listed, or which positives are near it.

    A table that has a column of that name makes ours end in underscores.

    >>> [is_explanation(name) for name in ("reason_1", "reason_1_", "nearest_3", "reason_for")]
    [True, True, True, False]
    """
    return re.fullmatch(rf"{begins}_\d+_*", str(column)) is not None


def is_nearest(column: object) -> bool:
    """Whether a column names known positives that rows resemble.

    >>> is_nearest("nearest_1"), is_nearest("nearest_town")
    (True, False)
    """
    return is_explanation(column, begins="nearest")


def _columns(name: str, rows: Sequence[Sequence[object]], most: int) -> dict[str, list[str]]:
    """The k-th item of each row as column k, blank where a row has fewer."""
    return {
        f"{name}_{k + 1}": [str(row[k]) if k < len(row) else "" for row in rows]
        for k in range(most)
    }
