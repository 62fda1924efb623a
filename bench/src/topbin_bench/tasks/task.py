"""A task as a value: where its rows come from, how they are split, and which net suits them."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from topbin_bench.tasks.split import Split, Truth

# "images" are so many that a profile gives them fewer epochs.
Kind = Literal["table", "image", "images", "digits", "text"]


@dataclass(frozen=True, slots=True)
class Task:
    """`make(alpha, rng)` gives what estimators see and, apart, the truth.

    `alphas` are those of the paper's experiment or ours; a PU-native task has none to set, and
    its α is written as NaN.
    """

    name: str
    family: str
    kind: Kind
    about: str
    make: Callable[[float, np.random.Generator], tuple[Split, Truth]]
    alphas: tuple[float, ...] = (0.5,)
    files: tuple[str, ...] = ()

    def split(self, alpha: float, seed: int) -> tuple[Split, Truth]:
        """The split of this seed: the same for every method, in every process."""
        return self.make(alpha, rng_of(self.name, seed))


def rng_of(*names: object) -> np.random.Generator:
    """A stream of random numbers that depends on these names and nothing else.

    >>> rng_of("mnist17", 0).integers(100) == rng_of("mnist17", 0).integers(100)
    np.True_
    """
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))
