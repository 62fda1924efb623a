"""Results on disk: parquet rows keyed by what determines them, whole or not there at all.

A finished job leaves three small files under parts/, the rows last, as the sign that it is whole;
`pack` gathers them into rows.parquet, curves.parquet and scores.parquet. A run that is killed
loses the job it was in, and nothing else.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from topbin.core.atomic import new_file, remove_parts
from topbin.core.errors import FileError
from topbin.core.optional import require
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
        """All rows of a kind, packed or not; a cell's newest stands for it."""
        frames = [read_table(path) for path in self._files(kind)]
        frames = [frame for frame in frames if len(frame)]
        if not frames:
            return pd.DataFrame(columns=["key"])
        # A later file's cells replace those of an earlier one, as a retry replaces a failure.
        newest: dict[str, int] = {key: i for i, f in enumerate(frames) for key in f["key"]}
        kept = [frame[frame["key"].map(newest) == i] for i, frame in enumerate(frames)]
        return pd.concat([frame for frame in kept if len(frame)], ignore_index=True)

    def current(self) -> pd.DataFrame:
        """The rows of cells as they are set today.

        A row made under other settings of its profile stays in the file, and out of every table.
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
        """Remove what a killed run left half-written; before any work begins, under the lock."""
        remove_parts(self.folder)
        remove_parts(self.parts)

    def pack(self) -> None:
        """Gather finished parts into one file a kind; only one process may do this at a time."""
        whole = sorted(path.name.partition(".")[0] for path in self.parts.glob("*.rows.parquet"))
        if not whole:
            return
        for kind in KINDS:
            frame = self.frame(kind)
            if len(frame):
                write_table(frame, self.folder / f"{kind}.parquet")
        for job in whole:
            for kind in KINDS:  # rows last: a part without rows is never looked at
                (self.parts / f"{job}.{kind}.parquet").unlink(missing_ok=True)

    def _files(self, kind: str) -> list[Path]:
        packed = self.folder / f"{kind}.parquet"
        found = [packed] if packed.exists() else []
        for rows in sorted(self.parts.glob("*.rows.parquet"), key=lambda p: p.stat().st_mtime_ns):
            part = rows.with_name(rows.name.replace(".rows.", f".{kind}."))
            found += [part] if part.exists() else []
        return found


def _key_today(row: Mapping[Any, Any]) -> str | None:
    """The key that this row's cell has now; None if there is no such cell any more."""
    return Cell.of(row).key if row["task"] in TASKS and row["profile"] in PROFILES else None


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write parquet atomically."""
    require("pyarrow", extra="bench", caller="topbin bench")
    with new_file(path, force=True) as part:
        frame.to_parquet(part, index=False, compression="zstd")


def read_table(path: Path) -> pd.DataFrame:
    """Read parquet, or say which file is damaged."""
    arrow = require("pyarrow", extra="bench", caller="topbin bench")
    try:
        return pd.read_parquet(path)
    except (arrow.ArrowException, OSError) as error:
        raise FileError(
            "TB303", f'"{path}" cannot be read: {error}. Remove it, and run these cells again.'
        ) from error
