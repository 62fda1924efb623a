"""The rows of a job and their labels: a table with a label column, or positives and others.

Images are rows with a column of images: of paths in a table, or of names if they come as folders,
lists or arrays. Files that cannot be read are left out before any label is counted, and named; the
pixels are decoded once and stay in the run folder, where the report and the review find them.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.errors import InputError, option
from topbin.core.formatting import counted
from topbin.core.labels import Labels, LabelValues, Mask, resolve_labels
from topbin.core.optional import refuse_missing
from topbin.core.options import Read, Request, Rows
from topbin.data.batch import Batch, Part, Places, join
from topbin.data.encoders import GivenEncoder
from topbin.data.encoders.images import (
    DESCRIPTION,
    LITE,
    LITES,
    NONE,
    ImageEncoder,
    is_image_encoder,
    load_model,
)
from topbin.data.findings import Finding, find_in_files, find_shared
from topbin.data.images import Images
from topbin.data.images.cache import (
    ABOUT,
    ADVICE,
    REFUSE,
    bad_sentences,
    decode_files,
    refuse_bad,
    write_store,
)
from topbin.data.paths import find_images, is_address, names_images, paths_from
from topbin.data.schema import CONTENT
from topbin.data.table import Table, all_shared, leave_out_shared, open_pair, open_table
from topbin.learn.open_set import ReadClasses, read_classes
from topbin.store.runs import IMAGES
from topbin.store.sources import paths_of

NEED_LABELS = (
    f"images need labels: give known positives with {option('positives')}, a table with a column "
    f"of paths, {option('image')}, and one of labels, or in Python one label per image: "
    "topbin.fit(images, labels)."
)
COLUMN, LABEL = "image", "label"  # names of columns of sources that have no columns


@dataclass(frozen=True, slots=True)
class Roles:
    """Which rows are positive and which unlabeled; without a label column, all are unlabeled."""

    label: str | None
    values: LabelValues

    def of(self, batch: Batch) -> tuple[Mask, Mask]:
        """The positive and the unlabeled rows of a batch."""
        if self.label is None:
            return np.zeros(batch.rows, bool), np.ones(batch.rows, bool)
        coded = batch.coded(self.label)
        return self.values.is_positive(coded), self.values.is_unlabeled(coded)


@dataclass(frozen=True, slots=True, eq=False)
class LabeledTable:
    """A table and its label column, or a table of unlabeled rows and the known positives.

    `parts` and `values` (what the labels mean) are there once the labels are counted. `findings`
    are what to know about the files.
    """

    table: Table
    label: str | None
    positives: Batch | None = None
    parts: Sequence[Part] = ()
    values: LabelValues = field(default=LabelValues({}, None, None, ""))
    findings: tuple[Finding, ...] = ()
    row: str = "row"  # how people call one
    classes: ReadClasses | None = None

    @property
    def roles(self) -> Roles:
        """Which rows are positive and which unlabeled."""
        return Roles(self.label, self.values)

    def resolve(self, counts: Any, positive: Any, negative: Any) -> LabelValues:
        """What the values of the label column mean, from the number of rows that have each."""
        if self.positives is None:
            named = f'column "{self.label}"'
            return resolve_labels(counts, positive=positive, negative=negative, name=named)
        n_p, n_u = counts[True], counts[False]
        note = (
            f"{counted(n_p, 'known positive')} in {self.positives.name}, "
            f"{counted(n_u, f'unlabeled {self.row}')} in {self.table.name}"
        )
        if self.classes is not None:
            k = len(self.classes.values)
            note += f"; positive means: of one of {k:,} known classes"
        return LabelValues(counts, True, None, note)

    def whole(self) -> Batch:
        """All rows; of two tables, the known positives first."""
        batch = self.table.whole()
        if self.positives is None:
            return batch
        name = f"{self.positives.name} with {batch.name}"
        return replace(join([self.positives, batch]), name=name)

    def labels(self, batch: Batch, rows: Rows, n_p: int | None = None) -> Labels:
        """The labels of all rows; or of some, of which the first `n_p` are known positives."""
        if self.positives is not None:
            n_p = self.positives.rows if n_p is None else n_p
            values = self.resolve({True: n_p, False: batch.rows - n_p}, None, None)
            return positives_first(values, n_p, batch.rows)
        coded = batch.coded(str(self.label))
        return self.resolve(coded.counts(), rows.positive, rows.negative).read(coded)


@dataclass(frozen=True, slots=True, eq=False)
class Rest:
    """What is not in memory, if the rows to learn from are a sample.

    `columns` are the rows that showed which values the columns have, and `places` those of all
    unlabeled rows that were drawn.
    """

    source: LabeledTable
    columns: Batch
    places: Places
    seed: int

    def note(self, *, is_counted: bool) -> str:
        """What every reader of an estimate must know."""
        n_u, drawn = self.source.values.n_u, self.places.size
        which = f"{n_u - drawn:,} others" if is_counted else "these rows alone"
        return (
            f"trained on {drawn // 2:,} of {n_u:,} unlabeled rows, drawn at random "
            f"(seed {self.seed}); α is of {which}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class PathColumn:
    """A column of images, of which each row has one: names, pixels for people, and their files.

    `root` is the folder that paths in a table are relative to. `paths` is None for an array. The
    `encoder` makes vectors of the images; without one, a net reads them.
    """

    name: str
    images: Images
    paths: Sequence[str] | None = None
    root: str | None = None
    encoder: ImageEncoder | GivenEncoder | None = None

    def keep(self, table: Batch, run: Path) -> None:
        """Leave the pixels in a run folder, if they are not there already."""
        if not (run / IMAGES / ABOUT).exists():
            names = paths_from(table.frame[self.name], self.name, self.root)
            write_store(run / IMAGES, self.images, names)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedRows:
    """Rows in memory, with their labels, before anything is learned from them.

    `rest` are the rows that stay where they are, if these are a sample.
    """

    opened: LabeledTable
    table: Batch
    labels: Labels
    image: PathColumn | None = None
    rest: Rest | None = None


def refuse_both(rows: Rows) -> None:
    """TB008 for a label beside known positives."""
    if rows.positives is not None and rows.label is not None:
        raise InputError(
            "TB008",
            f"{option('label')} and {option('positives')} cannot both be given; leave one out.",
        )


def open_labeled(rows: Rows, read: Read) -> LabeledTable:
    """Open a table with a label column, or one of positives beside one of unlabeled rows.

    Columns are compared before any row is read; then the table of positives is read whole.
    """
    written: Any = {"dates": read.dates, "decimal": read.decimal, "partitions": read.partitions}
    if rows.positives is None:
        table = open_table(rows.main, sql=read.sql, **written)
        named = str(rows.label)
        return LabeledTable(table.check([named]), named, findings=find_in_files(table.files))
    first, table = open_pair(
        rows.positives, rows.main, apart=read.classes, drop=rows.drop, **written
    )
    table, shared = leave_out_shared(first, table)
    findings = (*find_shared(shared, first.name), *find_in_files([*first.files, *table.files]))
    positives, classes = first.whole(), None
    if read.classes is not None:
        classes = read_classes(positives.frame[read.classes].tolist()).check_labeled()
        positives = positives.select([name for name in positives.kinds if name != read.classes])
    return LabeledTable(table, None, positives, findings=findings, classes=classes)


def positives_first(values: LabelValues, n_p: int, rows: int) -> Labels:
    """The labels of rows of which the first ones are positive and all others unlabeled."""
    is_positive = np.arange(rows) < n_p
    nobody = np.zeros(rows, bool)
    return Labels(is_positive, nobody, values.positive, values.unlabeled, values.note)


def has_images(request: Request) -> bool:
    """Whether the rows are images rather than a table of values."""
    both = request.rows.main, request.rows.positives
    return request.read.image is not None or any(_is_array(x) or names_images(x) for x in both)


def _is_array(source: Any) -> bool:
    return isinstance(source, np.ndarray) and source.ndim > 2


def check_folders(request: Request) -> None:
    """Refuse what cannot be done, and a folder without files, before anything is removed."""
    _refuse_others(request)
    if request.read.image is None:
        for given in (request.rows.main, request.rows.positives):
            if given is not None:
                find_images(given)


def _refuse_others(request: Request) -> None:
    """TB136 for options that are not there for images."""
    read, given = request.read, request.read.encoder
    if request.budget.rows is not None:
        raise InputError(
            "TB136", f"all images train; leave out {option('sample')} and {option('engine')}."
        )
    if read.embeddings is not None:
        raise InputError(
            "TB136", f"{option('embeddings')} is not supported for images; leave it out."
        )
    if given is not None and not callable(given) and not is_image_encoder(given):
        raise InputError(
            "TB143",
            f'"{given}" has no {DESCRIPTION}, so it is not an image encoder; name the folder of '
            f"one, {option('encoder', LITE)}, or {option('encoder', NONE)} for a net.",
        )


def _refuse_for_nets(request: Request) -> None:
    """TB136 for options that read other columns, which a net does not see."""
    read, labeling = request.read, request.labeling
    asked_for = {
        "group": request.rows.group, "time": read.time, "weight": read.weight,
        "subtypes": labeling.subtypes, "labeled_by": labeling.labeled_by,
    }  # fmt: skip
    for name, value in asked_for.items():
        if value:
            raise InputError(
                "TB136",
                f"{option(name)} reads columns of a table, and a net sees images only; leave it "
                f"out, or read the images with an encoder: {option('encoder', LITE)}.",
            )


def read_images(
    request: Request, folder: Path | None = None, tell: Callable[[int, int], object] | None = None
) -> LoadedRows:
    """Read images and their labels; they are decoded into the folder of a run, if there is one.

    Colors are read by an encoder, and grey images, which it does not know, by a net, unless the
    request says otherwise.
    """
    _refuse_others(request)
    read, rows = request.read, request.rows
    encoder = _encoder(read.encoder)
    if encoder is None:
        _refuse_for_nets(request)
    if encoder is None or read.encoder is None:
        # Before minutes of decoding; a net may turn out to be needed.
        refuse_missing("torch", extra="images", caller="fitting images")
    opened, arrays = _opened(request)
    table, root = opened.whole(), root_of(rows.main, read.image_root) if read.image else None
    name, paths = read.image or COLUMN, None
    if arrays:
        images, readable, bad = _joined(arrays), np.arange(table.rows), dict[str, str]()
    else:
        all_paths = _paths(opened, table, name, request)
        place = None if folder is None else folder / IMAGES
        decoded = decode_files(all_paths, size=read.image_size, folder=place, tell=tell)
        if read.bad_images == REFUSE:
            refuse_bad(decoded.bad, ADVICE)
        images, readable, bad = decoded.images, decoded.readable, decoded.bad
        paths = [all_paths[i] for i in readable]
    labels = _labels(opened, table, readable, bad, rows)
    if images.row_shape[0] == 1 and read.encoder is None:
        encoder = None
        _refuse_for_nets(request)
    sentences = zip(Counter(bad.values()).values(), bad_sentences(bad), strict=True)  # by reason
    left = (Finding("bad-images", None, number, words) for number, words in sentences)
    opened = replace(opened, findings=(*opened.findings, *left))
    column = PathColumn(name, images, paths, root, encoder)
    return LoadedRows(opened, table.take(readable), labels, column)


def _encoder(name: Any) -> ImageEncoder | GivenEncoder | None:
    """The encoder that is asked for; ours, if nothing is said. None is a net."""
    if callable(name):
        return GivenEncoder(name)
    if name == NONE:
        return None
    ours = LITE if name is None else name
    encoder = ImageEncoder(ours if ours in LITES else os.path.abspath(ours))
    load_model(encoder)  # now, because a fault is better found before minutes of decoding
    return encoder


def _opened(request: Request) -> tuple[LabeledTable, list[Images]]:
    """Folders, lists and arrays as tables with a column of names; arrays also as their pixels."""
    rows, arrays = request.rows, list[Images]()
    if request.read.image is not None:
        opened = open_labeled(rows, request.read)
        opened.table.check([request.read.image])
        return opened, []
    refuse_both(rows)
    two = [given for given in (rows.positives, rows.main) if given is not None]
    if any(map(_is_array, two)):
        arrays = [Images.of(given) for given in two]
        names = [[f"image {i + 1}" for i in range(len(images))] for images in arrays]
    else:
        names = [find_images(given) for given in two]
    if rows.positives is None:
        table = _table(names[0], rows.main, _label_array(rows, len(names[0])))
        return LabeledTable(table, LABEL), arrays
    shared = 0
    if not arrays:
        positive_paths = set(map(os.path.realpath, names[0]))
        others = [path for path in names[1] if os.path.realpath(path) not in positive_paths]
        shared, names[1] = len(names[1]) - len(others), others
        if not others:
            raise all_shared(_name_of(rows.positives), _name_of(rows.main))
    positives, table = (_table(*pair) for pair in zip(names, two, strict=True))
    findings = find_shared(shared, positives.name)
    return LabeledTable(table, None, positives.whole(), findings=findings, row="image"), arrays


def _table(names: Sequence[str], source: Any, labels: Any = None) -> Table:
    """A table with a column of names, and one of labels if there are any."""
    columns = {COLUMN: list(names)} | ({} if labels is None else {LABEL: labels})
    return replace(open_table(pd.DataFrame(columns)), name=_name_of(source))


def _label_array(rows: Rows, images: int) -> Any:
    """One label per image; TB008 and TB005 if there are none, or others."""
    if rows.label is None or isinstance(rows.label, str):
        raise InputError("TB008", NEED_LABELS)
    labels = np.asarray(rows.label)
    if labels.shape != (images,):
        raise InputError(
            "TB005",
            f"there are {counted(images, 'image')} and labels of shape {labels.shape}; pass one "
            f"label per image, of shape ({images},).",
        )
    return labels


def _joined(arrays: Sequence[Images]) -> Images:
    if len({images.row_shape for images in arrays}) > 1:
        shapes = " and ".join(str(images.row_shape) for images in arrays)
        raise InputError("TB134", f"the arrays have images of different shapes: {shapes}.")
    if len(arrays) == 1:
        return arrays[0]
    keys = np.concatenate([images.keys for images in arrays])
    pixels = np.concatenate([images.pixels for images in arrays])
    return Images(pixels, keys, np.arange(keys.size))


def _paths(opened: LabeledTable, table: Batch, column: str, request: Request) -> list[str]:
    """The path of each row, of which those of known positives are first; TB135 if none."""
    check_paths(table, column)
    n_p = 0 if opened.positives is None else opened.positives.rows
    values, rows, root = table.frame[column], request.rows, request.read.image_root
    if request.read.image is None:
        return paths_from(values, column, None)
    positives = paths_from(values[:n_p], column, root_of(rows.positives, root)) if n_p else []
    return [*positives, *paths_from(values[n_p:], column, root_of(rows.main, root))]


def _labels(
    opened: LabeledTable, table: Batch, readable: Any, bad: Mapping[str, str], rows: Rows
) -> Labels:
    """The labels of the rows whose images can be read; TB131 if a side has none."""
    if not readable.size:
        raise InputError("TB131", f"no image can be read. {bad_sentences(bad)[0]}")
    positives = opened.positives
    n_p = 0 if positives is None else int((readable < positives.rows).sum())
    if positives is not None and n_p in (0, readable.size):
        two = positives.name, opened.table.name
        lacking, other = two if not n_p else two[::-1]
        raise InputError(
            "TB131",
            f"{lacking} has no image that can be read, and {other} has "
            f"{counted(readable.size, 'image')}. Both must be images; check the names.",
        )
    return opened.labels(table.take(readable), rows, n_p)


def root_of(source: Any, root: str | None) -> str | None:
    """The folder that paths in a table are relative to, and must stay in; None for a frame."""
    if root is not None:
        return root
    if isinstance(source, str | os.PathLike) and not is_address(source):
        return os.path.dirname(os.fspath(source)) or "."
    folders = {os.path.dirname(path) or "." for path in paths_of(source)}
    if len(folders) > 1:
        raise InputError(
            "TB133",
            "the tables are in several folders, so it is not clear which one the paths of images "
            f"are relative to. Name it: {option('image_root')}.",
        )
    return next(iter(folders), None)


def check_paths(rows: Batch, column: str) -> None:
    """TB135 if a column holds something other than paths."""
    if rows.kinds[column] != "string":
        raise InputError(
            "TB135",
            f'column "{column}" of {rows.name} holds {CONTENT[rows.kinds[column]]}, not paths. '
            f"Name the column of paths: {option('image')}.",
        )


def _name_of(source: Any) -> str:
    named = paths_of(source)
    more = f" and {len(named) - 1:,} more" if len(named) > 1 else ""
    return f'"{named[0]}"{more}' if named else "the array"
