"""The two labels a classifier answers with, of the kind the user labels rows with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.labels import Labels


def classes_of(labels: Labels, negative: Any = None) -> NDArray[Any]:
    """The label of "not positive" and the label of "positive", in this order always.

    "Not positive" is the negative value if one is given, else the value of the unlabeled rows, else
    (if these are blank or have several values) 0, False or "not …".

    >>> from topbin.core.labels import read_labels
    >>> classes_of(read_labels([1, -1, -1])), classes_of(read_labels([1.0, np.nan]))
    (array([-1,  1]), array([0., 1.]))
    >>> classes_of(read_labels(["yes", "maybe", None, "no"], positive="yes", negative="no"), "no")
    array(['no', 'yes'], dtype='<U3')
    """
    named = [value for value in labels.unlabeled if value is not None]
    other = _opposite(labels.positive)
    if negative is not None:
        other = negative
    elif len(named) == 1:
        other = named[0]
    pair = [other, labels.positive]
    if type(other) is not type(labels.positive):
        return np.array(pair, dtype=object)
    return np.array(pair)


def _opposite(positive: Any) -> Any:
    if isinstance(positive, bool):
        return not positive
    if isinstance(positive, int | float):
        return type(positive)(0 if positive else 1)
    return f"not {positive}"
