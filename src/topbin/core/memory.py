"""Memory that a piece of work frees stays with this process until the work ends.

A step of training, or the decoding of an image, allocates and frees large blocks again and again.
glibc gives freed ones back to the system, which has to clear every page of them before the next
step can use it: a fifth of the time of a small net, and more on a virtual machine.
"""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # parameters of mallopt, from malloc.h
# Larger blocks go back at once, and the end of the heap where it is longer than this. The second
# pair is what glibc itself settles on in a process that has freed large blocks.
KEPT, USUAL = (1 << 30, 1 << 30), (32 << 20, 64 << 20)


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep freed memory while this lasts, then give it back; with another libc, do nothing."""
    libc: Any = ctypes.CDLL(None) if sys.platform == "linux" else None
    if not hasattr(libc, "mallopt"):
        yield
        return

    def give_back_from(block: int, end: int) -> None:
        libc.mallopt(MMAP_THRESHOLD, block)
        libc.mallopt(TRIM_THRESHOLD, end)

    give_back_from(*KEPT)
    try:
        yield
    finally:
        give_back_from(*USUAL)
        libc.malloc_trim(0)
