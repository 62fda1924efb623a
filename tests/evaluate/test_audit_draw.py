import numpy as np
import pytest
from scipy.stats import chisquare

from topbin.evaluate.audit import draw, draw_stratified


def test_a_draw_is_without_replacement_and_the_seed_decides():
    sample = draw(500, 200, seed=3)
    assert np.unique(sample.rows).size == 200
    assert 0 <= sample.rows.min() <= sample.rows.max() < 500
    assert np.array_equal(sample.rows, draw(500, 200, seed=3).rows)
    assert not np.array_equal(sample.rows, draw(500, 200, seed=4).rows)
    assert (sample.kind, sample.n, sample.sizes) == ("simple", 200, (500,))
    assert np.array_equal(np.sort(draw(9, 9).rows), np.arange(9))


@pytest.mark.parametrize("stratified", [False, True])
def test_every_row_is_equally_likely(stratified):
    scores = np.arange(20.0)
    seen = np.zeros(20)
    for seed in range(2000):
        sample = (
            draw_stratified(scores, 5, strata=5, seed=seed)
            if stratified
            else draw(20, 5, seed=seed)
        )
        seen[sample.rows] += 1
    assert seen.sum() == 10_000
    assert chisquare(seen).pvalue > 0.001


def test_strata_are_score_ranks_and_get_equal_shares():
    scores = np.random.default_rng(0).normal(size=1003)
    sample = draw_stratified(scores, 101, seed=1)
    assert len(sample.sizes) == 10
    assert sum(sample.sizes) == 1003
    assert np.ptp(sample.sizes) <= 1
    assert sample.drawn.sum() == 101
    assert np.ptp(sample.drawn) <= 1
    assert np.unique(sample.rows).size == 101
    ends = np.sort(scores)[np.cumsum((0, *sample.sizes[:-1]))]
    assert np.array_equal(np.searchsorted(ends, scores[sample.rows], "right") - 1, sample.stratum)
    assert sample.shares.sum() == pytest.approx(1)
    assert sample.kind == "stratified"


def test_the_order_of_rows_says_nothing_of_the_score():
    scores = np.arange(10_000.0)
    place = np.concatenate(
        [np.argsort(draw_stratified(scores, 100, seed=k).rows) for k in range(50)]
    )
    low_scores_at = place.reshape(50, 100)[:, :50].ravel()
    assert low_scores_at.mean() == pytest.approx(49.5, abs=4 * 28.9 / np.sqrt(2500))


def test_tied_scores_are_split_at_random():
    halves = [draw_stratified(np.zeros(10), 4, strata=2, seed=k) for k in range(300)]
    in_upper = np.concatenate([h.rows[h.stratum == 1] for h in halves])
    assert np.bincount(in_upper, minlength=10).min() > 30


def test_few_rows_mean_fewer_strata():
    assert draw_stratified(np.arange(99.0), 12).sizes == (50, 49)
    assert draw_stratified(np.arange(99.0), 3).kind == "simple"
