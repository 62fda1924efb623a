"""Plain values as JSON and TOML text, for files that people and other programs read."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def to_json(value: Any) -> str:
    """Indented JSON of plain values, with a line end."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def plain(value: Any) -> Any:
    """Values as JSON has them: numpy numbers as Python's, tuples as lists, NaN and inf as null.

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


def to_toml(settings: Mapping[str, Any]) -> str:
    """TOML of plain values and tables of them; None is left out, for TOML has no such value.

    >>> print(to_toml({"seed": 0, "data": {"label": "is_fraud", "drop": []}}), end="")
    seed = 0
    <BLANKLINE>
    [data]
    label = "is_fraud"
    drop = []
    """
    tables = {key: value for key, value in settings.items() if isinstance(value, Mapping)}
    values = {key: value for key, value in settings.items() if key not in tables}
    parts = [_lines(values)]
    parts += [f"[{_text(str(name))}]\n{_lines(table)}" for name, table in tables.items()]
    return "\n".join(part for part in parts if part)


def _lines(values: Mapping[str, Any]) -> str:
    return "".join(f"{_text(k)} = {_value(v)}\n" for k, v in values.items() if v is not None)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, bool | int | np.bool_ | np.integer):
        return str(value).lower()
    if isinstance(value, float | np.floating):
        return repr(float(value))
    return _quoted(str(value))


def _text(key: str) -> str:
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else _quoted(key)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
