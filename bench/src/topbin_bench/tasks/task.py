"""A task as a value: its rows, how they are split, and the kind of net for them."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from topbin_bench.tasks.split import Split, Truth

# A task of kind "images" has so many images that a profile gives it fewer epochs.
Kind = Literal["table", "image", "images", "digits", "text"]


@dataclass(frozen=True, slots=True)
class Task:
    """`make(alpha, rng)` gives what estimators see and, separately, the truth.

    `alphas` are those of the paper's experiment or ours. The α of a natural PU task cannot be set;
    it is written as NaN.
    """

    name: str
    family: str
    kind: Kind
    about: str
    make: Callable[[float, np.random.Generator], tuple[Split, Truth]]
    alphas: tuple[float, ...] = (0.5,)

    def split(self, alpha: float, seed: int) -> tuple[Split, Truth]:
        """The split of this seed: the same for every method, in every process."""
        return self.make(alpha, rng_of(self.name, seed))


def rng_of(*names: object) -> np.random.Generator:
    """A stream of random numbers that depends only on these names.

    >>> rng_of("mnist17", 0).integers(100) == rng_of("mnist17", 0).integers(100)
    np.True_
    """
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))
