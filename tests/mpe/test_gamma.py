"""Γ in the bound and the posterior: the formulas of one bin, the worst case, Γ = 1 to the bit."""

import numpy as np
import pytest
from coded import fails
from hypothesis import given, settings
from hypothesis import strategies as st
from roc_models import MODELS, draw_tails, tilted

import topbin as tb
from topbin.core import LEVELS, Tails
from topbin.mpe import alpha_posterior, upper_bound
from topbin.mpe.bound import deviation, fewest_hidden, worst_shortfalls

GAMMAS = st.floats(1, 50)
SHARES = st.floats(0.01, 0.99)


def most_hidden(q, gamma):
    return gamma * q / (1 + (gamma - 1) * q)


@given(SHARES, GAMMAS, st.floats(0, 1), SHARES)
def test_no_density_within_gamma_leaves_fewer_or_more_hidden_positives_in_a_bin(q, gamma, at, jump):
    # Any two-step density whose values are at most Γ apart, wherever it jumps.
    ratio = gamma**at
    for hidden in (tilted(ratio, jump, rare=True), tilted(ratio, jump, rare=False)):
        share = float(hidden(np.array(q)))
        assert fewest_hidden(q, gamma) - 1e-12 <= share <= most_hidden(q, gamma) + 1e-12


@given(SHARES, GAMMAS)
def test_a_jump_at_the_end_of_the_bin_reaches_both_limits(q, gamma):
    assert float(tilted(gamma, q, rare=True)(np.array(q))) == pytest.approx(fewest_hidden(q, gamma))
    assert float(tilted(gamma, q, rare=False)(np.array(q))) == pytest.approx(most_hidden(q, gamma))


@pytest.mark.parametrize("model", ["Gaussians 3σ", "separated", "3σ, 20 probability levels"])
def test_gamma_1_changes_no_bit_and_a_larger_one_opens_both_sides(model):
    tails = next(draw_tails(model, 200, 1000, 0.3, repeats=1, seed=0))
    plain = alpha_posterior(tails)
    assert alpha_posterior(tails, gamma=1.0) == plain
    wide = alpha_posterior(tails, gamma=2.0)
    low, high = plain.interval(0.95)
    assert wide.interval(0.95)[0] < low
    assert wide.interval(0.95)[1] > high
    assert wide.median == plain.median
    assert upper_bound(tails, gamma=1.0) == upper_bound(tails)
    assert upper_bound(tails, gamma=2.0) > upper_bound(tails)


@settings(max_examples=40)
@given(st.sampled_from(MODELS), st.sampled_from([1e-3, 0.1, 0.5, 1.0]), GAMMAS, st.integers(0, 99))
def test_no_quantile_of_a_larger_gamma_is_inside_those_of_1(model, alpha, gamma, seed):
    tails = next(draw_tails(model, 60, 300, alpha, repeats=1, seed=seed))
    plain, wide = (np.array(alpha_posterior(tails, gamma=g).quantiles) for g in (1.0, gamma))
    assert np.all(np.diff(wide) >= 0)
    below = np.array(LEVELS) < 0.5
    assert np.all((wide <= plain)[below])
    assert np.all((wide >= plain)[~below])


@pytest.mark.parametrize("model", ["Gaussians 3σ", "Beta(8,2)/(2,8)", "separated"])
def test_the_interval_of_a_larger_gamma_contains_that_of_a_smaller_one(model):
    # A net alone is not monotone in Γ, so `sensitivity` takes the widest of all smaller Γ.
    tails = next(draw_tails(model, 100, 1000, 0.3, repeats=1, seed=1))
    gammas = (1.0, 1.05, 1.3, 1.42, 2.0, 3.3, 8.0, 25.0, 99.0)
    ends = [one.interval for one in tb.sensitivity(tails, gamma=gammas).intervals]
    low, high = np.transpose(ends)
    assert ends[0] == tb.estimate_alpha(tails).interval
    assert np.all(np.diff(low) <= 0)
    assert np.all(np.diff(high) >= 0)


@pytest.mark.parametrize("gamma", [2.0, 4.0])
@pytest.mark.parametrize("rare", [True, False], ids=["rare at the top", "frequent at the top"])
def test_labels_as_selective_as_gamma_allows_leave_alpha_inside(rare, gamma):
    shares = []
    for model in ("separated", "Gaussians 3σ", "Gaussians 2σ", "Beta(8,2)/(2,8)"):
        inside = []
        for top in (0.2, 0.5, 0.9):
            hidden = tilted(gamma, top, rare=rare)
            for tails in draw_tails(model, 1000, 10_000, 0.3, repeats=20, seed=3, hidden=hidden):
                ends = (alpha_posterior(tails, gamma=g).interval(0.95) for g in (1.0, gamma))
                inside.append([low <= 0.3 <= high for low, high in ends])
        shares.append(np.mean(inside, axis=0))
    plain, wide = np.transpose(shares)
    assert min(wide) >= 0.95
    assert np.mean(plain) < 0.8  # so that it is Γ that makes the difference


def test_with_many_rows_the_bound_is_that_of_the_formula():
    # One pure bin of half of the positives, and the rest with the negatives.
    n, alpha, gamma = 10**8, 0.2, 2.0
    q_p, q_u = 0.5, alpha * 0.5
    above_p, above_u = np.array([n, int(q_p * n)]), np.array([n, int(q_u * n)])
    tails = Tails(np.array([0.0, 1.0]), above_p, above_u, n, n)
    expected = q_u * (q_p + gamma * (1 - q_p)) / q_p
    assert upper_bound(tails, gamma=gamma) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("gamma", [1.5, 3.0, 30.0])
def test_more_unlabeled_rows_above_a_cut_never_lower_its_deviation(gamma):
    # This is what makes the smallest share in every bin at once the worst case.
    y, n_p, n_u = np.arange(251), 100, 250
    for alpha in (1e-3, 0.05, 0.3, 0.7, 1.0):
        for x in (1, 50, 99, 100):
            found = deviation(x, y, n_p, n_u, alpha, gamma)
            below = found[:-1] < 0  # only shortfalls are compared
            assert np.all(np.diff(found)[below] >= -1e-9)


def test_the_worst_case_is_missed_as_often_as_promised_and_others_less():
    n_p, n_u, alpha, gamma = 100, 1000, 0.3, 2.0
    draws = worst_shortfalls(n_p, n_u, alpha, gamma)
    assert not np.array_equal(worst_shortfalls(n_p, n_u, alpha), draws)
    missed = []
    for top in (0.5, 0.9):
        hidden = tilted(gamma, top, rare=True)
        drawn = draw_tails("separated", n_p, n_u, alpha, repeats=150, seed=3, hidden=hidden)
        missed.append(np.mean([upper_bound(tails, gamma=gamma) < alpha for tails in drawn]))
    assert max(missed) <= 0.09  # 5 % promised; three standard errors more


def test_gamma_below_1_or_no_number_is_refused():
    tails = Tails.from_scores(np.ones(10), np.ones(10))
    for wrong in (0.99, float("nan"), float("inf"), "2", True, None):
        for function in (upper_bound, alpha_posterior):
            with fails("TB123", "gamma must be a finite number ≥ 1"):
                function(tails, gamma=wrong)
