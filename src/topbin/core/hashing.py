"""SplitMix64: 64 bits scattered so that every bit in moves every bit out."""

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio, the step of SplitMix64


def splitmix64(bits: Bits) -> Bits:
    """The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).

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
