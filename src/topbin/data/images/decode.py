"""Image files to pixels of a fixed shape, or the reason why not; many files on all cores.

A file is judged by its content, never by its name. How many pixels it has is read from its header,
so that a small file that would unpack to gigabytes is refused before it is unpacked.

Much of decoding is Python, which runs in one thread at a time: two threads decode few images more
than one. So with many files every core but the first gets a helper, a process that is sent names of
files through a pipe, writes their pixels to their places on the disk, and answers with their rows.
It imports little, so that it starts fast, and ends when its pipe does, whatever ended this process.
A helper that cannot start, or has died, leaves its files to the thread that would wait for it.
Both ends of the pipe are this program, and nothing of it is stored, so pickle is safe here.
"""

import hashlib
import os
import pickle
import stat
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from queue import SimpleQueue
from typing import Any

import numpy as np

from topbin.core.optional import keep_freed_memory, require
from topbin.data.images import Pixels, pixel_keys

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF")
GREY = {"1", "L", "LA", "I;16", "I;16B", "I;16L"}
MOST_PIXELS = 64_000_000
MOST_BYTES = 256 << 20
ROTATED = 0x0112, (5, 6, 7, 8)  # EXIF orientations that exchange width and height


class BadImage(Exception):
    """Why a file cannot be used, in a few words that follow its name."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself: width and height as people see it, and whether it is grey."""

    width: int
    height: int
    grey: bool


@dataclass(frozen=True, slots=True)
class Decoded:
    """The pixels of a file, (height, width, channels), and the SHA-256 of its bytes."""

    pixels: Pixels
    sum: bytes
    header: Header


def pillow(module: str = "Image") -> Any:
    """A module of Pillow."""
    return require(f"PIL.{module}", extra="images", caller="reading images")


@contextmanager
def quiet_pillow() -> Iterator[None]:
    """No warnings about small defects; the one about decompression bombs is an error.

    Held by one thread while others decode, because warnings belong to the whole process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", pillow().DecompressionBombWarning)
        yield


def read_header(path: str) -> Header:
    """The size of an image without decoding it; BadImage if it is none, or too large."""
    with _reasons(), _opened(path) as handle, _recognized(BufferedReader(handle)) as image:
        return _header(image)


def _header(image: Any) -> Header:
    tag, turned = ROTATED
    width, height = image.size
    if image.getexif().get(tag) in turned:
        width, height = height, width
    return Header(width, height, image.mode in GREY)


def read_bytes(path: str) -> bytes:
    """The bytes of a file, if it is one that could be an image; else BadImage."""
    with _reasons(), _opened(path) as handle:
        return bytes(handle.read())  # its size has been checked


def decode(path: str, channels: int, height: int, width: int, *, is_sharp: bool = False) -> Decoded:
    """A file as pixels of this shape, as `scaled` makes them."""
    content = read_bytes(path)  # once, because with small files that takes long
    with _reasons(), _recognized(BytesIO(content)) as image:
        header = _header(image)
        plain = _upright(image, channels, max(height, width))
        if plain.size != (width, height):
            plain = scaled(plain, (width, height), is_sharp=is_sharp)
        pixels = np.asarray(plain, np.uint8).reshape(height, width, channels)
    return Decoded(pixels, hashlib.sha256(content).digest(), header)


def scaled(image: Any, size: tuple[int, int], *, is_sharp: bool = False) -> Any:
    """An image of this size: the short side is scaled to fit, the middle is cut out.

    What is enlarged stays sharper by bicubic interpolation, which takes a little longer.
    """
    method = pillow().Resampling.BICUBIC if is_sharp else pillow().Resampling.BILINEAR
    return pillow("ImageOps").fit(image, size, method=method)


def decode_content(content: bytes, channels: int, side: int) -> Any:
    """The whole picture, made smaller until it fits into a square; for people."""
    with _reasons(), _recognized(BytesIO(content)) as image:
        small = _upright(image, channels, side).copy()
        small.thumbnail((side, side))
        return small


def _upright(image: Any, channels: int, side: int) -> Any:
    """The image in one of two plain modes, turned as the camera says."""
    image.draft(None, (side, side))  # a large jpg is unpacked to a half, a quarter or an eighth
    if image.getexif().get(ROTATED[0], 1) != 1:  # what is upright would be copied for nothing
        image = pillow("ImageOps").exif_transpose(image)
    return _plain(image, "L" if channels == 1 else "RGB")


def _plain(image: Any, mode: str) -> Any:
    """The image in a plain mode; what is transparent becomes white, 16 bits become 8."""
    if image.mode.startswith("I;16"):
        image = pillow().fromarray((np.asarray(image).astype(np.uint16) >> 8).astype(np.uint8))
    if image.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        white = pillow().new("RGBA", image.size, "white")
        image = pillow().alpha_composite(white, image)
    if image.mode in ("I", "F"):
        raise BadImage("has 32-bit pixels of unknown range; save it with 8 or 16 bits")
    return image if image.mode == mode else image.convert(mode)


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """A regular file, neither empty nor too large; reading a pipe could block forever."""
    state = os.stat(path)
    if not stat.S_ISREG(state.st_mode):
        raise BadImage("is not a regular file")
    if state.st_size == 0:
        raise BadImage("is empty (0 bytes)")
    if state.st_size > MOST_BYTES:
        raise BadImage(f"has {state.st_size:,} bytes; the limit is {MOST_BYTES:,}")
    with open(path, "rb", buffering=0) as handle:
        yield handle


@contextmanager
def _recognized(handle: Any) -> Iterator[Any]:
    """The image in a file, its header read and nothing else."""
    with pillow().open(handle, formats=FORMATS) as image:
        width, height = image.size
        if width * height > MOST_PIXELS:
            size = f"{width:,} × {height:,}"
            raise BadImage(f"has {size} pixels; the limit is {MOST_PIXELS:,}")
        if not width or not height:
            raise BadImage("has no pixels")
        yield image


@contextmanager
def _reasons() -> Iterator[None]:
    """Whatever goes wrong in a file as a BadImage; decoders raise errors of many kinds."""
    try:
        yield
    except (BadImage, MemoryError):
        raise
    except Exception as error:
        raise BadImage(_words(error)) from error


def _words(error: Exception) -> str:
    name, message = type(error).__name__, str(error)
    if name == "UnidentifiedImageError":
        return "is not an image"
    if name.startswith("DecompressionBomb"):
        return f"has too many pixels; the limit is {MOST_PIXELS:,}"
    if "truncated" in message.lower():
        return "is cut off"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be opened: {error.strerror}"
    return f"cannot be decoded: {message[:80] or name}"


MANY = 2_000  # files from which on helpers are worth the time that they take to start
MOST = 8  # workers, if there are helpers among them: each takes 50 MB
AHEAD = 2_048  # files that may be decoded before the caller has asked for them
ROW = np.dtype([
    ("done", "u1"), ("key", "<u8"), ("sum", "u1", 32),
    ("width", "<u4"), ("height", "<u4"), ("grey", "u1"),
])  # fmt: skip

Chunk = Sequence[tuple[int, str]]  # files, and the place of each among all images
Answer = tuple[Any, dict[str, str]]  # a row per file, 0 if it is bad, and why it is


@dataclass(frozen=True, slots=True)
class Target:
    """A file of pixels: where its first image begins, and the shape of all."""

    file: str
    start: int
    shape: tuple[int, ...]


def decode_chunks(
    target: Target, chunks: Sequence[Chunk], workers: int
) -> Generator[Answer, None, None]:
    """Decode all files; the answers come in order, once their pixels are written.

    Close it if you do not take all: then what has not begun does not begin.
    """
    files = sum(map(len, chunks))
    with _pool(workers, files) as submit:
        pending = deque[Future[Answer]]()
        for chunk in chunks:
            pending.append(submit(target, chunk))
            if len(pending) * len(chunk) >= AHEAD:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def decode_chunk(target: Target, chunk: Chunk) -> Answer:
    """Decode some files, here and now; so few that their pixels stay in the cache."""
    channels, height, width = target.shape
    pixels = np.empty((len(chunk), height, width, channels), np.uint8)
    rows, bad = np.zeros(len(chunk), ROW), dict[str, str]()
    for k, (_, path) in enumerate(chunk):
        try:
            path.encode()  # a name that is no text could not be written into any table
            one = decode(path, *target.shape)
        except UnicodeError:
            bad[path] = "has a name that is not valid text; rename it"
        except BadImage as error:
            bad[path] = str(error)
        else:
            pixels[k] = one.pixels
            head, digest = one.header, np.frombuffer(one.sum, np.uint8)
            rows[k] = 1, 0, digest, head.width, head.height, head.grey
    rows["key"] = pixel_keys(pixels.transpose(0, 3, 1, 2)) * rows["done"]
    with open(target.file, "r+b") as file:  # not mapped: mapped pages count as memory
        for (i, path), image in zip(chunk, pixels, strict=True):
            if path not in bad:
                file.seek(target.start + i * image.size)
                file.write(image.data)
    return rows, bad


@contextmanager
def _pool(workers: int, files: int) -> Iterator[Callable[[Target, Chunk], Future[Answer]]]:
    """A function that gives a chunk to the worker that is free next."""
    # A frozen program is no Python, and one that has Python inside may not know where it is.
    many = files >= MANY and not getattr(sys, "frozen", False) and bool(sys.executable)
    threads = min(workers, MOST) if many else workers
    free: SimpleQueue[Callable[[Target, Chunk], Answer]] = SimpleQueue()

    def work(target: Target, chunk: Chunk) -> Answer:
        worker = free.get()
        try:
            return worker(target, chunk)
        finally:
            free.put(worker)

    with ExitStack() as stack:
        for k in range(threads):
            free.put(stack.enter_context(_helper()) if many and k else decode_chunk)
        pool = stack.enter_context(ThreadPoolExecutor(threads))
        stack.callback(pool.shutdown, cancel_futures=True)
        yield lambda target, chunk: pool.submit(work, target, chunk)


@contextmanager
def _helper() -> Iterator[Callable[[Target, Chunk], Answer]]:
    """A function that has chunks decoded by another process, as long as that lives."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
    pipe, silent = subprocess.PIPE, subprocess.DEVNULL
    try:  # in a session of its own, where Ctrl-C does not reach it
        process: Any = subprocess.Popen(
            [sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=silent,
            start_new_session=True,
        )  # fmt: skip
    except OSError:
        yield decode_chunk
        return

    def ask(target: Target, chunk: Chunk) -> Answer:
        try:
            pickle.dump((target, chunk), process.stdin)
            process.stdin.flush()
            answer: Answer = pickle.load(process.stdout)
            return answer
        except Exception:  # it has died, or says what is no answer; then it must not go on
            process.kill()
            process.wait()
        return decode_chunk(target, chunk)  # which raises whatever the helper died of

    try:
        yield ask
    finally:
        process.kill()  # what it has written and not told will be written again
        process.communicate()


def serve() -> None:
    """Be a helper: decode what comes in until nothing can come any more."""
    keep_freed_memory()  # of this process, which only decodes
    with quiet_pillow(), suppress(EOFError):
        while True:
            pickle.dump(decode_chunk(*pickle.load(sys.stdin.buffer)), sys.stdout.buffer)
            sys.stdout.buffer.flush()
