"""Which files a name stands for, and whether they fit together, known before any row is read."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from glob import escape, glob, has_magic
from typing import Any

import duckdb

from topbin.core.errors import InputError
from topbin.data.addresses import ENDINGS, files_behind, first_line, is_address, types_behind

SourceLike = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
NULLS = "['', 'NA', 'N/A', 'NaN', 'nan', 'NULL', 'null']"
TEXT = {
    ".csv": f"read_csv({{0}}, header=true, comment='', all_varchar=true, nullstr={NULLS})",
    ".tsv": f"read_csv({{0}}, header=true, comment='', delim='\t', all_varchar=true, "
    f"nullstr={NULLS})",
    ".jsonl": "read_json({0}, format='newline_delimited')",
}
PARQUET = dict.fromkeys(ENDINGS, "read_parquet({0})")
WIDE = ("DOUBLE", "DECIMAL", "BIGINT", "INTEGER", "HUGEINT", "UBIGINT", "UINTEGER", "UHUGEINT")
KINDS = {
    **dict.fromkeys((*WIDE, "FLOAT", "TINYINT", "SMALLINT", "UTINYINT", "USMALLINT"), "number"),
    **dict.fromkeys(("VARCHAR", "ENUM"), "text"),
    **dict.fromkeys(("DATE", "TIMESTAMP"), "date"),
    "BOOLEAN": "boolean",
    '"NULL"': "blank",
}
SHOWN = 5


@dataclass(frozen=True, slots=True)
class File:
    """A file and the kinds of the columns that are wanted from it."""

    path: str
    types: dict[str, str]

    @property
    def is_text(self) -> bool:
        """Whether values come as words that may stand for numbers."""
        return ending(self.path) in TEXT


def find_files(source: SourceLike) -> list[str]:
    """The files that a path, a glob pattern or a list of these names.

    >>> find_files("no/such.parquet")
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB101 no file is called or fits "no/such.parquet".
    """
    parts = [source] if isinstance(source, str | os.PathLike) else list(source)
    return [path for part in parts for path in _expand(os.fspath(part))]


def survey(
    paths: Sequence[str], columns: Sequence[str], score: str, *, skip_bad: bool = False
) -> tuple[list[File], dict[str, str]]:
    """The files with their types, checked against each other, and those that cannot be read.

    Only headers and footers are read. A file without one of the columns, or with another kind of
    values in it, is TB106.
    """
    files, bad = open_files(paths, skip_bad=skip_bad)
    _check(files, columns, score)
    return files, bad


def open_files(
    paths: Sequence[str], *, skip_bad: bool = False
) -> tuple[list[File], dict[str, str]]:
    """The files with their types, and those that cannot be read, with the reason."""
    files, bad = [], {}
    with duckdb.connect() as connection:
        for path in paths:
            try:
                files.append(File(path, _types(connection, path)))
            except (duckdb.Error, OSError) as error:
                broken = unreadable(path, first_line(error))
                if not skip_bad:
                    raise broken from error
                bad[path] = broken.message
    if not files:
        raise InputError("TB102", f"none of the {len(paths):,} files can be read.")
    return files, bad


def relation(path: str) -> str:
    """The rows of a file in SQL.

    >>> relation("it's.parquet")
    "read_parquet('it''s.parquet')"
    """
    return {**TEXT, **PARQUET}[ending(path)].format("'" + escape(path).replace("'", "''") + "'")


def ending(path: str) -> str:
    """What tells the format: the end of the name, an added `.gz` aside.

    >>> ending("a/b.CSV.gz")
    '.csv'
    """
    return os.path.splitext(path.lower().removesuffix(".gz"))[1]


def identifier(column: str) -> str:
    """A column's name in SQL.

    >>> identifier("is fraud")
    '"is fraud"'
    """
    return '"' + column.replace('"', '""') + '"'


def is_wide(files: Sequence[File], score: str) -> bool:
    """Whether scores need float64: some file's are not float32."""
    return any(file.is_text or _base(file.types[score]) != "FLOAT" for file in files)


def unreadable(path: str, reason: str) -> InputError:
    """The error of a file that cannot be read."""
    return InputError(
        "TB102",
        f'"{path}" cannot be read: {reason}. Nothing was estimated. Mend or remove the file, or '
        "go on without it: skip_bad (on the command line --skip-bad).",
    )


def skipped(bad: Iterable[str]) -> list[str]:
    """A sentence about the files that were left out, if any were.

    >>> skipped(["b.parquet", "a.parquet"])
    ['2 files left out, for unreadable: a.parquet, b.parquet']
    """
    names = sorted(bad)
    if not names:
        return []
    shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    return [f"{len(names):,} file{'s'[: len(names) > 1]} left out, for unreadable: {shown}"]


def _expand(part: str) -> Iterator[str]:
    if is_address(part):
        yield from files_behind(part)
        return
    if os.path.isdir(part):
        raise InputError("TB102", f'"{part}" is a folder. Did you mean "{part}/*.parquet"?')
    found = [part] if os.path.isfile(part) else sorted(glob(part, recursive=True))
    if not found or not (os.path.isfile(part) or has_magic(part)):
        raise InputError("TB101", f'no file is called or fits "{part}".')
    for path in found:
        if ending(path) not in {**TEXT, **PARQUET}:
            known = ", ".join({**TEXT, **PARQUET})
            raise InputError(
                "TB102",
                f'"{path}" is of an unknown kind; engines read {known}. '
                "Save it as .csv or .parquet first.",
            )
        yield os.path.abspath(path)  # a worker stands in another folder


def _types(connection: Any, path: str) -> dict[str, str]:
    if is_address(path):
        return types_behind(connection, path)
    described = connection.execute(f"describe select * from {relation(path)}").fetchall()
    return {name: type_ for name, type_, *_ in described}


def _base(type_: str) -> str:
    return type_.partition("(")[0].partition(" WITH")[0]


def _kind(file: File, column: str) -> str:
    return "any" if file.is_text else KINDS.get(_base(file.types[column]), "other")


def _check(files: Sequence[File], columns: Sequence[str], score: str) -> None:
    first = files[0]
    for column in columns:
        if column not in first.types:
            near = get_close_matches(column, first.types, n=1)
            hint = f' Did you mean "{near[0]}"?' if near else ""
            raise InputError("TB103", f'there is no column "{column}" in "{first.path}".{hint}')
        for file in files:
            _check_column(first, file, column)
    for file in files:
        kind = _kind(file, score)
        if kind not in ("any", "number", "blank"):
            raise InputError(
                "TB006", f'scores must be numbers; column "{score}" of "{file.path}" holds {kind}.'
            )


def _check_column(first: File, file: File, column: str) -> None:
    if column not in file.types:
        raise InputError(
            "TB106", f'"{first.path}" has a column "{column}" and "{file.path}" has none.'
        )
    kinds = _kind(first, column), _kind(file, column)
    if "other" in kinds:
        raise InputError(
            "TB006", f'column "{column}" of "{file.path}" is a {file.types[column]}, not a value.'
        )
    if kinds[0] != kinds[1] and not {"any", "blank"} & set(kinds):
        raise InputError(
            "TB106",
            f'column "{column}" holds {kinds[0]} in "{first.path}" and {kinds[1]} in '
            f'"{file.path}". Write them with one type.',
        )
