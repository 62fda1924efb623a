"""Files decoded once, in parallel, into arrays on the disk that may be larger than memory.

    about.json   what the arrays were made of
    pixels.npy   uint8, (rows, height, width, channels); mapped, never read whole
    rows.npy     per row: whether it is done, a key of its pixels, SHA-256 and header of its file

A row counts as done only after its pixels are on the disk. So what a killed run has decoded is
there for the next one, if the files still have the sizes and times that they had.

A shape that suits all images follows from all headers. To read each file once, it is guessed: it is
that of an earlier run on the same files, or suits the headers of some. If those of all files say
otherwise, the files are decoded again.
"""

import json
import os
import shutil
import tempfile
import weakref
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any, get_args

import numpy as np
from joblib import cpu_count

from topbin.core.atomic import new_folder, remove, write_errors, write_text
from topbin.core.errors import InputError, option
from topbin.core.formatting import counted, listed
from topbin.core.options import BadImages
from topbin.data.images import SMALLEST, Images, OnProgress, decode, images_at_once
from topbin.data.images.decode import ROW, Header
from topbin.data.paths import file_stamp, is_image_name

ABOUT, PIXELS, ROWS = "about.json", "pixels.npy", "rows.npy"
LEAVE_OUT, REFUSE = get_args(BadImages)  # what to do with files that cannot be read
FORM = 2  # of the arrays; others are made again
AT_ONCE = 256  # images; flushed to the disk after this many
CHUNK = 16  # images that a worker takes at a time
LOOKED_AT = 256  # files whose headers are read before any is decoded
LONGEST = 200  # characters of a path in a message
SMALL_SIDE, USUAL = 32, 64  # the sizes that are chosen without being asked for
DAMAGED = (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError)  # when read
ADVICE = f"Fix or remove it, or say {option('bad_images', 'leave-out')}."


@dataclass(frozen=True, slots=True, eq=False)
class Decoding:
    """The images that could be read, where they were in the list of files, and the others."""

    images: Images
    readable: Any
    bad: dict[str, str]


class _TemporaryFolder:
    """A folder that is removed when nobody holds it any more."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="topbin-images-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


def decode_files(
    paths: Sequence[str],
    *,
    shape: tuple[int, ...] | None = None,
    size: int | None = None,
    folder: Path | None = None,
    threads: int | None = None,
    tell: OnProgress | None = None,
) -> Decoding:
    """Decode images into a folder, or into a temporary one; files that cannot be read are `bad`.

    `shape` is that of the images, (channels, height, width). Without it, it follows from the files
    and from `size`, as in `common_shape`. `threads` is how many files are decoded at a time, one
    per core unless you say otherwise; if there are many files, in that many processes.

    >>> import tempfile
    >>> from PIL import Image
    >>> path = tempfile.mkdtemp() + "/grey.png"
    >>> Image.new("L", (8, 8)).save(path)
    >>> decode_files([path]).images.shape
    (1, 1, 8, 8)
    """
    held = None
    if folder is None:
        held = _TemporaryFolder()
        folder = held.folder
    workers = threads or cpu_count()
    with decode.quiet_pillow():
        guess = shape or _shape_before(folder, paths, size) or _guessed(paths, size, workers)
        store = _open(folder, paths, guess)
        bad = store.fill(paths, workers, tell)
        if shape is None and (right := common_shape(store.headers, size)) != store.shape:
            store = _open(folder, paths, right)
            bad = store.fill(paths, workers, tell)
    ok = np.flatnonzero(store.rows["done"])
    return Decoding(store.images(ok, held), ok, bad)


def common_shape(headers: Sequence[Header], size: int | None = None) -> tuple[int, int, int]:
    """One shape for all images: (channels, height, width).

    Images of one size keep it, if it is at most 64 pixels. Others become squares of 32 or 64
    pixels, whichever most images reach, or of `size`. Only if all are grey there is one channel.

    >>> common_shape([Header(28, 28, True)] * 2), common_shape([Header(640, 480, False)])
    ((1, 28, 28), (3, 64, 64))
    """
    channels = 1 if headers and all(header.grey for header in headers) else 3
    if size is not None or not headers:
        return channels, size or USUAL, size or USUAL
    sizes = {(header.height, header.width) for header in headers}
    height, width = next(iter(sizes))
    if len(sizes) == 1 and SMALLEST <= min(height, width) <= max(height, width) <= USUAL:
        return channels, height, width
    usual = np.median([min(header.height, header.width) for header in headers])
    side = USUAL if usual >= USUAL else SMALL_SIDE
    return channels, side, side


def open_stored(folder: Path) -> tuple[Images, dict[str, int]] | None:
    """The images that are kept in a folder, and the place of each file; None if there are none.

    The folder may be somebody else's work: arrays are mapped without pickle, and shapes compared.
    """
    try:
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        names = [str(name) for name, *_ in about["files"]]
        store = _mapped(folder, len(names), tuple(about["shape"]), "r")
        if store is None or about["form"] != FORM:
            return None
    except DAMAGED:
        return None
    done = np.flatnonzero(store.rows["done"])
    return store.images(done), {names[i]: place for place, i in enumerate(done)}


def write_store(folder: Path, images: Images, names: Sequence[str]) -> None:
    """Leave images in a folder, as `decode_files` would; without files their sums are 0."""
    with new_folder(folder, force=True) as part:
        rows = _open(part, names, images.row_shape).rows
        pixels = np.load(part / PIXELS, mmap_mode="r+", allow_pickle=False)
        for start in range(0, len(images), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            pixels[some] = images.read(some).transpose(0, 2, 3, 1)
        rows["done"], rows["key"] = 1, images.row_keys
        if images.sums is not None:
            rows["sum"] = images.sums[images.rows]
        pixels.flush()
        rows.flush()


@dataclass(frozen=True, slots=True, eq=False)
class _Store:
    """Arrays on the disk that are being filled, for images of a shape."""

    folder: Path
    shape: tuple[int, ...]
    rows: Any

    @property
    def headers(self) -> list[Header]:
        """What the files that are done say about themselves."""
        done = self.rows[self.rows["done"] == 1]
        sizes = done[["width", "height", "grey"]].tolist()
        return [Header(width, height, bool(grey)) for width, height, grey in sizes]

    def images(self, places: Any, owner: Any = None) -> Images:
        """The images at these places."""
        pixels = np.load(self.folder / PIXELS, mmap_mode="r", allow_pickle=False)
        keys, sums = np.array(self.rows["key"]), np.array(self.rows["sum"])
        return Images(pixels.transpose(0, 3, 1, 2), keys, places, sums, owner)

    def fill(self, paths: Sequence[str], workers: int, tell: OnProgress | None) -> dict[str, str]:
        """Decode all files that are not done yet; why some cannot be."""
        bad: dict[str, str] = {}
        todo = np.flatnonzero(self.rows["done"] == 0).tolist()
        done, step = len(paths) - len(todo), min(CHUNK, images_at_once(self.shape))
        chunks = [[(i, paths[i]) for i in todo[k : k + step]] for k in range(0, len(todo), step)]
        if tell is not None and not chunks:
            tell(done, len(paths))
        with write_errors(self.folder), open(self.folder / PIXELS, "r+b") as file:
            start = os.fstat(file.fileno()).st_size - len(paths) * prod(self.shape)
            target = decode.Target(str(self.folder / PIXELS), start, self.shape)
            with closing(decode.decode_chunks(target, chunks, workers)) as answers:
                decoded = zip(chunks, answers, strict=True)
                while some := list(islice(decoded, AT_ONCE // step)):
                    os.fsync(file.fileno())
                    for chunk, (rows, why) in some:
                        self.rows[[i for i, _ in chunk]] = rows
                        bad |= why
                        done += len(chunk)
                    self.rows.flush()
                    if tell is not None:
                        tell(done, len(paths))
        return bad


def _shape_before(folder: Path, paths: Sequence[str], size: int | None) -> tuple[int, ...] | None:
    """The shape of arrays in the folder, if they are those of these very files, of this size."""
    try:
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        shape = tuple(int(side) for side in about["shape"])
        sized = size is None or shape[1:] == (size, size)
        return shape if sized and about == _about(paths, shape) else None
    except DAMAGED:
        return None


def _about(paths: Sequence[str], shape: tuple[int, ...]) -> dict[str, Any]:
    """What arrays are made of."""
    return {"form": FORM, "shape": list(shape), "files": [_stamp(path) for path in paths]}


def _guessed(paths: Sequence[str], size: int | None, workers: int) -> tuple[int, ...]:
    """The shape that suits some of the files: all, if there are few."""
    named = [path for path in paths if is_image_name(path)] or paths
    # Drawn, because every n-th file could be of one kind, such as notes beside images.
    drawn = np.random.default_rng(0).permutation(len(named))[:LOOKED_AT]
    with ThreadPoolExecutor(workers) as pool:
        headers = pool.map(_header, [named[i] for i in drawn])
    return common_shape([header for header in headers if header is not None], size)


def _header(path: str) -> Header | None:
    try:
        return decode.read_header(path)
    except decode.BadImage:
        return None  # decoding it will say why


def _open(folder: Path, paths: Sequence[str], shape: tuple[int, ...]) -> _Store:
    """The arrays for these files: those that are there if they are of the same files, else new."""
    text = json.dumps(_about(paths, shape))
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            same = (folder / ABOUT).read_text("utf-8") == text
        except (OSError, ValueError):
            same = False
        if same and (old := _mapped(folder, len(paths), shape)) is not None:
            return old
        for name in (ABOUT, PIXELS, ROWS):
            remove(folder / name)
        new, (channels, height, width) = np.lib.format.open_memmap, shape
        new(folder / PIXELS, "w+", np.uint8, (len(paths), height, width, channels))
        rows = new(folder / ROWS, "w+", ROW, (len(paths),))
        write_text(folder / ABOUT, text, force=True)
    return _Store(folder, shape, rows)


def _mapped(folder: Path, n: int, shape: tuple[int, ...], mode: Any = "r+") -> _Store | None:
    try:
        pixels, rows = (
            np.load(folder / name, mmap_mode=mode, allow_pickle=False) for name in (PIXELS, ROWS)
        )
    except (OSError, ValueError, EOFError):
        return None
    channels, height, width = shape
    same = pixels.shape == (n, height, width, channels) and rows.shape == (n,)
    typed = pixels.dtype == np.uint8 and rows.dtype == ROW
    return _Store(folder, shape, rows) if same and typed else None


def _stamp(path: str) -> list[Any]:
    """What tells whether a file is still the one that was decoded."""
    try:
        return [path, *file_stamp(path)]
    except OSError:
        return [path]  # decoding it will say why


def bad_sentences(bad: Mapping[str, str]) -> list[str]:
    """What was left out: a sentence per reason, with the first names.

    >>> bad_sentences({"a.jpg": "is cut off", "b.jpg": "is cut off", "c.txt": "is not an image"})
    ['2 files left out because each is cut off: "a.jpg", "b.jpg".', '1 file left out because it is
    not an image: "c.txt".']
    """
    names: dict[str, list[str]] = defaultdict(list)
    for path, why in bad.items():
        names[why].append(_quoted(path))
    return [
        f"{counted(len(own), 'file')} left out because {'each' if own[1:] else 'it'} {why}: "
        f"{listed(own)}."
        for why, own in names.items()
    ]


def refuse_bad(bad: Mapping[str, str], advice: str) -> None:
    """TB132 with the first file that cannot be used and why, and the names of more."""
    if bad:
        (path, why), *others = bad.items()
        names = listed(_quoted(other) for other, _ in others)
        more = f" {counted(len(others), 'other file')} cannot be used: {names}." if others else ""
        raise InputError("TB132", f"{_quoted(path)} {why}.{more} {advice}")


def _quoted(path: str) -> str:
    """A path in a message: the end of a very long one, which may be no path at all."""
    return f'"{path}"' if len(path) <= LONGEST else f'"…{path[1 - LONGEST :]}"'
