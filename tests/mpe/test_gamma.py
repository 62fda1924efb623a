"""Γ in the bound and the interval: the formulas of one bin, the worst case, Γ = 1 to the bit."""

import numpy as np
import pytest
from coded import fails
from hypothesis import given
from hypothesis import strategies as st
from roc_models import draw_tails, tilted

from topbin.core import Tails
from topbin.mpe.calibration import deviation, fewest_hidden, worst_shortfalls
from topbin.mpe.intervals import interval, upper_bound

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


@pytest.mark.parametrize(
    "how", [{}, {"crossfitted": True}, {"pure_fraction": 0.3}, {"kappa": 0.01}]
)
def test_gamma_1_changes_no_bit_and_a_larger_one_opens_the_interval(how):
    tails = next(draw_tails("Gaussians 3σ", 200, 1000, 0.3, repeats=1, seed=0))
    plain = interval(tails, **how)
    assert interval(tails, gamma=1.0, **how) == plain
    low, high = interval(tails, gamma=2.0, **how)
    assert low < plain[0]
    assert high > plain[1]


def test_with_many_rows_the_interval_is_that_of_the_formulas():
    # One pure bin of half of the positives, and the rest with the negatives.
    n, alpha, gamma = 10**8, 0.2, 2.0
    q_p, q_u = 0.5, alpha * 0.5
    above_p, above_u = np.array([n, int(q_p * n)]), np.array([n, int(q_u * n)])
    tails = Tails(np.array([0.0, 1.0]), above_p, above_u, n, n)
    low, high = interval(tails, gamma=gamma, pure_fraction=0.6)
    assert high == pytest.approx(q_u * (q_p + gamma * (1 - q_p)) / q_p, rel=2e-3)
    assert low == pytest.approx(q_u * (gamma * q_p + 1 - q_p) / (gamma * q_p), rel=2e-3)


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
    assert worst_shortfalls(n_p, n_u, alpha)[0] != draws[0]
    missed = []
    for top in (0.5, 0.9):
        hidden = tilted(gamma, top, rare=True)
        drawn = draw_tails("separated", n_p, n_u, alpha, repeats=150, seed=3, hidden=hidden)
        missed.append(np.mean([upper_bound(tails, gamma=gamma) < alpha for tails in drawn]))
    assert max(missed) <= 0.09  # 5 % promised; three standard errors more


def test_gamma_below_1_or_no_number_is_refused():
    tails = Tails.from_scores(np.ones(10), np.ones(10))
    for wrong in (0.99, float("nan"), float("inf"), "2", True, None):
        with fails("TB123", "gamma must be a finite number ≥ 1"):
            interval(tails, gamma=wrong)
