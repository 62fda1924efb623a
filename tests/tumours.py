"""Real rows with hidden labels: scikit-learn's breast tumours, 100 malignant ones known."""

import numpy as np
from sklearn.datasets import load_breast_cancer

TRUTH = 112 / 469


def tumours(seed=0):
    """A frame with an id, a label column `known`, and everything else a feature."""
    data = load_breast_cancer(as_frame=True).frame
    malignant = np.flatnonzero(data.pop("target") == 0)
    data.insert(0, "case", [f"c{i:04d}" for i in range(len(data))])
    known = np.random.default_rng(seed).choice(malignant, 100, replace=False)
    data["known"] = np.isin(np.arange(len(data)), known).astype(int)
    return data


def means(seed=0):
    """The same rows with a third of the columns, for half the time of a fit."""
    return tumours(seed).iloc[:, [*range(11), -1]]


def hidden_truth():
    """For each row, whether it is malignant; for audits, which ask a person."""
    return load_breast_cancer().target == 0
