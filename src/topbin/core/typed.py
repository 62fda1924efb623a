"""Frozen values from what JSON made of them, each field held against its annotation."""

from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

NUMBERS = {float: (int, float), int: (int,)}


def from_plain(kind: Any, value: Any) -> Any:
    """A value of type `kind`: a dataclass, tuple, union or plain type; TypeError if it is none.

    >>> from_plain(tuple[float, ...] | None, [0.5, 1])
    (0.5, 1)
    >>> from_plain(int, "1")
    Traceback (most recent call last):
    TypeError: '1' is not of type int
    """
    origin = get_origin(kind)
    if is_dataclass(kind) and isinstance(value, dict):
        hints = get_type_hints(kind)
        return kind(**{name: from_plain(hints.get(name), item) for name, item in value.items()})  # type: ignore[operator]
    if origin in (Union, UnionType):
        kinds = get_args(kind)  # None, if it is a member, is meant for None alone
        return from_plain(NoneType if value is None and NoneType in kinds else kinds[0], value)
    if origin is tuple and isinstance(value, list | tuple):
        kinds = get_args(kind)
        kinds = kinds[:1] * len(value) if kinds[-1] is Ellipsis else kinds
        return tuple(from_plain(one, item) for one, item in zip(kinds, value, strict=True))
    plain = isinstance(kind, type) and isinstance(value, NUMBERS.get(kind, (kind,)))
    truth = isinstance(value, bool) and kind is not bool  # which Python takes for a number
    if not (value in get_args(kind) if origin is Literal else plain and not truth):
        raise TypeError(f"{value!r:.80} is not of type {getattr(kind, '__name__', kind)}")
    return value
