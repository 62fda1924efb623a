"""MNIST three ways, as in Garg et al. 2021: 0–4 against 5–9, 1 against 7, and with overlap."""

import gzip
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from topbin_bench.tasks.files import SUMS, Source, data_file, fetch
from topbin_bench.tasks.split import Pool, Sizes, Split, Truth, draw, fitting
from topbin_bench.tasks.task import Task

ADDRESS = "https://ossci-datasets.s3.amazonaws.com"
PARTS = ("train", "t10k")
LARGE, SMALL = Sizes(15_000, 2_500), Sizes(3_000, 500)
ALPHAS = (0.5, 0.2, 0.8)


def read_idx(name: str, offset: int) -> NDArray[np.uint8]:
    """The bytes after the header of an idx file."""
    path = data_file(name) or fetch(Source(f"{ADDRESS}/{name}", f"sha256:{SUMS[name]}"))
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=offset)


@cache
def load(part: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images (n, 28, 28) and digits of "train" or "t10k"."""
    images = read_idx(f"mnist/{part}-images-idx3-ubyte.gz", 16)
    return images.reshape(-1, 28, 28), read_idx(f"mnist/{part}-labels-idx1-ubyte.gz", 8)


def pool_of(
    images: NDArray[np.uint8],
    digits: NDArray[np.uint8],
    positive: range,
    negative: range,
    rng: np.random.Generator,
) -> Pool:
    """Images of these digits; a coin decides for a digit that can be positive or negative.

    >>> pool = pool_of(np.zeros((4, 1)), np.array([1, 7, 3, 1]), range(1, 2), range(7, 8),
    ...                np.random.default_rng(0))
    >>> pool.positive.tolist()
    [True, False, True]
    """
    may_be_p, may_be_n = np.isin(digits, positive), np.isin(digits, negative)
    heads = rng.random(digits.size) < 0.5
    is_p = may_be_p & (~may_be_n | heads)
    used = may_be_p | may_be_n
    return Pool(images[used], is_p[used])


def make(
    positive: range, negative: range, sizes: Sizes, alpha: float, rng: np.random.Generator
) -> tuple[Split, Truth]:
    """Training and hold-out rows from the 60,000, the test set from the 10,000."""
    train, test = (pool_of(*load(part), positive, negative, rng) for part in PARTS)
    return draw(train, fitting(sizes, alpha, train), alpha, rng, test=test)


def _task(name: str, about: str, positive: range, negative: range, sizes: Sizes) -> Task:
    return Task(name, "mnist", "digits", about, partial(make, positive, negative, sizes), ALPHAS)


MNIST = (
    _task("mnist17", "MNIST: 1 against 7", range(1, 2), range(7, 8), SMALL),
    _task("binarized_mnist", "MNIST: 0–4 against 5–9", range(5), range(5, 10), LARGE),
    _task("mnist_overlap", "MNIST: 0–7 against 3–9", range(8), range(3, 10), LARGE),
)
