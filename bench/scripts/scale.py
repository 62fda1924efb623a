"""Counting tails of files: time against only reading the column, growth, memory, overheads.

Each way runs in its own process, so that its peak memory is its own; the ways take turns.
`python bench/scripts/scale.py [ROWS]`, by default a hundred million. The growth is also drawn, in
docs/images/scale.svg.
"""

import os

# On a busy machine workers need long to start.
os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "300s")
os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP", "300s")

import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from report import ROOT, Cost, answer, apart, cost, head, one_thread, save, table

ROWS = 100_000_000
FILE_ROWS, GROUP_ROWS, N_P, ALPHA, REPEATS = 10_000_000, 1 << 20, 10_000, 0.05, 3
PICTURE = ROOT / "docs/images/scale.svg"
COLUMNS = {"score": "score", "label": "label"}
TINY_FILES = 400
SECONDS = 420  # limit for one way
ONCE = ("count_spark",)
WAYS = {
    "Arrow reads the score column": "read_score",
    "Arrow reads it in batches, keeping none": "stream_score",
    "Arrow reads score and label": "read_both",
    "topbin, local": "count_local",
    "topbin, Dask with 2 workers, after start-up": "count_dask",
    "topbin, Spark local[2], after start-up": "count_spark",
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


def read(files: list[str], columns: list[str]) -> Cost:
    """Every value decoded once, one file in memory at a time."""

    def work() -> None:
        for file in files:
            pq.read_table(file, columns=columns)

    return cost(work)


def read_score(files: list[str]) -> Cost:
    return read(files, ["score"])


def read_both(files: list[str]) -> Cost:
    return read(files, ["score", "label"])


def stream_score(files: list[str]) -> Cost:
    """The same without new memory for every file, which costs more than decoding."""

    def stream(file: str) -> None:
        with pq.ParquetFile(file, pre_buffer=False) as opened:
            for _ in opened.iter_batches(GROUP_ROWS, columns=["score"], use_threads=False):
                pass

    with ThreadPoolExecutor(2) as pool:
        return cost(lambda: list(pool.map(stream, files)))


def count_local(files: list[str]) -> Cost:
    from topbin.engines import Local, tails_from

    return cost(lambda: tails_from(Local(), files, **COLUMNS))


def count_dask(files: list[str]) -> Cost:
    from distributed import LocalCluster

    from topbin.engines import open_engine, tails_from

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        cluster.get_client() as client,
        open_engine("dask", cluster.scheduler_address) as engine,
    ):
        client.run(_import, None, 0)
        return cost(
            lambda: tails_from(engine, files, **COLUMNS),
            lambda: process_time() + sum(client.run(_used).values()),
        )


def count_spark(files: list[str]) -> Cost:
    """Spark's processes do not report their CPU time, so only the clock counts."""
    from topbin.engines import open_engine, tails_from

    with open_engine("spark", "local[2]") as engine:
        engine.total(_import, range(8), None)
        return cost(lambda: tails_from(engine, files, **COLUMNS), lambda: np.nan)


def _import(_shared: None, _part: int) -> int:
    import pyarrow.parquet

    import topbin.engines

    return len(topbin.engines.__all__) + len(pyarrow.__version__)


def _used() -> float:
    return process_time()


def alone(way: str, files: list[str]) -> Cost:
    """One way in its own process; NaN if it does not finish."""
    try:
        found = Cost(**apart(__file__, way, *files, timeout=SECONDS))
    except subprocess.TimeoutExpired:
        return Cost(np.nan, np.nan, np.nan)
    sys.stderr.write(f"{way} {len(files)} files: {found}\n")
    return found


def compare(files: list[str]) -> str:
    runs: dict[str, list[Cost]] = {way: [] for way in WAYS.values()}
    for turn in range(REPEATS):
        for way, these in runs.items():
            if way not in ONCE or not turn:
                these.append(alone(way, files))
    rows = [
        [name, median(run.wall for run in these), ratio(runs, way, "read_score", "wall"),
         median(run.cpu for run in these), ratio(runs, way, "read_score", "cpu"),
         max(run.peak for run in these)]
        for (name, way), these in zip(WAYS.items(), runs.values(), strict=True)
    ]  # fmt: skip
    columns = ["way", "seconds", "× first row", "processor s", "× first row", "peak RSS, MB"]
    shown = [[name, *map(_or_dash, figures), f"{peak:.0f}"] for name, *figures, peak in rows]
    return table(columns, shown) + verdict(runs)


def ratio(runs: dict[str, list[Cost]], way: str, other: str, field: str) -> float:
    """The median, over the turns, of what one way took of what the other took in that turn."""
    pairs = zip(runs[way], runs[other], strict=False)
    return median(getattr(one, field) / getattr(two, field) for one, two in pairs)


def _or_dash(x: float) -> str:
    return "–" if np.isnan(x) else f"{x:.2f}"


def verdict(runs: dict[str, list[Cost]]) -> str:
    """Each target beside the result."""
    floor = "local ≤ 1.5 × reading the score column"
    reached = [
        (f"{floor}, clock", ratio(runs, "count_local", "read_score", "wall"), 1.5),
        (f"{floor}, processor", ratio(runs, "count_local", "read_score", "cpu"), 1.5),
        ("local peak ≤ 600 MB", max(run.peak for run in runs["count_local"]), 600),
        ("Dask ≤ 2 × local, clock", ratio(runs, "count_dask", "count_local", "wall"), 2),
    ]
    lines = [
        f"{what}: {x:.3g}, {'met' if x <= most else 'MISSED' if x > most else 'not known'}"
        for what, x, most in reached
    ]
    spark = ratio(runs, "count_spark", "count_local", "wall")
    stream = ratio(runs, "count_local", "stream_score", "cpu")
    return (
        "\nTargets: " + "; ".join(lines) + f". Spark: {spark:.2f} × local; local is {stream:.2f} × "
        "the batches that are not kept (processor).\n"
    )


def growth(files: list[str], small: list[str], rows: int) -> str:
    """More and more of the same files; a list may name a file many times."""
    one = rows // len(files)
    sizes = {one // 10: small, one: files[:1], rows: files, 10 * rows: files * 10}
    measured = {size: alone("count_local", named) for size, named in sizes.items()}
    draw(measured)
    lines = [
        [f"{size:,}", f"{f.wall:.2f}", f"{f.cpu:.2f}", f"{1e9 * f.cpu / size:.1f}", f"{f.peak:.0f}"]
        for size, f in measured.items()
    ]
    return table(["rows", "seconds", "processor s", "processor ns per row", "peak RSS, MB"], lines)


def draw(measured: dict[int, Cost]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "topbin"
    from matplotlib import pyplot as plt

    sizes = np.array(list(measured))
    cpu = np.array([f.cpu for f in measured.values()])
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    left.loglog(sizes, cpu, "o-", label="local engine")
    left.loglog(sizes, sizes * cpu[-1] / sizes[-1], ":", color="grey", label="linear")
    left.set(xlabel="rows", ylabel="processor seconds", title="Time grows with the rows")
    left.legend()
    right.semilogx(sizes, [f.peak for f in measured.values()], "o-")
    right.set(xlabel="rows", ylabel="peak memory, MB", title="Memory does not", ylim=(0, 600))
    figure.savefig(PICTURE, metadata={"Date": None})


def overheads(folder: Path, files: list[str]) -> str:
    """What a part costs beyond its rows, and the bytes that it sends and receives."""
    for i in range(TINY_FILES):
        label = np.arange(100, dtype=np.int8) == 0
        part = pa.table({"score": np.linspace(0, 1, 100, dtype=np.float32), "label": label})
        pq.write_table(part, folder / f"tiny-{i:04}.parquet")
    tiny = sorted(map(str, folder.glob("tiny-*.parquet")))
    rows = []
    for name, way in list(WAYS.items())[3:5]:
        begun = alone(way, tiny[:1]).wall
        rows.append([name, f"{1e3 * (alone(way, tiny).wall - begun) / (TINY_FILES - 1):.1f}"])
    return table(["way", "ms per part, both passes and its footer"], rows) + "\n" + moved(files)


def moved(files: list[str]) -> str:
    """The pickled size of what the engine sends to a part and gets back."""
    from topbin.engines import Local, tails_from

    rows = []

    class Weighed(Local):
        def total(self, task: Any, parts: Any, shared: Any) -> Any:
            back = [len(pickle.dumps(task(shared, part))) for part in parts[:8]]
            sizes = len(pickle.dumps(shared)), len(pickle.dumps(parts[0])), int(np.mean(back))
            rows.append([task.__name__.strip("_"), *(f"{size:,}" for size in sizes)])
            return super().total(task, parts, shared)

    cuts = tails_from(Weighed(), files, **COLUMNS).cuts.size
    columns = ["pass", "shared, once per worker", "name of a part", "back from a part"]
    return f"Bytes moved, with {cuts:,} cuts:\n\n" + table(columns, rows)


def main(rows: int) -> None:
    one_thread()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "small").mkdir()
        write(folder, rows)
        write(folder / "small", min(rows, FILE_ROWS) // 10)
        files = sorted(map(str, folder.glob("*.parquet")))
        small = sorted(map(str, folder.glob("small/*.parquet")))
        size = sum(os.path.getsize(file) for file in files) / 1e6
        load = os.getloadavg()[0]
        text = head(f"Counting {rows:,} rows of files", f"python bench/scripts/scale.py {rows}")
        text += (
            f"{len(files)} parquet files, {size:,.0f} MB, float32 scores and int8 labels, about "
            f"{N_P:,} positives. Medians, of times and of ratios within a turn, and largest peak, "
            f"of {REPEATS} turns (Spark: 1; a dash: not known, or not done in {SECONDS} s); topbin "
            "reads the scores twice and the labels once. Other work ran on the machine "
            f"(load {load:.0f} on {os.cpu_count()} cores), so the clock is noisy; processor "
            "seconds are less so. The peak of Dask and Spark is that of the client, without "
            "workers; no peak shows below that of the process which wrote the files.\n\n"
            f"{compare(files)}\n"
            "Growth of the local engine, one run each, files named several times "
            f"(docs/images/scale.svg):\n\n{growth(files, small, rows)}\n"
            f"Overheads, from {TINY_FILES} files of 100 rows:\n\n{overheads(folder, files)}"
        )
        save("scale.md", text)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        answer(globals()[sys.argv[1]](sys.argv[2:]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
