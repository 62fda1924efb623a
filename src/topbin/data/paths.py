"""Which files a name stands for: tables by their format, images by their endings.

A format is known by the first bytes of the file where these are a signature (parquet, DuckDB and
SQLite files), and by the ending of the name otherwise. Folders of images are searched to the
bottom. Links to files are followed, links to folders are not, so that a loop of links ends. Hidden
files, and those that a system leaves there, are no rows. Whether a file is an image is decided by
its content (`topbin.data.images.decode`); endings only tell a folder of images from other sources.
"""

import atexit
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from glob import glob, has_magic
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

from topbin.core.atomic import PathLike
from topbin.core.errors import InputError, option
from topbin.data.schema import nearest

SourceLike = PathLike | Sequence[PathLike]
TXT = ".txt"  # a table with columns where a file is named; in a folder, one text per file
IMAGES = (".jpg", ".jpeg", ".jpe", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif")
OWN_FILES = count()
OF_SYSTEMS = ("Thumbs.db", "desktop.ini")  # files that Windows leaves in folders


@dataclass(frozen=True, slots=True)
class Format:
    """How to recognize files of one format, and how to open one.

    `open(connection, path, name)` gives a part that reads the whole file; the connection is
    DuckDB's, for looking into the file. A database also takes a query, or None, and comes alone
    unless it `may_be_many`. `mark` is the signature in the first bytes, with its place. `holds`
    says whether a folder is a table of this format.
    """

    name: str
    endings: tuple[str, ...]
    open: Callable[..., Any]
    mark: tuple[int, bytes] | None = None
    is_database: bool = False
    may_be_many: bool = False
    holds: Callable[[str], bool] | None = None


def is_address(path: PathLike) -> bool:
    """Whether a name is an address and not a path on the disk.

    >>> is_address("s3://bucket/scores.parquet"), is_address("C:/scores.parquet")
    (True, False)
    """
    return isinstance(path, str) and "://" in path


def is_remote(path: str) -> bool:
    r"""Whether a name leads to another machine.

    >>> [is_remote(path) for path in ("s3://b/a.parquet", r"\\host\share\a.csv", "a.csv", "/a")]
    [True, True, False, False]
    """
    return is_address(path) or path.startswith(("\\\\", "//"))


def find_files(source: PathLike, formats: Sequence[Format]) -> list[str]:
    """The files that a path or a glob pattern names.

    >>> find_files("no/such.csv", [])
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB101 there is no file "no/such.csv".
    """
    path = Path(source)
    try:
        if path.is_dir():
            _folder(path, formats)
        elif not path.is_file():  # which may have a name that looks like a pattern
            if path.exists():
                raise InputError("TB102", f'"{path}" is not a regular file.')
            files = [name for name in _fitting(str(path)) if os.path.isfile(name)]
            if not files:
                raise InputError("TB101", _missing(path))
            return files
        return [str(path)]
    except InputError:
        raise
    except (OSError, ValueError) as error:  # a name too long, a folder that may not be searched
        words = getattr(error, "strerror", None) or error
        raise InputError("TB102", f'"{source!s:.80}" cannot be opened: {words}.') from error


def _fitting(pattern: str) -> list[str]:
    """The files and folders that fit a pattern; none if the name is not a pattern."""
    return sorted(glob(pattern, recursive=True)) if has_magic(pattern) else []


def format_of(path: str, formats: Sequence[Format]) -> Format:
    """The format of a file or folder, or TB102 if it is empty or has none that is known."""
    if os.path.isdir(path):
        return _folder(Path(path), formats)
    try:
        with open(path, "rb") as handle:
            head = handle.read(16)
    except OSError as error:
        raise InputError("TB102", f'"{path}" cannot be opened: {error.strerror}.') from error
    if not head:
        raise InputError("TB102", f'"{path}" is empty (0 bytes).')
    ending = os.path.splitext(path.lower().removesuffix(".gz"))[1]
    marked = (f for f in formats if f.mark and head[f.mark[0] :].startswith(f.mark[1]))
    named = (f for f in formats if ending in f.endings)
    if (format_ := next(chain(marked, named), None)) is not None:
        return format_
    known = ", ".join(sorted(ending for format_ in formats for ending in format_.endings))
    raise InputError(
        "TB102",
        f'"{path}" has an unknown format. topbin reads {known}, and .gz of the text formats. '
        "Save it as .csv or .parquet first.",
    )


@contextmanager
def open_bytes(path: str, name: str) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked if it is a .gz; a file that cannot be read is a coded error."""
    try:
        with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as handle:
            yield cast("IO[bytes]", handle)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError("TB102", f"{name} cannot be read: {error}.") from error


def file_stamp(path: PathLike) -> tuple[int, int]:
    """A file's size and the nanosecond of its last change, which show whether it is the same."""
    state = os.stat(path)
    return state.st_size, state.st_mtime_ns


@cache
def own_folder() -> Path:
    """A folder that only this user can open, until the process ends."""
    folder = TemporaryDirectory(prefix="topbin-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def own_file(ending: str) -> Path:
    """A new file in the folder of this process."""
    return own_folder() / f"{next(OWN_FILES)}{ending}"


def _missing(path: Path) -> str:
    if has_magic(str(path)):
        return f'no file fits the pattern "{path}".'
    beside = os.listdir(path.parent) if path.parent.is_dir() else []
    return f'there is no file "{path}".{nearest(path.name, beside)}'


def _folder(path: Path, formats: Sequence[Format]) -> Format:
    """The format of a folder that is a table; TB102 if none fits, or tables are in it."""
    known = {ending for format_ in formats for ending in format_.endings} - {TXT}
    endings = sorted({p.suffix for p in path.iterdir() if p.suffix in known})
    if endings:
        hint = f'Did you mean "{path}/*{endings[0]}"?'
        raise InputError("TB102", f'"{path}" is a folder, not a table. {hint}')
    for format_ in formats:
        if format_.holds is not None and format_.holds(str(path)):
            return format_
    files = sum(1 for _ in walk(str(path)))
    held = "it is empty" if not files else f"its only file does not end in {TXT}"
    if files > 1:
        held = f"none of its {files:,} files ends in {TXT}"
    raise InputError(
        "TB102",
        f'"{path}" is a folder, not a table: {held}. Name a file that is a table, or a folder of '
        f"{TXT} files or of images.",
    )


def is_image_name(path: PathLike) -> bool:
    """Whether a name ends as those of images do.

    >>> is_image_name("cats/1.JPG"), is_image_name("cats.csv")
    (True, False)
    """
    return os.fspath(path).lower().endswith(IMAGES)


def names_images(source: Any) -> bool:
    """Whether a source is a folder, a pattern or a list of image files, by their endings.

    A folder counts if at least half of its files do, so a picture beside texts or tables does not.

    >>> names_images(["a.jpg", "b.PNG"]), names_images("claims.csv"), names_images(None)
    (True, False, False)
    """
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if os.path.isdir(path):
            named_so = [is_image_name(name) for name in walk(path)]
            return any(named_so) and 2 * sum(named_so) >= len(named_so)
        return is_image_name(path)
    parts = source if isinstance(source, list | tuple) else ()
    can_be = all(
        isinstance(part, str | os.PathLike) and (is_image_name(part) or os.path.isdir(part))
        for part in parts
    )
    return can_be and any(map(names_images, parts))


def find_images(source: Any) -> list[str]:
    """All files that a source names, in order; TB130 if there are none.

    >>> find_images("no/such folder")
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB130 there is no file or folder "no/such folder".
    """
    parts = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not parts:
        raise InputError("TB130", "the list of images is empty; name files or a folder.")
    paths = [path for part in parts for path in _files(os.fspath(part))]
    if not paths:
        named = ", ".join(f'"{os.fspath(part)}"' for part in parts[:3])
        raise InputError("TB130", f"there is no image in {named}. Name a folder with images.")
    return paths


def inside(path: str, root: str, column: str) -> str:
    """A path of a table, from the folder that it is relative to; TB133 if it leads out of it.

    >>> inside("cats/a.jpg", "photos", "path") == os.path.join("photos", "cats/a.jpg")
    True
    """
    whole = os.path.join(root, path)
    if not Path(os.path.realpath(whole)).is_relative_to(os.path.realpath(root)):
        raise InputError(
            "TB133",
            f'column "{column}" names "{path}", which is outside the folder "{root}". A table can '
            "name images in its own folder only. If they are elsewhere and you trust the table, "
            f"name the folder that holds them: {option('image_root')}.",
        )
    return whole


def paths_from(values: Any, column: str, root: str | None) -> list[str]:
    """A column of paths, from the folder that they are relative to, if there is one; "" if missing.

    >>> import pandas as pd
    >>> paths_from(pd.Series(["a.jpg", None]), "path", None)
    ['a.jpg', '']
    """
    both = zip(values, values.isna(), strict=True)
    paths = ["" if missing else str(path) for path, missing in both]
    return paths if root is None else [path and inside(path, root, column) for path in paths]


def _files(path: str) -> Sequence[str]:
    if is_address(path):
        raise InputError("TB101", f'"{path}" is an address; images are read from a disk only.')
    if os.path.isdir(path):
        return sorted(walk(path))
    if os.path.lexists(path):
        return [path]  # also when its name looks like a pattern
    if not (fitting := _fitting(path)):
        what = "no file fits the pattern" if has_magic(path) else "there is no file or folder"
        raise InputError("TB130", f'{what} "{path}".')
    return [name for one in fitting for name in _files(one)]


def walk(folder: str) -> Iterator[str]:
    """The files in a folder and below it, without hidden ones; TB130 if it cannot be searched."""
    for here, folders, names in os.walk(folder, onerror=_cannot_search):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith(".") and name not in OF_SYSTEMS:
                yield os.path.join(here, name)


def _cannot_search(error: OSError) -> None:
    raise InputError(
        "TB130", f'"{error.filename}" cannot be searched: {error.strerror}.'
    ) from error
