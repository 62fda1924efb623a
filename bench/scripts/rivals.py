"""pulearn and pu-toolbox beside topbin, on the benchmark's own splits.

    TOPBIN_DATA=folder python bench/scripts/rivals.py --pulearn A/bin/python \\
        --pu-toolbox B/bin/python

Each library runs in its own environment, which `python -m venv a; a/bin/pip install pulearn`
makes. All get the same rows (training and hold-out together), standardized, without a true label.
A library that is not given keeps its rows of the last run, as long as its version is the newest.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from report import RESULTS, head, save, table
from rivals_worker import KM_ROWS, RESAMPLES

from topbin_bench.judge import accuracy
from topbin_bench.rows import pooled
from topbin_bench.tables import NONE, mean_of, shown
from topbin_bench.tasks import TASKS
from topbin_bench.verdicts import verdict

TASKS_RUN = ("concrete", "mushroom", "landsat", "pageblock", "spambase", "gaussians")
HALF = 0.5
WORKER = Path(__file__).with_name("rivals_worker.py")
LIMIT = 1800  # seconds per library
OURS = "topbin (default)"
NOTE = """
The five UCI tables and Gaussians 4σ apart, {splits} splits each; every method sees the same P and U
(training and hold-out rows together). *Error* is |α̂ − α| for the share α among the unlabeled; a
share among all rows, which pulearn gives, is converted. *Covers* counts the 95 % intervals that
contain the true α, if a method gives intervals. Accuracy is for a population with a share α of
positives, on rows that no method saw; no method is told α. ± is one standard error over splits,
each a mean over tables. *Our default is* better, tied or worse by Student's t at 95 % for the
paired differences of all tables and splits. CPU seconds (mean over tables) and peak memory (the
largest) are those of one fit in its own process, on one thread, after the imports; compare them
only between libraries that were run on the same day: {days}.

topbin, the source of that day: `TEDnClassifier()`, and BBE on cross-fitted scores of P against U.
pulearn {pulearn}: the histogram prior with its bootstrap interval ({resamples} resamples), the EM
prior, Elkan-Noto over a random forest (200 trees), bagging (100 trees), nnPU with the EM prior: as
a share of the unlabeled, as its documentation asks, and as the share of all rows that the prior
estimator gives, which happens to suit these tables better. Elkan-Noto and bagging classify rows for
a population of labeled and unlabeled rows together, in which positives are more frequent than among
the test rows.
pu-toolbox {pu_toolbox} without torch: `PUPipeline()` without options (penalized L1 prior, uPU),
its three priors, KM2 and ReCPE on {km_rows} rows of P and of U. All other settings
are the defaults of each library.

"""


def export(folder: Path, alphas: list[float], splits: int) -> dict[str, tuple]:
    """Write what methods may see; return the truth by file name."""
    truths = {}
    for task in TASKS_RUN:
        for alpha in alphas:
            for seed in range(splits):
                split, truth = TASKS[task].split(alpha, seed)
                X_p, X_u = pooled(split)
                name = f"{task}_{alpha:g}_{seed}"
                np.savez(folder / f"{name}.npz", X_p=X_p, X_u=X_u, X_test=truth.X_test)
                truths[name] = (task, alpha, seed, truth)
    return truths


def run(python: str, library: str, folder: Path) -> list[dict]:
    """The lines of a library's worker."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(
        [python, str(WORKER), library, str(folder)],
        env={**os.environ, **one}, capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    if ended.returncode:
        sys.exit(f"{library}: {ended.stderr.strip()[-2000:]}")
    return [json.loads(line) for line in ended.stdout.splitlines()]


def judge(rows: list[dict], truths: dict[str, tuple], folder: Path) -> pd.DataFrame:
    """Errors, coverage and accuracy; only this function reads the truth."""
    judged = []
    for row in rows:
        task, alpha, seed, truth = truths[row["file"]]
        called = folder / f"{row['file']}.{row['method']}.npy"
        low, high = row["interval"] or (np.nan, np.nan)
        found = np.nan if row["alpha"] is None else row["alpha"]
        judged.append({
            "task": task, "alpha": alpha, "seed": seed, "method": row["method"],
            "alpha_hat": found, "error": abs(found - alpha), "low": low, "high": high,
            "accuracy": 100 * accuracy(np.load(called), truth) if called.exists() else np.nan,
            "seconds": row["seconds"], "mb": row["mb"], "failed": row["error"],
        })  # fmt: skip
    return pd.DataFrame(judged)


def show(value: float, digits: int) -> str:
    return NONE if np.isnan(value) else f"{value:.{digits}f}"


def against(rows: pd.DataFrame, column: str, *, low: bool) -> dict[tuple[float, str], str]:
    """What our default is, by α and method, for the paired differences of all tables and splits."""
    found = {}
    for alpha, cells in rows.groupby("alpha"):
        wide = cells.pivot_table(column, ["task", "seed"], "method")
        for method in wide.columns.drop(OURS):
            gap = mean_of((wide[OURS] - wide[method]).dropna())
            assert gap is not None
            found[alpha, method] = verdict(gap, low=low)
    return found


def overall(rows: pd.DataFrame) -> str:
    """One line per method and α: means over all tables, ± one standard error over splits."""
    lines = []
    less, more = against(rows, "error", low=True), against(rows, "accuracy", low=False)
    for (alpha, method), cells in rows.groupby(["alpha", "method"], sort=False):
        by_split = cells.groupby("seed")[["error", "accuracy"]].mean()
        error, right = mean_of(by_split["error"]), mean_of(by_split["accuracy"])
        given = cells[cells["low"].notna()]
        inside = (given["low"] <= given["alpha"]) & (given["alpha"] <= given["high"])
        lines.append([
            f"{alpha:g}", method, shown(error, 3), less.get((alpha, method), NONE),
            f"{inside.sum()} of {len(given)}" if len(given) else "–",
            shown(right, 1), more.get((alpha, method), NONE), show(cells["seconds"].mean(), 1),
            f"{cells['mb'].max():.0f}", str(int((cells["failed"] != "").sum()) or "–"),
        ])  # fmt: skip
    header = [
        "α", "method", "error of α̂", "our default is", "covers", "accuracy, %", "our default is",
        "CPU s", "peak MB", "failed",
    ]  # fmt: skip
    return table(header, lines)


def by_task(rows: pd.DataFrame, column: str, digits: int) -> str:
    """One line per method, one column per table, at α = .5."""
    half = rows[rows["alpha"] == HALF].dropna(subset=[column])
    lines = []
    for method, cells in half.groupby("method", sort=False):
        means = cells.groupby("task")[column].mean().reindex(TASKS_RUN)
        lines.append([method, *(show(mean, digits) for mean in means)])
    return table(["method", *TASKS_RUN], lines)


def version_of(python: str, package: str) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def fresh(chosen: argparse.Namespace) -> pd.DataFrame:
    """The rows of the libraries that are given, each with its version."""
    pythons = {
        "topbin": sys.executable, "pulearn": chosen.pulearn, "pu_toolbox": chosen.pu_toolbox,
    }  # fmt: skip
    frames = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truths = export(folder, chosen.alpha, chosen.splits)
        for library, python in pythons.items():
            if python is not None:
                version = version_of(python, library.replace("_", "-"))
                judged = judge(run(python, library, folder), truths, folder)
                day = str(date.today())
                frames.append(judged.assign(library=library, version=version, day=day))
    return pd.concat(frames, ignore_index=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--pulearn", help="python with pulearn; without it, its last rows")
    options.add_argument("--pu-toolbox", help="python with pu-toolbox; without it, its last rows")
    options.add_argument("--splits", type=int, default=3)
    options.add_argument("--alpha", type=float, nargs="+", default=[HALF])
    rows = fresh(options.parse_args())
    known = pd.read_csv(RESULTS / "rivals.csv", dtype={"failed": str}).fillna({"failed": ""})
    kept = known[~known["library"].isin(rows["library"])]
    rows = pd.concat([rows, kept], ignore_index=True).sort_values(
        "alpha", ascending=False, kind="stable"
    )
    rows.to_csv(RESULTS / "rivals.csv", index=False, float_format="%.5g")
    write(rows)


def write(rows: pd.DataFrame) -> None:
    """Write the page from all rows."""
    used = rows.groupby("library")["version"].first()
    days = rows.groupby("library")["day"].first()
    note = NOTE.format(
        days=", ".join(f"{library} {day}" for library, day in days.items()),
        splits=rows["seed"].nunique(), resamples=RESAMPLES, km_rows=KM_ROWS,
        pulearn=used["pulearn"], pu_toolbox=used["pu_toolbox"],
    )  # fmt: skip
    title = head("topbin beside pulearn and pu-toolbox", "python bench/scripts/rivals.py …")
    save("rivals.md", (
        title + note.lstrip() + overall(rows)
        + "\n## Error of α̂ by table, α = .5\n\n" + by_task(rows, "error", 3)
        + "\n## Accuracy in percent by table, α = .5\n\n" + by_task(rows, "accuracy", 1)
    ))  # fmt: skip


if __name__ == "__main__":
    main()
