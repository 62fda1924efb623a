"""What the command costs: start-up, a fit of 7,000 × 25, scores for ten million rows.

A number as argument is another number of rows to score.
"""

import os
import sys
import tempfile
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import pandas as pd
from report import Cost, head, save, table, whole_process

STARTS = 15
FIT_ROWS, FIT_COLUMNS, KNOWN = 7_000, 25, 1_000
FEATURES = 8


def run(*arguments: object) -> Cost:
    return whole_process("-m", "topbin", *arguments)


def labeled(rows: int, columns: int, known: int) -> pd.DataFrame:
    """Gaussians; 40 % of the rows are positive, a shift of 1 in a third of the columns."""
    rng = np.random.default_rng(0)
    positive = rng.random(rows) < 0.4
    X = rng.normal(size=(rows, columns))
    X[:, : columns // 3] += positive[:, None]
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(columns)])
    marked = np.flatnonzero(positive)[:known]
    return frame.assign(known=np.isin(np.arange(rows), marked).astype(int))


def new_rows(path: Path, rows: int) -> None:
    columns = ", ".join(f"random() * 6 - 3 as x{i}" for i in range(FEATURES))
    duckdb.sql(f"copy (select {columns} from range({rows})) to '{path}' (format parquet)")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        starts = [run("--help") for _ in range(STARTS)]
        labeled(FIT_ROWS, FIT_COLUMNS, KNOWN).to_csv(folder / "t.csv", index=False)
        fit = run("fit", folder / "t.csv", "--label", "known", "--preset", "fast", "-o",
                  folder / "run")  # fmt: skip
        labeled(2_000, FEATURES, 300).to_csv(folder / "small.csv", index=False)
        run("fit", folder / "small.csv", "--label", "known", "--preset", "fast", "-o",
            folder / "small")  # fmt: skip
        scores = []
        for count in (rows // 10, rows):
            new_rows(folder / "new.parquet", count)
            scored = run("score", folder / "small", folder / "new.parquet", "-o",
                         folder / "scored.parquet", "--force")  # fmt: skip
            scores.append((count, scored))
    lines = [
        # Such a short process shows the memory of its parent, so none is given.
        ["`topbin --help`, median of 15", "0.3 s", *_shown(*starts)[:2], "–"],
        [f"`topbin fit`, {FIT_ROWS:,} × {FIT_COLUMNS}, `--preset fast`", "20 s",
         *_shown(fit)],
        *([f"`topbin score`, {count:,} rows × {FEATURES}, parquet to parquet", "1 GB",
           *_shown(cost)] for count, cost in scores),
    ]  # fmt: skip
    again = f"python bench/scripts/command.py{'' if rows == 10_000_000 else f' {rows}'}"
    text = head("What the command costs", again)
    text += (
        "Whole processes, with the start of Python and all imports. The load at the end, this work "
        f"included, was {os.getloadavg()[1]:.0f} on {os.cpu_count()} cores: if it is higher than "
        "the number of cores, the wall clock is an upper limit and CPU seconds are the work.\n\n"
    )
    save("command.md", text + table(["", "target", "wall s", "CPU s", "peak MB"], lines))


def _shown(*costs: Cost) -> list[str]:
    return [
        f"{median(cost.wall for cost in costs):.2f}",
        f"{median(cost.cpu for cost in costs):.2f}",
        f"{max(cost.peak for cost in costs):.0f}",
    ]


if __name__ == "__main__":
    main()
