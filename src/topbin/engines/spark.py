"""The Spark engine: parts on the executors of a cluster, sums added in a tree (extra `spark`)."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from operator import add
from socket import create_connection

from topbin.core.errors import InputError
from topbin.core.optional import require
from topbin.engines.engine import REACH_SECONDS, PartT, Shared, Sum

QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


class Spark(AbstractContextManager["Spark"]):
    """A cluster whose master is `address`, or `local[*]`; a session that already runs is used.

    Spark computes a part that failed again, up to `spark.task.maxFailures` times.
    """

    def __init__(self, address: str | None = None) -> None:
        sql = require("pyspark.sql", extra="spark", caller='engine "spark"')
        self._errors = require("pyspark.errors", extra="spark", caller='engine "spark"')
        _check_reached(address or "")
        self._is_borrowed = sql.SparkSession.getActiveSession() is not None
        builder = sql.SparkSession.builder.appName("topbin").config(map=QUIET)
        if not self._is_borrowed:
            builder = builder.master(address or "local[*]")
            if (address or "local").startswith("local"):
                # Else workers run whatever "python3" is first on PATH, which may lack topbin.
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        try:
            self._session = builder.getOrCreate()
        except (self._errors.PySparkException, OSError) as error:
            raise InputError(
                "TB401", f'Spark cannot start with master "{address}": {error}. It needs Java 17.'
            ) from error

    def total(
        self, task: Callable[[Shared, PartT], Sum], parts: Sequence[PartT], shared: Shared
    ) -> Sum:
        """The sum of `task(shared, part)` over the cluster."""
        context = self._session.sparkContext
        value = context.broadcast(shared)
        spread = context.parallelize(parts, len(parts))
        protocol = require("py4j.protocol", extra="spark", caller='engine "spark"')
        try:
            result: Sum = spread.map(lambda part: task(value.value, part)).treeReduce(add)
        except (protocol.Py4JJavaError, self._errors.PySparkException) as error:
            reason = str(error).strip().splitlines()[0]
            raise InputError("TB402", f"Spark gave up on a part: {reason}") from error
        finally:
            value.unpersist()
        return result

    def __exit__(self, *error: object) -> None:
        """End the session if it was started here."""
        if not self._is_borrowed:
            self._session.stop()


def _check_reached(address: str) -> None:
    """Try to reach a standalone master, or one of several: Spark itself waits a minute or more.

    >>> _check_reached("spark://localhost:9")
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB401 no Spark master answers at "spark://localhost:9"...
    """
    if not address.startswith("spark://"):
        return
    for place in address.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            with create_connection((host, int(port)), timeout=REACH_SECONDS):
                return
        except (OSError, ValueError):
            continue
    raise InputError(
        "TB401",
        f'no Spark master answers at "{address}". Start one with start-master.sh, or check the '
        "address it printed.",
    )
