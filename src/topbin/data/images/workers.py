"""Image files decoded on all cores: in threads if they are few, in processes too if they are many.

Much of decoding is Python, which runs in one thread at a time: two threads decode few images more
than one. So with many files every core but the first gets a helper, a process that is sent names of
files through a pipe, writes their pixels to their places on the disk, and answers with their rows.
It imports little, so that it starts fast, and ends when its pipe does, whatever ended this process.
A helper that cannot start, or has died, leaves its files to the thread that would wait for it.
Both ends of the pipe are this program, and nothing of it is stored, so pickle is safe here.
"""

import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np

from topbin.core.memory import keep_freed_memory
from topbin.data.images.decode import BadImage, decode, quiet_pillow
from topbin.data.images.rows import pixel_keys

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
    """Decode some files, here and now; so few that their pixels stay in the cache.

    The pixels are written, not mapped, because mapped pages count as memory of this process.
    """
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
    with open(target.file, "r+b") as file:
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
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=silent,
            start_new_session=True,
        )  # fmt: skip
    except OSError:
        yield decode_chunk
        return

    def ask(target: Target, chunk: Chunk) -> Answer:
        assert process.stdin is not None
        assert process.stdout is not None
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
            answer = decode_chunk(*pickle.load(sys.stdin.buffer))
            pickle.dump(answer, sys.stdout.buffer)
            sys.stdout.buffer.flush()
