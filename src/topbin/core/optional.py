"""What a machine may lack: optional packages, which enter here only, and glibc's allocator."""

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from topbin.core.errors import MissingExtra

# Packages that report to their makers when they are imported, and the variable that stops them.
REPORTING = {"onnxruntime": "ORT_DISABLE_TELEMETRY"}
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # parameters of mallopt, from malloc.h
KEPT, USUAL = 1 << 30, 32 << 20  # bytes of a block, and of the end of the heap, that stay


def require(module: str, *, extra: str | None, caller: str) -> ModuleType:
    """Import `module`, or say which extra brings it. Nothing is reported to anybody.

    >>> require("math", extra=None, caller="doctest").sqrt(4.0)
    2.0
    >>> require("no_such_package", extra="boost", caller="fit")
    Traceback (most recent call last):
    topbin.core.errors.MissingExtra: TB011 fit needs no_such_package: pip install "topbin[boost]"
    """
    package = module.partition(".")[0]
    if package in REPORTING:
        os.environ.setdefault(REPORTING[package], "1")
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is there; something it needs is not
        raise _missing(package, extra, caller) from error


def refuse_missing(package: str, *, extra: str | None, caller: str) -> None:
    """TB011 if a package is not installed; it is not imported, which can take seconds."""
    if find_spec(package) is None:
        raise _missing(package, extra, caller)


def _missing(package: str, extra: str | None, caller: str) -> MissingExtra:
    wanted = f'"topbin[{extra}]"' if extra else package
    return MissingExtra("TB011", f"{caller} needs {package}: pip install {wanted}")


def keep_freed_memory() -> None:
    """Keep freed memory until this process ends; with another libc, do nothing.

    A step of training, or the decoding of an image, allocates and frees large blocks again and
    again. glibc gives freed ones back to the system, which has to clear every page of them before
    the next step can use it: on a virtual machine, a seventh of the time of a small net. The
    allocator belongs to the whole process, so only the command and its helpers may set it, never a
    library call.
    """
    import ctypes

    libc: Any = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(libc, "mallopt"):
        if not libc.mallopt(MMAP_THRESHOLD, KEPT):  # an older glibc allows no more than it uses
            libc.mallopt(MMAP_THRESHOLD, USUAL)
        libc.mallopt(TRIM_THRESHOLD, KEPT)
