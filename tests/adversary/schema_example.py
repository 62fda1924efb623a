"""Values that a JSON schema allows, so that tests reach fields that a small run leaves empty."""

PATTERNS = {"^[0-9a-f]{64}$": "0" * 64, "^sha256:[0-9a-f]{64}$": "sha256:" + "0" * 64}
KNOWN = "known"
DEEPEST = 3  # some lists hold what they are part of


def filled(schema, value, **known):
    """The value, with an example for every field that is missing, null or an empty list.

    `known` has examples of fields by name, for rules that the schema does not tell.
    """
    return _filled(schema, value, {**schema["$defs"], KNOWN: known})


def _filled(schema, value, named):
    schema = _chosen(schema, value, named)
    if isinstance(value, dict) and "properties" in schema:
        fields = schema["properties"]
        own = {name: _filled(fields[name], value.get(name), named) for name in fields}
        return {**value, **own}
    if isinstance(value, list) and value and isinstance(schema.get("items"), dict):
        return [_filled(schema["items"], one, named) for one in value]
    return _example(schema, named, 1) if value in (None, [], {}) else value


def _chosen(schema, value, named):
    """Without references, and of several kinds the one that is not null."""
    if "$ref" in schema:
        return _chosen(named[schema["$ref"].rsplit("/", 1)[-1]], value, named)
    if "anyOf" in schema:
        kinds = [_chosen(one, value, named) for one in schema["anyOf"]]
        return next(one for one in kinds if one.get("type") != "null")
    return schema


def _example(schema, named, depth=0):
    schema = _chosen(schema, None, named)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")  # a field of any type
    if kind == "object":
        fields = schema.get("properties", {})
        own = {name: one for name, one in named[KNOWN].items() if name in fields}
        return {name: _example(one, named, depth + 1) for name, one in fields.items()} | own
    if kind == "array":
        least = schema.get("minItems", 0 if depth > DEEPEST else 1)
        several = schema.get("prefixItems") or [schema["items"]] * least
        return [_example(one, named, depth + 1) for one in several]
    if kind == "string":
        return PATTERNS.get(schema.get("pattern"), "x")
    return {"number": 0.5, "integer": 1, "boolean": True}[kind]
