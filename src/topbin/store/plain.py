"""Plain values as JSON and TOML text, for files that people and other programs read."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import tomli_w


def to_json(value: Any) -> str:
    """Indented JSON of plain values, with a line end."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def to_toml(settings: Mapping[str, Any]) -> str:
    """TOML of plain values and tables of them, without None because TOML has no such value.

    >>> print(to_toml({"seed": 0, "data": {"label": "is_fraud", "drop": []}}), end="")
    seed = 0
    <BLANKLINE>
    [data]
    label = "is_fraud"
    drop = []
    """
    return tomli_w.dumps(_without_none(plain(settings, finite=False)))


def plain(value: Any, *, finite: bool = True) -> Any:
    """Values that JSON has: numpy numbers become Python's, tuples lists, other types text.

    `finite` turns NaN and infinities into None, because JSON has no such numbers.

    >>> plain({"a": np.float64(0.5), "b": (1, float("nan"))})
    {'a': 0.5, 'b': [1, None]}
    """
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), finite=finite)
    if isinstance(value, Mapping):
        return {str(key): plain(item, finite=finite) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, finite=finite) for item in value]
    if isinstance(value, float) and finite and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _without_none(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _without_none(item) for key, item in value.items() if item is not None}
