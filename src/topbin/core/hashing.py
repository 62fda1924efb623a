"""Rows by their hash: one key per row, and twin rows, which are equal in every feature."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Bits = NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio, the step of SplitMix64
CELLS = 100_000  # hashed at a time, so that temporaries stay in the cache


def splitmix64(bits: Bits) -> Bits:
    """Scatter 64 bits so that every bit in moves every bit out (Steele, Lea & Flood, OOPSLA 2014).

    >>> splitmix64(np.array([GOLDEN])) == 0xE220A8397B1DCDAF  # the first output for seed 0
    array([ True])
    """
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def mix(places: NDArray[np.int64], seed: int, stream: int = 0) -> Bits:
    """Random-looking 64-bit numbers that depend on nothing but place, seed and stream.

    Places of rows run through the files in their order. So what is drawn by them depends neither on
    how the files are cut into parts, nor on the engine.

    >>> mix(np.array([0, 1]), seed=0) == mix(np.array([0, 1]), seed=0)
    array([ True,  True])
    """
    start = (int(GOLDEN) * (1 + seed) + 0xD1B54A32D192ED03 * stream) & 0xFFFFFFFFFFFFFFFF
    return splitmix64(places.astype(np.uint64) * GOLDEN + np.uint64(start))


def text_key(text: str) -> int:
    """A number for a text, the same in every process: the first 8 bytes of its SHA-256.

    >>> text_key("a") == text_key("a") != text_key("b")
    True
    """
    return int.from_bytes(sha256(text.encode("utf-8", "surrogateescape")).digest()[:8], "big")


def sha256_of(content: bytes | str) -> str:
    """The SHA-256 of bytes, or of a text in UTF-8, as 64 hexadecimal digits.

    >>> sha256_of("a") == sha256_of(b"a")
    True
    """
    return sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def row_keys(X: Any) -> Bits:
    """One number per row that depends on its values alone, the same for sparse and dense.

    The key is the sum, modulo 2⁶⁴, of a hash of every (column, value) that is not zero. Sums of
    integers do not depend on the order of the terms, so this costs one pass and no sort. Rows with
    equal keys are equal rows, up to a chance of n²/2⁶⁵.

    >>> keys = row_keys(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -0.0]]))
    >>> keys[0] == keys[2] != keys[1]
    np.True_
    """
    salt = splitmix64(np.arange(1, X.shape[1] + 1, dtype=np.uint64) * GOLDEN)
    step = max(1, CELLS // max(1, X.shape[1]))
    return np.concatenate([_keys(X[i : i + step], salt) for i in range(0, X.shape[0], step)])


def _keys(X: Any, salt: Bits) -> Bits:
    if isinstance(X, np.ndarray):
        return np.asarray(_hashes(X, salt).sum(axis=1, dtype=np.uint64))
    part = sp.csr_array(X)
    part.sum_duplicates()
    sums = np.append(np.uint64(0), np.cumsum(_hashes(part.data, salt[part.indices])))
    return np.asarray(sums[part.indptr[1:]] - sums[part.indptr[:-1]], np.uint64)


def _hashes(values: Any, salt: Bits) -> Bits:
    values = np.where(np.isnan(values), np.nan, values).astype(np.float64)  # one NaN of many
    return np.where(values == 0, np.uint64(0), splitmix64(values.view(np.uint64) ^ salt))


@dataclass(frozen=True, slots=True)
class Twins:
    """How many of `n_p` positive rows have a twin among the unlabeled.

    `distinct` counts different rows. `usual` is the share of unlabeled rows that have a twin among
    themselves: where features have few values, many rows are equal that are not the same cases.
    `repeated` is the share of all rows with a copy on their own side, if these must be copies: 0
    where no column has enough values to tell the rows apart.
    """

    n_p: int
    rows: int
    distinct: int
    usual: float
    repeated: float = field(default=0.0, repr=False, compare=False)

    @property
    def are_unusual(self) -> bool:
        """Whether positives have twins clearly more often than unlabeled rows have."""
        noise = sqrt(self.usual * (1 - self.usual) / self.n_p)
        return self.rows / self.n_p > self.usual + 3 * noise


def find_twins(X_p: Any, X_u: Any) -> Twins:
    """Compare the rows of two dense or two sparse matrices; missing values are equal.

    >>> find_twins(np.eye(3), np.eye(3)[:2])
    Twins(n_p=3, rows=2, distinct=2, usual=0.0)
    """
    return equal_keys(row_keys(X_p), row_keys(X_u), (X_p, X_u))


def equal_keys(keys_p: Bits, keys_u: Bits, rows: Sequence[Any] = ()) -> Twins:
    """The twins of rows with these `row_keys`: of one matrix they are found without a copy of it.

    `rows` are the matrices; without them nothing is said about repeated rows.

    >>> keys, is_p = row_keys(np.array([[1.0], [2.0], [1.0]])), np.array([True, False, False])
    >>> equal_keys(keys[is_p], keys[~is_p]).rows
    1
    """
    (_, counts_p), (distinct, counts) = (np.unique(k, return_counts=True) for k in (keys_p, keys_u))
    shared = keys_p[np.isin(keys_p, distinct, kind="sort")]
    copies = [int(n[n > 1].sum()) for n in (counts_p, counts)]
    repeated = sum(copies) / (keys_p.size + keys_u.size)
    if repeated and not _tells_apart(rows, counts_p.size + counts.size):
        repeated = 0.0
    usual = copies[1] / keys_u.size
    return Twins(keys_p.size, shared.size, np.unique(shared).size, usual, repeated)


def _tells_apart(rows: Sequence[Any], distinct: int) -> bool:
    """Whether some column has at least half as many values as there are different rows."""
    if not all(isinstance(X, np.ndarray) for X in rows):
        return False
    columns = (np.concatenate(column) for column in zip(*(X.T for X in rows), strict=True))
    return any(np.unique(column).size >= distinct / 2 for column in columns)
