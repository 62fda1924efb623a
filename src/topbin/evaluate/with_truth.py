"""Metrics that read true labels: for benchmarks and simulations, never for an estimator.

Accuracy, AUC and the Brier score are scikit-learn's; the expected calibration error, which it
lacks, is that of Naeini, Cooper & Hauskrecht (AAAI 2015) with bins of equal width.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, brier_score_loss, roc_auc_score

from topbin.core import AlphaEstimate, InputError
from topbin.core.checks import Scores, check_count, check_fraction, check_scores

Truth = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Performance:
    """How well probabilities of being positive fit the true labels; AUC is None for one class."""

    accuracy: float
    auc: float | None
    brier: float
    ece: float

    def to_dict(self) -> dict[str, float | None]:
        """Plain Python values, ready for JSON."""
        return asdict(self)


def performance(y: Any, probability: Any, *, threshold: float = 0.5) -> Performance:
    """All figures at once.

    Parameters
    ----------
    y
        True labels: 1 positive, 0 negative.
    probability
        Probabilities of being positive, in the same order.
    threshold
        For the accuracy.

    Returns
    -------
    Performance
        Accuracy, AUC, Brier score and calibration error.

    Examples
    --------
    >>> performance([1, 1, 0, 0], [1.0, 1.0, 0.0, 0.0])
    Performance(accuracy=1.0, auc=1.0, brier=0.0, ece=0.0)
    """
    truth = _check_truth(y)
    return Performance(
        accuracy(truth, probability, threshold=threshold),
        auc(truth, probability) if 0 < truth.sum() < truth.size else None,
        brier(truth, probability),
        ece(truth, probability),
    )


def accuracy(y: Any, scores: Any, *, threshold: float = 0.5) -> float:
    """The share of rows on the right side of the threshold; a score at it counts as positive.

    Parameters
    ----------
    y
        True labels: 1 positive, 0 negative.
    scores
        Scores in the same order.
    threshold
        Rows that score at least this are called positive.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> accuracy([1, 0, 0, 0], [0.9, 0.5, 0.2, 0.1])
    0.75
    """
    truth, clean = _pair(y, scores)
    return float(accuracy_score(truth, clean >= threshold))


def auc(y: Any, scores: Any) -> float:
    """How often a positive scores above a negative; ties count half.

    Parameters
    ----------
    y, scores
        As in `accuracy`.

    Returns
    -------
    float
        From 0 to 1; TB003 if there is only one class.

    Examples
    --------
    >>> auc([1, 1, 0, 0], [3.0, 1.0, 1.0, 0.0])      # 2 and 1.5 wins of 2
    0.875
    """
    truth, clean = _pair(y, scores)
    if not 0 < truth.sum() < truth.size:
        raise InputError("TB003", "all true labels are the same; AUC needs both kinds.")
    return float(roc_auc_score(truth, clean))


def brier(y: Any, probability: Any) -> float:
    """The mean squared distance of probability and truth.

    Parameters
    ----------
    y, probability
        As in `performance`.

    Returns
    -------
    float
        From 0, the best, to 1.

    Examples
    --------
    >>> brier([1, 0], [0.5, 0.0])
    0.125
    """
    truth, clean = _pair(y, probability, unit=True)
    return float(brier_score_loss(truth, clean, pos_label=1))


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
    truth, clean = _pair(y, probability, unit=True)
    check_count(bins, "bins")
    at = np.minimum((clean * bins).astype(np.int64), bins - 1)
    # A bin's gap times its rows is |Σ truth − Σ probability|, so no bin can be divided by zero.
    gaps = np.bincount(at, truth, bins) - np.bincount(at, clean, bins)
    return float(np.abs(gaps).sum() / truth.size)


def alpha_error(alpha: Any, truth: float) -> float:
    """|α̂ − α|, for an `AlphaEstimate` or a number.

    Parameters
    ----------
    alpha
        The estimate, or its α.
    truth
        The true share.

    Returns
    -------
    float
        The distance.

    Examples
    --------
    >>> alpha_error(0.5, 0.25)
    0.25
    """
    value = alpha.alpha if isinstance(alpha, AlphaEstimate) else alpha
    closed = {"low_open": False, "high_open": False}
    return abs(check_fraction(value, "alpha", **closed) - check_fraction(truth, "truth", **closed))


def _pair(y: Any, scores: Any, *, unit: bool = False) -> tuple[Truth, Scores]:
    truth, clean = _check_truth(y), check_scores(scores, "scores")
    if truth.size != clean.size:
        raise InputError(
            "TB005", f"{truth.size:,} true labels and {clean.size:,} scores; they must pair up."
        )
    if unit and not 0 <= clean.min() <= clean.max() <= 1:
        raise InputError(
            "TB009",
            f"this metric needs probabilities in [0, 1]; got {clean.min():g} to {clean.max():g}.",
        )
    return truth, clean


def _check_truth(y: Any) -> Truth:
    values = check_scores(y, "y")
    if not np.isin(values, (0, 1)).all():
        raise InputError("TB002", "true labels must be 1 (positive) or 0 (negative).")
    return values.astype(np.int64)
