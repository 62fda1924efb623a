"""PvUClassifier: positives against unlabeled, the plain baseline, over any model."""

from dataclasses import dataclass

from topbin.learn.classifiers.base import PUClassifier


@dataclass(eq=False, repr=False, kw_only=True)
class PvUClassifier(PUClassifier):
    """Separate positives from unlabeled rows, once, and correct the probabilities by α.

    `alpha` is the share of positives among the unlabeled; None: read from the model's own scores.
    Other parameters are those of every classifier: see `topbin.learn.classifiers.base`.

    >>> import numpy as np
    >>> X, y = np.repeat([[1.0], [0.0]], [200, 100], axis=0), np.repeat([1, 0], [100, 200])
    >>> PvUClassifier().fit(X, y).predict([[1.0], [0.0]])      # half of the unlabeled are 1.0
    array([1, 0])
    """

    alpha: float | None = None
