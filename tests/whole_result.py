"""The content of a result.json, with all that a run writes."""

import numpy as np

from topbin import Tails
from topbin.mpe import bbe

ESTIMATE = bbe(Tails.from_scores(np.ones(100), np.repeat([1.0, 0.0], 50))).to_dict()
RESULT = {
    "topbin": "0",
    "seed": 0,
    "data": {
        "source": ["a.csv"],
        "hash": "sha256:" + "0" * 64,
        "rows": 200,
        "n_p": 100,
        "n_u": 100,
        "label_note": "1 = positive",
        "features": ["x"],
        "dropped": [],
        "findings": [],
    },
    "preset": "fast",
    "estimate": ESTIMATE,
    "first": ESTIMATE,
    "methods": [],
    "agreement": "methods agree",
    "model": {"class": "TEDnClassifier"},
    "history": [{"epoch": 1, "loss": 0.5, "alpha": None}],
    "sensitivity": [],
    "candidates": {
        "file": "candidates.csv",  # as in results of before, and nobody reads it
        "rows": 3,
        "threshold": 0.5,
        "precision": None,
        "precision_low": None,
        "recall": 0.5,
    },
    "versions": {"numpy": "2.0"},
}
