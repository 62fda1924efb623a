from math import isclose

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from topbin.core import InputError, Tails
from topbin.core.tails import at_ranks, geometric_ranks
from topbin.mpe.bbe import bbe_cp, ratio_limit

# Few distinct values, so that ties within and between the samples are common.
scores = st.lists(st.integers(0, 12).map(float), min_size=1, max_size=40)


def naive(scores_p, scores_u, level):
    """Straight from the definition: every rank on the grid, limits from scipy's beta law."""
    n_p, n_u, best = len(scores_p), len(scores_u), (np.inf, 0)
    for k in geometric_ranks(n_p):
        cut = sorted(scores_p, reverse=True)[k - 1]
        x, y = sum(s >= cut for s in scores_p), sum(s >= cut for s in scores_u)
        high_u = 1.0 if y == n_u else beta.ppf(1 - level, y + 1, n_u - y)
        low_p = beta.ppf(level, x, n_p - x + 1)
        # Ties go to the larger bin, and every later rank is in a larger bin.
        if high_u / low_p <= best[0] * (1 + 1e-12):
            best = high_u / low_p, min(1.0, (y / n_u) / (x / n_p))
    return best


@settings(max_examples=40, deadline=None)
@given(scores, scores, st.sampled_from([5e-4, 0.1]))
def test_equals_the_definition(scores_p, scores_u, level):
    bound, alpha = naive(scores_p, scores_u, level)
    tails = Tails.from_scores(scores_p, scores_u)
    assert isclose(bbe_cp(tails, level=level).alpha, alpha, rel_tol=1e-12)
    read = at_ranks(tails, geometric_ranks(tails.n_p))
    assert isclose(ratio_limit(read, level).min(), bound, rel_tol=1e-9)


@given(scores, scores, st.randoms(use_true_random=False))
def test_row_order_and_monotone_rescaling_change_no_bit(scores_p, scores_u, random):
    first = bbe_cp(Tails.from_scores(scores_p, scores_u))
    random.shuffle(scores_p)
    random.shuffle(scores_u)
    again = bbe_cp(Tails.from_scores(np.exp(scores_p), np.exp(scores_u)))
    assert again.alpha == first.alpha
    assert again.cut == np.exp(first.cut)


@given(scores, scores)
def test_thinned_tails_give_the_same_bits(scores_p, scores_u):
    tails = Tails.from_scores(scores_p, scores_u)
    thin = at_ranks(tails, geometric_ranks(tails.n_p))
    assert bbe_cp(thin) == bbe_cp(tails)


def test_thinned_tails_of_many_positives_give_the_same_bits():
    rng = np.random.default_rng(0)
    tails = Tails.from_scores(rng.normal(2, 1, 50_000), rng.normal(0, 1, 20_000))
    thin = at_ranks(tails, geometric_ranks(tails.n_p))
    assert thin.cuts.size < 200
    assert bbe_cp(thin) == bbe_cp(tails)


def test_ranks_are_the_first_ones_then_grow_by_a_twentieth_and_end_at_all():
    ranks = geometric_ranks(12_345)
    assert ranks[:20].tolist() == list(range(1, 21))
    assert ranks[-1] == 12_345
    steps = ranks[1:] / ranks[:-1]
    assert steps[60:].max() < 1.07
    assert geometric_ranks(1).tolist() == [1]


def test_a_rank_is_found_in_the_cut_that_holds_it():
    tails = Tails.from_scores([1.0, 2.0, 2.0, 2.0, 3.0], [2.5])
    for rank, held in ((1, 1), (2, 4), (4, 4), (5, 5)):
        assert at_ranks(tails, np.array([rank])).above_p.tolist() == [held]


def test_tails_without_the_largest_bin_answer_with_the_largest_they_have():
    tails = Tails.from_scores([1.0, 2.0, 3.0], [2.5]).at(slice(1, None))
    assert at_ranks(tails, np.array([3])).above_p.tolist() == [2]


def test_no_unlabeled_row_above_any_positive_is_alpha_zero():
    assert bbe_cp(Tails.from_scores([2.0, 3.0], [0.0, 1.0])).alpha == 0.0


def test_all_unlabeled_rows_above_all_positives_is_alpha_one():
    assert bbe_cp(Tails.from_scores([0.0, 1.0], [2.0, 3.0])).alpha == 1.0


def test_inputs_are_not_changed():
    scores_p, scores_u = np.array([3.0, 1.0]), np.array([2.0, 0.0])
    bbe_cp(Tails.from_scores(scores_p, scores_u))
    assert scores_p.tolist() == [3.0, 1.0]
    assert scores_u.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("level", [0.0, 1.0, -1, float("nan"), "small"])
def test_a_level_that_is_no_probability_is_refused(level):
    with pytest.raises(InputError, match=r"TB008 level must be a number in \(0, 1\)"):
        bbe_cp(Tails.from_scores([1.0], [1.0]), level=level)


def test_no_unlabeled_rows_is_refused():
    with pytest.raises(InputError, match="TB001 scores_u is empty"):
        bbe_cp(Tails.of_positives([1.0, 2.0]))
