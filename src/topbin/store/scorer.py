"""The model of a run and the encoder that feeds it: what `topbin score` does, for frames."""

import os
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from topbin.core.atomic import PathLike
from topbin.core.errors import InputError, option
from topbin.core.options import Read
from topbin.data.batch import Batch, add_columns, as_pandas
from topbin.data.columns import Columns, with_vectors
from topbin.data.encoders import PYTHON, GivenEncoder, fitted, given_again
from topbin.data.encoders.images import ImageEncoder
from topbin.data.features import Feature, Features
from topbin.data.images import Images, cache
from topbin.data.paths import find_images, names_images, paths_from
from topbin.data.schema import quoted
from topbin.data.table import Table, as_column, attach_whole, open_table
from topbin.learn.explain import (
    Explanation,
    KnownPositives,
    Neighbors,
    explain,
    inner_models,
    why_columns,
)
from topbin.learn.probabilities import fit_probabilities
from topbin.store.answer import Answer
from topbin.store.models import open_model, reading
from topbin.store.runs import MODEL, read_known, read_result

PROBABILITY, POSITIVE = "topbin_probability", "topbin_positive"
NOVEL, CLASS = "topbin_novel", "topbin_class"
NONE_LEFT = "None of the images can be used, so none is scored. Fix them, or name others."
REASON = "topbin_"  # before reason_1, reason_2, reason_3
NOT_NEEDED = ("evidence_", "oof_proba_")  # for scores of new rows


@dataclass(frozen=True, slots=True)
class ColumnCoverage:
    """Which columns told the model something in the rows that were read; parts add.

    `silent` are columns in which no row has a value that the model knows; those in `empty` have no
    value at all. `rows` are all rows, also those that were scored before and not read again.
    """

    rows: int
    read: int = 0
    silent: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()

    @classmethod
    def of(cls, features: Features, columns: Columns) -> "ColumnCoverage":
        """What the columns of these rows tell the model."""
        empty = {f.name for f in features.features if f.read(columns[f.name]).missing.all()}
        exact = (f for f in features.features if f.kind == "string" and not f.hashes)
        unseen = {f.name for f in exact if not {*f.categories} & {*columns[f.name].texts}}
        rows = columns.table.rows
        return cls(rows, rows, frozenset(empty | unseen), frozenset(empty))

    def __add__(self, other: "ColumnCoverage") -> "ColumnCoverage":
        if not (self.read and other.read):
            known = self if self.read else other
            return replace(known, rows=self.rows + other.rows)
        silent, empty = self.silent & other.silent, self.empty & other.empty
        return ColumnCoverage(self.rows + other.rows, self.read + other.read, silent, empty)

    def doubts(self) -> Iterator[str]:
        """A sentence per column that tells the model nothing."""
        for name in sorted(self.silent) if self.read else ():
            if name in self.empty:
                yield f'"{name}" is empty in all {self.read:,} rows that are scored.'
            else:
                yield f'"{name}" has only values that the model has never seen.'


@dataclass(frozen=True, slots=True, eq=False)
class Rated:
    """What the model read of a batch, of which rows, the new columns, and what to know about it.

    `bad` are images that cannot be read, with the reason; their rows have no score.
    """

    X: Any
    rows: Any
    coverage: ColumnCoverage
    bad: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """Scores new rows of the table that a run was fitted on; `topbin.load("run1")` gives one."""

    model: Any
    encoder: Features
    known: KnownPositives | None = None  # that rows are compared with, if models read vectors
    function: Any = None  # of Python, if it was the encoder of the fit

    def lean(self) -> "Scorer":
        """Without what scores of new rows do not need, so that less is sent to workers."""
        model = copy(self.model)
        for name in NOT_NEEDED:
            vars(model).pop(name, None)
        return replace(self, model=model, known=None)

    def rate(
        self,
        batch: Batch,
        *,
        why: bool = False,
        bad_images: str = cache.LEAVE_OUT,
        root: str | None = None,
    ) -> Rated:
        """Encode, predict, two columns: p(positive) among the unlabeled, and whether it is > .5.

        If it was fitted with known classes: p(novel), and the likeliest class. Frames, files,
        images, Dask and Spark all come here. `root` is the folder that paths of images are relative
        to, and must stay in.
        """
        refuse_scored(batch.kinds, batch.name)
        self._check_why(why)
        ours: dict[str, Any] = dict(self._said(np.zeros((0, 2))))
        reasons: Mapping[str, Any] = {}
        with reading("the model of the run"):
            read = self._encoded(batch, bad_images, root)
            X, rows = read.X, read.rows
            if len(rows):
                ours = self._said(self.model.predict_proba(X))
                if why:
                    table = batch.take(rows)
                    reasons = why_columns(lambda: self._explain(X, table), self._nearest(X))
        ours |= {f"{REASON}{name}": texts for name, texts in reasons.items()}
        return replace(read, columns=ours)

    def _said(self, p: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
        """The two columns: p(positive) and whether it is > .5; or p(novel) and the class."""
        if hasattr(self.model, "novel_"):
            return {NOVEL: p[:, -1], CLASS: self.model.classes_.astype(str)[p.argmax(axis=1)]}
        return {PROBABILITY: p[:, 1], POSITIVE: p[:, 1] > 0.5}

    def _encoded(self, batch: Batch, bad_images: str, root: str | None) -> Rated:
        """What the model reads of a batch, before it says anything."""
        image = self.encoder.image
        if image is None:
            columns = self._columns(batch)
            coverage = ColumnCoverage.of(self.encoder, columns)
            return Rated(self.encoder.encode(columns), np.arange(batch.rows), coverage)
        paths = paths_from(batch.frame[image.name], image.name, root)
        done = cache.decode_files(paths, shape=image.shape)
        if bad_images == cache.REFUSE:
            cache.refuse_bad(done.bad, cache.ADVICE)
        X: Any = done.images
        if image.encoder and len(done.readable):
            X = self._as_vectors(X, batch.take(done.readable), [paths[i] for i in done.readable])
        return Rated(X, done.readable, ColumnCoverage(batch.rows), done.bad)

    def _columns(self, batch: Batch, vectors: Mapping[str, Any] | None = None) -> Columns:
        """The columns that the model reads, images as vectors; TB109 if they are not those."""
        self.encoder.check(batch)
        columns, made = Columns(batch), dict(vectors or {})
        for f in self.encoder.features:
            if f.encoder.startswith(PYTHON) and not f.shape:
                made[f.name] = given_again(f.encoder, self.function).column(columns[f.name])
        return with_vectors(batch.select(self.encoder.columns), made)

    def _as_vectors(self, images: Images, batch: Batch, paths: Sequence[str] | None = None) -> Any:
        """What the model reads if an encoder turns the images of these rows into vectors."""
        image = self.encoder.image
        assert image is not None
        encoder: ImageEncoder | GivenEncoder
        if image.encoder.startswith(PYTHON):
            encoder = given_again(image.encoder, self.function)
        else:
            encoder = fitted(ImageEncoder, image.encoder, image.digest)
        vectors = encoder.vectors(images, paths)
        return self.encoder.encode(self._columns(batch, {image.name: vectors}))

    def score(
        self,
        frame: Any,
        *,
        why: bool = False,
        bad_images: str = cache.LEAVE_OUT,
        embeddings: Any = None,
    ) -> Any:
        """The rows with two columns more: p(positive) among the unlabeled, and whether it is > .5.

        With `why`, three more say what moved the score of each row; that takes a millisecond or
        more per row, and is TB013 where the model cannot be explained.

        `frame` is a path or a list of paths of files that `topbin score` reads, a pandas, polars or
        arrow frame, a matrix of vectors, or a `Batch`; what comes back is a pandas frame. Columns
        that the model does not read may be missing, or be others. If the model reads images,
        `frame` can also be a folder, a list of files or an array; files that cannot be read are
        left out with a warning, or with `bad_images="refuse"` an error. `embeddings` are vectors
        beside the rows, as in `topbin.fit`.
        """
        Read(bad_images=cast(Any, bad_images))  # which refuses another word
        self._check_why(why)
        if self.encoder.image is not None and isinstance(frame, np.ndarray):
            return self._score_array(self.encoder.image, frame)
        table, given = self._opened(frame)
        table = table if embeddings is None else attach_whole(table, embeddings)
        rated = self.rate(table, why=why, bad_images=bad_images)
        refuse_none_left(len(rated.rows), rated.bad)
        for words in (*cache.bad_sentences(rated.bad), *rated.coverage.doubts()):
            warnings.warn(words, stacklevel=2)
        return with_scores(given, rated)

    def _opened(self, frame: Any) -> tuple[Batch, Any]:
        """The rows, and how they are given back."""
        if isinstance(frame, str | os.PathLike | list | tuple):
            if self.encoder.image is not None:
                frame = pd.DataFrame({self.encoder.image.name: find_images(frame)})
            else:
                self.refuse_images(frame)
                frame = open_new(self.encoder, frame).whole()
        frame = as_column(frame)
        if isinstance(frame, Batch):
            return frame, frame.readable
        return Batch.from_frame(frame), as_pandas(frame)

    def _check_why(self, why: bool) -> None:
        if why and self.encoder.is_opaque and self.known is None:
            raise InputError(
                "TB013",
                "scores of images or vectors cannot be explained, and the run keeps no known "
                f"positives to compare them with; leave out {option('why')}.",
            )

    def _score_array(self, image: Feature, pixels: Any) -> Any:
        """Images in memory, by number."""
        frame = pd.DataFrame({image.name: [f"image {i + 1}" for i in range(len(pixels))]})
        X: Any = Images.of(pixels)
        any_size = image.encoder and not image.encoder.startswith(PYTHON)
        if not any_size and X.row_shape != tuple(image.shape):
            raise InputError(
                "TB109",
                f"images of shape {X.row_shape} (channels, height, width); the model was fitted on "
                f"{tuple(image.shape)}.",
            )
        if image.encoder and len(X):
            X = self._as_vectors(X, Batch.from_frame(frame))
        with reading("the model of the run"):
            p = self.model.predict_proba(X) if len(pixels) else np.zeros((0, 2))
        return add_columns(frame, self._said(p))

    def refuse_images(self, source: Any) -> None:
        """TB109 for images, if the model does not read them."""
        if names_images(source):
            named = source if isinstance(source, str | os.PathLike) else source[0]
            raise InputError(
                "TB109",
                f'the run was not fitted on images, and "{os.fspath(named)}" has images. Score '
                f"rows with the columns that it was fitted on: {quoted(self.encoder.columns)}.",
            )

    def explain(self, frame: Any) -> Explanation:
        """What each column, or word, adds to the score of each row; as `Result.explain`."""
        table, _ = self._opened(frame)
        read = self._encoded(table, cache.REFUSE, None)
        return replace(self._explain(read.X, table.take(read.rows)), nearest=self._nearest(read.X))

    def _nearest(self, X: Any) -> Neighbors:
        return () if self.known is None else self.known.nearest(self.encoder.vectors(X))

    def _explain(self, X: Any, table: Batch) -> Explanation:
        rows = table.select(self.encoder.columns).frame
        return explain(inner_models(self.model.model_), X, self.encoder, rows)


def open_new(
    encoder: Features,
    source: Any,
    read: Read = Read(),
    needed: Sequence[str] | None = None,
    *,
    skip_bad: bool = False,
) -> Table:
    """New rows; dates and numbers are as in the fit, unless `read` says how they are written."""
    return open_table(
        source, needed=encoder.columns if needed is None else needed, skip_bad=skip_bad,
        partitions=read.partitions, dates=encoder.orders(read.dates),
        decimal=encoder.marks(read.decimal),
    )  # fmt: skip


def refuse_none_left(rows: int, bad: Mapping[str, str]) -> None:
    """TB132 if all images were left out, so that none has a score."""
    if not rows:
        cache.refuse_bad(bad, NONE_LEFT)


def with_scores(frame: Any, rated: Rated) -> Any:
    """The rows of a pandas frame that have a score, with the new columns."""
    rows = frame if len(rated.rows) == len(frame) else frame.iloc[rated.rows].reset_index(drop=True)
    return add_columns(rows, rated.columns)


def after_audit(model: Any, answer: Answer) -> Any:
    """The model with what scores and answers say together, if the run was audited.

    Audits themselves read the model as it was fitted: rows were drawn by those probabilities.
    """
    both = None if answer.audit is None else answer.audit.together
    if both is None or not model.evidence_.has_scores:
        return model
    changed = copy(model)
    changed.estimate_ = both.estimate(model.estimate_)
    changed.alpha_ = changed.estimate_.alpha
    changed.probability_map_ = fit_probabilities(model.evidence_, changed.estimate_)
    return changed


def read_scorer(run: Path, *, net: Any = None, encoder: Any = None) -> Scorer:
    """The scorer of a run that is complete; `encoder` is where that of its texts is now."""
    result, scorer = read_result(run), open_scorer(run / MODEL, net=net)
    with reading(run):
        model = after_audit(scorer.model, result)
    model.features_ = None  # earlier versions saved one, and names, for a matrix encoded before
    vars(model).pop("feature_names_in_", None)
    function = encoder if callable(encoder) else None
    features = scorer.encoder if encoder is function else scorer.encoder.read_by(encoder)
    return Scorer(model, features, read_known(run, features), function)


def open_scorer(folder: PathLike, *, net: Any = None) -> Scorer:
    """The scorer of a model folder; TB110 if its model was not fitted from a table."""
    opened = open_model(folder)
    model, encoder = opened.model(net), opened.encoder()
    if encoder is None:
        message = f'"{opened.folder}" has no encoder.json, which the model of a run has.'
        raise InputError("TB110", message)
    return Scorer(model, encoder)


def refuse_scored(columns: Container[str], where: str) -> None:
    """Refuse rows that have a column of ours, which would be lost without a word."""
    for column in (PROBABILITY, POSITIVE, NOVEL, CLASS):
        if column in columns:
            raise InputError(
                "TB115",
                f'there is a column "{column}" in {where} already, as in what topbin scored. '
                "Score the rows it was made from, or rename or drop the column first, for example "
                f'with pandas: frame.drop(columns="{column}").',
            )
