"""Text files that are not UTF-8: which encoding they have, and a copy that DuckDB can read.

Windows-1252 is assumed only if no letter of the file is UTF-8; otherwise the file is damaged. The
copy is in a private folder of this process, which makes it again if the file changes.
"""

import codecs
import os
import re
import tempfile
from functools import cache
from pathlib import Path
from threading import Lock

from topbin.data.find import open_bytes

UTF_8, UTF_16, WINDOWS = "utf-8", "utf-16", "cp1252"
CALLED = {WINDOWS: "Windows-1252", UTF_16: "UTF-16", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
BLOCK = 1 << 20
LOST = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8, as Python keeps them
LETTER = re.compile(r"[^\x00-\x7f\udc80-\udcff]")
WORD = re.compile(r"\w*[^\x00-\x7f]\w*")
COPYING = Lock()


def wide_encoding(head: bytes) -> str | None:
    """The encoding of a file that begins so, if it has two bytes per letter.

    >>> wide_encoding("a,b".encode("utf-16")), wide_encoding(b"a\\0,\\0b\\0"), wide_encoding(b"a,b")
    ('utf-16', 'utf-16-le', None)
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return UTF_16
    even, odd = (head[start::2] for start in (0, 1))
    if 0 not in even and 2 * odd.count(0) > len(odd):
        return "utf-16-le"
    return "utf-16-be" if 0 not in odd and 2 * even.count(0) > len(even) else None


def narrow_encoding(path: str, name: str) -> str | None:
    """Windows-1252, if a file is no UTF-8 and can be that; None otherwise."""
    decoder = codecs.getincrementaldecoder(UTF_8)("surrogateescape")
    lost: set[str] = set()
    with open_bytes(path, name) as handle:
        while block := handle.read(BLOCK):
            text = decoder.decode(block)
            lost |= {*LOST.findall(text)}
            if LETTER.search(text):
                return None
    if not lost or decoder.getstate()[0]:  # all is UTF-8, or was until it was cut off
        return None
    try:
        bytes(ord(sign) - 0xDC00 for sign in lost).decode(WINDOWS)
    except UnicodeDecodeError:
        return None
    return WINDOWS


def utf8_copy(path: str, encoding: str) -> str:
    """The path of a copy of the file in UTF-8."""
    found = os.stat(path)
    with COPYING:  # several threads may ask for one file
        return _copy(path, encoding, found.st_mtime_ns, found.st_size)


@cache
def _copy(path: str, encoding: str, *_stamp: int) -> str:
    target = Path(_folder().name) / f"{_copy.cache_info().currsize}.csv"
    decoder = codecs.getincrementaldecoder(encoding)()
    with open_bytes(path, path) as handle, target.open("w", encoding=UTF_8, newline="") as copy:
        while block := handle.read(BLOCK):
            copy.write(decoder.decode(block))
        copy.write(decoder.decode(b"", final=True))
    return str(target)


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="topbin-")


def how_read(path: str, name: str, encoding: str) -> str:
    """A sentence about a file that is not UTF-8, with a word of it."""
    if encoding != WINDOWS:
        return f"{name} is not UTF-8 text; it was read as {CALLED[encoding]}."
    with open(utf8_copy(path, encoding), encoding=UTF_8) as handle:
        words = (found[0] for line in handle if (found := WORD.search(line)))
        example = next(words, "")
    told = f'{name} is not UTF-8 text; it was read as {CALLED[encoding]}, such as "{example}"'
    return f"{told}. If that looks wrong, save the file as UTF-8."
