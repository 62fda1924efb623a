"""JSON and TOML text: what goes in comes out."""

import json
import tomllib
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from topbin.store.plain import plain, to_json, to_toml

texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), texts, st.floats())
values = st.one_of(scalars, st.lists(texts, max_size=3), st.lists(st.integers(0, 9), max_size=3))
settings = st.dictionaries(texts, st.one_of(values, st.dictionaries(texts, values, max_size=3)))


@given(settings)
def test_toml_comes_back(given_settings):
    np.testing.assert_equal(tomllib.loads(to_toml(given_settings)), given_settings)


def test_toml_leaves_out_none_and_takes_numpy():
    text = to_toml({"a": None, "b": np.float64(0.5), "c": np.int64(3), "d": (np.bool_(True),)})
    assert text == "b = 0.5\nc = 3\nd = [\n    true,\n]\n"


@given(st.recursive(scalars, lambda inner: st.dictionaries(texts, inner) | st.lists(inner)))
def test_json_comes_back_with_null_for_what_is_not_finite(value):
    assert json.loads(to_json(value)) == plain(value)


def test_values_become_plain():
    value = {1: np.array([1.0, np.inf]), "p": Path("a"), "t": (np.int8(1), None), "s": {2}}
    assert plain(value) == {"1": [1.0, None], "p": "a", "t": [1, None], "s": [2]}
