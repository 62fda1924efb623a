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
