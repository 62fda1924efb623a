"""Counting by one sort of coded scores against counting by definition."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hard_scores import LARGE, large, samples
from hypothesis import given, settings

from topbin.core import counting
from topbin.core.counting import PIECE, count_above, merge


def by_definition(scores_p, scores_u):
    cuts = np.array(sorted(set(scores_p.tolist())))
    counts = ([int(np.sum(scores >= cut)) for cut in cuts] for scores in (scores_p, scores_u))
    return [cuts.tolist(), *counts]


@contextmanager
def coding_always_pays(sparse=1000):
    with patch.multiple(counting, FEW=0, SPARSE=sparse, TIED=0):
        yield


@settings(deadline=None)
@given(samples())
def test_merge_is_the_definition(pair):
    with coding_always_pays():
        merged = merge(*pair)
    assert [column.tolist() for column in merged] == by_definition(*pair)
    assert merged.cuts.dtype == pair[0].dtype
    assert not np.signbit(merged.cuts[merged.cuts == 0]).any()


@settings(deadline=None)
@given(samples())
def test_looking_up_and_merging_count_alike(pair):
    cuts, _, above_u = by_definition(*pair)
    cuts = np.array(cuts, pair[0].dtype)
    for sparse in (0, 1000):
        with coding_always_pays(sparse):
            assert count_above(cuts, pair[1]).tolist() == above_u


@pytest.mark.parametrize("kind", sorted(LARGE))
def test_large_samples_over_many_pieces(kind):
    scores_p, scores_u = large(kind, PIECE + 5000)
    if kind in ("equal", "rounded"):
        assert merge(scores_p, scores_u) is None
    with coding_always_pays():
        merged = merge(scores_p, scores_u)
    ranked, first = np.unique(np.sort(scores_p), return_index=True)
    assert np.array_equal(merged.cuts, ranked)
    assert np.array_equal(merged.above_p, scores_p.size - first)
    above_u = scores_u.size - np.searchsorted(np.sort(scores_u), ranked)
    assert np.array_equal(merged.above_u, above_u)
    assert np.array_equal(count_above(ranked, scores_u), above_u)
    assert (merged.cuts.dtype, merged.above_u.dtype) == (scores_p.dtype, np.int64)


def test_few_cuts_are_looked_up_piece_by_piece():
    scores_u = np.random.default_rng(0).random(3 * PIECE)
    cuts = np.array([0.25, 0.5])
    assert count_above(cuts, scores_u).tolist() == [int((scores_u >= cut).sum()) for cut in cuts]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_not_finite_is_not_coded(bad, which, sign):
    pair = [sign * np.linspace(0.1, 1, PIECE), sign * np.linspace(0.1, 1, PIECE)]
    pair[which][-1] = bad
    assert merge(*pair) is None


def test_merging_does_not_pay_for_few_rows_few_positives_or_ties():
    assert merge(np.ones(10), np.ones(10)) is None
    assert merge(np.ones(10), np.ones(100_000)) is None
    assert merge(np.ones(100_000), np.ones(100_000)) is None
    assert merge(np.arange(100_000.0), np.ones(0)).above_u.tolist() == [0] * 100_000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_smallest_and_the_largest_floats_of_both_signs_are_counted(dtype):
    tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    scores = np.array([-huge, -2.0, -tiny, -0.0, tiny, 1e-9, 1.0, huge], dtype)
    with coding_always_pays():
        for scores_p, scores_u in ((scores, scores), (-scores[5:], scores), (scores, scores[:2])):
            merged = merge(scores_p, scores_u)
            assert [column.tolist() for column in merged] == by_definition(scores_p, scores_u)


def test_inputs_are_left_alone():
    pair = large("logits", PIECE)
    for scores in pair:
        scores.setflags(write=False)
    before = [scores.copy() for scores in pair]
    merge(*pair)
    assert all(np.array_equal(a, b) for a, b in zip(pair, before, strict=True))
