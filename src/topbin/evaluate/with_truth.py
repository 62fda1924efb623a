"""Metrics that read true labels: for audited rows and simulations, never for an estimator.

Accuracy, AUC and the Brier score are scikit-learn's; the expected calibration error, which it
lacks, is that of Naeini, Cooper & Hauskrecht (AAAI 2015) with bins of equal width.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, brier_score_loss, roc_auc_score

from topbin.core import InputError
from topbin.core.checks import Scores, check_count, check_scores
from topbin.evaluate.measure import Finding

Truth = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Performance(Finding):
    """How well probabilities of being positive fit the true labels; AUC is None for one class."""

    accuracy: float
    auc: float | None
    brier: float
    ece: float


def performance(y: Any, probability: Any, *, threshold: float = 0.5) -> Performance:
    """All figures at once.

    Parameters
    ----------
    y
        True labels: 1 positive, 0 negative.
    probability
        Probabilities of being positive, in the same order.
    threshold
        For the accuracy: rows at or above it are called positive.

    Returns
    -------
    Performance
        Accuracy, AUC, Brier score and calibration error.

    Examples
    --------
    >>> performance([1, 1, 0, 0], [1.0, 1.0, 0.0, 0.0])
    Performance(accuracy=1.0, auc=1.0, brier=0.0, ece=0.0)
    """
    truth, clean = _check(y, probability)
    return Performance(
        accuracy=float(accuracy_score(truth, clean >= threshold)),
        auc=float(roc_auc_score(truth, clean)) if 0 < truth.sum() < truth.size else None,
        brier=float(brier_score_loss(truth, clean, pos_label=1)),
        ece=ece(truth, clean),
    )


def ece(y: Any, probability: Any, *, bins: int = 15) -> float:
    """How far, on average over rows, a bin's mean probability is from its share of positives.

    Parameters
    ----------
    y, probability
        As in `performance`.
    bins
        How many bins of equal width.

    Returns
    -------
    float
        From 0, the best, to 1.

    Examples
    --------
    >>> ece([1, 0, 1, 1], [0.25, 0.25, 1.0, 1.0])    # half the rows are off by ¼
    0.125
    """
    truth, clean = _check(y, probability)
    check_count(bins, "bins")
    at = np.minimum((clean * bins).astype(np.int64), bins - 1)
    # A bin's gap times its rows is |Σ truth − Σ probability|, so no bin can be divided by zero.
    gaps = np.bincount(at, truth, bins) - np.bincount(at, clean, bins)
    return float(np.abs(gaps).sum() / truth.size)


def _check(y: Any, probability: Any) -> tuple[Truth, Scores]:
    truth, clean = check_scores(y, "y"), check_scores(probability, "probability")
    if not np.isin(truth, (0, 1)).all():
        raise InputError("TB002", "true labels must be 1 (positive) or 0 (negative).")
    if truth.size != clean.size:
        raise InputError(
            "TB005",
            f"{truth.size:,} true labels and {clean.size:,} probabilities; they must pair up.",
        )
    if not 0 <= clean.min() <= clean.max() <= 1:
        raise InputError(
            "TB009",
            f"this metric needs probabilities in [0, 1]; got {clean.min():g} to {clean.max():g}.",
        )
    return truth.astype(np.int64), clean
