"""Five UCI tables with the positive classes and sizes of Garg et al. 2021, appendix."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from topbin_bench.tasks.files import Source, data_file, fetch, unreachable
from topbin_bench.tasks.split import Pool, Split, Truth, draw, fitting, standardize, thirds
from topbin_bench.tasks.task import Task

ALPHAS = (0.5, 0.1, 0.3, 0.7, 0.9)
ARCHIVE = "https://archive.ics.uci.edu/ml/machine-learning-databases"
OPENML = {"concrete": 4353, "pageblock": 30}  # UCI serves these in a form that pandas cannot read
SOURCES = {
    "mushroom": (
        Source(
            f"{ARCHIVE}/mushroom/agaricus-lepiota.data",
            "sha256:e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
        ),
    ),
    "spambase": (
        Source(
            f"{ARCHIVE}/spambase/spambase.data",
            "sha256:b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
        ),
    ),
    "landsat": (
        Source(f"{ARCHIVE}/statlog/satimage/sat.trn", "md5:2c5ba2900da0183cab2c41fdb279fa5b"),
        Source(f"{ARCHIVE}/statlog/satimage/sat.tst", "md5:02c995991fecc864e809b2c4c42cd983"),
    ),
}
ABOUT = {
    "concrete": "strength above its mean",
    "mushroom": "poisonous",
    "landsat": "class above 3",
    "pageblock": "not text",
    "spambase": "spam",
}
IS_POSITIVE: dict[str, Callable[[Any], Any]] = {
    "concrete": lambda strength: strength > strength.mean(),
    "mushroom": lambda kind: kind == "p",
    "landsat": lambda kind: kind > 3,
    "pageblock": lambda kind: kind != 1,
    "spambase": lambda kind: kind == 1,
}


def read_frame(name: str) -> tuple[pd.DataFrame, "pd.Series[Any]"]:
    """The features and the column that defines the positive class."""
    path = data_file(f"{name}/{name}.csv.gz")
    if path is None:
        return fetch_frame(name)
    frame = pd.read_csv(path)
    label = frame.pop("strength_mpa" if name == "concrete" else "class")
    return frame.drop(columns="split", errors="ignore"), label


def fetch_frame(name: str) -> tuple[pd.DataFrame, "pd.Series[Any]"]:
    """The same from the official source; rows may come in another order."""
    if name in OPENML:
        return fetch_openml_frame(OPENML[name])
    separator = " " if name == "landsat" else ","
    parts = [pd.read_csv(fetch(s), sep=separator, header=None) for s in SOURCES[name]]
    frame = pd.concat(parts, ignore_index=True)
    label = frame.pop(frame.columns[0 if name == "mushroom" else -1])
    return frame.rename(columns=str), label


def fetch_openml_frame(number: int) -> tuple[pd.DataFrame, "pd.Series[Any]"]:
    """A table of OpenML by its number; the last column is the target."""
    from sklearn.datasets import fetch_openml

    with unreachable(f"https://www.openml.org/d/{number}"):
        frame = fetch_openml(data_id=number, as_frame=True, parser="auto").frame
    label = frame.pop(frame.columns[-1])
    return frame, pd.to_numeric(label)


@cache
def load(name: str) -> Pool:
    """A table as numbers (categories one-hot) with its true labels."""
    frame, label = read_frame(name)
    X = pd.get_dummies(frame).to_numpy(np.float64)
    return Pool(X, IS_POSITIVE[name](label).to_numpy())


def make(name: str, alpha: float, rng: np.random.Generator) -> tuple[Split, Truth]:
    """keep/3 rows of P and of U for training, keep/6 of each held out, all others for the test."""
    pool = load(name)
    return standardize(*draw(pool, fitting(thirds(pool), alpha, pool), alpha, rng))


UCI = tuple(
    Task(name, "uci", "table", f"UCI {name}: {about}", partial(make, name), ALPHAS)
    for name, about in ABOUT.items()
)  # fmt: skip
