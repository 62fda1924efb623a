"""`import topbin` and `topbin --help` load nothing heavy."""

import functools
import subprocess
import sys

import pytest

import topbin

HEAVY = {"torch", "matplotlib", "pandas", "duckdb", "dask", "pyspark", "lightgbm", "polars"}


@functools.cache
def modules_after(statement):
    code = f"{statement}\nimport sys\nprint(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_bare_import_loads_nothing_heavy():
    assert not HEAVY & modules_after("import topbin")


@pytest.mark.parametrize(
    "statement",
    [
        "import topbin; topbin.estimate_alpha([1.0, 2.0], [0.0, 1.0])",
        "import topbin; topbin.AlphaEstimator; topbin.Tails; topbin.mpe",
    ],
)
def test_first_use_loads_nothing_heavy_that_scikit_learn_does_not(statement):
    theirs = modules_after("import sklearn.base")  # newer ones import pandas where it is installed
    assert not (HEAVY & modules_after(statement)) - theirs


def test_the_bare_import_and_the_help_load_no_array_library():
    assert not {"numpy", "scipy", "sklearn"} & modules_after("import topbin")
    assert not {"numpy", "scipy", "sklearn"} & modules_after("import topbin.cli")


def test_every_public_name_resolves():
    assert {"estimate_alpha", "Tails", "AlphaEstimate", "AlphaEstimator", "mpe"} <= set(dir(topbin))
    for name in dir(topbin):
        assert getattr(topbin, name) is not None
