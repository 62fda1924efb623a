"""Counting at scale against counting by definition."""

import numpy as np
import pytest
from hard_scores import LARGE, large, samples
from hypothesis import given, settings

from topbin.core import InputError, Tails
from topbin.core.tails import PIECE, count_above


def by_definition(scores_p, scores_u):
    cuts = np.array(sorted(set(scores_p.tolist())))
    counts = ([int(np.sum(scores >= cut)) for cut in cuts] for scores in (scores_p, scores_u))
    return [cuts.tolist(), *counts]


def columns(tails):
    return [column.tolist() for column in (tails.cuts, tails.above_p, tails.above_u)]


@settings(deadline=None)
@given(samples())
def test_tails_and_counts_are_the_definition(pair):
    tails, expected = Tails.from_scores(*pair), by_definition(*pair)
    assert columns(tails) == expected
    assert tails.cuts.dtype == pair[0].dtype
    assert not np.signbit(tails.cuts[tails.cuts == 0]).any()
    assert count_above(tails.cuts, pair[1]).tolist() == expected[2]


@pytest.mark.parametrize("kind", sorted(LARGE))
def test_large_samples_over_many_pieces(kind):
    scores_p, scores_u = large(kind, PIECE + 5000)
    tails = Tails.from_scores(scores_p, scores_u)
    ranked, first = np.unique(np.sort(scores_p), return_index=True)
    assert np.array_equal(tails.cuts, ranked)
    assert np.array_equal(tails.above_p, scores_p.size - first)
    above_u = scores_u.size - np.searchsorted(np.sort(scores_u), ranked)
    assert np.array_equal(tails.above_u, above_u)
    assert np.array_equal(count_above(ranked, scores_u), above_u)
    assert (tails.cuts.dtype, tails.above_u.dtype) == (scores_p.dtype, np.int64)


def test_few_cuts_are_looked_up_piece_by_piece():
    scores_u = np.random.default_rng(0).random(3 * PIECE)
    cuts = np.array([0.25, 0.5])
    assert count_above(cuts, scores_u).tolist() == [int((scores_u >= cut).sum()) for cut in cuts]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_not_finite_is_refused(bad, which, sign):
    pair = [sign * np.linspace(0.1, 1, PIECE), sign * np.linspace(0.1, 1, PIECE)]
    pair[which][-1] = bad
    with pytest.raises(InputError, match=r"^TB004"):
        Tails.from_scores(*pair)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_smallest_and_the_largest_floats_of_both_signs_are_counted(dtype):
    tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    scores = np.array([-huge, -2.0, -tiny, -0.0, tiny, 1e-9, 1.0, huge], dtype)
    for scores_p, scores_u in ((scores, scores), (-scores[5:], scores), (scores, scores[:2])):
        assert columns(Tails.from_scores(scores_p, scores_u)) == by_definition(scores_p, scores_u)


def test_inputs_are_left_alone():
    pair = large("logits", PIECE)
    for scores in pair:
        scores.setflags(write=False)
    before = [scores.copy() for scores in pair]
    Tails.from_scores(*pair)
    assert all(np.array_equal(a, b) for a, b in zip(pair, before, strict=True))
