"""A small fitted run, and files of new rows for it, cut in awkward ways."""

import functools
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from quick_plans import usual_plans

import topbin as tb
from topbin.job.audits.draw import draw_audit


def claims(rows=400, seed=0, labeled=0.2):
    """Rows with a number, a category and a date; a third are positive and some of them known."""
    rng = np.random.default_rng([seed, rows])
    y = rng.random(rows) < 1 / 3
    return pd.DataFrame(
        {
            "case": np.arange(rows),
            "amount": rng.normal(size=rows) + 3 * y,
            "town": np.where(y, rng.choice(["Bern", "Ulm"], rows), rng.choice(["Ulm", None], rows)),
            "day": np.datetime64("2020-01-01") + rng.integers(0, 900, rows).astype("m8[D]"),
            "known": y & (rng.random(rows) < labeled),
        }
    )


@functools.cache
def fitted():
    with usual_plans():  # many files share it, and some of them have quick plans
        return tb.fit(claims(), "known", id="case", budget="fast")


@functools.cache
def _saved():
    """The files of a run, which are removed at the end of the session."""
    place = tempfile.TemporaryDirectory()
    fitted().save(Path(place.name) / "run")
    return place


def small_run(folder):
    """The folder of a run; fitted and drawn once per session."""
    shutil.copytree(Path(_saved().name) / "run", folder)
    return folder


def write_claims(folder, frame, cuts=(300, 301, 301, 900), group=120):
    """Parquet files of these rows, one of one row and one of none; returns a pattern."""
    folder.mkdir(exist_ok=True)
    for i, (start, stop) in enumerate(zip((0, *cuts), (*cuts, len(frame)), strict=True)):
        table = pa.Table.from_pandas(frame[start:stop], preserve_index=False)
        pq.write_table(table, folder / f"day-{i}.parquet", row_group_size=group)
    return str(folder / "day-*.parquet")


def read_all(folder):
    """Every output file's bytes by name, without what is not a table."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.parquet"))}


def watched(run, files, engine):
    """What a watch of these files holds and says, as an engine counts it."""
    found = tb.watch(run, files, time="day", every="month", engine=engine)
    return SimpleNamespace(state=found.state, periods=found.periods, notes=found.notes)


def draw_when_all_are_ready(ready, run, path, seed):
    """Draw for an audit at the same moment as other processes, which find this function here."""
    ready.wait()
    draw_audit(run, 10, path, seed=seed)
