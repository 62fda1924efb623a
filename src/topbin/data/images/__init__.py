"""Images: rows of pixels that may be larger than memory, picked without being copied."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.errors import InputError
from topbin.core.hashing import Bits, mix
from topbin.core.options import SIDES

Pixels = NDArray[np.uint8]
OnProgress = Callable[[int, int], object]  # is told how many rows are done, of how many
CHANNELS = (1, 3)
SMALLEST, LARGEST = SIDES
CACHED = 1 << 20  # bytes


@dataclass(frozen=True, eq=False)
class Images:
    """Some images, as rows of pixels (channel, height, width), and one key per image.

    `pixels` are usually mapped from a file, so that only what is read is in memory. Picking rows
    copies none of them; `read` does. Images with equal keys have equal pixels.

    >>> images = Images.of(np.zeros((5, 8, 9, 3), np.uint8))
    >>> images.shape, images[np.array([True, False, False, False, True])].shape
    ((5, 3, 8, 9), (2, 3, 8, 9))
    """

    pixels: Pixels
    keys: Bits
    rows: NDArray[np.intp]
    sums: Any = None  # of the bytes of each file, if there are files
    owner: Any = None  # whatever must live as long as the pixels

    @classmethod
    def of(cls, array: Any, name: str = "the array") -> "Images":
        """Images from an array (n, height, width) or (n, height, width, channels) of bytes."""
        pixels = channels_first(np.asarray(array), name)
        return cls(pixels, pixel_keys(pixels), np.arange(len(pixels)))

    @property
    def shape(self) -> tuple[int, ...]:
        """How many images, and the shape of one."""
        return (self.rows.size, *self.pixels.shape[1:])

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Channels, height and width of an image."""
        return self.shape[1:]

    @property
    def row_keys(self) -> Bits:
        """One key per image of these."""
        return self.keys[self.rows]

    def __len__(self) -> int:
        return int(self.rows.size)

    def __getitem__(self, index: Any) -> "Images":
        """Some of the images, by position, mask or slice."""
        picked = index[0] if isinstance(index, tuple) else index  # scikit-learn says X[rows, ...]
        return Images(self.pixels, self.keys, self.rows[picked], self.sums, self.owner)

    def read(self, index: Any = slice(None)) -> Pixels:
        """The pixels of some of the images, in memory."""
        return np.ascontiguousarray(self.pixels[self.rows[index]])

    def hash(self, names: str) -> str:
        """SHA-256 of the names of the rows, their shape and their content."""
        digest = hashlib.sha256(f"{names}\0{self.row_shape}\0".encode())
        content = self.row_keys if self.sums is None else self.sums[self.rows]
        digest.update(np.ascontiguousarray(content).tobytes())
        return f"sha256:{digest.hexdigest()}"


def channels_first(array: NDArray[Any], name: str) -> Pixels:
    """An array of images as (n, channels, height, width); TB134 if it cannot be one."""
    if array.dtype != np.uint8 or array.ndim not in (3, 4):
        raise InputError(
            "TB134",
            f"{name} has dtype {array.dtype} and shape {array.shape}. Images are arrays of uint8, "
            "(n, height, width) or (n, height, width, channels).",
        )
    if array.ndim == 3 and array.shape[2] in CHANNELS:
        raise InputError(
            "TB134",
            f"{name} has shape {array.shape}, as one image has. Pass an array of images, "
            "(n, height, width, channels); for one image: image[None].",
        )
    array = array[..., None] if array.ndim == 3 else array
    if array.shape[3] not in CHANNELS:
        raise InputError(
            "TB134",
            f"{name} has shape {array.shape}; the last axis must be 1 or 3 channels. If channels "
            "come first, use X.transpose(0, 2, 3, 1).",
        )
    for side in sorted(array.shape[1:3]):
        if not SMALLEST <= side <= LARGEST:
            rule = f"a side must have {SMALLEST} to {LARGEST:,}"
            raise InputError("TB134", f"{name}: images of {side:,} pixels; {rule}.")
    return np.asarray(array.transpose(0, 3, 1, 2))


def pixel_keys(images: Pixels) -> Bits:
    """One number per image (channels, height, width) that depends on its pixels alone.

    Images of one shape that differ have the same number with a chance of 2⁻³² at most, whatever
    the difference (NH; Black et al., CRYPTO 1999), and of about 2⁻⁶⁴ if it is not contrived. This
    takes a quarter of the time of SHA-256.

    >>> one, other = np.zeros((1, 8, 8), np.uint8), np.ones((1, 8, 8), np.uint8)
    >>> first, second, third = pixel_keys(np.stack([one, other, one]))
    >>> first == third != second
    np.True_
    """
    step = images_at_once(images.shape[1:])
    parts = [_keys(images[i : i + step]) for i in range(0, len(images), step)]
    return np.concatenate([np.zeros(0, np.uint64), *parts])


def images_at_once(shape: tuple[int, ...]) -> int:
    """How many images fit into the cache of a processor.

    >>> images_at_once((3, 64, 64)), images_at_once((3, 224, 224)), images_at_once((3, 2000, 2000))
    (85, 6, 1)
    """
    return max(1, CACHED // prod(shape))


def _keys(images: Pixels) -> Bits:
    """Sums of products of pairs of words, each with a random number added to it."""
    flat = np.ascontiguousarray(images.transpose(0, 2, 3, 1)).reshape(len(images), -1)
    if odd := flat.shape[1] % 8:
        flat = np.pad(flat, ((0, 0), (0, 8 - odd)))
    words = flat.view("<u4") + _salt(flat.shape[1] // 4)
    first, second = np.split(words, 2, axis=1)
    return np.asarray(np.einsum("ij,ij->i", first, second, dtype=np.uint64, casting="safe"))


@lru_cache(maxsize=8)
def _salt(size: int) -> NDArray[np.uint32]:
    """The same random-looking words in every process."""
    return (mix(np.arange(size), seed=0) >> np.uint64(32)).astype(np.uint32)
