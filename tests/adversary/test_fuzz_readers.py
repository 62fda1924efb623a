"""Damaged tables of each text format and of parquet, as `fit` and `alpha` read them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_fuzz_folders import MEGABYTES, TIMES, environment


@pytest.mark.parametrize("format_", ["csv", "jsonl", "parquet"])
def test_damaged_tables_are_read_or_refused_with_a_code(tmp_path, format_):
    program = Path(__file__).parent / "fuzz_readers.py"
    command = [sys.executable, program, tmp_path, str(TIMES), format_]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment())
    assert done.returncode == 0, f"it died: {done.stderr[-2000:]}"
    seen = json.loads(done.stdout)
    assert "traceback" not in seen, done.stderr[-5000:]
    assert seen.pop("peak") < MEGABYTES
    assert sum(seen.values()) == TIMES
    assert TIMES // 10 < seen["read"] < TIMES  # some were read, and some refused
