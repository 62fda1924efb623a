"""Parquet behind an address (`s3://`, `gs://`, `hdfs://`): found, described, told apart by Arrow.

Reading needs nothing special, as Arrow's reader takes addresses too. Keys, region and endpoint come
from the usual variables, for S3 `AWS_ACCESS_KEY_ID` and its sisters.
"""

import os
from collections.abc import Iterator
from glob import has_magic
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Any

from topbin.core.errors import InputError
from topbin.core.optional import require

ENDINGS = (".parquet", ".pq")


def is_address(path: str) -> bool:
    """Whether a name is an address and not a place on the disk.

    >>> is_address("s3://bucket/scores.parquet"), is_address("C:/scores.parquet")
    (True, False)
    """
    return "://" in path


def stamp(path: str) -> tuple[int, int]:
    """A file's size and the nanosecond of its last change, which tell whether it is the same."""
    if is_address(path):
        store, place = _store(path)
        info = store.get_file_info(place)
        return info.size, info.mtime_ns
    stat = os.stat(path)
    return stat.st_size, stat.st_mtime_ns


def files_behind(address: str) -> Iterator[str]:
    """The parquet files that an address stands for; `*` stays within a folder."""
    fs = require("pyarrow.fs", extra="dask", caller=f'"{address}"')
    scheme, _, pattern = address.partition("://")
    store, root = _store(f"{scheme}://{_without_magic(pattern)}")
    asked = fs.FileSelector(root, recursive=True) if has_magic(pattern) else [root]
    try:
        found = sorted(info.path for info in store.get_file_info(asked) if info.is_file)
    except OSError as error:
        raise InputError("TB102", f'"{address}" cannot be reached: {first_line(error)}.') from error
    found = [path for path in found if path == root or PurePosixPath(path).match(pattern)]
    if not found:
        raise InputError("TB101", f'no file is called or fits "{address}".')
    for path in found:
        if not path.lower().endswith(ENDINGS):
            raise InputError("TB102", f'"{path}" is not parquet; of addresses only that is read.')
        yield f"{scheme}://{path}"


def types_behind(connection: Any, path: str) -> dict[str, str]:
    """The columns of a parquet file and their types, in DuckDB's words."""
    parquet = require("pyarrow.parquet", extra="dask", caller=f'"{path}"')
    try:
        schema = parquet.read_schema(path)
    except ValueError as error:  # Arrow's word for a damaged file
        raise OSError(first_line(error)) from error
    described = connection.from_arrow(schema.empty_table())
    return dict(zip(described.columns, map(str, described.types), strict=True))


def first_line(error: BaseException) -> str:
    """An error's first line, without a full stop at its end."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _store(address: str) -> tuple[Any, str]:
    fs = require("pyarrow.fs", extra="dask", caller=f'"{address}"')
    try:
        store, place = fs.FileSystem.from_uri(address)
    except (ValueError, OSError) as error:  # Arrow's own errors are ValueErrors
        raise InputError("TB102", f'"{address}" cannot be used: {first_line(error)}.') from error
    return store, str(place)


def _without_magic(pattern: str) -> str:
    """The folder above the first wildcard; a name without one as it is.

    >>> _without_magic("bucket/2026/*/part-?.parquet"), _without_magic("bucket/a.parquet")
    ('bucket/2026', 'bucket/a.parquet')
    """
    return "/".join(takewhile(lambda step: not has_magic(step), pattern.split("/")))
