"""Plain values as JSON text, for files that people and other programs read."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def to_json(value: Any) -> str:
    """Indented JSON of plain values, with a line end."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def plain(value: Any) -> Any:
    """Values that JSON has: numpy numbers become Python's, tuples lists, other types text.

    NaN and infinities become None.

    >>> plain({"a": np.float64(0.5), "b": (1, float("nan"))})
    {'a': 0.5, 'b': [1, None]}
    """
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
