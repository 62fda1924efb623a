"""Rooms whose extra is not installed are left out of the doctests, not failed."""

from importlib.util import find_spec

import pytest

TORCH_ROOMS = [
    *(
        f"src/topbin/learn/{name}.py"
        for name in (
            "nets",
            "net_fitting",
            "backends/torch",
            "backends/checkpoint",
            "backends/distributed",
        )
    ),
]
TORCH_EXAMPLES = ("classifiers.UPUClassifier", "classifiers.NNPUClassifier")
collect_ignore_glob = [] if find_spec("torch") else TORCH_ROOMS


def pytest_collection_modifyitems(items):
    """Without torch, examples that train a net are skipped."""
    for item in items:
        if item.name.endswith(TORCH_EXAMPLES) and not find_spec("torch"):
            item.add_marker(pytest.mark.skip(reason="needs torch"))
