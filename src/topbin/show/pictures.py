"""Small pictures of the images of a run, as addresses that hold the picture itself.

Of a file, only if its bytes are still those of the run: a folder that somebody else made could name
any file of the reader's. Otherwise the picture is made of the pixels that the run keeps.
"""

import base64
import hashlib
import os
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.atomic import check_regular
from topbin.core.optional import require
from topbin.data.images import Images
from topbin.data.images.cache import open_stored
from topbin.data.images.decode import BadImage, decode_content, quiet_pillow, read_bytes
from topbin.store.runs import IMAGES

SIDE = 128  # pixels, in the report
SMALL = 64  # of what a row resembles, beside it
LARGE = 640  # on the review page
MOST = 1 << 40  # bytes of the arrays, which are mapped and not read


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
            check_regular(images / name, MOST)
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
