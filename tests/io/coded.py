"""What every error test of this room asks: the right code, and a message with the right words."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from topbin.core.errors import CODES, TopbinError


@contextmanager
def fails(code: str, *words: str) -> Iterator[None]:
    with pytest.raises(TopbinError) as caught:
        yield
    assert code in CODES
    assert caught.value.code == code, str(caught.value)
    for word in words:
        assert word in caught.value.message, (word, caught.value.message)
