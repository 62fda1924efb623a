"""Memory that a piece of work frees stays with this process until the work ends.

A step of training, or the decoding of an image, allocates and frees large blocks again and again.
glibc gives freed ones back to the system, which has to clear every page of them before the next
step can use it: on a virtual machine, a seventh of the time of a small net.
"""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # parameters of mallopt, from malloc.h
# Larger blocks go back at once, and the end of the heap where it is longer than this. The second
# pair is what glibc itself settles on in a process that has freed large blocks.
KEPT, USUAL = (1 << 30, 1 << 30), (32 << 20, 64 << 20)
_open = 0  # how many pieces of work keep memory now; the last one gives it back
_counting = Lock()  # folds may train in several threads


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep freed memory while this lasts, then give it back; with another libc, do nothing."""
    global _open
    libc: Any = ctypes.CDLL(None) if sys.platform == "linux" else None
    if not hasattr(libc, "mallopt"):
        yield
        return
    with _counting:
        _open += 1
        _give_back_from(libc, *KEPT)
    try:
        yield
    finally:
        with _counting:
            _open -= 1
            if not _open:
                _give_back_from(libc, *USUAL)
                libc.malloc_trim(0)


def _give_back_from(libc: Any, block: int, end: int) -> None:
    if not libc.mallopt(MMAP_THRESHOLD, block):  # an older glibc allows no more than it uses itself
        libc.mallopt(MMAP_THRESHOLD, USUAL[0])
    libc.mallopt(TRIM_THRESHOLD, end)
