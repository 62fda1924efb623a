"""Files of NumPy, .npy: one vector per row, in one column that is called "embedding"."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from topbin.data.batch import Part
from topbin.data.find import Format
from topbin.data.formats.duck import Duck
from topbin.data.schema import Types
from topbin.data.vectors import EMBEDDING, load_npy


@dataclass(frozen=True, kw_only=True, eq=False)
class VectorFile(Part):
    """The vectors of a file from row `start` on."""

    start: int = 0

    def cut(self, rows: int) -> Sequence[Part]:
        """Runs of rows."""
        starts = range(0, self.count(), rows)
        ends = [min(start + rows, self.count()) for start in starts]
        return [
            replace(self, start=start, size=end - start, groups=(start, end))
            for start, end in zip(starts, ends, strict=True)
        ]

    def read(self, types: Types, rows: int) -> Iterator[Any]:
        """Frames of at most so many rows, whose vectors are views of the file."""
        array = load_npy(self.path, self.name)
        end = self.start + self.count()
        for start in range(self.start, end, rows):
            here = list(array[start : min(start + rows, end)])
            yield pd.DataFrame({name: pd.Series(here, dtype=object) for name in types})


def _open(connection: Duck, path: str, name: str) -> VectorFile:
    array = load_npy(path, name)
    return VectorFile(path=path, name=name, types={EMBEDDING: "FLOAT[]"}, size=array.shape[0])


FORMATS = (Format("npy", (".npy",), _open, mark=(0, b"\x93NUMPY")),)
