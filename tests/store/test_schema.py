"""Our part of JSON Schema says what the jsonschema package says, of whole and of spoiled values."""

import copy
import json
import random

import jsonschema
import pytest
from whole_result import RESULT

from topbin.store.plain import plain
from topbin.store.schema import misfit, read_json, schema_of

DRAW = {"rows": [1, 0], "stratum": [0, 0], "sizes": [9], "seed": 0, "row": [4, 7], "data": "x"}
AUDIT = {
    "n": 3, "alpha": 0.5, "interval": [0.1, 0.9], "confidence": 0.95, "verdict": "agrees",
    "sentence": "it agrees.",
}  # fmt: skip
VALUES = {
    "result-1": plain({"schema": "topbin-result-1", "topbin": "0", **RESULT, "audit": AUDIT}),
    "audit-1": {"draws": [DRAW, DRAW]},
}
SPOILERS = [None, True, -1, 1.5, 2.0, 10**30, float("inf"), "", "x", [], [1], {}, {"a": 1}]


def places(value):
    """Every container in a value, with each key of it."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def spoil(value, rng):
    holder, key = rng.choice(list(places(value)))
    if rng.random() < 0.3:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(rng.choice(SPOILERS))


@pytest.mark.parametrize("name", VALUES)
def test_it_agrees_with_the_jsonschema_package(name):
    judge = jsonschema.Draft202012Validator(schema_of(name))
    assert misfit(VALUES[name], name) is None
    assert judge.is_valid(VALUES[name])
    rng = random.Random(0)
    for _ in range(500):
        value = copy.deepcopy(VALUES[name])
        spoil(value, rng)
        wrong = misfit(value, name)
        assert (wrong is None) == judge.is_valid(value), (value, wrong)
        assert wrong is None or wrong.startswith("$")


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "[" * 100_000, "{", b"\xff", r'["\ud800"]'])
def test_what_is_not_json_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


def test_json_is_read():
    assert read_json(json.dumps(VALUES)) == VALUES
