"""Which files a name stands for, and which format each file has.

A format is known by the first bytes of the file where these are a signature (parquet, DuckDB and
SQLite files), and by the ending of the name otherwise.
"""

import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import IO, Any, cast

from topbin.core.errors import InputError
from topbin.data.schema import nearest

PathLike = str | os.PathLike[str]
SourceLike = PathLike | Sequence[PathLike]
TEXT = ".txt"  # a table with columns where a file is named; in a folder, one text per file


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
    try:
        return _find_files(Path(source), formats)
    except (OSError, ValueError) as error:  # a name too long, a folder that may not be searched
        if isinstance(error, InputError):
            raise
        words = getattr(error, "strerror", None) or error
        raise InputError("TB102", f'"{source!s:.80}" cannot be opened: {words}.') from error


def _find_files(path: Path, formats: Sequence[Format]) -> list[str]:
    source = str(path)
    if path.is_dir():
        _folder(path, formats)
        return [str(path)]
    if path.is_file():
        return [str(path)]  # also when its name looks like a pattern
    if path.exists():
        raise InputError("TB102", f'"{path}" is not a regular file.')
    found = sorted(glob(source, recursive=True)) if has_magic(source) else []
    files = [name for name in found if os.path.isfile(name)]
    if not files:
        raise InputError("TB101", _missing(path))
    return files


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
    for format_ in formats:
        if format_.mark and head[format_.mark[0] :].startswith(format_.mark[1]):
            return format_
    ending = os.path.splitext(path.lower().removesuffix(".gz"))[1]
    for format_ in formats:
        if ending in format_.endings:
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


def _missing(path: Path) -> str:
    if has_magic(str(path)):
        return f'no file fits the pattern "{path}".'
    beside = os.listdir(path.parent) if path.parent.is_dir() else []
    return f'there is no file "{path}".{nearest(path.name, beside)}'


def _folder(path: Path, formats: Sequence[Format]) -> Format:
    """The format of a folder that is a table; TB102 if none fits, or tables are in it."""
    known = {ending for format_ in formats for ending in format_.endings} - {TEXT}
    endings = sorted({p.suffix for p in path.iterdir() if p.suffix in known})
    for format_ in formats:
        if format_.holds is not None and not endings and format_.holds(str(path)):
            return format_
    if endings:
        hint = f'Did you mean "{path}/*{endings[0]}"?'
        raise InputError("TB102", f'"{path}" is a folder, not a table. {hint}')
    files = sum(len(names) for *_, names in os.walk(path))
    held = "it is empty" if not files else f"its only file does not end in {TEXT}"
    if files > 1:
        held = f"none of its {files:,} files ends in {TEXT}"
    raise InputError(
        "TB102",
        f'"{path}" is a folder, not a table: {held}. Name a file that is a table, or a folder of '
        f"{TEXT} files or of images.",
    )
