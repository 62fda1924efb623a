"""A function of Python as encoder: texts or images in, one vector per row out.

No file can hold it, so a stored model has its name only, and whoever scores gives it again. Its
vectors are not kept on the disk, because nothing says for sure which function made them.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from topbin.core.errors import InputError
from topbin.data.columns import Column
from topbin.data.encoders.kept import Told, Vectors, checked
from topbin.data.images.rows import Images

PYTHON = "python:"  # before the name of a function
AT_ONCE = 256  # rows


@dataclass(frozen=True, eq=False)
class GivenEncoder:
    """A function that takes a list of texts, or an array of images (n, height, width, channels)."""

    function: Callable[[Any], Any]

    @property
    def given(self) -> str:
        """Its name, as a stored model has it."""
        named = self.function if hasattr(self.function, "__qualname__") else type(self.function)
        return f"{PYTHON}{named.__qualname__}"

    @property
    def digest(self) -> str:
        """Nothing says which function it was."""
        return ""

    def texts(self, texts: Any) -> Vectors:
        """One vector per text."""
        return self._all(lambda i: list(texts[i : i + AT_ONCE]), len(texts), None)

    def vectors(self, images: Images, paths: Any = None, tell: Told | None = None) -> Vectors:
        """One vector per image, by its pixels as they were read."""
        return self._all(lambda i: _pixels(images, i), len(images), tell)

    def _all(self, some: Callable[[int], Any], rows: int, tell: Told | None) -> Vectors:
        parts: list[Vectors] = []
        for start in range(0, rows, AT_ONCE):
            size = parts[0].shape[1] if parts else None
            parts.append(checked(self._call(some(start)), min(AT_ONCE, rows - start), size))
            if tell is not None:
                tell(min(start + AT_ONCE, rows), rows)
        return np.concatenate(parts)

    def _call(self, rows: Any) -> Any:
        try:
            found = self.function(rows)
            # A tensor is of torch, and then torch is there.
            torch = sys.modules["torch"] if hasattr(found, "detach") else None
            return found if torch is None else found.detach().cpu().numpy()
        except Exception as error:
            words = str(error).partition("\n")[0][:200]
            raise InputError("TB143", f"the encoder {self.given!r} failed: {words}") from error

    def column(self, column: Column) -> Vectors:
        """One vector per row of a column of text, each text read once; NaN where it is missing."""
        if not column.texts:
            raise InputError("TB108", f'"{column.name}" holds no text to encode.')
        known = self.texts(column.texts)
        nothing = np.full((1, known.shape[1]), np.nan, np.float32)
        return np.concatenate([known, nothing])[column.places]


def given_again(name: str, given: Any) -> GivenEncoder:
    """The function of a fit; TB143 if it is not given again, or another one is."""
    if not callable(given):
        raise InputError(
            "TB143",
            f'the model reads vectors of the function "{name.removeprefix(PYTHON)}" of Python, '
            "which no file can hold. Give it again: topbin.load(run, encoder=function).",
        )
    encoder = GivenEncoder(given)
    if encoder.given != name:
        raise InputError(
            "TB143",
            f'the model was fitted with the function "{name.removeprefix(PYTHON)}", and '
            f'"{encoder.given.removeprefix(PYTHON)}" is given. Give the same one.',
        )
    return encoder


def _pixels(images: Images, start: int) -> Any:
    some = range(start, min(start + AT_ONCE, len(images)))
    return images.read(list(some)).transpose(0, 2, 3, 1)
