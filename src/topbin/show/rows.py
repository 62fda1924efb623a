"""Rows of a run as people see them: cells as text, and images as small pictures.

A picture is an address that holds the picture itself. It is made of a file only if its bytes are
still those of the run: a folder that somebody else made could name any file of the reader's.
Otherwise it is made of the pixels that the run keeps.
"""

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.atomic import check_regular
from topbin.core.formatting import percent
from topbin.core.optional import require
from topbin.data.images import Images
from topbin.data.images.cache import open_stored
from topbin.data.images.decode import BadImage, decode_content, quiet_pillow, read_bytes
from topbin.learn.explain import is_explanation, is_nearest
from topbin.store.answer import Answer
from topbin.store.runs import IMAGES

TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s+[\w-]+\s*=[^<>]*)?\s*/?>")  # <br />, <a href="…">
PASSAGE = 160  # letters of a text; its beginning, which every encoder reads
SHOWN = 25
LONG, EXCERPT = 60, 140  # letters of a text, and of the part that the report shows
FOR = re.compile(r"= … (.+) … \(\+")  # a reason that speaks for the row
SIDE = 128  # pixels, in the report
SMALL = 64  # of what a row resembles, beside it
LARGE = 640  # on the review page
ARRAY_BYTES = 1 << 40  # at most; they are mapped and not read


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a row: a title, the path of its file, and an address; None if there is none.

    `beside` are pictures of known positives that it resembles.
    """

    title: str
    path: str
    address: str | None
    beside: "tuple[Picture, ...]" = ()

    @property
    def name(self) -> str:
        """The name of the file without its folders."""
        return os.path.basename(self.path)


@dataclass(frozen=True, slots=True, eq=False)
class Pictures:
    """The pictures of a run, by the path of the file, or by that from the folder `root` on."""

    images: Images | None
    places: dict[str, int]
    root: str = ""

    def of(self, path: str, side: int = SIDE) -> str | None:
        """The picture of a row of the run; None for any other path."""
        path = path if path in self.places else os.path.join(self.root, path)
        place = self.places.get(path)
        if self.images is None or place is None:
            return None
        picture = self._from_file(path, place, side)
        return _address(self._from_pixels(place) if picture is None else picture)

    def _from_file(self, path: str, place: int, side: int) -> Any:
        images = self.images
        assert images is not None
        expected = bytes(images.sums[images.rows[place]])
        try:
            content = read_bytes(path)
            if hashlib.sha256(content).digest() != expected:
                return None
            with quiet_pillow():
                return decode_content(content, images.row_shape[0], side)
        except (BadImage, OSError):
            return None

    def _from_pixels(self, place: int) -> Any:
        assert self.images is not None
        pixels = self.images.read([place])[0].transpose(1, 2, 0)
        module = require("PIL.Image", extra="images", caller="pictures")
        return module.fromarray(np.squeeze(pixels, 2) if pixels.shape[2] == 1 else pixels)


def open_pictures(folder: Path, root: str = "") -> Pictures:
    """The pictures of a run folder; none if it keeps no images, or they are damaged."""
    images = folder / IMAGES
    try:
        for name in os.listdir(images):
            check_regular(images / name, ARRAY_BYTES)
        stored = open_stored(images)
    except OSError:
        stored = None
    return Pictures(None, {}) if stored is None else Pictures(*stored, root)


def _address(picture: Any) -> str:
    """A data address: png for small pictures, whose pixels should stay sharp, else jpeg."""
    kind = "png" if max(picture.size) <= SIDE // 2 else "jpeg"
    content = BytesIO()
    picture.save(content, kind.upper(), **({"quality": 82} if kind == "jpeg" else {}))
    return f"data:image/{kind};base64,{base64.b64encode(content.getvalue()).decode()}"


def shown_rows(frame: Any) -> list[dict[str, str]]:
    """The first rows and columns as people read them, and the reasons."""
    why = [name for name in frame.columns if is_explanation(name)]
    cells = [name for name in frame.columns[:12] if name not in why]
    rows = frame[[*cells, *why]].head(SHOWN).astype(object)
    rows = rows.where(rows.notna(), "")
    texts = [name for name in cells if rows[name].map(lambda value: len(str(value))).max() > LONG]
    first = [*cells[:3], *texts, *(name for name in cells[3:4] if name not in texts)]
    order = [*first, *why, *(name for name in cells if name not in first)]
    records = rows[order].to_dict("records")
    return [
        {str(key): _cell(v, [row[w] for w in why]) for key, v in row.items()} for row in records
    ]


def _cell(value: Any, reasons: Sequence[str]) -> str:
    """A value as people read it; of a long text, the part around the word that speaks for the row.

    >>> rain = "It rained. " * 20
    >>> _cell(f"{rain}A gem<br /> of a film. {rain}", ["text = … gem … (+1.2)"])
    '… It rained. ...It rained. A gem of a film. It rained...It rained. …'
    """
    if isinstance(value, float):
        return f"{value:g}"
    text = " ".join(str(value).split())
    if len(text) <= LONG:
        return text
    text = " ".join(TAG.sub(" ", text).split())
    words = [found[1] for reason in reasons if (found := FOR.search(str(reason)))]
    places = [text.lower().find(f" {word}") for word in words]
    middle = next((place for place in places if place >= 0), 0)
    start = max(0, min(middle - EXCERPT // 2, len(text) - EXCERPT))
    return _cut(text, start, start + EXCERPT)


def _cut(text: str, start: int, end: int) -> str:
    """The part of a text from start to end, cut at spaces, unless a word is as long as that."""
    if start > 0:
        space = text.find(" ", start - 1, end)
        start = start if space < 0 else space + 1
    if end < len(text):
        space = text.rfind(" ", start, end + 1)
        end = end if space <= start else space
    before, after = "… " * (start > 0), " …" * (end < len(text))
    return f"{before}{text[start:end].strip()}{after}"


def passage(text: Any) -> str:
    """How a text begins, without tags.

    >>> passage("A gem<br /> of a film. " * 10)[-32:]
    ' film. A gem of a film. A gem o…'
    """
    words = " ".join(TAG.sub(" ", str(text or "")).split())
    return words if len(words) <= PASSAGE else f"{words[:PASSAGE]}…"


def gallery_of(folder: Path, answer: Answer, rows: Any) -> list[Picture]:
    """Small pictures of the first candidates, if the rows of the run are images."""
    image = answer.data.image
    if image is None or image.column not in rows:
        return []
    pictures, column = open_pictures(folder, image.root or ""), image.column
    first = rows.head(SHOWN)
    near = [name for name in rows.columns if is_nearest(name)]
    beside = [[str(path) for path in row if path] for row in first[near].fillna("").to_numpy()]
    shown = zip(first["rank"], first["probability"], first[column], beside, strict=True)
    return [
        Picture(
            f"{rank} · {percent(likely)} %", str(path), pictures.of(str(path)),
            tuple(Picture("", other, pictures.of(other, SMALL)) for other in alike),
        )
        for rank, likely, path, alike in shown
    ]  # fmt: skip
