"""Scored tables on disk, cut into files and row groups of awkward sizes."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from topbin import Tails, estimate_alpha


def scored(rows=3000, *, seed=0, ties=40, kind="float64"):
    """Scores with ties, labels of which a tenth are 1, and three groups."""
    rng = np.random.default_rng([seed, rows])
    label = (rng.random(rows) < 0.1).astype(np.int8)
    raw = rng.normal(size=rows) + 2 * (label | (rng.random(rows) < 0.3))
    score = (np.round(raw * ties) / ties).astype(kind)
    return {"score": score, "label": label, "town": rng.choice(["Bern", "Lyon", "Ulm"], rows)}


def whole(table):
    """The answer to compare with: all rows at once, in memory."""
    is_p = table["label"] == 1
    return Tails.from_scores(table["score"][is_p], table["score"][~is_p])


def same(ours, theirs):
    """Equal bits of tails, α, interval, bound and alarms."""
    a, b = (estimate_alpha(tails) for tails in (ours, theirs))
    return ours == theirs and a == b and ours.cuts.tobytes() == theirs.cuts.tobytes()


def write(folder, table, cuts=(1000, 1001, 1001, 2500), *, group=300):
    """Parquet files that end at these rows, some of them empty or of one row; returns a pattern."""
    rows = len(table["score"])
    for i, (start, stop) in enumerate(zip((0, *cuts), (*cuts, rows), strict=True)):
        part = pa.table({name: values[start:stop] for name, values in table.items()})
        pq.write_table(part, folder / f"part-{i}.parquet", row_group_size=group)
    return str(folder / "part-*.parquet")


def spoil(path, column=0):
    """Overwrite the first data page of a column; the footer stays whole."""
    at = pq.read_metadata(path).row_group(0).column(column).data_page_offset
    raw = bytearray(path.read_bytes())
    raw[at : at + 24] = b"\xff" * 24
    path.write_bytes(raw)
