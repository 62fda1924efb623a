"""What every error test of this room asks: the right code, and a message with the right words."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from topbin.core.errors import TopbinError

PAGE = (Path(__file__).parents[1] / "docs/reference/codes.md").read_text()
CODES = set(re.findall(r"^### (TB\d{3})$", PAGE, re.M))
T = TypeVar("T")


@contextmanager
def fails(code: str, *words: str) -> Iterator[None]:
    with pytest.raises(TopbinError) as caught:
        yield
    assert code in CODES
    assert caught.value.code == code, str(caught.value)
    for word in words:
        assert word in caught.value.message, (word, caught.value.message)


def attempt(function: Callable[..., T], *given: object) -> T | None:
    """The result, or None where a coded error was raised; any other error passes through."""
    try:
        return function(*given)
    except TopbinError as error:
        return None if error.code in CODES else pytest.fail(f"unknown code in {error}")
