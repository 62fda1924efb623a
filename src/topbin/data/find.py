"""Where rows come from: which files a name stands for, and what kind of files they are.

A file is known by its first bytes where these tell (parquet, DuckDB and SQLite files have a
signature) and by the end of its name otherwise.
"""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from glob import escape, glob, has_magic
from pathlib import Path
from typing import IO, Literal, cast

from topbin.core.errors import InputError

Format = Literal["csv", "tsv", "parquet", "json", "jsonl", "duckdb", "sqlite"]
SourceLike = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".duckdb": "duckdb",
    ".db": "sqlite",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}
SHOWN = 8


@dataclass(frozen=True, slots=True)
class Source:
    """Files of one format, and the query to run over them, if any."""

    paths: tuple[Path, ...]
    format: Format
    sql: str | None = None

    @property
    def name(self) -> str:
        """How messages call it."""
        more = len(self.paths) - 1
        return f'"{self.paths[0]}"' + (f" and {more:,} more" if more else "")


def find_source(source: SourceLike, *, sql: str | None = None) -> Source:
    """Find the files that `source` names: a path, a glob pattern, or a list of these.

    >>> find_source("no/such.csv")
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB101 there is no file "no/such.csv".
    """
    parts = [source] if isinstance(source, str | os.PathLike) else list(source)
    paths = [path for part in parts for path in _expand(part)]
    if not paths:
        raise InputError("TB101", "no file is named; pass the path of a table.")
    formats = {path: _format_of(path) for path in paths}
    if len(set(formats.values())) > 1:
        first, other = next((paths[0], p) for p in paths if formats[p] != formats[paths[0]])
        raise InputError(
            "TB106",
            f'"{first}" is a {formats[first]} file and "{other}" is a {formats[other]} file. '
            "Read files of one format at a time.",
        )
    if formats[paths[0]] in ("duckdb", "sqlite") and len(paths) > 1:
        raise InputError("TB102", f"one database file at a time; got {len(paths):,}.")
    return Source(tuple(paths), formats[paths[0]], sql)


def nearest(name: str, options: Iterable[str]) -> str:
    """` Did you mean "x"?` for the most similar option, or nothing.

    >>> nearest("is_fruad", ["amount", "is_fraud"])
    ' Did you mean "is_fraud"?'
    """
    known = {option.casefold(): option for option in options}
    found = get_close_matches(name.casefold(), known, n=1, cutoff=0.6)
    return f' Did you mean "{known[found[0]]}"?' if found else ""


def check_columns(wanted: Iterable[str], known: Sequence[str], where: str) -> None:
    """Raise TB103 for the first wanted column that is not among the known ones."""
    there = set(known)
    for name in wanted:
        if name not in there:
            shown = ", ".join(f'"{column}"' for column in known[:SHOWN])
            more = f" and {len(known) - SHOWN:,} more" if len(known) > SHOWN else ""
            raise InputError(
                "TB103",
                f'there is no column "{name}" in {where}.{nearest(name, known)} '
                f"There is {shown}{more}.",
            )


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked if it is a .gz; a file that cannot be had is a coded error."""
    try:
        with gzip.open(path, "rb") if _is_gz(path) else path.open("rb") as handle:
            yield cast("IO[bytes]", handle)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError("TB102", f'"{path}" cannot be read: {error}.') from error


def literal(text: str) -> str:
    """An SQL string.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def identifier(column: str) -> str:
    """A column's name in SQL.

    >>> identifier("is fraud")
    '"is fraud"'
    """
    return '"' + column.replace('"', '""') + '"'


def path_literal(path: Path) -> str:
    """A file in SQL; what looks like a pattern in its name is taken as it is written."""
    return literal(escape(str(path)))


def _expand(part: str | os.PathLike[str]) -> list[Path]:
    path = Path(part)
    if path.is_dir():
        raise InputError("TB102", _folder_hint(path))
    if path.is_file():
        return [path]  # also when its name looks like a pattern
    if path.exists():
        raise InputError("TB102", f'"{path}" is not a regular file.')
    found = sorted(glob(str(part), recursive=True)) if has_magic(str(part)) else []
    files = [Path(name) for name in found if os.path.isfile(name)]
    if not files:
        raise InputError("TB101", _missing(path))
    return files


def _missing(path: Path) -> str:
    text = str(path)
    if "://" in os.fspath(path) or text.startswith(("http:/", "https:/", "s3:/")):
        return f'"{text}" is an address; topbin reads local files. Download it first.'
    if has_magic(text):
        return f'no file fits the pattern "{text}".'
    if not path.parent.is_dir():
        return f'there is no file "{text}".'
    return f'there is no file "{text}".{nearest(path.name, os.listdir(path.parent or "."))}'


def _folder_hint(path: Path) -> str:
    endings = sorted({p.suffix for p in path.iterdir() if p.suffix in ENDINGS})
    hint = f' Did you mean "{path}/*{endings[0]}"?' if endings else " Name a file in it."
    return f'"{path}" is a folder, not a table.{hint}'


def _is_gz(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _format_of(path: Path) -> Format:
    try:
        with path.open("rb") as handle:
            head = handle.read(16)
    except OSError as error:
        raise InputError("TB102", f'"{path}" cannot be opened: {error.strerror}.') from error
    if not head:
        raise InputError("TB102", f'"{path}" is empty (0 bytes).')
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    ending = (Path(path.stem).suffix if _is_gz(path) else path.suffix).lower()
    if ending not in ENDINGS:
        raise InputError(
            "TB102",
            f'"{path}" is of an unknown kind. topbin reads {", ".join(sorted(ENDINGS))}, '
            "and .gz of the text formats. Save it as .csv or .parquet first.",
        )
    return ENDINGS[ending]
