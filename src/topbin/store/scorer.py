"""The model of a run and the encoder that feeds it: what `topbin score` does, for frames."""

import os
import warnings
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.errors import InputError
from topbin.data.batch import Batch, as_pandas
from topbin.data.beside import as_column, attach_whole
from topbin.data.columns import Columns, as_columns
from topbin.data.features import Feature, Features
from topbin.data.images.cache import (
    ADVICE,
    LEAVE_OUT,
    REFUSE,
    bad_sentences,
    check_bad,
    decode_files,
    refuse_bad,
)
from topbin.data.images.files import find_images, names_images, paths_from
from topbin.data.images.rows import Images
from topbin.data.schema import quoted
from topbin.data.table import open_table
from topbin.learn.explain import Explanation, explain
from topbin.learn.probabilities import fit_probabilities
from topbin.store.answer import Answer
from topbin.store.models import load, load_encoder, reading
from topbin.store.runs import read_result

MODEL = "model"
PROBABILITY, POSITIVE = "topbin_probability", "topbin_positive"
NONE_LEFT = "None of the images can be used, so none is scored. Fix them, or name others."
REASON = "topbin_"  # before reason_1, reason_2, reason_3


@dataclass(frozen=True, slots=True)
class Told:
    """Which columns told the model something in the rows that were read; parts add.

    `silent` are columns in which no row has a value that the model knows; those in `empty` have no
    value at all. `rows` are all rows, also those that were scored before and not read again.
    """

    rows: int
    read: int = 0
    silent: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()

    @classmethod
    def of(cls, features: Features, columns: Columns) -> "Told":
        """What the columns of these rows tell the model."""
        empty = {f.name for f in features.features if columns[f.name].missing.all()}
        exact = (f for f in features.features if f.kind == "string" and not f.hashes)
        unseen = {f.name for f in exact if not {*f.categories} & {*columns[f.name].texts}}
        rows = columns.table.rows
        return cls(rows, rows, frozenset(empty | unseen), frozenset(empty))

    def __add__(self, other: "Told") -> "Told":
        if not (self.read and other.read):
            kept = self if self.read else other
            return replace(kept, rows=self.rows + other.rows)
        silent, empty = self.silent & other.silent, self.empty & other.empty
        return Told(self.rows + other.rows, self.read + other.read, silent, empty)

    def doubts(self) -> Iterator[str]:
        """A sentence per column that tells the model nothing."""
        for name in sorted(self.silent) if self.read else ():
            if name in self.empty:
                yield f'"{name}" is empty in all {self.read:,} rows that are scored.'
            else:
                yield f'"{name}" has only values that the model has never seen.'


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """Scores new rows of the table that a run was fitted on; `topbin.load("run1")` gives one."""

    model: Any
    encoder: Features

    def score(
        self,
        frame: Any,
        *,
        why: bool = False,
        bad_images: str = LEAVE_OUT,
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
        if self.encoder.image is not None:
            scored, bad = self.score_images(frame, why=why, bad_images=bad_images)
            refuse_none_left(len(scored), bad)
            for words in bad_sentences(bad):
                warnings.warn(words, stacklevel=2)
            return scored
        scored, told = self.score_batch(frame, why=why, embeddings=embeddings)
        for doubt in told.doubts():
            warnings.warn(doubt, stacklevel=2)
        return scored

    def score_batch(
        self, frame: Any, *, why: bool = False, embeddings: Any = None
    ) -> tuple[Any, Told]:
        """As `score`, with what the columns told the model instead of warnings."""
        if isinstance(frame, str | os.PathLike | list | tuple):
            self.refuse_images(frame)
            order, mark = self.encoder.orders(None), self.encoder.marks(None)
            how: Any = {"needed": self.encoder.columns, "dates": order, "decimal": mark}
            frame = open_table(frame, **how).whole()
        frame = as_column(frame)
        table = frame if isinstance(frame, Batch) else Batch.from_frame(frame)
        given = table.readable if isinstance(frame, Batch) else as_pandas(frame)
        refuse_scored(table.kinds, table.name)
        table = table if embeddings is None else attach_whole(table, embeddings)
        columns = as_columns(table)
        X = self.encoder.encode(columns)
        with reading("the model of the run"):
            p = self.model.predict_proba(X)[:, 1]
            reasons = self._explain(X, table).texts() if why else {}
        ours = {f"{REASON}{name}": texts for name, texts in reasons.items()}
        scored = given.assign(**{PROBABILITY: p, POSITIVE: p > 0.5, **ours})
        return scored, Told.of(self.encoder, columns)

    def score_images(
        self,
        given: Any,
        *,
        why: bool = False,
        bad_images: str = LEAVE_OUT,
        root: str | None = None,
    ) -> tuple[Any, dict[str, str]]:
        """As `score`, also if no image is left, with the files that were left out and why.

        `root` is the folder that paths of a table are relative to, and must stay in.
        """
        check_bad(bad_images)
        if why:
            raise InputError("TB013", "scores of images cannot be explained; leave out why.")
        assert self.encoder.image is not None
        frame, images, bad = _image_rows(given, self.encoder.image, root)
        if bad_images == REFUSE:
            refuse_bad(bad, ADVICE)
        refuse_scored(frame.columns, "the rows")
        p = np.zeros(0)
        if len(images):
            with reading("the model of the run"):
                p = self.model.predict_proba(images)[:, 1]
        return frame.assign(**{PROBABILITY: p, POSITIVE: p > 0.5}), bad

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
        table = frame if isinstance(frame, Batch) else Batch.from_frame(frame)
        return self._explain(self.encoder.encode(table), table)

    def _explain(self, X: Any, table: Batch) -> Explanation:
        groups = getattr(self.model.model_, "groups", ())
        models = [model for group in groups for model in group]
        if not models:
            name = type(self.model.model_).__name__
            raise InputError("TB013", f"the scores of {name} cannot be explained.")
        return explain(models, X, self.encoder, table.select(self.encoder.columns).frame)


def refuse_none_left(rows: int, bad: Mapping[str, str]) -> None:
    """TB132 if all images were left out, so that none has a score."""
    if not rows:
        refuse_bad(bad, NONE_LEFT)


def _image_rows(
    given: Any, feature: Feature, root: str | None
) -> tuple[Any, Images, dict[str, str]]:
    """The rows whose images can be read, as a frame, the images, and the files that cannot."""
    column, shape = feature.name, feature.shape
    if isinstance(given, np.ndarray):
        names = [f"image {i + 1}" for i in range(len(given))]
        return pd.DataFrame({column: names}), Images.of(given), {}
    if isinstance(given, str | os.PathLike | list | tuple):
        given = pd.DataFrame({column: find_images(given)})
    table = given if isinstance(given, Batch) else Batch.from_frame(given)
    Features((feature,)).check(table)
    paths = paths_from(table.frame[column], column, root)
    done = decode_files(paths, shape=shape)
    return table.take(done.kept).frame, done.images, done.bad


def after_audit(model: Any, found: Answer) -> Any:
    """The model with what scores and answers say together, if the run was audited.

    Audits themselves read the model as it was fitted: rows were drawn by those probabilities.
    """
    told = None if found.audit is None else found.audit.together
    if told is None or not model.evidence_.has_scores:
        return model
    changed = copy(model)
    changed.estimate_ = told.estimate(model.estimate_)
    changed.alpha_ = changed.estimate_.alpha
    changed.probability_map_ = fit_probabilities(model.evidence_, changed.estimate_)
    return changed


def read_scorer(run: Path, *, net: Any = None) -> Scorer:
    """The scorer of a run that is complete."""
    result = read_result(run)
    model, encoder = load(run / MODEL, net=net), load_encoder(run / MODEL)
    with reading(run):
        model = after_audit(model, result)
    if encoder is None:
        message = f'"{run / MODEL}" has no encoder.json, which the model of a run has.'
        raise InputError("TB110", message)
    model.features_ = None  # earlier versions saved one, and names, for a matrix encoded before
    vars(model).pop("feature_names_in_", None)
    return Scorer(model, encoder)


def fitted_rows(run: Path, source: Sequence[str]) -> str | None:
    """A sentence if some of these files or folders were part of what the run was fitted on.

    Its models saw those rows: they score unlabeled ones too low, and known positives too high.
    Names are compared as they were given, from where this runs; a frame or an array has none.
    """
    named = read_result(run).data.source
    told = [path for path in named if has_magic(path) or os.path.exists(path)]
    fitted = [Path(os.path.realpath(path)) for path in _globbed(told)]
    for given in _globbed(source):
        path = Path(os.path.realpath(given))
        if any(path.is_relative_to(own) or own.is_relative_to(path) for own in fitted):
            return (
                f'"{given}" was part of the fit. Models that were trained on a row score it too '
                "low if it was unlabeled, and too high if it was a known positive. Of unlabeled "
                "rows, candidates.csv of the run has probabilities by models that did not see them "
                "(`topbin fit --candidates` lists more rows)."
            )
    return None


def _globbed(paths: Iterable[str]) -> Iterator[str]:
    """The paths, patterns as the files that fit them."""
    for path in paths:
        yield from glob(path, recursive=True) if has_magic(path) else (path,)


def refuse_scored(columns: Container[str], where: str) -> None:
    """Refuse rows that have a column of ours, which would be lost without a word."""
    for column in (PROBABILITY, POSITIVE):
        if column in columns:
            raise InputError(
                "TB115",
                f'there is a column "{column}" in {where} already, as in what topbin scored. '
                "Score the rows it was made from, or rename or drop the column first, for example "
                f'with pandas: frame.drop(columns="{column}").',
            )
