"""How much is tried: a few forgeries of each file every day, or all of them (`make fuzz`).

TOPBIN_CALLS=all tries all of them, TOPBIN_MINUTES stops each test after that time, TOPBIN_FROM
begins with a later call of a test that was stopped, and TOPBIN_FIGURES names a file that gets one
line of JSON per test with what was counted.
"""

import json
import os
import time
from pathlib import Path

from fuzz_folders import DAY

IS_ALL = os.environ.get("TOPBIN_CALLS") == "all"
CALLS = 10**9 if IS_ALL else int(os.environ.get("TOPBIN_CALLS", 5))  # of verbs, for each file
MINUTES = float(os.environ.get("TOPBIN_MINUTES", "inf"))
FROM = int(os.environ.get("TOPBIN_FROM", 0))
FIGURES = os.environ.get("TOPBIN_FIGURES")
NOTHING = {"forgeries": 0, "calls": 0, "of": 0, "refused": 0, "read": 0}
seen = {**NOTHING}  # in this test


def in_turn(tried):
    """One after the other, as long as there is time."""
    until = time.monotonic() + 60 * MINUTES
    seen["of"] += len(tried)
    for one in tried[FROM:]:
        if time.monotonic() > until:
            return
        seen["calls"] += 1
        yield one


def write_figures(test, seconds):
    """What was counted in a test, unless nothing was."""
    if FIGURES and seen["calls"]:
        line = {"test": test.removeprefix("test_"), "day": DAY, **seen, "seconds": round(seconds)}
        with Path(FIGURES).open("a") as handle:
            handle.write(json.dumps(line) + "\n")
