"""Feature tables: order, scale, compression, and every kind of bad input by its code."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from topbin.core import InputError, hashing
from topbin.mpe import samples
from topbin.mpe.samples import (
    compress,
    read_samples,
    row_order,
    standardize,
    subsample,
    unit_range,
)

# Few values, so that rows repeat; both zeros, so that they must count as one.
tables = arrays(
    np.float64, st.tuples(st.integers(1, 12), st.just(3)), elements=st.sampled_from([-0.0, 0, 1, 2])
)


def spotted(rows, columns, seed=0, share=0.3):
    """A table of normals with many zeros."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < share)


def as_sparse(X, kind=sp.csr_array):
    """The same table with some zeros stored."""
    X = sp.coo_array(np.where(X == 0, 7.0, X))
    X.data[X.data == 7.0] = 0.0
    return kind(X)


@given(tables, st.randoms(use_true_random=False))
def test_order_depends_on_values_alone(X, random):
    shuffle = random.sample(range(len(X)), len(X))
    np.testing.assert_array_equal(X[row_order(X)], X[shuffle][row_order(X[shuffle])])


@given(tables)
def test_sparse_rows_have_the_order_of_dense_rows(X):
    np.testing.assert_array_equal(row_order(X), row_order(as_sparse(X)))


def test_rows_with_the_same_values_in_other_columns_are_told_apart():
    X = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    orders = {tuple(map(tuple, X[list(p)][row_order(X[list(p)])])) for p in ((0, 1, 2), (2, 1, 0))}
    assert len(orders) == 1


def test_order_does_not_depend_on_the_chunks_keys_are_made_in(monkeypatch):
    X = spotted(50, 4)
    whole = row_order(X)
    monkeypatch.setattr(hashing, "CELLS", 8)
    np.testing.assert_array_equal(row_order(X), whole)


@pytest.mark.parametrize("columns", [4, 60])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_array])
def test_sparse_tables_with_stored_zeros_equal_dense_ones(columns, kind):
    X_p, X_u = spotted(90, columns), spotted(70, columns, seed=1)

    def prepared(P, U):
        return compress(standardize(subsample(read_samples(P, U), 40, 0)), 50, 0)

    dense, sparse = prepared(X_p, X_u), prepared(as_sparse(X_p, kind), as_sparse(X_u, kind))
    mixed = prepared(X_p, as_sparse(X_u, kind))
    for other in (sparse, mixed):
        np.testing.assert_array_equal(other.both, dense.both)
        assert other.notes == dense.notes


def test_a_large_sparse_table_is_compressed_without_filling_it(monkeypatch):
    X_p, X_u = as_sparse(spotted(90, 60)), as_sparse(spotted(70, 60, seed=1))
    monkeypatch.setattr(samples, "DENSE_CELLS", 100)
    pair = compress(standardize(read_samples(X_p, X_u)), 5, 0)
    assert pair.both.shape == (160, 5)
    assert pair.notes == ("5 singular directions of 60 features",)


def test_components_keep_the_distances_of_a_table_of_low_rank():
    low_rank = spotted(80, 3, share=1) @ spotted(3, 70, seed=1, share=1)
    pair = standardize(read_samples(low_rank[:50], low_rank[50:]))
    short = compress(pair, 3, 0)
    assert short.both.shape == (80, 3)
    assert short.notes == ("3 principal components of 70 features",)
    gaps = np.linalg.norm(pair.both[0] - pair.both, axis=1)
    np.testing.assert_allclose(np.linalg.norm(short.both[0] - short.both, axis=1), gaps, atol=1e-9)


def test_fewer_rows_than_components_are_enough():
    pair = compress(read_samples(spotted(2, 60, share=1), spotted(1, 60, seed=1, share=1)), 50, 0)
    assert pair.both.shape == (3, 2)


def test_standardizing_gives_unit_spread_and_drops_constants():
    X = np.c_[spotted(50, 2, share=1) * [1e-9, 1e9], np.full(50, 3.0)]
    both = standardize(read_samples(X[:20], X[20:])).both
    np.testing.assert_allclose(both.std(axis=0), [1, 1])
    assert standardize(read_samples(np.ones((3, 2)), np.ones((2, 2)))).both.shape == (5, 1)


def test_values_near_the_limits_of_floats_do_not_overflow():
    X = np.array([[1e308, 1e-308], [-1e308, 3e-308], [0.0, 2e-308]])
    pair = read_samples(X[:1], X[1:])
    np.testing.assert_allclose(standardize(pair).both.std(axis=0), [1, 1])
    np.testing.assert_allclose(np.sort(unit_range(pair).both, axis=0), [[0, 0], [0.5] * 2, [1, 1]])


def test_unit_range_is_exact_where_the_quarters_are():
    whole = np.arange(5.0)[:, None]
    quarters = unit_range(read_samples(whole[:2], whole[2:])).both[:, 0]
    assert sorted(quarters) == [0, 0.25, 0.5, 0.75, 1]


def test_a_sample_is_drawn_without_replacement_and_noted():
    X = np.arange(100.0)[:, None]
    pair = subsample(read_samples(X, X + 1000), 30, 3)
    assert (len(np.unique(pair.p)), len(np.unique(pair.u))) == (30, 30)
    assert pair.notes == ("30 of 100 positives and 30 of 100 unlabeled rows, drawn with seed 3",)
    again, other = (
        subsample(read_samples(X[::-1], X + 1000), 30, 3),
        subsample(read_samples(X, X), 30, 4),
    )
    np.testing.assert_array_equal(again.p, pair.p)
    assert not np.array_equal(other.p, pair.p)
    assert subsample(read_samples(X, X), 100, 3).notes == ()


def test_the_input_is_left_alone():
    dense, sparse = spotted(30, 60), as_sparse(spotted(30, 60, seed=1))
    sparse.has_sorted_indices = False
    before, stored = dense.copy(), sparse.data.copy()
    unit_range(compress(standardize(subsample(read_samples(dense, sparse), 10, 0)), 5, 0))
    np.testing.assert_array_equal(dense, before)
    np.testing.assert_array_equal(sparse.data, stored)


good = np.ones((3, 2))
BAD = {
    "TB001 X_p has no rows": (np.ones((0, 2)), good),
    "TB001 X_u has no rows": (good, sp.csr_array((0, 2))),
    "TB005 X_p must have two dimensions.*reshape": (np.ones(3), good),
    "TB005 X_u must have two dimensions": (good, np.ones((2, 2, 2))),
    "TB005 X_p must have two dimensions, rows": (sp.coo_array(np.ones(3)), good),
    "TB005 X_p must .* got shape .3, 0": (np.ones((3, 0)), np.ones((3, 0))),
    "TB005 X_p has 2 columns and X_u has 3": (good, np.ones((3, 3))),
    "TB005 X_p is ragged": ([[1, 2], [3]], good),
    "TB004 X_p has 1 values that are NaN": (np.array([[1, np.nan]]), good),
    "TB004 X_u has 2 values": (good, np.array([[np.inf, -np.inf]])),
    "TB004 X_u has 1 values": (good, sp.csr_array(np.array([[np.nan, 1.0]]))),
    "TB006 X_p must hold real numbers; got text such as 'a'": (np.array([["a", 1]], object), good),
    "TB006 X_p holds objects": (np.array([[object(), 1]], object), good),
    "TB006 X_u must hold real numbers": (good, np.array([["a", "b"]])),
    "TB006 X_p must hold real numbers": (sp.csr_array(good * 1j), good),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_tables_are_refused_by_code(message):
    with pytest.raises(InputError, match=message):
        read_samples(*BAD[message])


def test_objects_that_are_numbers_are_read():
    pair = read_samples(np.array([[1, 2.5]], object), [[True, False]])
    assert (pair.p.dtype, pair.u.dtype) == (np.float64, np.float64)


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, None])
def test_bad_parameters_are_refused(bad):
    pair = read_samples(good, good)
    for call in (
        lambda: subsample(pair, bad, 0),
        lambda: compress(pair, bad, 0),
        lambda: subsample(pair, 5, bad if bad else -1),
        lambda: compress(pair, 5, bad if bad else -1),
    ):
        with pytest.raises(InputError, match="TB008"):
            call()
