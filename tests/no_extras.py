"""Make a process like a plain install: the packages of the extras cannot be imported.

As a pytest plugin (`-p no_extras`) it does so for a whole run, and says at its end what got in.
"""

import sys

EXTRAS = (
    "torch", "safetensors", "transformers", "tokenizers", "lightgbm", "xgboost", "catboost",
    "dask", "distributed", "pyspark", "starlette", "uvicorn",
)  # fmt: skip


class Blind:
    """A finder that does not see the extras; else as the one it stands for."""

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in EXTRAS else self.finder.find_spec(name, path)

    def __getattr__(self, name):
        return getattr(self.finder, name)


def got_in():
    return [name for name in EXTRAS if name in sys.modules]


def go_blind():
    """Not when this file is imported, as collecting it for its examples does that too."""
    sys.meta_path[:] = map(Blind, sys.meta_path)


def pytest_configure():
    """Few random examples: what is asked here is what can be imported, not values."""
    from hypothesis import settings

    settings.register_profile("few", derandomize=True, deadline=None, max_examples=5)
    settings.load_profile("few")
    go_blind()


def pytest_sessionfinish(session):
    if got_in():
        session.exitstatus = 3
