"""Freed memory stays in processes of ours, and the allocator of others is never touched.

Each test has a process of its own, because one that has done other work has free memory already.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import topbin

SOURCE = Path(topbin.__file__).parent
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
START = """
import sys
from pathlib import Path
import numpy as np
from topbin.core.optional import keep_freed_memory

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
        f"keep_freed_memory()\nfill_and_free()\n{KEPT}",
        f"sys.platform = 'darwin'\nkeep_freed_memory()\nfill_and_free()\n{GIVEN_BACK}",
        "import topbin as tb\ntb.estimate_alpha([2.0, 3.0], [1.0, 3.0])\nbefore = used()\n"
        f"fill_and_free()\n{GIVEN_BACK}",
    ],
    ids=["in a process of ours", "on another system", "in the process of somebody else"],
)
def test_memory_stays_where_it_is_asked_for_and_nowhere_else(work):
    done = subprocess.run(
        [sys.executable, "-c", START + work], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_only_the_command_and_its_helpers_ask():
    used = [path.name for path in SOURCE.rglob("*.py") if "keep_freed_memory()" in path.read_text()]
    assert sorted(used) == ["decode.py", "fit.py", "optional.py", "score.py"]
