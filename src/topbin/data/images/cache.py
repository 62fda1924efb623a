"""Files decoded once, in parallel, into arrays on the disk that may be larger than memory.

    about.json   what the arrays were made of
    pixels.npy   uint8, (rows, channels, height, width); mapped, never read whole
    rows.npy     per row: whether it is done, a key of its pixels, the SHA-256 of its file

A row counts as done only after its pixels are on the disk. So what a killed run has decoded is
there for the next one, if the files still have the sizes and times that they had.
"""

import json
import os
import shutil
import tempfile
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.atomic import new_folder, remove, write_errors, write_text
from topbin.core.checks import look_up
from topbin.core.errors import InputError
from topbin.core.figures import counted
from topbin.data.images.decode import BadImage, Decoded, Header, decode, quiet_pillow, read_header
from topbin.data.images.rows import Images
from topbin.data.table import listed

ABOUT, PIXELS, ROWS = "about.json", "pixels.npy", "rows.npy"
LEAVE_OUT, REFUSE = "leave-out", "refuse"  # what to do with files that cannot be read
FORM = 1  # of the arrays; others are made again
AT_ONCE = 256  # images; after so many the disk is told
SIZES = (32, 64, 96, 128, 224)
USUAL = 64  # the largest size that is chosen without being asked for
ROW = np.dtype([("done", "u1"), ("key", "<u8"), ("sum", "u1", 32)])

ADVICE = 'Fix or remove it, or say --bad-images leave-out (bad_images="leave-out").'

Told = Callable[[int, int], object]  # how many images are decoded, of how many


@dataclass(frozen=True, slots=True, eq=False)
class Decoding:
    """The images that could be read, where they were in the list of files, and the others."""

    images: Images
    kept: Any
    bad: dict[str, str]


class Held:
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
    tell: Told | None = None,
) -> Decoding:
    """Decode images into a folder, or into a temporary one; files that cannot be read are `bad`.

    `shape` is that of the images, (channels, height, width). Without it, it follows from the files
    and from `size`, as in `common_shape`.

    >>> import tempfile
    >>> from PIL import Image
    >>> path = tempfile.mkdtemp() + "/grey.png"
    >>> Image.new("L", (8, 8)).save(path)
    >>> decode_files([path]).images.shape
    (1, 1, 8, 8)
    """
    bad: dict[str, str] = {}
    with quiet_pillow(), ThreadPoolExecutor(threads or cores()) as pool:
        if shape is None:
            headers = list(_tried(pool, paths, read_header, bad))
            shape = common_shape([header for header in headers if header is not None], size)
        numbers = np.array([i for i, path in enumerate(paths) if path not in bad], np.intp)
        wanted = [paths[i] for i in numbers]
        held = None if folder is not None else Held()
        store = _open(folder or held.folder, wanted, shape)  # type: ignore[union-attr]
        with write_errors(store.folder):
            store.fill(pool, wanted, bad, tell)
    ok = np.flatnonzero(store.rows["done"])
    sums, keys = np.array(store.rows["sum"]), np.array(store.rows["key"])
    return Decoding(Images(store.pixels, keys, ok, sums, held), numbers[ok], bad)


def check_bad(bad_images: str) -> None:
    """TB008 unless this says what to do with files that cannot be read."""
    look_up(bad_images, {LEAVE_OUT: 0, REFUSE: 1}, "bad_images")


def decode_column(paths: Any, shape: tuple[int, ...]) -> Images:
    """The images of a column of paths, one per row; TB132 if one cannot be read."""
    done = decode_files([str(path) for path in paths], shape=shape)
    refuse_bad(done.bad, "Fix or remove it.")
    return done.images


def common_shape(headers: Sequence[Header], size: int | None = None) -> tuple[int, int, int]:
    """One shape for all images: (channels, height, width).

    Images of one size keep it, if it is at most 64 pixels. Others become squares of 32 or 64
    pixels, whichever most images reach, or of `size`. Only if all are grey there is one channel.

    >>> common_shape([Header(28, 28, True)] * 2), common_shape([Header(640, 480, False)])
    ((1, 28, 28), (3, 64, 64))
    """
    if not headers:
        return 3, size or USUAL, size or USUAL
    channels = 1 if all(header.grey for header in headers) else 3
    sizes = {(header.height, header.width) for header in headers}
    height, width = next(iter(sizes))
    if size is not None:
        return channels, size, size
    if len(sizes) == 1 and min(height, width) >= 8 and max(height, width) <= USUAL:
        return channels, height, width
    usual = float(np.median([min(header.height, header.width) for header in headers]))
    side = max((side for side in SIZES if side <= min(usual, USUAL)), default=SIZES[0])
    return channels, side, side


def cores() -> int:
    """How many processors this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def open_stored(folder: Path) -> tuple[Images, dict[str, int]] | None:
    """The images that are kept in a folder, and the place of each file; None if there are none.

    The folder may be somebody else's work: arrays are mapped without pickle, and shapes compared.
    """
    try:
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        names = [str(name) for name, *_ in about["files"]]
        store = _mapped(folder, len(names), tuple(about["shape"]), "r")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if store is None:
        return None
    keys, sums = np.array(store.rows["key"]), np.array(store.rows["sum"])
    done = np.flatnonzero(store.rows["done"])
    places = {names[i]: place for place, i in enumerate(done)}
    return Images(store.pixels, keys, done, sums), places


def write_store(folder: Path, images: Images, names: Sequence[str]) -> None:
    """Leave images in a folder, as `decode_files` would; without files their sums are 0."""
    with new_folder(folder, force=True) as part:
        about = {"form": FORM, "shape": list(images.row_shape), "files": [[n] for n in names]}
        new = np.lib.format.open_memmap
        pixels = new(part / PIXELS, "w+", np.uint8, images.shape)
        rows = new(part / ROWS, "w+", ROW, (len(images),))
        for start in range(0, len(images), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            pixels[some] = images.read(some)
        rows["done"], rows["key"] = 1, images.row_keys
        if images.sums is not None:
            rows["sum"] = images.sums[images.rows]
        pixels.flush()
        rows.flush()
        (part / ABOUT).write_text(json.dumps(about), encoding="utf-8")


@dataclass(frozen=True, slots=True, eq=False)
class _Store:
    """Arrays on the disk that are being filled."""

    folder: Path
    pixels: Any
    rows: Any

    def fill(
        self, pool: ThreadPoolExecutor, paths: Sequence[str], bad: dict[str, str], tell: Told | None
    ) -> None:
        """Decode all files that are not done yet."""
        shape = self.pixels.shape[1:]
        todo = np.flatnonzero(self.rows["done"] == 0).tolist()
        before = done = len(paths) - len(todo)
        named = (paths[i] for i in todo)
        found = _tried(pool, named, lambda path: decode(path, *shape), bad)
        places = iter(todo)
        while some := list(islice(found, AT_ONCE)):
            self._put(list(zip(islice(places, len(some)), some, strict=True)))
            done += len(some)
            if tell is not None:
                tell(done, len(paths))
        if tell is not None and done == before:
            tell(done, len(paths))

    def _put(self, decoded: Sequence[tuple[int, Decoded | None]]) -> None:
        good = [(i, one) for i, one in decoded if one is not None]
        for i, one in good:
            self.pixels[i] = one.pixels
        self.pixels.flush()
        for i, one in good:
            self.rows[i] = 1, one.key, np.frombuffer(one.sum, np.uint8)
        self.rows.flush()


def _open(folder: Path, paths: Sequence[str], shape: tuple[int, ...]) -> _Store:
    """The arrays for these files: those that are there if they are of the same files, else new."""
    about = {"form": FORM, "shape": list(shape), "files": [_stamp(path) for path in paths]}
    text = json.dumps(about)
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
        new = np.lib.format.open_memmap
        pixels = new(folder / PIXELS, "w+", np.uint8, (len(paths), *shape))
        rows = new(folder / ROWS, "w+", ROW, (len(paths),))
        write_text(folder / ABOUT, text, force=True)
    return _Store(folder, pixels, rows)


def _mapped(folder: Path, n: int, shape: tuple[int, ...], mode: Any = "r+") -> _Store | None:
    try:
        pixels, rows = (
            np.load(folder / name, mmap_mode=mode, allow_pickle=False) for name in (PIXELS, ROWS)
        )
    except (OSError, ValueError, EOFError):
        return None
    same = pixels.shape == (n, *shape) and pixels.dtype == np.uint8
    return (
        _Store(folder, pixels, rows) if same and rows.shape == (n,) and rows.dtype == ROW else None
    )


def _stamp(path: str) -> list[Any]:
    """What tells whether a file is still the one that was decoded."""
    try:
        found = os.stat(path)
    except OSError:
        return [path]  # decoding it will say why
    return [path, found.st_size, found.st_mtime_ns]


def _tried(
    pool: ThreadPoolExecutor, paths: Any, work: Callable[[str], Any], bad: dict[str, str]
) -> Iterator[Any]:
    """What each file gives, in order; None, and a line in `bad`, for those that give nothing."""

    def attempt(path: str) -> tuple[str, Any, str]:
        try:
            path.encode()  # a name that is no text could not be written into any table
            return path, work(path), ""
        except UnicodeError:
            return path, None, "has a name that is not valid text; rename it"
        except BadImage as error:
            return path, None, str(error)

    paths = iter(paths)
    while some := list(islice(paths, AT_ONCE)):  # not all at once: results would wait in memory
        for path, found, why in pool.map(attempt, some):
            if why:
                bad[path] = why
            yield found


def bad_sentences(bad: Mapping[str, str]) -> list[str]:
    """What was left out: a sentence per reason, with the first names.

    >>> bad_sentences({"a.jpg": "is cut off", "b.jpg": "is cut off", "c.txt": "is not an image"})
    ['2 files left out: "a.jpg", "b.jpg" (is cut off).', '1 file left out: "c.txt" (is not an
    image).']
    """
    names: dict[str, list[str]] = defaultdict(list)
    for path, why in bad.items():
        names[why].append(f'"{path}"')
    return [
        f"{counted(len(own), 'file')} left out: {listed(own)} ({why})."
        for why, own in names.items()
    ]


def refuse_bad(bad: Mapping[str, str], advice: str = ADVICE) -> None:
    """TB132 with the first file that cannot be used, and how many there are."""
    if bad:
        path, why = next(iter(bad.items()))
        more = f" {len(bad) - 1:,} more cannot be used." if len(bad) > 1 else ""
        raise InputError("TB132", f'"{path}" {why}.{more} {advice}')
