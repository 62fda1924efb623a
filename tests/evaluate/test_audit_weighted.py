"""Draws that take the rarer kind more often: what they promise, and that answers stay unbiased."""

import numpy as np
import pytest
from coded import fails
from hypothesis import given, settings
from hypothesis import strategies as st

from topbin.evaluate.audit import AuditSample, draw, draw_weighted, judge
from topbin.evaluate.audit.draw import how_often, merged, reach
from topbin.evaluate.audit.limits import share_of_upper, without_replacement

PROBABILITIES = st.lists(st.floats(0, 1), min_size=2, max_size=60)


def population(alpha, apart, rng, n_u=3000):
    """Truth and probabilities of unlabeled rows."""
    y = np.arange(n_u) < round(alpha * n_u)
    odds = alpha / (1 - alpha) * np.exp(apart * (rng.normal(size=n_u) + apart * y) - apart**2 / 2)
    return y, odds / (1 + odds)


@given(PROBABILITIES, st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_no_answer_moves_alpha_further_than_its_reach(f, seed):
    f = np.array(f)
    up, down = reach(f.mean())
    wanted = 1 / how_often(f)
    scale = wanted @ how_often(f) / f.size
    slack = 1.0 if 0.01 <= f.mean() <= 0.99 else np.inf  # rarer kinds are drawn as if they were not
    assert (wanted / scale * (1 - f)).max() <= slack * up * (1 + 1e-9)
    assert (wanted / scale * f).max() <= slack * down * (1 + 1e-9)
    sample = draw_weighted(f, 1 + seed % f.size, seed=seed)
    weights = sample.weights(f)
    assert np.unique(sample.rows).size == sample.n
    assert (weights > 0).all()
    # The expected weight of what is drawn is 1: the estimate of a constant is the constant.
    per_row = np.asarray(sample.expected) / np.maximum(1, np.asarray(sample.sizes))
    stratum = np.searchsorted(sample.cuts, f, "right")
    assert (weights * per_row[stratum]).sum() == pytest.approx(sample.n)


def test_every_row_is_drawn_as_often_as_its_weight_says():
    f = np.repeat([0.02, 0.3, 0.95], [30, 6, 4])
    seen = np.zeros(f.size)
    for seed in range(1200):
        seen[draw_weighted(f, 7, seed=seed).rows] += 1
    wanted = 7 / f.size / draw_weighted(f, 7).weights(f)
    assert seen.sum() == 8_400
    assert seen / 1200 == pytest.approx(wanted, abs=4 * 0.5 / np.sqrt(1200))


@given(PROBABILITIES, st.data())
@settings(max_examples=30, deadline=None)
def test_later_draws_take_other_rows_until_none_is_left(f, data):
    f, taken = np.array(f), np.array([], int)
    while taken.size < f.size:
        n = data.draw(st.integers(1, f.size - taken.size))
        rows = draw_weighted(f, n, seed=taken.size, taken=taken).rows
        assert rows.size == n
        assert not np.isin(rows, taken).any()
        taken = np.append(taken, rows)
    with fails("TB008"):
        draw_weighted(f, 1, taken=taken)


def test_half_and_half_is_a_plain_draw():
    assert draw_weighted(np.repeat([0.0, 1.0], 50), 20).cuts == ()
    f = np.linspace(0, 0.2, 500)
    sample = draw_weighted(f, 40, seed=5)
    with fails("TB008", "only with its probabilities"):
        judge(sample, ["yes"] * 40, 0.1)
    with fails("TB008", "between 0 and 1"):
        draw_weighted([0.5, 1.5], 1)


def test_draws_of_both_kinds_add_up_to_an_unbiased_estimate():
    """A plain draw, half of a weighted one, and a plain one again: all in one mean."""
    rng = np.random.default_rng(0)
    y, f = population(0.1, 2, rng, 400)
    y = y | (np.arange(400) % 9 == 0)  # and positives that the probabilities do not know
    estimates = []
    for seed in range(400):
        first = draw(400, 40, seed=seed).rows
        second = draw_weighted(f, 60, seed=seed, taken=first)
        free = np.setdiff1d(np.arange(400), np.append(first, second.rows))
        third = free[draw(free.size, 30, seed=seed).rows]
        rows = np.concatenate([first, second.rows[:30], third])
        parts = [((), (40.0,), 1.0), (second.cuts, second.expected, 0.5), ((), (30.0,), 1.0)]
        sample = AuditSample(rows, np.zeros(100, int), (400,), 0, *merged(parts, f))
        estimates.append((sample.weights(f)[rows] * y[rows]).mean())
    assert np.mean(estimates) == pytest.approx(y.mean(), abs=4 * np.std(estimates) / np.sqrt(400))


def test_what_no_draw_could_take_may_be_of_either_kind():
    f = np.repeat([0.9, 0.1], [100, 300])
    rows = np.arange(100, 180)
    sample = AuditSample(rows, np.zeros(80, int), (400,), 0, (0.5,), (80.0, 0.0))
    low, high = judge(sample, ["yes"] * 8 + ["no"] * 72, 0.3, probabilities=f).interval
    assert low < 0.75 * 0.05
    assert high >= 0.25 + 0.75 * 0.1


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3, 0.97])
def test_rare_kinds_get_narrower_intervals_that_cover(alpha):
    rng = np.random.default_rng(round(1000 * alpha))
    y, f = population(alpha, 3.3, rng)
    inside, widths = [], []
    for seed in range(30):
        for sample in (draw(y.size, 100, seed=seed), draw_weighted(f, 100, seed=seed)):
            low, high = judge(sample, y[sample.rows], 0.5, probabilities=f, look=1).interval
            inside.append(low <= y.mean() <= high)
            widths.append(high - low)
    plain, weighted = np.mean(widths[::2]), np.mean(widths[1::2])
    assert np.mean(inside) >= 0.95
    assert weighted <= (0.95 if alpha < 0.1 or alpha > 0.9 else 1.03) * plain


def test_probabilities_of_other_rows_leave_the_interval_valid():
    rng = np.random.default_rng(1)
    y, f = population(0.04, 3, rng)
    f, inside = rng.permutation(f), []
    for seed in range(40):
        sample = draw_weighted(f, 100, seed=seed)
        low, high = judge(sample, y[sample.rows], 0.5, probabilities=f, look=1).interval
        inside.append(low <= y.mean() <= high)
    assert np.mean(inside) >= 0.92


def test_the_doubt_is_shared_out_before_anybody_answers():
    assert share_of_upper(np.full(5, 0.5)) == pytest.approx(0.5)
    assert share_of_upper(np.full(5, 0.02)) == pytest.approx(1 - share_of_upper(np.full(5, 0.98)))
    assert share_of_upper(np.full(5, 0.02)) > 0.85


@pytest.mark.parametrize(("n", "n_u"), [(20, 400), (100, 400), (300, 400)])
def test_all_rows_but_a_few_leave_little_doubt(n, n_u):
    """No positive in n of n_u rows: the exact limit is M with C(n_u − M, n)/C(n_u, n) = doubt."""
    chance, missed = 1.0, 0
    while chance > 0.025:
        chance *= (n_u - missed - n) / (n_u - missed)
        missed += 1
    independent = 1 - 0.025 ** (1 / n)
    assert without_replacement(n / n_u) * independent * n_u > missed - 1.5
