"""The part of JSON Schema that our own schemas use, so that a run needs no other package."""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

TYPES: Mapping[str, Any] = {
    "object": dict, "array": list, "string": str, "number": (int, float), "integer": (int, float),
    "boolean": bool, "null": type(None),
}  # fmt: skip


@cache
def schema_of(name: str) -> Any:
    """A schema of this package, by the name of its file."""
    return json.loads(files("topbin.store").joinpath(f"schemas/{name}.json").read_bytes())


def read_json(text: str | bytes) -> Any:
    """Strict JSON: no NaN, no infinities, no lone surrogates; ValueError if it is not."""
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
    raise ValueError(f"{word} is not allowed in JSON")


def _misfits(value: Any, schema: Any, root: Any, at: str) -> Iterator[str]:
    """Every misfit: first of the value itself, then of what is inside it."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    for word, (kind, fits, says) in RULES.items():
        if word in schema and _is(value, kind) and not fits(value, schema[word]):
            yield f"{at}: {value!r:.80} {says} {schema[word]!r}"
    options = [list(_misfits(value, one, root, at)) for one in schema.get("anyOf", ())]
    if options and all(options):
        yield options[-1][0]
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from _misfits(item, schema.get("items", {}), root, f"{at}[{place}]")
    if isinstance(value, dict):
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


def _is(value: Any, kinds: str | list[str]) -> bool:
    """Whether a value is of this type, or of one of these; a truth value is not a number."""
    if isinstance(kinds, list):
        return any(_is(value, kind) for kind in kinds)
    if isinstance(value, bool) and kinds != "boolean":
        return False
    if kinds == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kinds])


ANY = list(TYPES)
# For each keyword of a schema: the types that it applies to, the check, and the error text.
RULES: Mapping[str, tuple[Any, Callable[[Any, Any], bool], str]] = {
    "type": (ANY, _is, "is not of type"),
    "const": (ANY, operator.eq, "is not"),
    "enum": (ANY, lambda value, allowed: value in allowed, "is not one of"),
    "pattern": ("string", lambda value, pattern: bool(re.search(pattern, value)), "does not match"),
    "minimum": ("number", operator.ge, "is less than the minimum of"),
    "maximum": ("number", operator.le, "is greater than the maximum of"),
    "minItems": ("array", lambda value, least: len(value) >= least, "has fewer items than"),
    "maxItems": ("array", lambda value, most: len(value) <= most, "has more items than"),
}
