"""Results on disk: parquet rows with a key of what determines them, whole or not there at all.

A finished job leaves three small files under parts/; the rows come last, as the sign that the job
is whole. `pack` gathers the parts into rows.parquet, curves.parquet and scores.parquet. A run that
is killed loses the job that it was in, and nothing else.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from topbin_bench.errors import BenchError
from topbin_bench.grid import Cell
from topbin_bench.profiles import PROFILES
from topbin_bench.tasks import TASKS

KINDS = ("curves", "scores", "rows")
DONE, FAILED = "done", "failed"


class Store:
    """A folder of results; reading never needs the lock, packing does."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.parts = self.folder / "parts"

    def frame(self, kind: str = "rows") -> pd.DataFrame:
        """All rows of a kind, packed or not; the newest result of each cell."""
        frames = [read_table(path) for path in self._files(kind)]
        frames = [frame for frame in frames if len(frame)]
        if not frames:
            return pd.DataFrame(columns=["key"])
        # The cells of a later file replace those of an earlier one, as a retry replaces a failure.
        newest: dict[str, int] = {key: i for i, f in enumerate(frames) for key in f["key"]}
        kept = [frame[frame["key"].map(newest) == i] for i, frame in enumerate(frames)]
        return pd.concat([frame for frame in kept if len(frame)], ignore_index=True)

    def current(self) -> pd.DataFrame:
        """The rows of cells with today's settings.

        A row that was made under other settings of its profile stays in the file, but no table
        shows it.
        """
        rows = self.frame()
        return rows[[_key_today(row) == row["key"] for row in rows.to_dict("records")]]

    def missing(self, cells: Iterable[Cell], *, retry: bool = False) -> list[Cell]:
        """Cells without a result; with `retry` also those that failed."""
        rows = self.frame()
        if retry and len(rows):
            rows = rows[rows["status"] == DONE]
        there = set(rows["key"])
        return [cell for cell in cells if cell.key not in there]

    def put(self, job: str, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Keep the results of a job: curves and scores first, its rows last."""
        for kind in KINDS:
            if tables.get(kind) or kind == "rows":
                write_table(pd.DataFrame(list(tables[kind])), self.parts / f"{job}.{kind}.parquet")

    def clean(self) -> None:
        """Remove the half-written files of a killed run; only under the lock, before any work."""
        for part in (*self.folder.glob("*.parquet.part"), *self.parts.glob("*.parquet.part")):
            part.unlink()

    def pack(self) -> None:
        """Gather finished parts into one file per kind; only one process at a time may do this."""
        whole = sorted(path.name.partition(".")[0] for path in self.parts.glob("*.rows.parquet"))
        if not whole:
            return
        for kind in KINDS:
            frame = self.frame(kind)
            if len(frame):
                write_table(frame, self.folder / f"{kind}.parquet")
        for job in whole:
            for kind in KINDS:  # rows last: a part without rows is never read
                (self.parts / f"{job}.{kind}.parquet").unlink(missing_ok=True)

    def _files(self, kind: str) -> list[Path]:
        packed = self.folder / f"{kind}.parquet"
        found = [packed] if packed.exists() else []
        for rows in sorted(self.parts.glob("*.rows.parquet"), key=lambda p: p.stat().st_mtime_ns):
            part = rows.with_name(rows.name.replace(".rows.", f".{kind}."))
            found += [part] if part.exists() else []
        return found


def _key_today(row: Mapping[Any, Any]) -> str | None:
    """The key that the cell of this row has now; None if that cell no longer exists."""
    return Cell.of(row).key if row["task"] in TASKS and row["profile"] in PROFILES else None


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write parquet beside its place, then rename it, so that nobody reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    frame.to_parquet(part, index=False, compression="zstd")
    os.replace(part, path)


def read_table(path: Path) -> pd.DataFrame:
    """Read parquet, or say which file is damaged."""
    try:
        return pd.read_parquet(path)
    except (pa.ArrowException, OSError) as error:
        raise BenchError(
            f'"{path}" cannot be read: {error}. Remove it and run its cells again.'
        ) from error
