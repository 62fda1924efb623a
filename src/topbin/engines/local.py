"""The engine of one machine: threads, since reading and sorting leave the interpreter's lock."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial

from topbin.core.checks import check_count
from topbin.data.formats.duck import interrupt
from topbin.engines.engine import Part, Shared, Sum, added


class Local(AbstractContextManager["Local"]):
    """Parts counted by as many threads as there are cores, or `threads`.

    >>> Local(threads=2).total(lambda shared, part: shared + part, [1, 2], 100)
    203
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = check_count(threads or os.cpu_count() or 1, "threads")

    def total(
        self, task: Callable[[Shared, Part], Sum], parts: Sequence[Part], shared: Shared
    ) -> Sum:
        """The sum of `task(shared, part)`; the first error stops parts that have not started."""
        pool = ThreadPoolExecutor(self.threads)
        try:
            found: Sum = added(list(pool.map(partial(task, shared), parts)))
        except KeyboardInterrupt:
            interrupt()  # threads do not hear it
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return found

    def __exit__(self, *error: object) -> None:
        """Nothing to close."""
