"""Twin rows: found by value, whatever the bits and the form of the matrix."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from topbin.core import hashing
from topbin.core.hashing import Twins, find_twins

X_P = np.array([[1.0, 0.0], [2.0, 3.0], [4.0, -0.0], [4.0, 0.0]])
X_U = np.array([[4.0, 0.0], [2.0, 3.0], [9.0, 9.0], [9.0, 9.0]])


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_rows_are_counted(kind):
    assert find_twins(kind(X_P), kind(X_U)) == Twins(n_p=4, rows=3, distinct=2, usual=0.5)
    assert find_twins(kind(X_P), kind(X_U + 10)).rows == 0


def test_missing_values_are_equal_whatever_their_bits():
    odd_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    assert find_twins(np.array([[np.nan, 1.0]]), np.array([[odd_nan, 1.0]])).rows == 1


def test_a_long_table_is_read_in_blocks(monkeypatch):
    whole = find_twins(X_P, X_U)
    monkeypatch.setattr(hashing, "CELLS", 6)
    assert find_twins(X_P, X_U) == whole


def test_copies_that_are_as_frequent_among_the_unlabeled_are_not_unusual():
    assert not Twins(n_p=100, rows=60, distinct=5, usual=0.5).are_unusual
    assert Twins(n_p=100, rows=70, distinct=5, usual=0.5).are_unusual
    assert not Twins(n_p=100, rows=0, distinct=0, usual=0.0).are_unusual
