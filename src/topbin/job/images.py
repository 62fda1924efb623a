"""From folders, tables of paths or arrays of images to rows that the job can fit.

What cannot be read is left out before any label is counted, and named; the pixels are decoded once
and stay in the run folder, where the report and the review find them.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.errors import InputError, option
from topbin.core.figures import counted
from topbin.core.hashing import equal_keys
from topbin.core.labels import Labels, LabelValues, read_labels
from topbin.core.optional import require
from topbin.core.options import Read, Request, Rows
from topbin.data.batch import Batch, join
from topbin.data.encoders.images import (
    DESCRIPTION,
    NONE,
    ImageEncoder,
    is_image_encoder,
    load_model,
)
from topbin.data.encoders.lite import LITE
from topbin.data.features import Dropped, Feature, Features
from topbin.data.find import is_address
from topbin.data.findings import Finding, find_shared, overlap
from topbin.data.images.cache import (
    ABOUT,
    ADVICE,
    REFUSE,
    Told,
    bad_sentences,
    decode_files,
    refuse_bad,
    write_store,
)
from topbin.data.images.files import find_images, is_image_name, names_images, paths_from
from topbin.data.images.rows import Images
from topbin.data.schema import CONTENT, nearest
from topbin.data.table import all_shared, open_table
from topbin.job.draw import LabeledTable, open_labeled, positives_first
from topbin.job.prepare import PathColumn, Prepared, Taken, encoded, is_array
from topbin.job.sources import paths_of
from topbin.mpe.alarms import repeated_rows, shared_rows
from topbin.store.runs import IMAGES

NEED_LABELS = (
    f"images need labels: give known positives with {option('positives')}, a table with a column "
    f"of paths, {option('image')}, and one of labels, or in Python one label per image: "
    "topbin.fit(images, labels)."
)
SCORED_AT_ONCE = 4_096  # images; so many that all cores decode them
COLUMN, LABEL = "image", "label"  # names of columns of sources that have no columns
EXPECTED = 'Score a folder of images, image files, or a table with paths in a column "{}".'
NOT_READ = '"{}" is not read: the model sees the images only.'


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Rows before their images are read, and how their labels follow from them.

    `images` are there if the pixels came as an array. `found` is what to know about the files.
    `paths` are those of the rows, from here, if they differ from their column: in a table they are
    relative to a folder, which for unlabeled rows is `root`. `opened` is that table.
    """

    rows: Batch
    labels: Callable[[Batch, Any], Labels]
    column: str
    images: Images | None = None
    found: tuple[Finding, ...] = ()
    paths: Sequence[str] | None = None
    root: str | None = None
    opened: LabeledTable | None = None

    def files(self) -> Sequence[str]:
        """The path of each row, from here."""
        if self.paths is not None:
            return self.paths
        return paths_from(self.rows.frame[self.column], self.column, None)


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
            "TB136",
            f"all images train; leave out {option('sample')} and {option('engine')}.",
        )
    if read.embeddings is not None:
        raise InputError(
            "TB136", f"{option('embeddings')} is not supported for images; leave it out."
        )
    if given is not None and not is_image_encoder(given):
        raise InputError(
            "TB143",
            f'"{given}" has no {DESCRIPTION}, so it is no encoder of images; name the folder of '
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


def prepare_images(
    request: Request,
    folder: Path | None = None,
    tell: Callable[[str, int, int], object] | None = None,
) -> Prepared:
    """Read images and their labels; they are decoded into the folder of a run, if there is one.

    Colors are read by an encoder, and grey images, which it does not know, by a net, unless the
    request says otherwise.
    """
    _refuse_others(request)
    encoder = _encoder(request.read.encoder)
    if encoder is None:
        _refuse_for_nets(request)
    if encoder is None or request.read.encoder is None:
        require("torch", extra="images", caller="fitting images")  # before minutes of decoding
    given = _sources(request)
    images, kept, bad = _decoded(given, request.read, folder, _stage(tell, "decode"))
    rows = given.rows.take(kept)
    if not rows.rows:
        raise InputError("TB131", f"no image can be read. {bad_sentences(bad)[0]}")
    paths = None if given.images is not None else [given.files()[i] for i in kept]
    label = request.rows.label
    named = label if isinstance(label, str) or label is None else LABEL
    files = Counter(bad.values())  # by reason, as the sentences are
    sentences = zip(files.values(), bad_sentences(bad), strict=True)
    left = (Finding("bad-images", None, number, words) for number, words in sentences)
    taken = Taken(
        rows, given.labels(rows, kept), named, opened=given.opened, found=(*given.found, *left),
        image=PathColumn(given.column, images, paths, given.root), encoder=encoder,
    )  # fmt: skip
    if encoder is None or (request.read.encoder is None and images.row_shape[0] == 1):
        _refuse_for_nets(request)
        return _for_net(taken, request)
    return encoded(taken, request, _stage(tell, "encode"))


def _encoder(given: str | None) -> ImageEncoder | None:
    """The encoder that is asked for; ours, if nothing is said. None is a net."""
    if given == NONE:
        return None
    encoder = ImageEncoder(LITE if given in (None, LITE) else os.path.abspath(given))
    load_model(encoder)  # now, because a fault is better found before minutes of decoding
    return encoder


def _stage(tell: Callable[[str, int, int], object] | None, name: str) -> Told | None:
    return None if tell is None else partial(tell, name)


def _for_net(taken: Taken, request: Request) -> Prepared:
    """Pixels as they are; a net reads nothing else."""
    image, rows = taken.image, taken.table
    assert image is not None
    own = (image.name, taken.label, request.rows.id, LABEL)
    dropped = tuple(Dropped(n, NOT_READ.format(n)) for n in rows.kinds if n not in own)
    feature = Feature(name=image.name, kind="image", shape=image.images.row_shape)
    findings, alarms = notice_copies(image.images, taken.labels)
    return Prepared(
        rows, taken.labels, Features((feature,), dropped), image.images,
        (*taken.found, *findings), request, taken.label, request.rows.id, alarms, image=image,
    )  # fmt: skip


def _sources(request: Request) -> Sources:
    rows = request.rows
    if is_array(rows.main) or is_array(rows.positives):
        return _arrays(rows)
    if request.read.image is not None:
        return _table(request)
    if rows.positives is None:
        return _labeled(_frame(find_images(rows.main), rows.main), rows)
    if rows.label is not None:
        raise InputError(
            "TB008",
            f"{option('label')} and {option('positives')} cannot both be given; leave one out.",
        )
    known, rest = find_images(rows.positives), find_images(rows.main)
    return _two_folders(known, rest, rows.positives, rows.main)


def _two_folders(known: Sequence[str], rest: Sequence[str], positives: Any, source: Any) -> Sources:
    """Files of known positives, and others; those that are both count as known positives only."""
    taken = set(map(os.path.realpath, known))
    others = [path for path in rest if os.path.realpath(path) not in taken]
    if not others:
        raise all_shared(_name_of(positives), _name_of(source))
    first, second = _frame(known, positives), _frame(others, source)
    found = find_shared(len(rest) - len(others), first.name)
    return replace(_two(first, second, COLUMN), found=found)


def _arrays(rows: Rows) -> Sources:
    """Pixels that are in memory already."""
    two = [Images.of(given) for given in (rows.positives, rows.main) if given is not None]
    if len({images.row_shape for images in two}) > 1:
        shapes = " and ".join(str(images.row_shape) for images in two)
        raise InputError("TB134", f"the arrays have images of different shapes: {shapes}.")
    pixels = two[0].pixels if len(two) == 1 else np.concatenate([one.pixels for one in two])
    keys = np.concatenate([one.keys for one in two])
    images = Images(pixels, keys, np.arange(len(keys)))
    frames = [_frame([f"image {i + 1}" for i in range(len(one))], None) for one in two]
    if rows.positives is not None:
        return replace(_two(frames[0], frames[1], COLUMN), images=images)
    return replace(_labeled(frames[0], rows), images=images)


def _labeled(rows: Batch, asked: Rows) -> Sources:
    """Files or arrays with one label each."""
    if asked.label is None or isinstance(asked.label, str):
        raise InputError("TB008", NEED_LABELS)
    given, roles = np.asarray(asked.label), {"positive": asked.positive, "negative": asked.negative}
    if given.shape != (rows.rows,):
        images = counted(rows.rows, "image")
        raise InputError(
            "TB005",
            f"there are {images} and labels of shape {given.shape}; pass one label per image, "
            f"of shape ({rows.rows},).",
        )
    return Sources(rows, lambda _, kept: read_labels(given[kept], **roles), COLUMN)


def _two(known: Batch, rest: Batch, column: str) -> Sources:
    """Known positives first, then the unlabeled."""
    is_known = np.arange(known.rows + rest.rows) < known.rows

    def labels(_: Batch, kept: Any) -> Labels:
        n_p = int(is_known[kept].sum())
        n_u = kept.size - n_p
        if not n_p or not n_u:
            lacking, other = (known, rest) if not n_p else (rest, known)
            raise InputError(
                "TB131",
                f"{lacking.name} has no image that can be read, and {other.name} has "
                f"{counted(kept.size, 'image')}. Both must be images; check the names.",
            )
        known_in = f"{counted(n_p, 'known positive')} in {known.name}"
        note = f"{known_in}, {counted(n_u, 'unlabeled image')} in {rest.name}"
        values = LabelValues({True: n_p, False: n_u}, True, None, note)
        return positives_first(values, n_p, n_p + n_u)

    rows = replace(join([known, rest]), name=f"{known.name} with {rest.name}")
    return Sources(rows, labels, column)


def _table(request: Request) -> Sources:
    """A table, or two, with a column of paths."""
    asked, given_root = request.rows, request.read.image_root
    opened = open_labeled(asked, request.read)
    column = str(request.read.image)
    opened.table.check([column])
    root, rest = root_of(asked.main, given_root), opened.table.whole()
    paths = _paths_of(rest, column, root)
    if opened.known is not None:
        known = _paths_of(opened.known, column, root_of(asked.positives, given_root))
        both = _two(opened.known, rest, column)
        return replace(both, paths=[*known, *paths], root=root, opened=opened)

    def labels(rows: Batch, _: Any) -> Labels:
        coded = rows.coded(str(asked.label))
        return opened.resolve(coded.counts(), asked.positive, asked.negative).read(coded)

    return Sources(rest, labels, column, paths=paths, root=root, opened=opened)


def root_of(source: Any, given: str | None) -> str | None:
    """The folder that paths in a table are relative to, and must stay in; None for a frame."""
    if given is not None:
        return given
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


def _paths_of(rows: Batch, column: str, root: str | None) -> list[str]:
    """The paths of rows, from here; TB135 if the column holds something else."""
    check_paths(rows, column)
    return paths_from(rows.frame[column], column, root)


def check_paths(rows: Batch, column: str) -> None:
    """TB135 if a column holds something other than paths."""
    if rows.kinds[column] != "string":
        raise InputError(
            "TB135",
            f'column "{column}" of {rows.name} holds {CONTENT[rows.kinds[column]]}, not paths. '
            f"Name the column of paths: {option('image')}.",
        )


def _frame(paths: Sequence[str], source: Any) -> Batch:
    """A table with one column, of paths."""
    return Batch.from_frame(pd.DataFrame({COLUMN: list(paths)}), name=_name_of(source))


def _name_of(source: Any) -> str:
    """How messages call a source of images."""
    named = paths_of(source)
    more = f" and {len(named) - 1:,} more" if len(named) > 1 else ""
    return f'"{named[0]}"{more}' if named else "the array"


def _decoded(
    given: Sources, read: Read, run: Path | None, tell: Told | None
) -> tuple[Images, Any, dict[str, str]]:
    """The images, which rows they belong to, and the files that were left out."""
    if given.images is not None:
        return given.images, np.arange(len(given.images)), {}
    folder = None if run is None else run / IMAGES
    done = decode_files(given.files(), size=read.image_size, folder=folder, tell=tell)
    if read.bad_images == REFUSE:
        refuse_bad(done.bad, ADVICE)
    return done.images, done.kept, done.bad


def notice_copies(images: Images, labels: Labels) -> tuple[Any, Any]:
    """Images of P that are among U, or come twice."""
    keys, is_p, is_u = images.row_keys, labels.is_positive, labels.is_unlabeled
    twins = equal_keys(keys[is_p], keys[is_u], [keys[:, None]])
    return overlap(twins), (*shared_rows(twins), *repeated_rows(twins.repeated))


def image_batches(
    source: Sequence[str], encoder: Features, read: Read
) -> Iterator[tuple[Batch, str | None]]:
    """New images to score: folders and files, or tables with the column of paths; some at a time.

    With them comes the folder that their paths are relative to, if there is one.
    """
    assert encoder.image is not None
    column = encoder.image.name
    if names_images(list(source)):
        paths = find_images(source)
        for start in range(0, len(paths), SCORED_AT_ONCE):
            frame = pd.DataFrame({column: paths[start : start + SCORED_AT_ONCE]})
            yield replace(Batch.from_frame(frame, name="the images"), first=start), None
        return
    _refuse_folders(source, column)
    table = open_table(
        list(source), needed=encoder.columns, dates=encoder.orders(read.dates),
        decimal=encoder.marks(read.decimal), partitions=read.partitions,
    )  # fmt: skip
    if column not in table.types:
        near = "" if column == COLUMN else nearest(column, table.types)
        message = f'the run was fitted on images, and {table.name} has no column "{column}".{near}'
        raise InputError("TB109", f"{message} {EXPECTED.format(column)}")
    root = root_of(list(source), read.image_root)
    for batch in table.batches(rows=SCORED_AT_ONCE):
        check_paths(batch, column)
        for start in range(0, batch.rows, SCORED_AT_ONCE):
            yield batch.take(slice(start, start + SCORED_AT_ONCE)), root


def _refuse_folders(source: Sequence[str], column: str) -> None:
    """TB130 for a folder without files, and TB109 for one whose files are no images."""
    for path in filter(os.path.isdir, source):
        named = [is_image_name(name) for name in find_images(path)]
        images, others = sum(named), len(named) - sum(named)
        has = f"{counted(images, 'image file')} and {counted(others, 'other file')}"
        message = f'the run was fitted on images, and "{path}" has {has}.'
        raise InputError("TB109", f"{message} {EXPECTED.format(column)}")


def keep_images(data: Prepared, folder: Path) -> None:
    """Leave the pixels in a run folder, if they are not there already."""
    target, own = folder / IMAGES, data.image
    if own is not None and not (target / ABOUT).exists():
        names = paths_from(data.table.frame[own.name], own.name, own.root)
        write_store(target, own.images, names)
