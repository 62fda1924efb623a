"""A Dask cluster without workers, or with one that is stopped, is noticed and given up on."""

import os
import signal
import time

import pytest
from coded import fails

from topbin.engines import dask
from topbin.engines.dask import Dask

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, memory_limit=0
    ) as cluster:
        yield cluster


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(dask, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(dask, "SAY_SECONDS", 4.0)
    monkeypatch.setattr(dask, "GIVE_UP_SECONDS", 6.0)


@pytest.mark.usefixtures("impatient")
def test_workers_that_are_slow_stopped_or_gone(cluster):
    """A silent wait without end, in all cases but the first.

    The tasks are local, so that workers get their code: they cannot import this module.
    """

    def double(shared, part):
        return shared * part

    def sleep(shared, part):
        time.sleep(part)
        return part

    def own_timeout(shared, part):
        raise TimeoutError("of the task")

    (process,) = (worker.process.pid for worker in cluster.workers.values())
    with Dask(cluster.scheduler_address) as engine:
        while not engine._client.scheduler_info()["workers"]:  # asked for every two seconds
            time.sleep(0.1)
        assert engine.total(double, [1, 2], 10) == 30
        assert engine.total(sleep, [7], 0) == 7  # a worker that answers is waited for
        with pytest.raises(TimeoutError, match="of the task"):
            engine.total(own_timeout, [1], 0)
        os.kill(process, signal.SIGSTOP)
        try:
            words = "none of 1 Dask workers has answered"
            with pytest.warns(UserWarning, match=words), fails("TB402", words, "given up"):
                engine.total(sleep, [60], 0)
        finally:
            os.kill(process, signal.SIGCONT)
        cluster.scale(0)
        while cluster.scheduler.workers:
            time.sleep(0.1)
        words = "no Dask worker for"
        with pytest.warns(UserWarning, match=words), fails("TB402", words, "dask worker ADDRESS"):
            engine.total(double, [1], 0)
