"""Checkpoints that are damaged, forged or do not fit on the disk: TB017 or TB105, and no change."""

import json
import resource
from importlib.util import find_spec

import numpy as np
import pytest
from coded import fails

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
rng = np.random.default_rng(0)
X = np.r_[rng.normal(2, 1, (20, 3)), rng.normal(0, 1, (20, 3))].astype("float32")


def backend():
    from torch import nn

    from topbin.learn.backends.torch import torch_backend
    from topbin.learn.learners import PVU

    return torch_backend(PVU, X, net=nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1)))


@pytest.fixture
def path(tmp_path):
    from topbin.learn.backends.checkpoint import keep
    from topbin.learn.learners import PVU
    from topbin.learn.loop import train

    model = backend()
    for _ in keep(tmp_path / "c", model, train(model, PVU, X[:15], X[15:], epochs=2)):
        pass
    return tmp_path / "c"


def forge(path, change):
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    change(header["__metadata__"])
    told = json.dumps(header).encode()
    path.write_bytes(len(told).to_bytes(8, "little") + told + content[8 + size :])


def first_epoch(**values):
    def change(header):
        history = json.loads(header["history"])
        history[0] |= values
        header["history"] = json.dumps(history)

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("history"),
        lambda header: header.update(history="{"),
        lambda header: header.update(history="3"),
        lambda header: header.update(settings="[]"),
        lambda header: header.update(plain="[1]"),
        lambda header: header.update(plain='{"optimizer.99.step": 1}'),
        lambda header: header.update(plain='{"optimizer.x": 1}'),
        first_epoch(loss="low"),
        first_epoch(epoch=1.5),
        first_epoch(alarms=[{"code": 1}]),
        first_epoch(alarms=None),
    ],
)
def test_missing_and_mistyped_fields_are_said_and_the_net_is_as_it_was(path, change):
    from topbin.learn.backends.checkpoint import load

    forge(path, change)
    model = backend()
    before = model.scores(X)
    with fails("TB017"):
        load(path, model)
    np.testing.assert_array_equal(model.scores(X), before)


def test_a_full_disk_leaves_the_last_checkpoint(path):
    from topbin.learn.backends.checkpoint import load, save

    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with fails("TB105", "larger than allowed"):
            save(path, backend(), [])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert len(load(path, backend())) == 2
