"""Memory that a piece of work frees stays with its process, for processes that are ours alone.

A step of training, or the decoding of an image, allocates and frees large blocks again and again.
glibc gives freed ones back to the system, which has to clear every page of them before the next
step can use it: on a virtual machine, a seventh of the time of a small net. The allocator belongs
to the whole process, so only the command and its helpers may set it, never a library call.
"""

import ctypes
import sys
from typing import Any

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # parameters of mallopt, from malloc.h
KEPT, USUAL = 1 << 30, 32 << 20  # bytes of a block, and of the end of the heap, that stay


def keep_freed_memory() -> None:
    """Keep freed memory until this process ends; with another libc, do nothing."""
    libc: Any = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(libc, "mallopt"):
        if not libc.mallopt(MMAP_THRESHOLD, KEPT):  # an older glibc allows no more than it uses
            libc.mallopt(MMAP_THRESHOLD, USUAL)
        libc.mallopt(TRIM_THRESHOLD, KEPT)
