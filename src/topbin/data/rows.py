"""Random-looking numbers that depend only on where a row is.

Places run through the files in their order, so they do not depend on how the files are cut into
parts, nor on the engine; what is drawn by a hash of the place is drawn the same everywhere.
"""

import numpy as np
from numpy.typing import NDArray

WORD = 0xFFFFFFFFFFFFFFFF
Places = NDArray[np.int64]
Hashes = NDArray[np.uint64]


def mix(places: Places, seed: int, stream: int = 0) -> Hashes:
    """Random-looking 64-bit numbers that depend on nothing but place, seed and stream.

    It is the finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).

    >>> mix(np.array([0, 1]), seed=0) == mix(np.array([0, 1]), seed=0)
    array([ True,  True])
    """
    start = (0x9E3779B97F4A7C15 * (1 + seed) + 0xD1B54A32D192ED03 * stream) & WORD
    z = places.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))
