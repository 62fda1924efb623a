"""Random-looking numbers that depend only on where a row is.

Places run through the files in their order, so they do not depend on how the files are cut into
parts, nor on the engine; what is drawn by a hash of the place is drawn the same everywhere.
"""

import numpy as np
from numpy.typing import NDArray

from topbin.core.hashing import GOLDEN, splitmix64

WORD = 0xFFFFFFFFFFFFFFFF
Places = NDArray[np.int64]
Hashes = NDArray[np.uint64]


def mix(places: Places, seed: int, stream: int = 0) -> Hashes:
    """Random-looking 64-bit numbers that depend on nothing but place, seed and stream.

    >>> mix(np.array([0, 1]), seed=0) == mix(np.array([0, 1]), seed=0)
    array([ True,  True])
    """
    start = (int(GOLDEN) * (1 + seed) + 0xD1B54A32D192ED03 * stream) & WORD
    return splitmix64(places.astype(np.uint64) * GOLDEN + np.uint64(start))
