"""Freed memory stays while a piece of work lasts, and goes back to the system afterwards.

Each test has a process of its own, because one that has done other work has free memory already.
"""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
START = """
import sys
from pathlib import Path
import numpy as np
from topbin.core.memory import kept_memory

MB = 200

def used():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

def fill_and_free():
    np.ones(MB * 1_000_000, np.uint8)

fill_and_free()
before = used()
"""
KEPT = "assert used() > before + MB / 2, (before, used())"
GIVEN_BACK = "assert used() < before + MB / 4, (before, used())"


@pytest.mark.parametrize(
    "work",
    [
        f"with kept_memory():\n    fill_and_free()\n    {KEPT}\n{GIVEN_BACK}",
        f"with kept_memory():\n    with kept_memory():\n        fill_and_free()\n"
        f"    {KEPT}\n{GIVEN_BACK}",
        "try:\n    with kept_memory():\n        fill_and_free()\n        1 / 0\n"
        f"except ZeroDivisionError:\n    {GIVEN_BACK}\nelse:\n    sys.exit(1)",
        "sys.platform = 'darwin'\nwith kept_memory():\n    fill_and_free()\n"
        f"    {GIVEN_BACK}\n{GIVEN_BACK}",
    ],
    ids=["once", "nested", "after an error", "on another system"],
)
def test_memory_stays_while_it_is_kept_and_goes_back(work):
    done = subprocess.run(
        [sys.executable, "-c", START + work], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
