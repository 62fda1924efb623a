"""From a source to what a model reads: rows, labels, features, and what was noticed on the way."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.checks import Floats, RowNumbers
from topbin.core.errors import InputError, option
from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.core.formatting import counted, counted_columns, listed
from topbin.core.hashing import equal_keys, row_keys
from topbin.core.labels import Labels
from topbin.core.options import Read, Request, Rows
from topbin.data.batch import Batch
from topbin.data.columns import Columns, with_vectors
from topbin.data.encoders import GivenEncoder
from topbin.data.features import LINEAR, Dropped, Feature, Features, fit_features
from topbin.data.findings import Finding, find_in_columns, odd_cells, overlap, repeated_ids
from topbin.data.images import Images
from topbin.data.schema import check_columns, quoted
from topbin.data.table import as_column, attach_whole
from topbin.engines.engine import Engine, Local
from topbin.job.grouping import (
    NO_GROUPS,
    FoldGroups,
    read_fold_groups,
    read_groups,
    refuse_sample,
    split_copies,
    unsaid_groups,
)
from topbin.job.labeled import (
    LabeledTable,
    LoadedRows,
    PathColumn,
    Rest,
    has_images,
    open_labeled,
    positives_first,
    read_images,
    refuse_both,
)
from topbin.job.sampling import count_labels, draw
from topbin.learn.open_set import ReadClasses
from topbin.mpe.alarms import methods_disagree, repeated_rows, shared_rows
from topbin.show.screen import Event
from topbin.store.answer import DataRead, ImageColumn, Sampled
from topbin.store.sources import file_sums, paths_of

LEAST = 3  # rows of a kind: to learn from, to choose by, and held out
WORTH = 4  # times the sample: fewer rows fit in memory as well as two samples and what they need
# Findings that the encoder already names among the columns it leaves out.
DROPPED_ANYWAY = {"constant", "identifier", "long-strings"}
WEIGHTS = "they train the models; α, its interval and the candidates count every row once"
NOT_READ = '"{}" is not read: the model sees the images only.'
LEAK = (
    '"{}" alone tells all or many known positives from unlabeled rows; if it leaks the label, this '
    "estimate is not to be trusted."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Prepared:
    """Rows whose labels are read and whose features are encoded.

    `request` is what was asked for. `alarms` are reasons to doubt any estimate from these rows.
    `rest` is None if they are all rows. `dates` and `decimals` say how dates and numbers were read.
    `weight` are the weights of the rows in training, if they have any, and `folds` what folds keep
    together. `image` is the column of images, if there is one; if they have no encoder, a net reads
    them, and X are its images. `classes` are the known classes of the labeled rows, if these are
    more than positive.
    """

    table: Batch
    labels: Labels
    encoder: Features
    X: Any
    findings: tuple[Finding, ...]
    request: Request
    label: str | None = None
    id: str | None = None
    alarms: tuple[Alarm, ...] = ()
    rest: Rest | None = None
    dates: Sequence[str] = ()
    decimals: Sequence[str] = ()
    weight: Floats | None = None
    folds: FoldGroups = NO_GROUPS
    image: PathColumn | None = None
    classes: ReadClasses | None = None

    def __repr__(self) -> str:
        return f"<Prepared: {self.table.name}; {self.labels.note}; {self.encoder!r}>"

    @property
    def stored_request(self) -> Request:
        """What was asked for, as run.toml has it; rows that are in no file have a name too."""
        rows, names, budget = self.request.rows, self.request.settings(), self.request.budget
        is_array = self.image is not None and self.image.paths is None
        nameless = ["an array of images" if is_array else self.table.name]
        if rows.positives is None:
            named: Any = {"source": names.get("source", nameless)}
        else:
            frame = nameless if is_array else ["a frame"]
            named = {"positives": names.get("positives", frame)}
            named["unlabeled"] = names.get("unlabeled", nameless)
        read = self.request.read
        if callable(read.encoder):
            read = replace(read, encoder=GivenEncoder(read.encoder).given)
        if "engine" not in names:  # an object of Python, which no file can hold
            budget = replace(budget, sample=budget.rows)
        return replace(self.request, rows=replace(rows, **named), read=read, budget=budget)

    @property
    def sources(self) -> list[str]:
        """The files that the rows come from, as they were written."""
        rows = self.stored_request.rows
        return [*(rows.positives or ()), *rows.main]

    @cached_property
    def hash(self) -> str:
        """A hash of all values of these rows, and of the content of their images, or classes."""
        names = self.table.hash()
        if self.classes is not None:
            return self.classes.hash(names)
        return names if self.image is None else self.image.images.hash(names)

    @property
    def by_net(self) -> bool:
        """Whether a net reads the rows, which are images, and nothing else does."""
        return isinstance(self.X, Images)

    @property
    def unlabeled_rows(self) -> Any:
        """Positions of the unlabeled rows in the table."""
        return np.flatnonzero(self.labels.is_unlabeled)

    @property
    def fitted_rows(self) -> RowNumbers:
        """Positions of the rows that take part in a fit: all but known negatives."""
        return np.flatnonzero(~self.labels.is_negative)

    @property
    def n_u(self) -> int:
        """How many unlabeled rows there are, in memory or not."""
        return self.labels.n_u if self.rest is None else self.rest.source.values.n_u

    @property
    def n_n(self) -> int:
        """How many rows are known to be negative; a sample has none of them."""
        n_n = int(self.labels.is_negative.sum())
        return n_n if self.rest is None else self.rest.source.values.n_n

    def check_enough(self) -> None:
        """TB003 if there are too few rows of a kind to hold some out and learn from others."""
        sides = {"known positive": self.labels.n_p, "unlabeled row": self.labels.n_u}
        for kind, rows in sides.items():
            if rows < LEAST:
                more = "Label more rows" if kind == "known positive" else "Give more rows"
                raise InputError(
                    "TB003",
                    f"there {'is' if rows == 1 else 'are'} only {counted(rows, kind)}; a fit needs "
                    f"at least {LEAST}, because it tests its models on rows that they did not "
                    f"see, and many more for a useful answer. {more}.",
                )

    def lines(self) -> list[str]:
        """How the table was read, as text: its labels, columns left out, and what was noticed."""
        unknown = () if self.label is None else (v for v in self.labels.unlabeled if v in (0, -1))
        return [
            f"labels          {self.labels.note}",
            *(f'                {v!r} is read as "unknown", not as "negative"' for v in unknown),
            f"columns         {self._kinds()}",
            *(f"dates           {line}" for line in self.dates),
            *(f"numbers         {line}" for line in self.decimals),
            *([] if self.weight is None else [f"weights         {WEIGHTS}"]),
            *([f"together        {self.folds.sentence}"] if self.folds.sentence else []),
            *(f"left out        {column.reason}" for column in self.encoder.dropped),
            *(f"noticed         {finding}" for finding in self.findings),
        ]

    def _kinds(self) -> str:
        names = {"string": "category", "boolean": "yes/no", "encoded": "text"}
        kinds = Counter(
            "image" if f.shape else names.get(f.kind, f.kind) for f in self.encoder.features
        )
        read = [counted_columns(count, kind) for kind, count in kinds.most_common()]
        texts = [f.name for f in self.encoder.features if f.kind in ("text", "encoded")]
        read = [f"{r} ({quoted(texts)})" if r.endswith(" text") else r for r in read]
        dropped = len(self.encoder.dropped)
        return ", ".join([*read, *([f"{dropped:,} left out"] if dropped else [])])

    def with_alarms(
        self,
        estimate: AlphaEstimate,
        others: Sequence[AlphaEstimate] = (),
        more: tuple[Alarm, ...] = (),
    ) -> AlphaEstimate:
        """An estimate with alarms of the rows and of other methods; of a sample, with a note.

        `more` are alarms that came up after the models were trained.
        """
        notes = estimate.notes
        if self.rest is not None and estimate.n_u == self.labels.n_u:
            notes = (*notes, self.rest.note(is_counted=False))
        alarms, of_rows = estimate.alarms, (*self.alarms, *more)
        if any(alarm.bias == "down" for alarm in of_rows):
            # The scores cannot be taken at their word, so they do not say which way α is off.
            alarms = tuple(replace(alarm, bias="either") for alarm in alarms)
        alarms = (*alarms, *of_rows, *methods_disagree(estimate, others))
        return replace(estimate, alarms=alarms, notes=notes)

    @cached_property
    def about(self) -> DataRead:
        """What an answer says about the data."""
        folds, rest, image, sample = self.folds, self.rest, None, None
        if self.image is not None:
            name, root = self.image.name, self.image.root or None
            channels, height, width = self.image.images.row_shape
            image = ImageColumn(column=name, shape=(channels, height, width), root=root)
        if rest is not None:
            sample = Sampled(rows=self.labels.n_u, of=self.n_u, seed=rest.seed)
        return DataRead(
            source=tuple(self.sources),
            hash=self.hash,
            rows=self.labels.n_p + self.n_u + self.n_n,
            n_p=self.labels.n_p,
            n_u=self.n_u,
            n_n=self.n_n,
            label=self.label,
            positive=None if self.label is None else str(self.labels.positive),
            classes=self.request.read.classes,
            label_note=self.labels.note,
            id=self.id,
            features=tuple(self.encoder.columns),
            dropped=self.encoder.dropped,
            findings=self.findings,
            image=image,
            group=folds.group,
            time=folds.time,
            together=folds.sentence,
            weight=self.request.read.weight,
            sample=sample,
            files=() if image else file_sums(self.request),
        )


def prepare(
    request: Request,
    *,
    engine: Engine = Local(),
    folder: Path | None = None,
    tell: Callable[[Event], object] = lambda _: None,
) -> Prepared:
    """Read what a request names, whole or a sample of it, and encode its rows.

    With a sample, a source that has more than four times as many unlabeled rows stays where it is:
    only its positives and two samples come into memory. Images are decoded into `folder`, that of
    the run, and `tell` hears how many are decoded, and then encoded.
    """
    rows, read = request.rows, request.read
    refuse_same(rows)
    if has_images(request):
        loaded = read_images(request, folder, lambda *at: tell(Event("decode", *at)))
        if loaded.image is not None and loaded.image.encoder is None:
            return _for_net(loaded, loaded.image, request)
        return _encoded(loaded, request, lambda *at: tell(Event("encode", *at)))
    _check_label(rows)
    rows = replace(rows, source=as_column(rows.main), unlabeled=None,
                   positives=as_column(rows.positives))  # fmt: skip
    loaded = _loaded(open_labeled(rows, read), request, engine)
    if read.embeddings is not None:
        loaded = replace(loaded, table=_with_vectors(loaded.table, request))
    return _encoded(loaded, request)


def _encoded(
    loaded: LoadedRows, request: Request, tell: Callable[[int, int], object] | None = None
) -> Prepared:
    """Rows as what models read, with what was noticed about them."""
    opened, table, labels = loaded.opened, loaded.table, loaded.labels
    rows, read, label = request.rows, request.read, opened.label
    id = rows.id or opened.table.id_column
    if id is not None:
        _check_id(table, labels, label, id)
    folds = read_fold_groups(table, label, rows.group, read.time)
    for name in read.by:
        read_groups(table, label, name)  # which refuses what forms no groups, before any work
    columns = _columns(loaded, read, tell)
    weights = None if read.weight is None else _weights(columns, read.weight)
    named: list[Any] = [label, id, read.weight, rows.group, read.time]
    # Of two tables, one may lack what is left out.
    named += rows.drop if opened.positives is not None else ()
    left_out = [name for name in named if name in table.kinds]
    left_out += rows.drop if opened.positives is None else ()
    features = _features(loaded, columns, left_out, request)
    X = features.encode(columns)
    odd = [f for f in features.features if f.mark and table.kinds[f.name] == "string"]
    noticed = tuple(odd_cells(columns[f.name], f.mark, in_doubt=not read.decimal) for f in odd)
    columns = columns.with_read(f.read(columns[f.name]) for f in odd)
    others = [name for name in table.kinds if name not in (label, id, *read.text)]
    findings, alarms = _notice(columns, X, labels, features, others, folds)
    ids = () if id in (None, rows.group) else repeated_ids(id, table.select([id]).frame[id])
    findings = (*opened.findings, *noticed, *ids, *findings)
    classes = opened.classes
    return Prepared(
        table=table,
        labels=labels,
        encoder=features,
        X=X,
        findings=findings,
        request=request,
        label=label,
        id=id,
        alarms=alarms,
        rest=loaded.rest,
        dates=opened.table.date_lines,
        decimals=opened.table.decimal_lines,
        weight=weights,
        folds=folds,
        image=loaded.image,
        classes=None if classes is None else classes.with_unlabeled(labels.n_u),
    )


def _columns(loaded: LoadedRows, read: Read, tell: Callable[[int, int], object] | None) -> Columns:
    """The columns; of images and of what a function reads, vectors."""
    image = loaded.image
    if image is not None and image.encoder is not None:
        vectors = image.encoder.vectors(image.images, image.paths, tell)
        return with_vectors(loaded.table, {image.name: vectors})
    columns = Columns(loaded.table)
    if not callable(read.encoder):
        return columns
    return _by_function(columns, read, in_memory=loaded.rest is None)


def _for_net(loaded: LoadedRows, image: PathColumn, request: Request) -> Prepared:
    """Pixels as they are; a net reads nothing else."""
    opened, table, labels = loaded.opened, loaded.table, loaded.labels
    named = (image.name, opened.label, request.rows.id)
    dropped = tuple(Dropped(n, NOT_READ.format(n)) for n in table.kinds if n not in named)
    feature = Feature(name=image.name, kind="image", shape=image.images.row_shape)
    keys = image.images.row_keys
    twins = equal_keys(keys[labels.is_positive], keys[labels.is_unlabeled], [keys[:, None]])
    alarms = *shared_rows(twins), *repeated_rows(twins.repeated)
    return Prepared(
        table=table,
        labels=labels,
        encoder=Features((feature,), dropped),
        X=image.images,
        findings=(*opened.findings, *overlap(twins)),
        request=request,
        label=opened.label,
        id=request.rows.id,
        alarms=alarms,
        image=image,
    )


def _loaded(opened: LabeledTable, request: Request, engine: Engine) -> LoadedRows:
    """The rows that come into memory: all, or a sample if there are many more."""
    rows, sample, seed = request.rows, request.budget.rows, request.certainty.seed
    if sample is not None:
        counts = count_labels(engine, opened, rows.positive, rows.negative)
        if counts.values.n_u > WORTH * sample:
            refuse_sample(rows.group, request.read.time)
            drawn = draw(engine, counts, sample, seed)
            files = counted(len(counts.table.files), "file")
            table = replace(drawn.table, name=f"the sample of {files}")
            labels = positives_first(counts.values, drawn.positives.rows, table.rows)
            columns = replace(drawn.columns, name=table.name)
            rest = Rest(counts, columns, drawn.places, seed)
            return LoadedRows(opened, table, labels, rest=rest)
    table = opened.whole()
    return LoadedRows(opened, table, opened.labels(table, rows))


def _features(
    loaded: LoadedRows, columns: Columns, left_out: list[str], request: Request
) -> Features:
    """The encoder, fitted, with how dates and numbers of its columns are written."""
    image, table = loaded.image, loaded.opened.table
    # For a sample, categories and words are learned from other rows. A category that comes from a
    # row of the sample would be known there and new everywhere else, and a model would notice.
    rows = columns if loaded.rest is None else loaded.rest.columns
    given, by = request.read.encoder, None if image is None else image.encoder
    is_read = by is not None or callable(given)  # to vectors, before this
    reader = None if given is None or is_read else os.path.abspath(given)
    text = [] if by is None and is_read else list(request.read.text)
    marks = set(table.decimals.values())
    decimal = request.read.decimal or (marks.pop() if len(marks) == 1 else None)
    features = fit_features(rows, exclude=left_out, text=text, encoder=reader, decimal=decimal)
    features, about = features.by_name(), dict[str, Any]()  # of columns read to vectors before
    if image is not None and by is not None:
        shape = image.images.row_shape
        about[image.name] = {"encoder": by.given, "digest": by.digest, "shape": shape}
    elif is_read:
        about = {name: {"encoder": GivenEncoder(given).given} for name in request.read.text}
    return replace(
        features,
        features=tuple(replace(f, **about.get(f.name, {})) for f in features.features),
        dates={c: order for c, order in table.dates.items() if c in features.columns},
        decimals={c: mark for c, mark in table.decimals.items() if c in features.columns},
    )


def _by_function(columns: Columns, read: Read, *, in_memory: bool) -> Columns:
    """The columns with texts as vectors of a function; TB143 if rows stay where they are."""
    if not in_memory:
        message = "a function as encoder reads rows in memory; leave out"
        raise InputError("TB143", f"{message} {option('sample')} and {option('engine')}.")
    if not read.text:
        raise InputError("TB108", f"name the texts that it encodes with {option('text')}.")
    check_columns(read.text, list(columns.table.kinds), columns.table.name)
    encoder = GivenEncoder(read.encoder)
    return with_vectors(columns.table, {name: encoder.column(columns[name]) for name in read.text})


def _with_vectors(table: Batch, request: Request) -> Batch:
    sample = request.budget.rows is not None
    if sample or request.rows.positives is not None:
        reason = "a sample of the rows" if sample else "two tables"
        raise InputError(
            "TB142",
            f"embeddings in a file of their own belong to one table that is read whole, not to "
            f"{reason}. Give the vectors as a column of the table, or as the table (.npy).",
        )
    return attach_whole(table, request.read.embeddings)


def _notice(
    columns: Columns,
    X: Any,
    labels: Labels,
    features: Features,
    others: Sequence[str],
    folds: FoldGroups,
) -> tuple[tuple[Finding, ...], tuple[Alarm, ...]]:
    """What to know about a table before any model sees it, and the alarms that follow from it.

    Columns that models read one by one are checked one by one; `others` may name groups. Known
    negatives count on neither side. A leak makes every unlabeled row look negative, so that α̂ is
    near 0 and its interval is narrow.
    """
    names = [feature.name for feature in features.features if feature.kind not in LINEAR]
    is_p, is_u = labels.is_positive, labels.is_unlabeled
    in_columns = find_in_columns(
        (columns[name] for name in names), is_p, is_u, in_groups=folds.row_groups is not None
    )
    keys = row_keys(X)
    several = [X] if X.shape[1] > 1 else []  # equal numbers alone are no copies
    twins = equal_keys(keys[is_p], keys[is_u], several)
    findings = [finding for finding in in_columns if finding.code not in DROPPED_ANYWAY]
    repeated = twins.repeated
    if repeated and folds.row_groups is not None:
        single = folds.without_copies(keys)
        keys_p, keys_u = keys[single[is_p[single]]], keys[single[is_u[single]]]
        repeated = equal_keys(keys_p, keys_u, [X[single]]).repeated
    alarms = (*shared_rows(twins), *repeated_rows(repeated))
    if folds.group is not None:
        alarms = (*_leaks(findings), *alarms, *split_copies(X, labels, folds))
        return (*findings, *overlap(twins)), alarms
    groups, unsaid = unsaid_groups(columns, X, labels, others)
    # A column that names what rows belong to is to be given, not left out.
    named = {alarm.column for alarm in unsaid}
    findings = [
        finding for finding in findings if finding.code != "leak" or finding.column not in named
    ]
    return (*findings, *overlap(twins), *groups), (*_leaks(findings), *alarms, *unsaid)


def _leaks(findings: Sequence[Finding]) -> tuple[Alarm, ...]:
    leaks = (str(finding.column) for finding in findings if finding.code == "leak")
    return tuple(Alarm("leak", LEAK.format(column), "down", column) for column in leaks)


def _check_label(rows: Rows) -> None:
    label = rows.label
    refuse_both(rows)
    if rows.positives is None and label is None:
        raise InputError(
            "TB008", f"{option('label')} is missing: name the column that marks the positives."
        )
    if not isinstance(label, str | None):
        raise InputError(
            "TB008",
            f"label is the name of a column; got {type(label).__name__}. Add the labels as a "
            'column, frame.assign(known=labels), and say label="known". If positives and unlabeled '
            "rows are in two frames: topbin.fit(unlabeled, positives=positives).",
        )


def refuse_same(rows: Rows) -> None:
    """TB139 if the known positives and the unlabeled rows are the same files, or the same object.

    >>> refuse_same(Rows(unlabeled="photos", positives=["photos/"]))
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB139 the known positives and the unlabeled rows are the same...
    """
    if rows.positives is None:
        return
    both = [paths_of(given) for given in (rows.positives, rows.main)]
    two = [{os.path.realpath(path) for path in paths} for paths in both]
    if rows.main is rows.positives or (two[0] and two[0] == two[1]):
        named = f": {quoted(both[1])}" if two[0] else ""
        raise InputError(
            "TB139",
            f"the known positives and the unlabeled rows are the same{named}. Name the known "
            f"positives with {option('positives')}, and, separately, rows that may or may not be "
            "positive.",
        )


def _weights(columns: Columns, weight: str) -> Floats:
    """The weights of the rows, or TB012 with the first row that has none, or a bad one."""
    check_columns([weight], list(columns.table.kinds), columns.table.name)
    column = columns[weight]
    is_numeric = column.kind in ("number", "boolean")
    values = column.numbers if is_numeric else np.full(1, np.nan)
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size or not values.any():
        rule = f'the weights in "{weight}" must be numbers from 0 on, and not all 0'
        if is_numeric and bad.size:
            first = values[bad[0]]
            rule += f"; row {bad[0] + 1:,} has {'none' if np.isnan(first) else f'{first:g}'}"
        raise InputError("TB012", f"{rule}.")
    return values


def _check_id(table: Batch, labels: Labels, label: str | None, id: str) -> None:
    ids = table.select([id]).frame[id]
    if id == label:
        raise InputError("TB008", f'"{id}" cannot be the label and the id at once.')
    if label is not None:
        return
    positive_ids = ids[labels.is_positive].dropna()
    unlabeled_ids = ids[labels.is_unlabeled]
    shared = unlabeled_ids[unlabeled_ids.isin(positive_ids)]
    if len(shared):
        has, it = ("has", "it") if len(shared) == 1 else ("have", "them")
        raise InputError(
            "TB116",
            f"{counted(len(shared), 'unlabeled row')} {has} the "
            f'"{id}" of a known positive ({listed(set(map(str, shared)))}). Remove {it} from the '
            "unlabeled file: a row that is known positive is not unlabeled.",
        )
