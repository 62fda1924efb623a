"""Which rows stay: against a naive ranking, with ties, and laws of order and size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topbin.core.errors import InputError
from topbin.learn.folds import split_rows
from topbin.learn.loop import keep_lowest
from topbin.learn.rows import n_rows

tied_scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=40)


def naive_keep(scores, alpha, least):
    ranked = sorted(range(len(scores)), key=lambda row: (scores[row], row))
    n_kept = len(scores) - round(alpha * len(scores))
    return sorted(ranked[: max(n_kept, min(least, len(scores)))])


@given(scores=tied_scores, alpha=st.floats(0, 1), least=st.integers(1, 50))
def test_keeps_the_lowest_by_the_definition(scores, alpha, least):
    assert keep_lowest(scores, alpha, least=least).tolist() == naive_keep(scores, alpha, least)


@given(scores=tied_scores, alpha=st.floats(0, 1))
def test_what_is_discarded_scores_no_lower_than_what_stays(scores, alpha):
    scores = np.array(scores)
    kept = keep_lowest(scores, alpha)
    out = np.delete(scores, kept)
    assert kept.size >= 1
    assert out.size == 0 or out.min() >= scores[kept].max()


@given(
    scores=st.lists(st.floats(-9, 9), min_size=1, max_size=40, unique=True),
    alpha=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_row_order_does_not_matter_without_ties(scores, alpha, seed):
    scores = np.array(scores)
    order = np.random.default_rng(seed).permutation(scores.size)
    there = scores[order][keep_lowest(scores[order], alpha)]
    assert np.array_equal(np.sort(there), np.sort(scores[keep_lowest(scores, alpha)]))


@given(scores=tied_scores, alpha=st.floats(0, 1))
def test_monotone_rescaling_does_not_matter(scores, alpha):
    scores = np.array(scores)
    assert np.array_equal(keep_lowest(scores, alpha), keep_lowest(3 * scores**3 - 7, alpha))


def test_inputs_are_left_alone():
    scores = np.array([3.0, 1.0, 2.0])
    keep_lowest(scores, 0.5)
    assert scores.tolist() == [3, 1, 2]


@pytest.mark.parametrize("alpha", [-0.1, 1.1, np.nan, "half"])
def test_alpha_out_of_range(alpha):
    with pytest.raises(InputError, match=r"TB008 alpha must be a number in \[0, 1\]"):
        keep_lowest([1.0, 2.0], alpha)


def test_scores_that_are_not_numbers():
    with pytest.raises(InputError, match="TB004 scores_u has 1 of 2"):
        keep_lowest([1.0, np.nan], 0.5)


@given(n=st.integers(2, 200), share=st.floats(0.01, 0.99), seed=st.integers(0, 9))
def test_a_split_is_a_partition(n, share, seed):
    train, holdout = split_rows(n, np.random.default_rng(seed), share=share)
    both = np.concatenate([train, holdout])
    assert np.array_equal(np.sort(both), np.arange(n))
    assert min(train.size, holdout.size) >= 1
    assert abs(holdout.size - share * n) <= 1


def test_a_split_depends_on_its_generator_only():
    (_, first), (_, again) = (split_rows(50, np.random.default_rng(3)) for _ in range(2))
    _, other = split_rows(50, np.random.default_rng(4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("n", [0, 1])
def test_one_row_cannot_be_split(n):
    with pytest.raises(InputError, match="TB001 a hold-out needs at least 2 rows"):
        split_rows(n, np.random.default_rng(0))


def test_rows_of_a_sparse_matrix():
    sparse = pytest.importorskip("scipy.sparse")
    assert n_rows(sparse.csr_matrix((7, 3))) == 7
