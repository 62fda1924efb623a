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
    return tomli_w.dumps(plain(settings, toml=True))


def plain(value: Any, *, toml: bool = False) -> Any:
    """Values that JSON has: numpy numbers become Python's, tuples lists, other types text.

    NaN and infinities become None. With `toml` they stay, and None is left out of tables.

    >>> plain({"a": np.float64(0.5), "b": (1, float("nan"))})
    {'a': 0.5, 'b': [1, None]}
    """
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), toml=toml)
    if isinstance(value, Mapping):
        items = {str(key): plain(item, toml=toml) for key, item in value.items()}
        return {key: item for key, item in items.items() if not toml or item is not None}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, toml=toml) for item in value]
    if isinstance(value, float) and not toml and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
