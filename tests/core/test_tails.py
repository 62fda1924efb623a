"""Tails against their definition, their laws, and what must be refused."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from coded import fails
from hard_scores import LARGE, large, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from topbin.core import Tails


@settings(deadline=None)
@given(samples())
def test_counts_are_those_of_the_definition(pair):
    scores_p, scores_u = pair
    tails = Tails.from_scores(scores_p, scores_u)
    assert tails.cuts.tolist() == sorted(set(scores_p.tolist()))
    assert tails.cuts.dtype == scores_p.dtype
    assert tails.above_p.tolist() == [int(np.sum(scores_p >= cut)) for cut in tails.cuts]
    assert tails.above_u.tolist() == [int(np.sum(scores_u >= cut)) for cut in tails.cuts]
    assert (tails.n_p, tails.n_u) == (scores_p.size, scores_u.size)
    q_p = np.array([np.mean(scores_p >= cut) for cut in tails.cuts])
    q_u = np.array([np.mean(scores_u >= cut) for cut in tails.cuts])
    assert np.allclose(tails.q_p, q_p, rtol=1e-15, atol=0)
    assert np.allclose(tails.q_u, q_u, rtol=1e-15, atol=0)
    assert np.allclose(tails.ratio, q_u / q_p, rtol=1e-14, atol=0)


@settings(deadline=None)
@given(samples(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(pair, random):
    shuffled = [scores[random.sample(range(scores.size), scores.size)] for scores in pair]
    ours, theirs = Tails.from_scores(*pair), Tails.from_scores(*shuffled)
    assert ours == theirs
    assert ours.cuts.tobytes() == theirs.cuts.tobytes()


@settings(deadline=None)
@given(samples(), st.lists(st.integers(0, 30), min_size=6, max_size=6))
def test_seven_chunks_add_up_to_the_whole(pair, ends):
    scores_p, scores_u = pair
    chunks = np.split(scores_u, sorted(ends))
    whole = Tails.from_scores(scores_p, scores_u)
    empty = Tails.of_positives(scores_p)
    assert Tails.from_chunks(scores_p, chunks) == whole
    assert sum(empty.count(chunk) for chunk in chunks) == whole
    for chunk in chunks:
        empty += empty.count(chunk)
    assert empty == whole


@pytest.mark.parametrize("kind", sorted(LARGE))
def test_large_samples_however_they_are_counted(kind):
    scores_p, scores_u = large(kind, 30_000)
    tails = Tails.from_scores(scores_p, scores_u)
    assert Tails.from_scores(scores_p[::-1], scores_u[::-1]) == tails
    assert Tails.from_scores(scores_p.reshape(-1, 1), scores_u) == tails
    assert Tails.from_chunks(scores_p, np.array_split(scores_u, 7)) == tails
    assert Tails.from_chunks(scores_p, np.array_split(scores_u, 3000)) == tails
    # A strictly increasing change of all scores changes the cuts only.
    _, ranks = np.unique(np.concatenate([scores_p, scores_u]), return_inverse=True)
    ranked = Tails.from_scores(ranks[: scores_p.size], ranks[scores_p.size :])
    assert np.array_equal(ranked.above_p, tails.above_p)
    assert np.array_equal(ranked.above_u, tails.above_u)


def test_ties_by_the_million():
    half = np.repeat([0.0, 1.0], 500_000)
    tails = Tails.from_scores(half, half)
    assert tails.cuts.tolist() == [0.0, 1.0]
    assert tails.above_p.tolist() == tails.above_u.tolist() == [1_000_000, 500_000]
    one = Tails.from_scores(np.full(1_000_000, 0.3), np.full(1_000_000, 0.3))
    assert (one.cuts.tolist(), one.above_u.tolist(), one.ratio.tolist()) == ([0.3], [10**6], [1.0])


@pytest.mark.parametrize(
    ("scores_p", "scores_u"),
    [
        ([1, 2], [0, 2]),
        (np.array([1, 2], np.int8), np.array([0, 2], np.uint64)),
        (np.array([1, 2], np.float16), np.array([0, 2], ">f4")),
        (np.array([[1.0], [2.0]], object), (0, 2.0)),
        ([True, 2], np.array([False, True]) * 2),
    ],
)
def test_any_real_numbers_are_read(scores_p, scores_u):
    assert Tails.from_scores(scores_p, scores_u) == Tails.from_scores([1.0, 2.0], [0.0, 2.0])


def test_one_row_each():
    tails = Tails.from_scores([0.5], [0.5])
    assert (tails.ratio.tolist(), tails.n_p, tails.n_u) == ([1.0], 1, 1)
    assert Tails.from_scores([0.5], [0.4]).ratio.tolist() == [0.0]


def test_widths_are_compared_as_they_are():
    tenth = np.array([0.1], np.float32)  # a little more than the double 0.1
    assert Tails.from_scores(tenth, [0.1]).above_u.tolist() == [0]
    assert Tails.from_scores([0.1], tenth).above_u.tolist() == [1]
    assert Tails.from_chunks(tenth, [[0.1], tenth]).above_u.tolist() == [1]


@pytest.mark.parametrize("rows", [3, 20_000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(rows, bad):
    fine, broken = np.ones(rows), np.append(np.ones(rows), bad)
    with fails("TB004", "scores_p", f"1 of {rows + 1:,}"):
        Tails.from_scores(broken, fine)
    with fails("TB004", "scores_u", f"1 of {rows + 1:,}"):
        Tails.from_scores(fine, broken)
    with fails("TB004", "scores_u"):
        Tails.from_chunks(fine, [fine, broken])


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ([], "TB001"),
        ([[1.0, 2.0]], "TB005"),
        (np.ones((2, 2, 2)), "TB005"),
        (0.5, "TB005"),
        ([[1.0], [1.0, 2.0]], "TB005"),
        (["a", "b"], "TB006"),
        (np.array(["x", None], object), "TB006"),
        (np.array(["0.1", "0.9"], object), "TB006"),
        (np.array([0.1, "0.9"], object), "TB006"),
        (pd.Series(["0.1", "0.9"]), "TB006"),
        ([1 + 2j], "TB006"),
        (np.array(["2020-01-01"], "M8[D]"), "TB006"),
    ],
)
def test_what_are_not_scores_is_refused(bad, code):
    with fails(code, "scores_p"):
        Tails.from_scores(bad, [1.0])
    with fails(code, "scores_p"):
        Tails.of_positives(bad)
    if code != "TB001":
        with fails(code, "scores_u"):
            Tails.from_scores([1.0], bad)
        with fails(code, "scores_u"):
            Tails.from_chunks([1.0], [[1.0], bad])


def test_no_unlabeled_rows_can_be_counted_but_not_asked_about():
    empty = Tails.from_scores([1.0, 2.0], [])
    assert empty == Tails.of_positives([1.0, 2.0]) == Tails.from_chunks([1.0, 2.0], [])
    assert empty.q_p.tolist() == [1.0, 0.5]
    with fails("TB001", "scores_u"):
        _ = empty.q_u
    with fails("TB001", "scores_u"):
        _ = empty.ratio


@pytest.mark.parametrize("other", [[1.0, 3.0], [1.0, 2.0, 2.0], [1.0]])
def test_other_positives_do_not_add(other):
    with fails("TB010", "different positives", "of_positives"):
        Tails.from_scores([1.0, 2.0], [1.0]) + Tails.from_scores(other, [1.0])


def test_only_tails_add():
    tails = Tails.from_scores([1.0], [1.0])
    for other in (1, [1.0], None):
        with pytest.raises(TypeError):
            tails + other
    with pytest.raises(TypeError):
        1 + tails
    assert sum([tails, tails]).n_u == 2
    assert (0 + tails) is tails


def test_equality_and_hash():
    tails = Tails.from_scores([1.0, 2.0], [1.0, 0.0])
    assert tails == Tails.from_scores(np.array([2.0, 1.0], np.float32), [0.0, 1.0])
    assert tails != Tails.from_scores([1.0, 2.0], [1.0])
    assert tails != Tails.from_scores([1.0, 2.0], [2.0, 0.0])
    assert tails != Tails.from_scores([1.0, 3.0], [1.0, 0.0])
    assert tails != Tails.from_scores([1.0, 1.0, 2.0], [1.0, 0.0])
    assert tails != (tails.cuts, tails.above_p)
    with pytest.raises(TypeError, match="unhashable"):
        hash(tails)


def test_some_of_the_cuts():
    tails = Tails.from_scores([1.0, 2.0, 3.0], [1.0, 2.5])
    some = tails.at([0, 2])
    assert (some.cuts.tolist(), some.above_u.tolist(), some.n_p) == ([1.0, 3.0], [2, 0], 3)
    assert tails.at(tails.cuts > 1).above_p.tolist() == [2, 1]


def test_inputs_are_left_alone():
    for rows in (10, 20_000):
        pair = [scores.copy() for scores in large("with zeros", rows)]
        for scores in pair:
            scores.setflags(write=False)
        before = [scores.tobytes() for scores in pair]
        tails = Tails.from_scores(*pair)
        Tails.from_chunks(pair[0], [pair[1], pair[1]])
        tails.cuts[:] = 7
        assert [scores.tobytes() for scores in pair] == before


def peak(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_number_of_chunks():
    scores_p = np.random.default_rng(0).random(1000)
    chunk = np.random.default_rng(1).random(70_000)
    few, many = (peak(lambda n=n: Tails.from_chunks(scores_p, [chunk] * n)) for n in (3, 60))
    assert many < 1.1 * few


def test_a_reader_may_use_one_buffer_for_all_chunks():
    def chunks():
        buffer = np.empty(10)
        for start in range(0, 100_000, 10):
            buffer[:] = np.arange(start, start + 10)
            yield buffer

    scores_p = np.arange(0.0, 100_000, 77)
    assert Tails.from_chunks(scores_p, chunks()) == Tails.from_scores(scores_p, np.arange(100_000))


def test_counting_keeps_no_copy_of_many_unlabeled_rows():
    scores_u = np.random.default_rng(1).random(2_000_000)
    tails = Tails.of_positives(scores_u[:1000])
    assert peak(lambda: tails.count(scores_u)) < 0.3 * scores_u.nbytes
