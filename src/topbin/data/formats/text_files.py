"""Folders of .txt files: one row per file, with its path and its text.

Subfolders belong to the folder; links to other folders are not followed, so that no loop is
endless. The path names a row and is never a feature. Files are UTF-8, or UTF-16 with its mark.
"""

import codecs
import os
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from topbin.core.errors import InputError
from topbin.core.formatting import counted
from topbin.core.hashing import text_key
from topbin.data.batch import Part
from topbin.data.paths import TXT, Format, file_stamp, walk
from topbin.data.schema import Types

FILE, TEXT = "file", "text"
TYPES: Types = {FILE: "VARCHAR", TEXT: "VARCHAR"}
ROWS_AT_ONCE = 2_000
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, kw_only=True, eq=False)
class TextFolder(Part):
    """The texts of a folder, or some of them; `given` is the folder as the user wrote it."""

    given: str
    files: tuple[str, ...]

    @property
    def paths(self) -> list[str]:
        """Where the files are, with the folder before their names."""
        return [os.path.join(self.path, file) for file in self.files]

    @property
    def empty(self) -> int:
        """How many texts are empty."""
        return sum(os.path.isfile(path) and os.path.getsize(path) == 0 for path in self.paths)

    def without(self, taken: Container[str]) -> "TextFolder":
        """The same folder without files that are in these places; itself if none of them is."""
        both = zip(self.files, self.paths, strict=True)
        left = tuple(file for file, place in both if os.path.realpath(place) not in taken)
        return self if left == self.files else replace(self, files=left, size=len(left))

    def cut(self, rows: int) -> Sequence[Part]:
        """Runs of files; each knows which files these are, and when they were changed."""
        return [self._run(start, files) for start, files in self._runs(rows)]

    def _runs(self, rows: int) -> Iterator[tuple[int, tuple[str, ...]]]:
        step = min(rows, ROWS_AT_ONCE)
        for start in range(0, len(self.files), step):
            yield start, self.files[start : start + step]

    def _run(self, start: int, files: tuple[str, ...]) -> "TextFolder":
        seen = [(file, *file_stamp(os.path.join(self.path, file))) for file in files]
        return replace(self, files=files, size=len(files), groups=(start, text_key(repr(seen))))

    def read(self, types: Types, rows: int) -> Iterator[Any]:
        """Frames of at most so many files."""
        cells: dict[str, Callable[[str], str]] = {
            FILE: lambda file: os.path.join(self.given, file),
            TEXT: lambda file: read_text(os.path.join(self.path, file)),
        }
        for _, files in self._runs(rows):
            yield pd.DataFrame({c: [cells[c](file) for file in files] for c in types}, dtype=object)


def read_text(path: str) -> str:
    """The text of a file, or a coded error: TB140 if it is no text, TB141 if it is not UTF-8."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError("TB102", f'"{path}" cannot be opened: {error.strerror}.') from error
    try:
        if content.startswith(WIDE):
            return content.decode("utf-16")
        if b"\0" in content:
            raise InputError(
                "TB140",
                f'"{path}" is called {TXT} but is not text: it contains NUL bytes, as images, '
                "archives and office files do. Remove it, or save it as plain text.",
            )
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            "TB141",
            f'"{path}" is not UTF-8: byte {error.start + 1:,} is {content[error.start]:#04x}. Save '
            f'it as UTF-8, for example: iconv -f latin1 -t utf-8 "{path}" > new.txt',
        ) from error


def texts_in(folder: str) -> tuple[list[str], int]:
    """The .txt files of a folder, by their path inside it, and how many other files it has."""
    files = list(walk(folder))
    texts = [os.path.relpath(path, folder) for path in files if path.lower().endswith(TXT)]
    return sorted(texts), len(files) - len(texts)


def _open(_: Any, path: str, name: str) -> TextFolder:
    files, others = texts_in(path)
    given = name.strip('"')
    if others:
        name += f" (without {counted(others, 'other file')})"
    return TextFolder(
        path=path, name=name, types=TYPES, size=len(files), files=tuple(files), given=given,
        others=others, id_column=FILE,
    )  # fmt: skip


FORMATS = (Format("texts", (), _open, holds=lambda folder: bool(texts_in(folder)[0])),)
