"""From folders, tables of paths or arrays of images to rows that the job can fit.

What cannot be read is left out before any label is counted, and named; the pixels are decoded once
and stay in the run folder, where the report and the review find them.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.errors import InputError, option
from topbin.core.formatting import counted
from topbin.core.labels import Labels
from topbin.core.optional import require
from topbin.core.options import Read, Request, Rows
from topbin.data.batch import Batch
from topbin.data.encoders import GivenEncoder
from topbin.data.encoders.images import (
    DESCRIPTION,
    LITE,
    NONE,
    ImageEncoder,
    is_image_encoder,
    load_model,
)
from topbin.data.features import Features
from topbin.data.findings import Finding, find_shared
from topbin.data.images import Images
from topbin.data.images.cache import ADVICE, REFUSE, bad_sentences, decode_files, refuse_bad
from topbin.data.paths import find_images, is_address, is_image_name, names_images, paths_from
from topbin.data.schema import CONTENT, nearest
from topbin.data.table import Table, all_shared, open_table
from topbin.job.sampling import LabeledTable, PathColumn, Taken, open_labeled, refuse_both
from topbin.job.sources import paths_of
from topbin.store.runs import IMAGES

NEED_LABELS = (
    f"images need labels: give known positives with {option('positives')}, a table with a column "
    f"of paths, {option('image')}, and one of labels, or in Python one label per image: "
    "topbin.fit(images, labels)."
)
SCORED_AT_ONCE = 4_096  # images; so many that all cores decode them
COLUMN, LABEL = "image", "label"  # names of columns of sources that have no columns
EXPECTED = 'Score a folder of images, image files, or a table with paths in a column "{}".'


def has_images(request: Request) -> bool:
    """Whether the rows are images rather than a table of values."""
    both = request.rows.main, request.rows.positives
    return request.read.image is not None or any(_is_array(x) or names_images(x) for x in both)


def _is_array(given: Any) -> bool:
    """Whether this is an array with one image per row."""
    return isinstance(given, np.ndarray) and given.ndim > 2


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


def read_images(
    request: Request, folder: Path | None = None, tell: Callable[[int, int], object] | None = None
) -> Taken:
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
        require("torch", extra="images", caller="fitting images")  # before minutes of decoding
    opened, arrays = _opened(request)
    name = read.image or COLUMN
    table, root = opened.whole(), root_of(rows.main, read.image_root) if read.image else None
    if arrays:
        images, kept, bad, paths = _joined(arrays), np.arange(table.rows), {}, None
    else:
        n_p = 0 if opened.known is None else opened.known.rows
        paths = _paths(table, n_p, name, request)
        place = None if folder is None else folder / IMAGES
        done = decode_files(paths, size=read.image_size, folder=place, tell=tell)
        if read.bad_images == REFUSE:
            refuse_bad(done.bad, ADVICE)
        images, kept, bad, paths = done.images, done.kept, done.bad, [paths[i] for i in done.kept]
    labels = _labels(opened, table, kept, bad, rows)
    if images.row_shape[0] == 1 and read.encoder is None:
        encoder = None
        _refuse_for_nets(request)
    sentences = zip(Counter(bad.values()).values(), bad_sentences(bad), strict=True)  # by reason
    left = (Finding("bad-images", None, number, words) for number, words in sentences)
    column = PathColumn(name, images, paths, root)
    return Taken(
        table.take(kept), labels, opened.label, opened=opened, found=(*opened.found, *left),
        image=column, encoder=encoder,
    )  # fmt: skip


def _encoder(given: Any) -> ImageEncoder | GivenEncoder | None:
    """The encoder that is asked for; ours, if nothing is said. None is a net."""
    if callable(given):
        return GivenEncoder(given)
    if given == NONE:
        return None
    encoder = ImageEncoder(LITE if given in (None, LITE) else os.path.abspath(given))
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
        names = [[f"image {i + 1}" for i in range(len(one))] for one in arrays]
    else:
        names = [find_images(given) for given in two]
    if rows.positives is None:
        return LabeledTable(_table(names[0], rows.main, _given(rows, len(names[0]))), LABEL), arrays
    shared = 0
    if not arrays:
        taken = set(map(os.path.realpath, names[0]))
        others = [path for path in names[1] if os.path.realpath(path) not in taken]
        shared, names[1] = len(names[1]) - len(others), others
        if not others:
            raise all_shared(_name_of(rows.positives), _name_of(rows.main))
    known, rest = (_table(*each) for each in zip(names, two, strict=True))
    found = find_shared(shared, known.name)
    return LabeledTable(rest, None, known.whole(), found=found, row="image"), arrays


def _table(names: Sequence[str], source: Any, labels: Any = None) -> Table:
    """A table with a column of names, and one of labels if there are any."""
    columns = {COLUMN: list(names)} | ({} if labels is None else {LABEL: labels})
    return replace(open_table(pd.DataFrame(columns)), name=_name_of(source))


def _given(asked: Rows, images: int) -> Any:
    """One label per image; TB008 and TB005 if there are none, or others."""
    if asked.label is None or isinstance(asked.label, str):
        raise InputError("TB008", NEED_LABELS)
    given = np.asarray(asked.label)
    if given.shape != (images,):
        raise InputError(
            "TB005",
            f"there are {counted(images, 'image')} and labels of shape {given.shape}; pass one "
            f"label per image, of shape ({images},).",
        )
    return given


def _joined(arrays: Sequence[Images]) -> Images:
    """The pixels of one or two arrays."""
    if len({images.row_shape for images in arrays}) > 1:
        shapes = " and ".join(str(images.row_shape) for images in arrays)
        raise InputError("TB134", f"the arrays have images of different shapes: {shapes}.")
    if len(arrays) == 1:
        return arrays[0]
    keys = np.concatenate([one.keys for one in arrays])
    pixels = np.concatenate([one.pixels for one in arrays])
    return Images(pixels, keys, np.arange(keys.size))


def _paths(table: Batch, n_p: int, column: str, request: Request) -> list[str]:
    """The path of each row, of which n_p are of the known positives, from here; TB135 if none."""
    check_paths(table, column)
    values, rows, root = table.frame[column], request.rows, request.read.image_root
    if request.read.image is None:
        return paths_from(values, column, None)
    known = paths_from(values[:n_p], column, root_of(rows.positives, root)) if n_p else []
    return [*known, *paths_from(values[n_p:], column, root_of(rows.main, root))]


def _labels(
    opened: LabeledTable, table: Batch, kept: Any, bad: Mapping[str, str], asked: Rows
) -> Labels:
    """The labels of the rows whose images can be read; TB131 if a side has none."""
    if not kept.size:
        raise InputError("TB131", f"no image can be read. {bad_sentences(bad)[0]}")
    n_p = 0 if opened.known is None else int((kept < opened.known.rows).sum())
    if opened.known is not None and n_p in (0, kept.size):
        two = opened.known.name, opened.table.name
        lacking, other = two if not n_p else two[::-1]
        raise InputError(
            "TB131",
            f"{lacking} has no image that can be read, and {other} has "
            f"{counted(kept.size, 'image')}. Both must be images; check the names.",
        )
    return opened.labels(table.take(kept), n_p, asked.positive, asked.negative)


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


def check_paths(rows: Batch, column: str) -> None:
    """TB135 if a column holds something other than paths."""
    if rows.kinds[column] != "string":
        raise InputError(
            "TB135",
            f'column "{column}" of {rows.name} holds {CONTENT[rows.kinds[column]]}, not paths. '
            f"Name the column of paths: {option('image')}.",
        )


def _name_of(source: Any) -> str:
    """How messages call a source of images."""
    named = paths_of(source)
    more = f" and {len(named) - 1:,} more" if len(named) > 1 else ""
    return f'"{named[0]}"{more}' if named else "the array"


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
