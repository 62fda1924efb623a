"""The part of JSON Schema that our own schemas use, so that a run needs no other package."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

TYPES: Mapping[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": (int, float),
    "boolean": bool,
    "null": type(None),
}


@cache
def schema_of(name: str) -> Any:
    """A schema of this package, by the name of its file."""
    return json.loads(files("topbin.store").joinpath(f"schemas/{name}.json").read_text("utf-8"))


def read_json(text: str | bytes) -> Any:
    """Strict JSON: no NaN, no infinities, no halves of characters; ValueError if it is not."""
    try:
        value = json.loads(text, parse_constant=_no_number)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return value


def misfit(value: Any, name: str) -> str | None:
    """Where and why a value does not fit the schema, or None.

    >>> misfit({"draws": 3}, "audit-1")
    "$.draws: 3 is not of type 'array'"
    """
    root = schema_of(name)
    return next(_misfits(value, root, root, "$"), None)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number of JSON")


def _misfits(value: Any, schema: Any, root: Any, at: str) -> Iterator[str]:
    """Every misfit, in the words of the jsonschema package."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    kinds = schema.get("type", list(TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in kinds):
        yield f"{at}: {value!r:.80} is not of type {', '.join(map(repr, kinds))}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {schema['const']!r} was expected"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r:.80} is not one of {schema['enum']}"
    if "anyOf" in schema:
        options = [list(_misfits(value, one, root, at)) for one in schema["anyOf"]]
        if all(options):
            yield options[-1][0]
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{at}: {value!r:.80} does not match {schema['pattern']!r}"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _wrong_size(value, schema, at)
    elif isinstance(value, dict):
        yield from _wrong_members(value, schema, root, at)
    elif isinstance(value, list):
        yield from _wrong_items(value, schema, root, at)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind != "boolean":
        return False
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kind])


def _wrong_size(value: float, schema: Any, at: str) -> Iterator[str]:
    if value < schema.get("minimum", value):
        yield f"{at}: {value!r} is less than the minimum of {schema['minimum']}"
    if value > schema.get("maximum", value):
        yield f"{at}: {value!r} is greater than the maximum of {schema['maximum']}"


def _wrong_members(value: dict[str, Any], schema: Any, root: Any, at: str) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at}: {name!r} is a required property"
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, item in value.items():
        inner = known.get(name, others)
        if inner is False:
            yield f"{at}: Additional properties are not allowed ({name!r} was unexpected)"
        elif inner is not True:
            yield from _misfits(item, inner, root, f"{at}.{name}")


def _wrong_items(value: list[Any], schema: Any, root: Any, at: str) -> Iterator[str]:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield f"{at}: {value!r:.80} has {len(value)} items"
    if "items" in schema:
        for place, item in enumerate(value):
            yield from _misfits(item, schema["items"], root, f"{at}[{place}]")
