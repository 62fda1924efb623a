"""Large tables before and after: CPU, memory and α of `topbin fit`, CPU per row of `topbin score`.

    git worktree add ../old f308a2c
    python bench/scripts/large_tables.py ../old/src
    python bench/scripts/large_tables.py --repeats                    # afterwards: 1, 2, 3 repeats
    TOPBIN_DATA=folder python bench/scripts/large_tables.py --uci     # and the UCI tables

Both versions run the same commands in turns, one thread per numerical library. The UCI tables are
those of tedn_uci_sklearn.py, and so is what is measured; its runs in results/ are "before".
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import pandas as pd
from before_after import COMMAND, SCORED, rows
from report import RESULTS, ROOT, Cost, head, one_thread, save, table
from tedn_uci_sklearn import ALPHAS, RUNS
from tedn_uci_sklearn import run as run_uci

import topbin as tb
from topbin.learn import Plan
from topbin_bench.tasks.uci import IS_POSITIVE

FITS = {"7,000 × 25": (7_000, 25), "100,000 × 50": (100_000, 50), "200,000 × 31": (200_000, 31)}
MEASURED = ["error", "accuracy", "brier", "accuracy_new", "brier_new"]
NAME = "large_tables.md"


def run(source: Path, *arguments: object) -> Cost:
    """What one command costs with the package in this folder."""
    start = perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    wall = perf_counter() - start
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def fit(source: Path, folder: Path, frame: pd.DataFrame, name: str) -> tuple[Cost, dict]:
    path, out = folder / f"{name}.parquet", folder / f"{source.parent.name}-{name}"
    if not path.exists():
        frame.to_parquet(path)
    used = run(source, "fit", path, "--label", "known", "--force", "-o", out)
    return used, json.loads((out / "result.json").read_text())["estimate"]


def compare(sources: dict[str, Path], folder: Path) -> list[list[object]]:
    small = rows(1_000, 5, 9)
    empty = {side: fit(source, folder, small, "empty")[0].peak for side, source in sources.items()}
    lines = []
    for name, (n, columns) in FITS.items():
        frame = rows(n, columns, 0)
        for side, source in sources.items():
            used, found = fit(source, folder, frame, str(n))
            matrices = (used.peak - empty[side]) * 2**20 / (8 * n * columns)
            low, high = found["interval"]
            lines.append(
                [f"`fit`, {name}", side, f"{used.cpu:.1f} CPU s", f"{used.wall:.0f}",
                 f"{matrices:.1f}", f"{found['alpha']:.3f}", f"{low:.3f} to {high:.3f}"]
            )  # fmt: skip
            print(lines[-1], flush=True)
    rows(SCORED, 25, 0).drop(columns="known").to_parquet(folder / "new.parquet")
    rows(1_000, 25, 0).drop(columns="known").to_parquet(folder / "few.parquet")
    for side, source in sources.items():
        model, out = folder / f"{source.parent.name}-7000", folder / f"{side}.parquet"
        begin, used = (
            run(source, "score", model, folder / f"{which}.parquet", "-o", out, "--force")
            for which in ("few", "new")
        )
        per_row = (used.cpu - begin.cpu) / (SCORED - 1_000) * 1e6
        what = f"`score`, {SCORED:,} × 25"
        lines.append([what, side, f"{per_row:.1f} µs per row", f"{used.wall:.0f}", "", "", ""])
        lines.append(
            ["`score`, 1,000 × 25", side, f"{begin.cpu:.1f} CPU s", f"{begin.wall:.0f}", "", "", ""]
        )
        print(lines[-2:], flush=True)
    return lines


def large(old: str) -> None:
    one_thread()
    sources = {"before": Path(old).resolve(), "after": ROOT / "src"}
    with tempfile.TemporaryDirectory() as name:
        lines = compare(sources, Path(name))
    titles = ["command", "", "used", "clock s", "memory, × the matrix", "α̂ (α = 0.3)", "interval"]
    text = head("Large tables, before and after", "python bench/scripts/large_tables.py OLD_SRC")
    text += (
        "One run of each command, from reading the parquet file to writing the report, one after "
        "the other. Memory is the peak of the process beyond that of a fit of 1,000 rows, and the "
        "matrix has 8 bytes per cell. CPU per row is that beyond a file of 1,000 rows. Other work "
        f"ran (load {os.getloadavg()[1]:.0f} on {os.cpu_count()} cores), which makes "
        "CPU seconds longer too; compare them within this table.\n\n"
    )
    save(NAME, text + table(titles, lines))


def repeats(tables: int = 5) -> None:
    """Add what one more repeat brings at 5,500 rows; fewer repeats are the first of more."""
    found = []
    for seed in range(tables):
        frame = rows(5_500, 25, seed)
        known, X = frame.pop("known").to_numpy() == 1, frame.to_numpy()
        memory: dict = {}
        for count in (1, 2, 3):
            classifier = tb.TEDnClassifier(
                plan=Plan(repeats=count), random_state=seed, memory=memory
            )
            fit = classifier.crossfit(X, known)
            estimate = tb.estimate_alpha(fit.scores[known], fit.scores[~known])
            low, high = estimate.interval
            found.append((count, abs(estimate.alpha - 0.3), high - low))
    means = pd.DataFrame(found, columns=["repeats", "error", "width"]).groupby("repeats").mean()
    lines = [[n, f"{error:.3f}", f"{width:.3f}"] for n, error, width in means.itertuples()]
    titles = ["repeats", "error of α̂", "width of the interval"]
    add("Repeats, 5,500 × 25", f"Means of {tables} tables.", table(titles, lines))


def uci(splits: int = 1) -> None:
    """Add how well the five UCI tables are estimated, before and after."""
    cells = [(name, a, split) for split in range(splits) for a in ALPHAS for name in IS_POSITIVE]
    now = pd.DataFrame([run_uci(name, "tedn", a, split) for name, a, split in cells])
    past = pd.read_csv(RUNS).query("method == 'tedn' and split < @splits")
    lines = []
    for name, frame in {"before": past, "after": now}.items():
        half = frame["rows"] // 2
        error = (frame.estimate - (frame.alpha * half).round() / half).abs()
        measured = frame.assign(error=error)[MEASURED]
        means, spread = measured.mean(), measured.std() / len(measured) ** 0.5
        lines.append([name, *(f"{means[m]:.4f} ± {spread[m]:.4f}" for m in MEASURED)])
    titles = [
        "",
        "error of α̂",
        "accuracy on U",
        "Brier, U",
        "accuracy, new rows",
        "Brier, new rows",
    ]
    said = "Means ± standard errors over tables, three α and splits, as in tedn_uci_sklearn.md."
    add(f"The five UCI tables, {len(cells)} fits", said, table(titles, lines))


def add(title: str, said: str, shown: str) -> None:
    """Put a section at the end of the result."""
    save(NAME, f"{(RESULTS / NAME).read_text()}\n## {title}\n\n{said}\n\n{shown}")


if __name__ == "__main__":
    sections = {"--repeats": repeats, "--uci": uci}
    sections.get(sys.argv[1], large)(*sys.argv[1:] if sys.argv[1] not in sections else ())
