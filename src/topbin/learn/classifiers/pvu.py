"""PvUClassifier: positives against unlabeled, the plain baseline, over any model."""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from topbin.learn.classifiers.base import PUClassifier


@dataclass(eq=False, repr=False, kw_only=True)
class PvUClassifier(PUClassifier):
    """Separate positives from unlabeled rows, once, and correct the probabilities by α.

    Parameters
    ----------
    estimator, plan, preset, method, confidence, positive, negative, random_state, n_jobs,
    time_limit, on_event
        As in every classifier here: see `topbin.learn.classifiers.base.PUClassifier`.
    alpha
        The share of positives among the unlabeled. None: read from the classifier's own scores.
    memory
        For tables: a mapping that keeps finished steps, as in `TEDnClassifier`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(4, 1, (200, 2)), rng.normal(0, 1, (100, 2))]
    >>> s = np.r_[np.ones(100), np.zeros(200)]      # 100 of the 200 unlabeled are positive
    >>> PvUClassifier().fit(X, s).predict([[4.0, 4.0], [0.0, 0.0]])
    array([1., 0.])
    """

    alpha: float | None = None
    memory: MutableMapping[str, Any] | None = None
