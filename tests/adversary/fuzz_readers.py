"""Damaged tables, read as `fit` and `alpha` do, in a process that the test sees die or hang.

Each is opened as both verbs do, and every 25th fitted. One line of JSON per format tells what
happened.
"""

import gzip
import json
import os
import random
import re
import resource
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from asked import asked
from fuzz_folders import DAY, spoiled, spoiled_bytes

import topbin as tb
from topbin.core.errors import TopbinError
from topbin.engines.count import count_from
from topbin.engines.engine import Local
from topbin.job.fit import fit
from topbin.job.prepare import prepare
from topbin.learn.crossfit import Plan
from topbin.learn.defaults import PRESETS

ONE = Plan(outer=2, inner=2, repeats=1, rounds=1)
CELLS = [
    "", "0", "1", "-1", "1e999", "nan", "inf", "infinity", "NULL", "true", "yes", '"', '""', "'",
    ",", ";", "\t", "\r", "\r\n", "\n\n", "\0", "\ufeff", "\u202e", "\x1b[2J", "é", "a" * 5000,
    "0x10", "1,000", "01", "2020-13-45", "31/12/2020", "12/31/2020", "03/04/2020",
    "2020-01-01T10:00Z", "=1+1", "9" * 40, "1_000", "٣", "[1]", "{}", "x=1", "label", "score",
]  # fmt: skip


def share_one_database():
    """A database takes longer to open than a small file to read; `test_sql` tries its locks."""
    connect, held = duckdb.connect, []

    def cursor(*given):
        try:
            held[-1].execute("select 1")
        except (IndexError, duckdb.FatalException):  # DuckDB gives up a database for some files
            held.append(connect())
            held[-1].execute("set global TimeZone='UTC'; set lock_configuration=true")
        return held[-1].cursor()

    duckdb.connect = cursor


def table():
    rng = np.random.default_rng(0)
    is_positive = rng.random(40) < 0.5
    frame = pd.DataFrame({"score": rng.normal(2.0 * is_positive, 1).round(3)})
    frame["day"] = np.datetime_as_string(np.datetime64("2020-01-01") + rng.integers(0, 99, 40))
    frame["town"] = rng.choice(["Ulm", "Bern", 'a "b", c'], 40)
    frame["on"] = rng.random(40) < 0.5
    frame["label"] = (is_positive & (rng.random(40) < 0.6)).astype(int)
    return frame


def csv_text(rng):
    """A cell, a line or some bytes changed; sometimes packed, or in another dialect."""
    text = table().to_csv(index=False, sep=rng.choice(",,,,,,;\t|"))
    for _ in range(rng.choice([1, 1, 1, 2])):
        lines = text.split("\n")
        place = 0 if rng.random() < 0.2 else rng.randrange(len(lines))
        fields = re.split(r"([,;\t|])", lines[place])
        kind = rng.random()
        if kind < 0.8:
            fields[rng.randrange(len(fields))] = rng.choice(CELLS)
            lines[place] = "".join(fields)
        elif kind < 0.9:
            lines[place:place] = [rng.choice([*lines, *CELLS])] * rng.choice([1, 2])
        else:
            del lines[place]
        text = "\n".join(lines)
    content = text.encode(rng.choice(["utf-8"] * 30 + ["utf-16", "utf-8-sig"]), "surrogatepass")
    return spoiled_bytes(content, rng) if rng.random() < 0.15 else content


def json_text(rng):
    rows = json.loads(table().to_json(orient="records"))
    rows = spoiled(rows, rng)
    if isinstance(rows, list) and rows and rng.random() < 0.5:
        row = rng.choice(rows)
        if isinstance(row, dict) and row:
            row[rng.choice(list(row))] = rng.choice(CELLS)
    lines = [json.dumps(row, ensure_ascii=rng.random() < 0.9) for row in rows]
    text = "\n".join(lines) if rng.random() < 0.7 else f"[{','.join(lines)}]"
    content = text.encode("utf-8", "surrogatepass")
    return spoiled_bytes(content, rng) if rng.random() < 0.4 else content


def parquet_bytes(rng):
    """Half of the time in the footer, where names, types, sizes and places are."""
    path = Path(f"whole-{os.getpid()}.parquet")
    if not path.exists():
        tb.data.write_table(path, table())
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little") + 8
    if rng.random() < 0.5:
        return content[:-size] + spoiled_bytes(content[-size:-8], rng) + content[-8:]
    return spoiled_bytes(content, rng)


FORMATS = {"csv": csv_text, "jsonl": json_text, "parquet": parquet_bytes}


def read(path, whole):
    """What `fit` and `alpha` do with a file; one may refuse what the other can use."""
    try:
        data = prepare(asked(path, "label", positive=1))
        data.lines()
        if whole:
            fit(data, budget="fast").summary()
        found = "read"
    except TopbinError as error:
        found = error.code
    try:
        counted = count_from(Local(1), path, score="score", label="label", drop_nan=True)
        counted.estimates()
    except TopbinError as error:
        found = f"{found} {error.code}"
    return found


def main(folder, times, name):
    seen = Counter()
    for i in range(times):
        print(DAY, name, i, file=sys.stderr, flush=True)
        rng = random.Random(f"{DAY} {name} {i}")
        content, ending = FORMATS[name](rng), name
        if name == "csv" and rng.random() < 0.1:
            content, ending = gzip.compress(content), "csv.gz"
        elif name == "jsonl" and content.startswith(b"["):
            ending = "json"
        path = folder / f"t.{ending}"
        path.write_bytes(content)
        try:
            seen[read(path, i % 25 == 0)] += 1
        except Exception:
            traceback.print_exc()
            seen["traceback"] += 1
    seen["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return seen


def fuzz(folder, times, told):
    """Damage tables of each format; the file `told` gets a line of JSON for each."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    PRESETS["fast"] = ONE
    share_one_database()
    os.chdir(folder)
    with told.open("w") as lines:
        for name in FORMATS:
            print(json.dumps(main(folder, times, name)), file=lines, flush=True)
