"""Json files: an array of objects, or one object per line."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from topbin.core.errors import InputError
from topbin.data.duck import DuckPart, describe, duck_errors, literal, path_literal
from topbin.data.find import Format


@dataclass(frozen=True, kw_only=True, eq=False)
class JsonPart(DuckPart):
    """A json file as a table."""

    layout: str
    first_line = 1

    @property
    def relation(self) -> str:
        """The rows in SQL."""
        return _relation(self.path, self.layout)


def _relation(path: str, layout: str) -> str:
    options = f"format={literal(layout)}, sample_size=-1, hive_partitioning=false"
    return f"read_json({path_literal(path)}, {options})"


def _open(connection: Any, path: str, name: str, layout: str) -> JsonPart:
    with duck_errors(lambda words: f"{name} cannot be read: {words}"):
        types = describe(connection, _relation(path, layout))
    if list(types) == ["json"]:
        raise InputError("TB102", f"{name} does not hold JSON objects, one per row.")
    return JsonPart(path=path, name=name, own=types, types=types, layout=layout)


FORMATS = (
    Format("json", (".json",), partial(_open, layout="auto")),
    Format("jsonl", (".jsonl", ".ndjson"), partial(_open, layout="newline_delimited")),
)
