"""Damaged tables of each text format and of parquet, as `fit` and `alpha` read them."""

import json
import subprocess
import sys
from pathlib import Path

from test_fuzz_folders import MEGABYTES, TIMES, environment

FORMATS = ["csv", "jsonl", "parquet"]


def test_damaged_tables_are_read_or_refused_with_a_code(tmp_path):
    program = Path(__file__).parent / "fuzz_readers.py"
    command = [sys.executable, program, tmp_path, str(TIMES), *FORMATS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment())
    assert done.returncode == 0, f"it died: {done.stderr[-2000:]}"
    for name, line in zip(FORMATS, done.stdout.splitlines(), strict=True):
        seen = json.loads(line)
        assert "traceback" not in seen, done.stderr[-5000:]
        assert seen.pop("peak") < MEGABYTES
        assert sum(seen.values()) == TIMES
        assert TIMES // 10 < seen["read"] < TIMES, name  # some were read, and some refused
