"""Where the CPU time of `topbin score` goes: start, reading, encoding, models, ranks, writing."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from report import head, one_thread, save, table

import topbin as tb

ROWS, COLUMNS, FITTED = 100_000, 25, 7_000
LIBRARIES = "import numpy, scipy.stats, sklearn.base, pandas, duckdb, lightgbm"


def draw(n: int, seed: int) -> pd.DataFrame:
    """Two classes that overlap; a tenth of the rows is known to be positive."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    x = rng.normal(size=(n, COLUMNS)) + np.outer(y, np.arange(COLUMNS) < 5)
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(COLUMNS)])
    return frame.assign(known=(y & (rng.random(n) < 1 / 3)).astype(int))


def child(*command: str) -> float:
    """CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, capture_output=True, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(call: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """The least CPU seconds of some calls, and what the last one gave."""
    least, found = np.inf, None
    for _ in range(times):
        began = process_time()
        found = call()
        least = min(least, process_time() - began)
    return least, found


def parts(run: Path, file: Path) -> list[list[object]]:
    """Each step of scoring one batch, in µs per row."""
    scorer = tb.load(run)
    groups = scorer.model.model_.groups
    models = [model for group in groups for model in group]
    read, batch = best(lambda: next(tb.data.open_table(file).batches(rows=ROWS)))
    encode, X = best(lambda: scorer.encoder.encode(batch.select(scorer.encoder.columns)))
    each, _ = best(lambda: models[0].predict_proba(X))
    whole, scored = best(lambda: scorer.score(batch))
    write, _ = best(lambda: tb.data.write_table(file.with_name("o.parquet"), scored, force=True), 2)
    told = {
        "reading a parquet file": read,
        "encoding": encode,
        f"{len(models)} models of 60 trees": each * len(models),
        "ranks, probabilities, checks": whole - encode - each * len(models),
        "writing a parquet file": write,
    }
    return [[name, f"{1e6 * seconds / batch.rows:.1f}"] for name, seconds in told.items()]


def main() -> None:
    one_thread()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run, new, few = folder / "run", folder / "new.parquet", folder / "few.parquet"
        tb.fit(draw(FITTED, 0), "known").save(run)
        rows = draw(ROWS, 1).drop(columns="known")
        rows.to_parquet(new)
        rows[:100].to_parquet(few)
        split = table(["step", "µs of CPU per row"], parts(run, new))
        scored = ("-m", "topbin", "score", str(run), str(few), "-o", str(folder / "o.csv"))
        start = [["the libraries alone", f"{child('-c', LIBRARIES):.2f}"],
                 ["`topbin score` of 100 rows", f"{child(*scored):.2f}"]]  # fmt: skip
    text = head("Where the time of `topbin score` goes", "python bench/scripts/score_split.py")
    text += (
        f"The default model of a table of {FITTED:,} × {COLUMNS}; {ROWS:,} new rows; least of "
        "three, one thread per library. Models and trees are traversed by LightGBM.\n\n"
    )
    told = table(["process", "CPU s"], start)
    save("score_split.md", f"{text}{split}\nThe start of the command:\n\n{told}")


if __name__ == "__main__":
    main()
