"""Substrates of γ-secretase (Breimann et al., AAanalysis): 63 known, 631 proteins unlabeled.

A natural PU problem: nobody knows α, so there are estimates to report but no errors.
"""

from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from topbin_bench.tasks.files import data_file, missing
from topbin_bench.tasks.split import Split, Truth, standardize
from topbin_bench.tasks.task import Task

FILE = "gsec_pu/gsec_pu.csv.gz"
PARTS = ("jmd_n", "tmd", "jmd_c")
HELD_OUT = 0.2
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


def composition(sequence: str) -> list[float]:
    """The share of each amino acid.

    >>> composition("AAC")[:2] == [2 / 3, 1 / 3]
    True
    """
    return [sequence.count(letter) / max(1, len(sequence)) for letter in AMINO_ACIDS]


@cache
def load() -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The composition of three parts of each protein, and which proteins are known substrates."""
    path = data_file(FILE)
    if path is None:
        raise missing(FILE)
    frame = pd.read_csv(path)
    columns = [np.array([composition(s) for s in frame[part].fillna("")]) for part in PARTS]
    return np.hstack(columns), (frame["label"] == 1).to_numpy()


def make(_alpha: float, rng: np.random.Generator) -> tuple[Split, Truth]:
    """Hold out a fifth of each sample; α cannot be chosen and is ignored."""
    X, known = load()
    parts = []
    for rows in (np.flatnonzero(known), np.flatnonzero(~known)):
        order, n_held = rng.permutation(rows.size), round(HELD_OUT * rows.size)
        parts.append((rows[np.sort(order[n_held:])], rows[np.sort(order[:n_held])]))
    (p, held_p), (u, held_u) = parts
    return standardize(Split(X[p], X[u], X[held_p], X[held_u]), Truth(None, None, None))


GSEC = (
    Task("gsec_pu", "gsec", "table", "γ-secretase substrates, a natural PU problem", make,
         (float("nan"),)),
)  # fmt: skip
