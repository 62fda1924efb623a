"""The Dask engine: parts on the workers of a cluster, sums added in a tree (extra `dask`)."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from threading import Event
from time import monotonic
from typing import Any

from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.engines.engine import BRANCH, REACH_SECONDS, PartT, Shared, Sum, added

LOOK_SECONDS = 2.0
SAY_SECONDS = 10.0
GIVE_UP_SECONDS = 300.0  # workers of a busy cluster may have to be waited for


class Dask(AbstractContextManager["Dask"]):
    """A cluster at `address`, or one of processes of this machine, started and ended here.

    If a worker dies, its parts, and the value that they share, are computed again on another one.
    """

    def __init__(self, address: str | None = None) -> None:
        self._distributed = require("distributed", extra="dask", caller='engine "dask"')
        try:
            settings = {"timeout": REACH_SECONDS, "set_as_default": False}
            self._client = self._distributed.Client(address, **settings)
        except (OSError, ValueError) as error:
            raise InputError(
                "TB401",
                f'no Dask scheduler answers at "{address}" within {REACH_SECONDS} s. '
                "Start one with `dask scheduler`, or check the address it printed.",
            ) from error

    def total(
        self, task: Callable[[Shared, PartT], Sum], parts: Sequence[PartT], shared: Shared
    ) -> Sum:
        """The sum of `task(shared, part)` over the cluster."""
        # Submitted, not scattered: a scattered value is lost with the workers that hold it.
        value = self._client.submit(lambda given: given, shared, pure=False)
        sums = [self._client.submit(task, value, part, pure=False) for part in parts]
        while len(sums) > 1:
            groups = [sums[i : i + BRANCH] for i in range(0, len(sums), BRANCH)]
            sums = [self._client.submit(added, group, pure=False) for group in groups]
        lost = self._distributed.KilledWorker, self._distributed.client.FutureCancelledError
        try:
            result: Sum = self._result(sums[0])
        except lost as error:
            raise InputError(
                "TB402",
                f"Dask gave up: {error}. A worker that dies repeatedly is often out of "
                "memory; see its log.",
            ) from error
        return result

    def _result(self, future: Any) -> Any:
        """What a future gives; without any worker, a warning after seconds, TB402 after minutes."""
        heard, since, is_said = None, monotonic(), False
        done = Event()
        future.add_done_callback(lambda _: done.set())
        while not done.wait(LOOK_SECONDS):
            workers = self._client.scheduler_info()["workers"].values()
            last = max((worker["last_seen"] for worker in workers), default=None)
            if last != heard:
                heard, since, is_said = last, monotonic(), False
            silent, seen = monotonic() - since, "there has been no Dask worker"
            if workers:
                seen = f"none of {len(workers)} Dask workers has answered"
            if silent > GIVE_UP_SECONDS:
                raise InputError(
                    "TB402",
                    f"{seen} for {silent:.0f} s, so the work was given up. Start workers with "
                    "`dask worker ADDRESS`, or look at the logs of those that there are.",
                )
            if silent > SAY_SECONDS and not is_said:
                is_said = True
                until = f"waiting until {GIVE_UP_SECONDS:g} s have passed"
                warnings.warn(f"{seen} for {silent:.0f} s; {until}.", stacklevel=3)
        return future.result()

    def __exit__(self, *error: object) -> None:
        """Leave the cluster; end it if it was started here."""
        self._client.close()
