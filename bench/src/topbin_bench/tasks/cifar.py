"""CIFAR-10 two ways, as in Garg et al. 2021: classes 0–4 against 5–9, and cat against dog."""

import tarfile
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from topbin_bench.tasks.files import Source, data_file, fetch, missing
from topbin_bench.tasks.mnist import pool_of
from topbin_bench.tasks.split import Sizes, Split, Truth, draw, fitting
from topbin_bench.tasks.task import Task

Bytes = NDArray[np.uint8]
SOURCE = Source(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "md5:c32a1d4ab5d03f1284b67883e8d87530",
)
BATCHES = {
    "train": tuple(f"data_batch_{i}" for i in range(1, 6)),
    "test": ("test_batch",),
}
CAT, DOG = 3, 5


@cache
def load(part: str) -> tuple[Bytes, Bytes]:
    """Images (n, 3, 32, 32) and classes of "train" or "test"."""
    labels = data_file("cifar10/labels.npz")
    if labels is None:
        return unpack(fetch(SOURCE), BATCHES[part])
    images = np.concatenate([read_mosaic(name) for name in BATCHES[part]])
    with np.load(labels) as classes:
        return images, classes[part].astype(np.uint8)


def read_mosaic(batch: str) -> Bytes:
    """10,000 images from a mosaic of 100 × 100."""
    path = data_file(f"cifar10/{batch}.webp")
    if path is None:
        raise missing(f"cifar10/{batch}.webp")
    with Image.open(path) as mosaic:
        pixels = np.asarray(mosaic.convert("RGB"))
    return pixels.reshape(100, 32, 100, 32, 3).transpose(0, 2, 4, 1, 3).reshape(-1, 3, 32, 32)


def unpack(archive: Path, batches: tuple[str, ...]) -> tuple[Bytes, Bytes]:
    """The official binary form: per image one byte of class and 3,072 of pixels."""
    with tarfile.open(archive) as tar:
        files = [tar.extractfile(f"cifar-10-batches-bin/{batch}.bin") for batch in batches]
        rows = np.frombuffer(b"".join(f.read() for f in files if f), np.uint8).reshape(-1, 3073)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


def make(
    positive: range, negative: range, sizes: Sizes, alpha: float, rng: np.random.Generator
) -> tuple[Split, Truth]:
    """Training and hold-out rows from the 50,000, the test set from the 10,000."""
    train, test = (pool_of(*load(part), positive, negative, rng) for part in BATCHES)
    return draw(train, fitting(sizes, alpha, train), alpha, rng, test=test)


CIFAR = (
    Task("cifar_dog_cat", "cifar", "image", "CIFAR-10: cat against dog",
         partial(make, range(CAT, CAT + 1), range(DOG, DOG + 1), Sizes(2_500, 500))),
    Task("binarized_cifar", "cifar", "images", "CIFAR-10: 0–4 against 5–9",
         partial(make, range(5), range(5, 10), Sizes(12_500, 2_500))),
)  # fmt: skip
