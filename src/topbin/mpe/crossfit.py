"""Cross-fitting: every row is scored by a model that never saw it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from topbin.core.errors import InputError
from topbin.core.labels import Mask

Floats = NDArray[np.float64]
# Below this many cells a model runs faster on one thread than it can wake a second one.
SMALL_CELLS = 2_000_000


def crossfit_scores(
    estimator: Any,
    X: Any,
    is_positive: Mask,
    *,
    cv: int = 5,
    repeats: int = 1,
    random_state: int = 0,
    ranks: bool = True,
    sample_weight: Floats | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Out-of-fold scores of every row, a mean over `repeats` of shuffled stratified folds.

    Models of different folds need not share a scale, so with `ranks` each score is its rank
    within its fold, between 0 and 1; without, it is the model's own score.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X, is_positive = np.repeat([[1.0], [-1.0]], 10, axis=0), np.repeat([True, False], 10)
    >>> scores = crossfit_scores(LogisticRegression(), X, is_positive)
    >>> bool(scores[is_positive].min() > scores[~is_positive].max())
    True
    """
    jobs = [
        (repeat, train, test)
        for repeat in range(repeats)
        for train, test in stratified_folds(is_positive, cv, random_state + repeat)
    ]
    small = X.shape[0] * X.shape[1] <= SMALL_CELLS
    with threadpool_limits(limits=1 if small else None):
        found = Parallel(n_jobs=n_jobs)(
            delayed(fit_and_score)(
                estimator, X, is_positive, train, test, random_state + repeat, sample_weight
            )
            for repeat, train, test in jobs
        )
    scores = np.zeros(is_positive.size)
    for (_, _, test), part in zip(jobs, found, strict=True):
        scores[test] += rankdata(part) / part.size if ranks else part
    return scores / repeats


def stratified_folds(
    is_positive: Mask, cv: int, random_state: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Train and test rows; fewer folds than asked when a side has fewer rows."""
    n_p = int(is_positive.sum())
    folds = min(cv, n_p, is_positive.size - n_p)
    if folds < 2:
        raise InputError(
            "TB003",
            f"cross-fitting needs 2 positives and 2 unlabeled rows; got n_samples = "
            f"{is_positive.size} with {n_p} positive. Score the rows with a model of your own and "
            "use topbin.estimate_alpha.",
        )
    splitter = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    yield from splitter.split(np.zeros(is_positive.size), is_positive)


def fit_and_score(
    estimator: Any,
    X: Any,
    is_positive: Mask,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    seed: int,
    sample_weight: Floats | None = None,
) -> Floats:
    """Fit a fresh copy on the training rows and score the test rows."""
    model = clone(estimator)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    weight = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
    model.fit(_safe_indexing(X, train), is_positive[train].astype(int), **weight)
    return positive_scores(model, _safe_indexing(X, test))


def positive_scores(model: Any, X: Any) -> Floats:
    """The fitted model's score of class 1: its probability, or its decision function."""
    if hasattr(model, "predict_proba"):
        scores = np.asarray(model.predict_proba(X))[:, list(model.classes_).index(1)]
    elif hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X))
    else:
        raise InputError(
            "TB013",
            f"{type(model).__name__} has neither predict_proba nor decision_function, so it "
            "cannot score rows. Use a classifier that has one of them.",
        )
    return scores.astype(np.float64, copy=False)
