"""Counting by one sort of coded scores against counting by definition."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hard_scores import LARGE, large, samples
from hypothesis import given, settings

from topbin.core import counting
from topbin.core.counting import PIECE, Signed, Unsigned, count_above, merge


def by_definition(scores_p, scores_u):
    cuts = np.array(sorted(set(scores_p.tolist())))
    counts = ([int(np.sum(scores >= cut)) for cut in cuts] for scores in (scores_p, scores_u))
    return [cuts.tolist(), *counts]


@contextmanager
def coding_always_pays(sparse=1000):
    with patch.multiple(counting, FEW=0, SPARSE=sparse, TIED=0):
        yield


def too_wide(*samples):
    """Whether both signs and more than 2^101 between the sizes leave no bit in 32 for a label."""
    scores = np.concatenate(samples)
    sizes = np.abs(scores[scores != 0]).astype(np.float64)
    narrow = scores.dtype == np.float32 and np.signbit(scores).any()
    return narrow and sizes.max() > 2.0**101 * sizes.min()


@settings(deadline=None)
@given(samples())
def test_merge_is_the_definition(pair):
    with coding_always_pays():
        merged = merge(*pair)
    if merged is None:
        assert too_wide(*pair)
        return
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
    if kind in ("too wide", "equal", "rounded"):
        assert merge(scores_p, scores_u) is None
    with coding_always_pays():
        merged = merge(scores_p, scores_u)
    if kind == "too wide":
        assert merged is None
        return
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
def test_codes_keep_the_order_and_come_back(dtype):
    tiny, huge = np.finfo(dtype).smallest_subnormal, np.sqrt(np.finfo(dtype).max)
    scores = np.array([-huge, -2.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, huge], dtype)
    unsigned = np.array([0.0, tiny, 1e-9, 1.0, np.finfo(dtype).max], dtype)
    for given_scores, coding in (
        (scores, Signed.fitting([scores])),
        (unsigned, Unsigned(np.dtype(dtype))),
        (-unsigned[1:3][::-1], Signed.fitting([-unsigned[1:3]])),
    ):
        codes = np.empty(given_scores.size, f"u{scores.itemsize}")
        assert coding.encode(given_scores, 0, codes)
        assert np.array_equal(np.sort(codes), codes)
        assert np.array_equal(coding.decode(codes), given_scores)
        assert coding.encode(given_scores, 1, odd := codes.copy())
        assert np.array_equal(odd, codes + codes.dtype.type(1))


def test_inputs_are_left_alone():
    pair = large("logits", PIECE)
    for scores in pair:
        scores.setflags(write=False)
    before = [scores.copy() for scores in pair]
    merge(*pair)
    assert all(np.array_equal(a, b) for a, b in zip(pair, before, strict=True))
