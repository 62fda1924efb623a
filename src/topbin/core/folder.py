"""Files of a folder that somebody else may have made: regular ones only, inside it, of a size.

A pipe would make the reader wait for ever, a device would never end, and a link could bring in a
file of the reader's that the folder's maker was never shown.
"""

import errno
import os
import stat
from pathlib import Path

LIMIT = 4 << 30  # bytes; a model of this size takes minutes to load


def check_regular(path: Path, limit: int = LIMIT) -> Path:
    """The file itself, links inside its folder followed; OSError if it cannot be one of ours."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(path.parent)):
        raise OSError(errno.EPERM, "it is a link out of its folder")
    found = os.stat(real)
    if stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EPERM, "it is not a regular file")
    if found.st_size > limit:
        raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes, and {limit:,} is the most")
    return real


def read_file(path: Path, limit: int = LIMIT) -> bytes:
    """The content of a file that `check_regular` lets pass."""
    with check_regular(path, limit).open("rb") as handle:
        return handle.read(limit)
