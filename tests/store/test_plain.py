"""JSON text: what goes in comes out."""

import json
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from topbin.store.plain import plain, to_json

texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), texts, st.floats())


@given(st.recursive(scalars, lambda inner: st.dictionaries(texts, inner) | st.lists(inner)))
def test_json_comes_back_with_null_for_what_is_not_finite(value):
    assert json.loads(to_json(value)) == plain(value)


def test_values_become_plain():
    value = {1: np.array([1.0, np.inf]), "p": Path("a"), "t": (np.int8(1), None), "s": {2}}
    assert plain(value) == {"1": [1.0, None], "p": "a", "t": [1, None], "s": [2]}
