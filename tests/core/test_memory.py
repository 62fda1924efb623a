"""Freed memory stays while a net trains, and goes back to the system afterwards."""

import sys
from pathlib import Path

import numpy as np
import pytest

from topbin.core import memory
from topbin.core.memory import kept_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
BLOCK = 200  # MB


def used() -> float:
    """MB that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def fill_and_free() -> None:
    np.ones(BLOCK * 1_000_000, np.uint8)


def test_freed_memory_stays_until_the_end():
    fill_and_free()
    before = used()
    with kept_memory():
        fill_and_free()
        assert used() > before + BLOCK / 2
    assert used() < before + BLOCK / 4


def test_it_goes_back_after_an_error():
    def fails():
        with kept_memory():
            fill_and_free()
            raise ValueError("stop")

    before = used()
    with pytest.raises(ValueError, match="stop"):
        fails()
    assert used() < before + BLOCK / 4


def test_the_last_one_gives_it_back():
    before = used()
    with kept_memory():
        with kept_memory():
            fill_and_free()
        assert used() > before + BLOCK / 2
    assert used() < before + BLOCK / 4


def test_other_systems_do_without(monkeypatch):
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    before = used()
    with kept_memory():
        fill_and_free()
    assert used() < before + BLOCK / 4
