"""Rooms whose extra is not installed are left out of the doctests, not failed."""

from importlib.util import find_spec

TORCH_ROOMS = [
    "src/topbin/learn/nets/*",
    "src/topbin/learn/classifiers/nets.py",
    "src/topbin/store/safe/nets.py",
    *(
        f"src/topbin/learn/backends/{name}.py"
        for name in (
            "torch",
            "tensors",
            "losses",
            "optim",
            "checkpoint",
            "distributed",
            "needs_torch",
        )
    ),
]
collect_ignore_glob = [] if find_spec("torch") else TORCH_ROOMS
