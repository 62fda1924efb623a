"""Two versions of topbin beside each other: the same commands, in turns, in processes of their own.

`python bench/scripts/before_after.py OLD_SRC [TURNS]` compares the package in the folder OLD_SRC
(say, that of `git worktree add ../old TAG`, so `../old/src`) with the one in this repository.
"""

import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from report import ROOT, head, one_thread, save, table

COMMAND = "import sys; from topbin.cli import main; main(sys.argv[1:])"
# In the units of a sort of as many numbers in the same process, best of five.
BBE = """
import numpy as np, topbin as tb
from time import process_time
rng = np.random.default_rng(0)
p, u = rng.normal(2, 1, 1_000_000), rng.normal(0, 1, 1_000_000) + 2 * (rng.random(1_000_000) < 0.3)
def best(call, least=9e9):
    for _ in range(5):
        start = process_time(); call(); least = min(least, process_time() - start)
    return least
ours, floor = best(lambda: tb.estimate_alpha(p, u)), best(lambda: (np.sort(p), np.sort(u)))
print(ours / floor)
"""
SCORED = 200_000


@dataclass(frozen=True)
class Task:
    """A command (or code, which prints its own figure) and how often it runs."""

    name: str
    unit: str
    arguments: tuple[str, ...]
    once: bool = False
    per: float = 1.0


def rows(n: int, columns: int, seed: int) -> pd.DataFrame:
    """Two overlapping classes; 30 % of the unlabeled rows and all of the known tenth positive."""
    rng = np.random.default_rng(seed)
    known = rng.random(n) < 0.1
    positive = known | (rng.random(n) < 0.3)
    x = rng.normal(size=(n, columns)) + np.outer(positive, rng.normal(0, 3 / columns**0.5, columns))
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(columns)])
    return frame.assign(known=known.astype(int))


def write_scores(path: Path, n: int) -> None:
    """A file of n float32 scores with int8 labels, in row groups of a million."""
    kinds = pa.schema([("score", pa.float32()), ("label", pa.int8())])
    with pq.ParquetWriter(path, kinds) as writer:
        for seed in range(n // 1_000_000):
            rng = np.random.default_rng(seed)
            label = (rng.random(1_000_000) < 1e-4).astype(np.int8)
            score = rng.standard_normal(1_000_000, dtype=np.float32)
            score[(label == 1) | (rng.random(1_000_000) < 0.05)] += 4
            writer.write_table(pa.table({"score": score, "label": label}, kinds))


def run(source: Path, task: Task, folder: Path) -> tuple[float, float, str]:
    """CPU seconds, clock seconds, and what was printed."""
    filled = [a.format(folder=folder, side=source.parent.name) for a in task.arguments]
    code = BBE if task.unit == "× np.sort" else COMMAND
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *filled],
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{task.name} with {source}: {done.stderr[-2000:]}")
    wall, after = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, done.stdout


def main() -> None:
    one_thread()
    sources = {"before": Path(sys.argv[1]).resolve(), "after": ROOT / "src"}
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    small, large, new = "{folder}/small.csv", "{folder}/large.parquet", "{folder}/new.parquet"
    fit = ("--label", "known", "--force", "-o")
    run_small, run_large = "{folder}/{side}-small", "{folder}/{side}-large"
    scored = ("-o", "{folder}/{side}.parquet", "--force")
    alpha = ("alpha", "{folder}/scores.parquet", "--score", "score", "--label", "label")
    tasks = [
        Task("`estimate_alpha`, 10⁶ + 10⁶ scores", "× np.sort", ()),
        Task("`alpha`, 10⁸ rows of parquet", "CPU s", alpha),
        Task("`fit`, 7,000 × 25", "CPU s", ("fit", small, *fit, run_small)),
        Task(
            "`score`, 200,000 × 25",
            "µs per row",
            ("score", run_small, new, *scored),
            per=SCORED / 1e6,
        ),
        Task("`fit`, 100,000 × 50", "CPU s", ("fit", large, *fit, run_large), once=True),
    ]
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows(7_000, 25, 0).to_csv(folder / "small.csv", index=False)
        rows(100_000, 50, 1).to_parquet(folder / "large.parquet")
        rows(SCORED, 25, 0).drop(columns="known").to_parquet(folder / "new.parquet")
        write_scores(folder / "scores.parquet", 100_000_000)
        for task in tasks:
            seen: dict[str, list[float]] = {"before": [], "after": []}
            clock: dict[str, list[float]] = {"before": [], "after": []}
            for _ in range(1 if task.once else turns):
                for side, source in sources.items():
                    cpu, wall, printed = run(source, task, folder)
                    figure = float(printed) if task.unit == "× np.sort" else cpu / task.per
                    seen[side].append(figure)
                    clock[side].append(wall)
                    print(task.name, side, f"{figure:.3g} {task.unit}, {wall:.1f} s", flush=True)
            old, new = (median(seen[side]) for side in sources)
            walls = [f"{median(clock[side]):.1f}" for side in sources]
            lines.append(
                [task.name, task.unit, f"{old:.3g}", f"{new:.3g}", f"{new / old:.2f}", *walls]
            )
    titles = [
        "what",
        "unit",
        "before",
        "after",
        "after : before",
        "clock s, before",
        "clock s, after",
    ]
    text = head("Before and after", "python bench/scripts/before_after.py OLD_SRC")
    text += (
        f"Medians of {turns} turns (the large fit: 1), one thread per numerical library. CPU "
        "seconds hold the start of the command and its report. The clock is noisy where other work "
        "ran.\n\n"
    )
    save("before_after.md", text + table(titles, lines))


if __name__ == "__main__":
    main()
