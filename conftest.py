"""Rooms whose extra is not installed are left out of the doctests, not failed."""

from importlib.util import find_spec

TORCH_ROOMS = [
    "src/topbin/store/safe/nets.py",
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
collect_ignore_glob = [] if find_spec("torch") else TORCH_ROOMS
