"""Parquet files, on a disk or behind an address (`s3://`, `gs://`, `hdfs://`).

A whole file is read by DuckDB, which comes with topbin. Engines read runs of row groups by Arrow,
where it is installed; Arrow also reads files behind an address. Keys, region and endpoint of a
service come from the usual variables, for S3 from `AWS_ACCESS_KEY_ID` and the related ones.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from glob import has_magic
from importlib.util import find_spec
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Any

from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.data.batch import Part
from topbin.data.formats.duck import Duck, DuckPart, open_relation, path_literal
from topbin.data.paths import Format, file_stamp, is_address
from topbin.data.schema import Types, check_names

ENDINGS = (".parquet", ".pq")


@dataclass(frozen=True, kw_only=True, eq=False)
class ParquetFile(DuckPart):
    """A parquet file on the disk."""

    def cut(self, rows: int) -> Sequence[Part]:
        """Runs of row groups, where Arrow is installed."""
        can_cut = find_spec("pyarrow") and not self.folders
        return _row_groups(self, rows) if can_cut else super().cut(rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowGroups(Part):
    """Some row groups of a parquet file, read by Arrow."""

    def cut(self, rows: int) -> Sequence[Part]:
        """Runs of row groups of about `rows` rows."""
        return _row_groups(self, rows)

    def read(self, types: Types, rows: int) -> Iterator[Any]:
        """Arrow rows, at most `rows` at a time."""
        remote = is_address(self.path)  # where many small reads are slow
        with _reading(self.name), _arrow().ParquetFile(self.path, pre_buffer=remote) as file:
            yield from file.iter_batches(
                rows, row_groups=list(self.groups), columns=list(types), use_threads=False
            )


def open_address(connection: Duck, path: str) -> RowGroups:
    """A parquet file behind an address, with its types in DuckDB's words."""
    name = f'"{path}"'
    with _reading(name), _arrow().ParquetFile(path) as file:
        check_names(name, file.schema_arrow.names)
        connection.raw.register("empty", file.schema_arrow.empty_table())
        types = connection.describe("empty")
        groups, rows = tuple(range(file.num_row_groups)), file.metadata.num_rows
    return RowGroups(path=path, name=name, types=types, groups=groups, size=rows)


def find_behind(address: str) -> Iterator[str]:
    """The parquet files that an address stands for; `*` stays within a folder."""
    fs = _arrow("fs", caller=f'"{address}"')
    scheme, _, pattern = address.partition("://")
    store, root = _store(f"{scheme}://{_without_magic(pattern)}")
    asked = fs.FileSelector(root, recursive=True) if has_magic(pattern) else [root]
    try:
        paths = sorted(info.path for info in store.get_file_info(asked) if info.is_file)
    except OSError as error:
        raise InputError("TB102", f'"{address}" cannot be reached: {_words(error)}.') from error
    paths = [path for path in paths if path == root or PurePosixPath(path).match(pattern)]
    if not paths:
        raise InputError("TB101", f'there is no file "{address}", or none that fits it.')
    for path in paths:
        if not path.lower().endswith(ENDINGS):
            only = "only parquet files are read from an address"
            raise InputError("TB102", f'"{path}" is not parquet; {only}.')
        yield f"{scheme}://{path}"


def stamp(path: str) -> tuple[int, int]:
    """The same as `file_stamp`, also of a file behind an address."""
    if not is_address(path):
        return file_stamp(path)
    store, place = _store(path)
    info = store.get_file_info(place)
    return info.size, info.mtime_ns


def _open(connection: Duck, path: str, name: str) -> ParquetFile:
    # A folder called x=1 must not make a column x.
    relation = f"read_parquet({path_literal(path)}, hive_partitioning=false)"
    part = open_relation(connection, path, name, relation)
    schema = f"parquet_schema({path_literal(path)})"
    query = f"select num_children, name, logical_type from {schema}"
    columns = _top_level(connection.rows(query))
    check_names(name, [column for column, _ in columns])
    # DuckDB before 2 calls a column that only has null one of integers.
    blank = {column for column, meaning in columns if meaning == "NullType()"}
    types = {column: "BLANK" if column in blank else type_ for column, type_ in part.own.items()}
    return ParquetFile(path=path, name=name, relation=relation, own=types, types=types)


def _top_level(listed: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The columns, without the number of their children, which the schema lists below each.

    >>> _top_level([(2, "schema"), (2, "place"), (None, "x"), (None, "y"), (None, "id")])
    [('place',), ('id',)]
    """
    columns: list[tuple[Any, ...]] = []
    inside = 0  # how many entries below the last column are still to come
    for children, *known in listed[1:]:  # the first one holds all others
        if inside:
            inside -= 1
        else:
            columns.append(tuple(known))
        inside += children or 0
    return columns


def _row_groups(file: Part, rows: int) -> list[RowGroups]:
    """The row groups in runs of about `rows` rows, or of one larger row group."""
    with _reading(file.name):
        footer = _arrow().read_metadata(file.path)
    whole = RowGroups(path=file.path, name=file.name, types=file.types)
    parts: list[RowGroups] = []
    first = count = 0
    for end in range(1, footer.num_row_groups + 1):
        count += footer.row_group(end - 1).num_rows
        if count >= rows or (end == footer.num_row_groups and count):
            parts.append(replace(whole, groups=tuple(range(first, end)), size=count))
            first, count = end, 0
    return parts


def _arrow(module: str = "parquet", caller: str = "reading parquet in parts") -> Any:
    return require(f"pyarrow.{module}", extra="dask", caller=caller)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except (_arrow("lib").ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError("TB102", f"{name} cannot be read: {_words(error)}.") from error


def _words(error: BaseException) -> str:
    """An error's first line, without a full stop at its end."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _store(address: str) -> tuple[Any, str]:
    try:
        store, place = _arrow("fs", caller=f'"{address}"').FileSystem.from_uri(address)
    except (ValueError, OSError) as error:  # Arrow's own errors are ValueErrors
        raise InputError("TB102", f'"{address}" cannot be used: {_words(error)}.') from error
    return store, str(place)


def _without_magic(pattern: str) -> str:
    """The folder above the first wildcard; a name without one as it is.

    >>> _without_magic("bucket/2026/*/part-?.parquet"), _without_magic("bucket/a.parquet")
    ('bucket/2026', 'bucket/a.parquet')
    """
    return "/".join(takewhile(lambda step: not has_magic(step), pattern.split("/")))


FORMATS = (Format("parquet", ENDINGS, _open, mark=(0, b"PAR1")),)
