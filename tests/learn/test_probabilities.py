"""Probabilities for the unlabeled: in range, rising, with mean α, and right where it is known."""

import numpy as np
import pytest
from gaussians import gaussians
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from topbin.core.errors import InputError
from topbin.learn.posterior import TILT, _scale_to, fit_posterior

SCORES = st.lists(st.integers(0, 12).map(float), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(SCORES, SCORES, st.floats(0, 1))
def test_probabilities_lie_in_range_and_rise_strictly_with_the_score(p, u, alpha):
    posterior = fit_posterior(p, u, alpha)
    at = np.linspace(-1, 13, 57)
    found = posterior(at)
    assert found.min() >= 0
    assert found.max() <= 1
    assert (np.diff(found) > 0).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.floats(0, 1))
def test_the_scale_solves_its_equation(ratio, alpha):
    ratio = np.array(ratio)
    ratio[ratio < 1e-6] = 0
    reach = (ratio > 0).mean()
    mean = np.minimum(1, _scale_to(ratio, alpha) * ratio).mean()
    assert mean == pytest.approx(min(alpha, reach), abs=1e-9)


def test_the_scale_is_that_of_a_root_finder():
    ratio = np.random.default_rng(0).gamma(1, 1, 200)
    wanted = brentq(lambda t: np.minimum(1, t * ratio).mean() - 0.4, 1e-9, 1e9)
    assert _scale_to(ratio, 0.4) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_mean_over_U_is_alpha_and_values_are_near_bayes(alpha):
    sample = gaussians(alpha, 4000, 4000)
    scores_p, scores_u = sample.scores()
    posterior = fit_posterior(scores_p, scores_u, sample.alpha)
    found = posterior(scores_u)
    x = sample.X_u[:, 0]
    bayes = alpha / (alpha + (1 - alpha) * np.exp(4 * (2 - x)))
    assert found.mean() == pytest.approx(sample.alpha, abs=2 * TILT)
    assert np.abs(found - bayes).mean() < 0.02


@settings(max_examples=50, deadline=None)
@given(SCORES, SCORES, st.floats(0, 1), st.randoms())
def test_row_order_does_not_matter(p, u, alpha, random):
    one = fit_posterior(p, u, alpha)
    shuffled_p, shuffled_u = list(p), list(u)
    random.shuffle(shuffled_p)
    random.shuffle(shuffled_u)
    two = fit_posterior(shuffled_p, shuffled_u, alpha)
    np.testing.assert_allclose(one(u), two(u), atol=1e-12)


def test_scores_beyond_the_seen_ones_keep_their_order():
    posterior = fit_posterior([3.0, 4.0], [1.0, 2.0, 3.0], 0.3)
    below, top, above = posterior([0.0, 4.0, 5.0])
    assert below < top < above < 1


def test_inputs_are_left_alone():
    p, u = np.array([2.0, 1.0]), np.array([3.0, 0.0])
    fit_posterior(p, u, 0.5)
    assert p.tolist() == [2, 1]
    assert u.tolist() == [3, 0]


def test_bad_input_has_a_code():
    with pytest.raises(InputError, match="TB008"):
        fit_posterior([1.0], [1.0], 1.5)
    with pytest.raises(InputError, match="TB001"):
        fit_posterior([], [1.0], 0.5)
    with pytest.raises(InputError, match="TB004"):
        fit_posterior([np.nan], [1.0], 0.5)
