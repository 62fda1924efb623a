"""Counting tails of files: time against merely reading the columns, and peak memory.

Each way runs in a process of its own, so that its peak memory is its own; the ways take turns.
`python benchmarks/scale.py [ROWS]`, by default a hundred million.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from machine import head, save, table

ROWS = 100_000_000
FILE_ROWS, GROUP_ROWS, N_P, ALPHA, REPEATS = 10_000_000, 1 << 20, 10_000, 0.05, 2
COLUMNS = {"score": "score", "label": "label"}
Figures = tuple[float, float]
WAYS = {
    "Arrow reads the score column": "read_score",
    "Arrow reads score and label": "read_both",
    "topbin, local": "count_local",
    "topbin, Dask with 2 workers, after start-up": "count_dask",
}


def write(folder: Path, rows: int) -> None:
    """Float32 scores of two Gaussians, 4 standard deviations apart, and int8 labels."""
    for i, start in enumerate(range(0, rows, FILE_ROWS)):
        rng = np.random.default_rng(i)
        size = min(FILE_ROWS, rows - start)
        label = (rng.random(size, dtype=np.float32) < N_P / rows).astype(np.int8)
        score = rng.standard_normal(size, dtype=np.float32)
        score[(label == 1) | (rng.random(size, dtype=np.float32) < ALPHA)] += 4
        part = pa.table({"score": score, "label": label})
        pq.write_table(part, folder / f"{i:04}.parquet", row_group_size=GROUP_ROWS)


def read(files: list[str], columns: list[str]) -> None:
    """What counting cannot beat: every value decoded once, by as many threads."""
    for file in files:
        pq.read_table(file, columns=columns, use_threads=True)


def read_score(files: list[str]) -> float:
    begun = perf_counter()
    read(files, ["score"])
    return perf_counter() - begun


def read_both(files: list[str]) -> float:
    begun = perf_counter()
    read(files, ["score", "label"])
    return perf_counter() - begun


def count_local(files: list[str]) -> float:
    from topbin.scale import Local, tails_from

    begun = perf_counter()
    tails_from(Local(), files, **COLUMNS)
    return perf_counter() - begun


def count_dask(files: list[str]) -> float:
    from distributed import LocalCluster

    from topbin.scale import open_engine, tails_from

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        open_engine("dask", cluster.scheduler_address) as engine,
    ):
        engine.total(_import, range(8), None)
        begun = perf_counter()
        tails_from(engine, files, **COLUMNS)
        return perf_counter() - begun


def _import(_shared: None, _part: int) -> int:
    import topbin.scale

    return len(topbin.scale.__all__)


def alone(way: str, files: list[str]) -> Figures:
    """Seconds and peak memory in MB of one way in a process of its own."""
    command = [sys.executable, __file__, way, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return seconds, peak


def compare(files: list[str]) -> str:
    best: dict[str, Figures] = {}
    for _ in range(REPEATS):
        for name, way in WAYS.items():
            seconds, peak = alone(way, files)
            before = best.get(name, (seconds, peak))
            best[name] = min(before[0], seconds), max(before[1], peak)
    floors = [best[name][0] for name in list(WAYS)[:2]]
    rows = [
        [name, f"{s:.2f}", *(f"{s / floor:.2f}" for floor in floors), f"{peak:.0f}"]
        for name, (s, peak) in best.items()
    ]
    columns = ["way", "seconds", "× score column", "× both columns", "peak RSS, MB"]
    return table(columns, rows) + verdict(*best.values())


def verdict(score: Figures, _both: Figures, local: Figures, dask: Figures) -> str:
    """Each target beside what was reached."""
    reached = [
        ("local ≤ 1.5 × reading the score column", local[0] / score[0], 1.5),
        ("local peak ≤ 600 MB", local[1], 600),
        ("Dask ≤ 2 × local", dask[0] / local[0], 2),
    ]
    lines = [f"{what}: {x:.3g}, {'met' if x <= most else 'MISSED'}" for what, x, most in reached]
    return "\nTargets: " + "; ".join(lines) + ".\n"


def growth(files: list[str], rows: int) -> str:
    """More and more of the same files; a list may name a file many times."""
    one = rows // len(files)
    lines = []
    for times in (1, len(files), 3 * len(files)):
        named = (files * 3)[:times]
        seconds, peak = alone("count_local", named)
        nano = f"{1e9 * seconds / (times * one):.1f}"
        lines.append([f"{times * one:,}", f"{seconds:.2f}", nano, f"{peak:.0f}"])
    return table(["rows", "seconds", "ns a row", "peak RSS, MB"], lines)


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), rows)
        files = sorted(map(str, Path(name).glob("*.parquet")))
        size = sum(os.path.getsize(file) for file in files) / 1e6
        load = os.getloadavg()[0]
        text = head(f"Counting {rows:,} rows of files", f"python benchmarks/scale.py {rows}")
        text += (
            f"{len(files)} parquet files, {size:,.0f} MB, float32 scores and int8 labels, about "
            f"{N_P:,} positives. Best seconds and largest peak of {REPEATS} runs that take turns; "
            f"topbin reads both columns twice. Other work ran on the machine (load {load:.0f} on "
            f"{os.cpu_count()} cores), so ratios are noisy. The peak of Dask is that of the "
            "client, without its workers; no peak shows below that of the process which wrote the "
            f"files.\n\n{compare(files)}\n"
            f"Growth, one run each, files named several times:\n\n{growth(files, rows)}"
        )
        save("scale.md", text)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        took = globals()[sys.argv[1]](sys.argv[2:])
        print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
