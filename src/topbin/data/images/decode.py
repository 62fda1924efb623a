"""One image file to pixels of a fixed shape, or the reason why not.

A file is judged by its content, never by its name. How many pixels it has is read from its header,
so that a small file that would unpack to gigabytes is refused before it is unpacked.
"""

import hashlib
import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from typing import Any

import numpy as np

from topbin.core.optional import require
from topbin.data.images.rows import Pixels

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF")
GREY = {"1", "L", "LA", "I;16", "I;16B", "I;16L"}
MOST_PIXELS = 64_000_000
MOST_BYTES = 256 << 20
NO_IMAGE = "not an image"
ROTATED = 0x0112, (5, 6, 7, 8)  # EXIF orientations that exchange width and height


class BadImage(Exception):
    """Why a file cannot be used, in a few words that follow its name."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself: width and height as people see it, and whether it is grey."""

    width: int
    height: int
    grey: bool


@dataclass(frozen=True, slots=True)
class Decoded:
    """The pixels of a file, (height, width, channels), and the SHA-256 of its bytes."""

    pixels: Pixels
    sum: bytes
    header: Header


def pillow() -> Any:
    """Pillow's `Image` module."""
    return require("PIL.Image", extra="images", caller="reading images")


@contextmanager
def quiet_pillow() -> Iterator[None]:
    """No warnings about small defects; the one about decompression bombs is an error.

    Held by one thread while others decode, because warnings belong to the whole process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", pillow().DecompressionBombWarning)
        yield


def read_header(path: str) -> Header:
    """The size of an image without decoding it; BadImage if it is none, or too large."""
    with _reasons(), _opened(path) as handle, _recognized(BufferedReader(handle)) as image:
        return _header(image)


def _header(image: Any) -> Header:
    tag, turned = ROTATED
    width, height = image.size
    if image.getexif().get(tag) in turned:
        width, height = height, width
    return Header(width, height, image.mode in GREY)


def read_bytes(path: str) -> bytes:
    """The bytes of a file, if it is one that could be an image; else BadImage."""
    with _reasons(), _opened(path) as handle:
        content: bytes = handle.read()  # its size has been checked
        return content


def decode(path: str, channels: int, height: int, width: int, *, is_sharp: bool = False) -> Decoded:
    """A file as pixels of this shape: the short side is scaled to fit, the middle is cut out.

    What is enlarged stays sharper by bicubic interpolation, which takes a little longer.

    It is read and its header is understood once, because with small files that takes long.
    """
    content = read_bytes(path)
    with _reasons(), _recognized(BytesIO(content)) as image:
        header = _header(image)
        plain = _upright(image, channels, max(height, width))
        if plain.size != (width, height):
            plain = scaled(plain, (width, height), is_sharp=is_sharp)
        pixels = np.asarray(plain, np.uint8).reshape(height, width, channels)
    return Decoded(pixels, hashlib.sha256(content).digest(), header)


def scaled(image: Any, size: tuple[int, int], *, is_sharp: bool = False) -> Any:
    """An image of this size: the short side is scaled to fit, the middle is cut out."""
    method = pillow().Resampling.BICUBIC if is_sharp else pillow().Resampling.BILINEAR
    return _operations().fit(image, size, method=method)


def decode_content(content: bytes, channels: int, side: int) -> Any:
    """The whole picture, made smaller until it fits into a square; for people."""
    with _reasons(), _recognized(BytesIO(content)) as image:
        plain = _upright(image, channels, side)
        small = plain.copy()
        small.thumbnail((side, side))
        return small


def _operations() -> Any:
    return require("PIL.ImageOps", extra="images", caller="reading images")


def _upright(image: Any, channels: int, side: int) -> Any:
    """The image in one of two plain modes, turned as the camera says."""
    image.draft(None, (side, side))  # a large jpg is unpacked to a half, a quarter or an eighth
    if image.getexif().get(ROTATED[0], 1) != 1:  # what is upright would be copied for nothing
        image = _operations().exif_transpose(image)
    return _plain(image, "L" if channels == 1 else "RGB")


def _plain(image: Any, mode: str) -> Any:
    """The image in a plain mode; what is transparent becomes white, 16 bits become 8."""
    if image.mode.startswith("I;16"):
        image = pillow().fromarray((np.asarray(image).astype(np.uint16) >> 8).astype(np.uint8))
    if image.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        white = pillow().new("RGBA", image.size, "white")
        image = pillow().alpha_composite(white, image)
    if image.mode in ("I", "F"):
        raise BadImage("has 32-bit pixels, whose range nothing says; save it with 8 or 16 bits")
    return image if image.mode == mode else image.convert(mode)


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """A regular file of a size; a pipe would make the reader wait for ever."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise BadImage("is not a regular file")
    if found.st_size == 0:
        raise BadImage("is empty (0 bytes)")
    if found.st_size > MOST_BYTES:
        raise BadImage(f"has {found.st_size:,} bytes; {MOST_BYTES:,} is the most")
    with open(path, "rb", buffering=0) as handle:
        yield handle


@contextmanager
def _recognized(handle: Any) -> Iterator[Any]:
    """The image in a file, its header read and nothing else."""
    with pillow().open(handle, formats=FORMATS) as image:
        width, height = image.size
        if width * height > MOST_PIXELS:
            raise _too_large(f"{width:,} × {height:,}")
        if not width or not height:
            raise BadImage("has no pixels")
        yield image


def _too_large(size: str) -> BadImage:
    return BadImage(f"has {size} pixels; {MOST_PIXELS:,} is the most")


@contextmanager
def _reasons() -> Iterator[None]:
    """Whatever goes wrong in a file as a BadImage; decoders raise errors of many kinds."""
    try:
        yield
    except (BadImage, MemoryError):
        raise
    except Exception as error:
        raise BadImage(_words(error)) from error


def _words(error: Exception) -> str:
    name, said = type(error).__name__, str(error)
    if name == "UnidentifiedImageError":
        return f"is {NO_IMAGE}"
    if name.startswith("DecompressionBomb"):
        return str(_too_large("too many"))
    if "truncated" in said or "Truncated" in said:
        return "is cut off"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be opened: {error.strerror}"
    return f"cannot be decoded: {said[:80] or name}"
