"""Logistic regression for words, in which a word that separates the classes is cheap to use.

After Wang & Manning, "Baselines and Bigrams" (ACL 2012): each column is scaled by how much more
often the word is in one class than in the other, mixed with the same scale for all.
"""

from typing import Any, Self

import numpy as np
from sklearn.linear_model import LogisticRegression

from topbin.core.checks import Floats
from topbin.core.labels import Mask

# The share of a column's scale that follows its log odds; the rest is the same for all columns.
# Chosen with C on splits that are not reported (bench/results/word_settings.md).
MIX = 0.3
ALWAYS = 0.9  # a column that is not 0 in so many rows holds numbers; that it is there says nothing


class WordRegression(LogisticRegression):  # type: ignore[misc]  # scikit-learn ships no types
    """Logistic regression whose penalty on a column is smaller, the more the column says alone.

    A table of words has more columns than rows, and most of them say nothing. How often a word is
    in each class is a first guess at which ones do. `coef_` is for the table as it is given.

    Parameters
    ----------
    C, max_iter, ...
        As in scikit-learn's `LogisticRegression`.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 1], [1, 0], [0, 1], [0, 0]])        # the first word is the class
    >>> model = WordRegression().fit(X, [1, 1, 0, 0])
    >>> plain = LogisticRegression().fit(X, [1, 1, 0, 0])
    >>> bool(model.coef_[0, 0] > plain.coef_[0, 0])
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to a sparse table and two classes."""
        scale = column_scale(X, np.asarray(y) == np.max(y), sample_weight)
        super().fit(X.multiply(scale).tocsr(), y, sample_weight)
        self.coef_: Floats = self.coef_ * scale
        return self


def column_scale(
    X: Any, is_positive: Mask, weight: Floats | None = None, *, mix: float = MIX
) -> Floats:
    """What each column is multiplied by: around 1, more where it separates the classes on its own.

    Parameters
    ----------
    X
        A sparse table.
    is_positive
        Which rows are of the positive class.
    weight
        Of each row.
    mix
        The share of the scale that follows how much more often a column is not 0 in one class than
        in the other; the rest is the same for all columns.

    Returns
    -------
    array
        One number per column. A column that is hardly ever 0 has 1: it holds numbers.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 1, 0, 5], [0, 1, 0, 6], [0, 0, 1, 7], [0, 0, 1, 8]])
    >>> column_scale(X, np.array([True, True, False, False])).round(2)
    array([0.92, 1.04, 1.04, 1.  ])
    """
    weight = np.ones(is_positive.size) if weight is None else np.asarray(weight, np.float64)
    present = (X != 0).T
    sides = (is_positive, ~is_positive)
    shares = [(present @ (weight * side) + 1) / (weight[side].sum() + 2) for side in sides]
    odds = np.abs(np.log(shares[0] / shares[1]))
    is_word = np.asarray(present.mean(axis=1)).ravel() < ALWAYS
    usual = odds[is_word].mean() if odds[is_word].any() else 1.0
    return np.where(is_word, 1 - mix + mix * odds / usual, 1.0)
