"""Probabilities for the unlabeled: in range, rising, with mean α, and right where it is known."""

import numpy as np
import pytest
from gaussians import gaussians
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from sklearn.isotonic import IsotonicRegression

import topbin as tb
from topbin.core import LEVELS, AlphaEstimate, AlphaPosterior, Evidence, InputError
from topbin.learn.probabilities import (
    LEAST,
    TILT,
    ProbabilityMap,
    RatioMap,
    fit_probabilities,
    posterior_of,
    scale_to,
)

SCORES = st.lists(st.integers(0, 12).map(float), min_size=1, max_size=40)
SHARES = st.integers(0, 1000).map(lambda thousandths: thousandths / 1000)
QUANTILES = st.lists(SHARES, min_size=len(LEVELS), max_size=len(LEVELS)).map(sorted)


def estimate_of(alpha, posterior=None):
    return AlphaEstimate(alpha=alpha, n_p=9, n_u=9, method="given", posterior=posterior)


def fit(p, u, alpha, posterior=None, weight_p=None):
    evidence = Evidence(np.asarray(p), np.asarray(u), weight_p=weight_p)
    return fit_probabilities(evidence, estimate_of(alpha, posterior))


# --- the definition --------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(SCORES, SCORES, QUANTILES)
def test_values_are_means_over_the_draws_of_what_each_alpha_would_give(p, u, quantiles):
    """Row by row: the ratio by isotonic regression, cut to 1 and raised, for each draw of α."""
    posterior, p, u = AlphaPosterior(tuple(quantiles)), np.array(p), np.array(u)
    alpha = posterior.median
    sizes = [p.size, u.size]
    y, weight = np.repeat([1.0, 0.0], sizes), np.repeat([1 / p.size, 1 / u.size], sizes)
    g = IsotonicRegression(y_min=0, y_max=1).fit(np.append(p, u), y, weight).predict(u)
    ratio = np.maximum(g, LEAST) / np.maximum(1 - g, LEAST)

    def raised(values, wanted):
        """min(1, t·values) with this mean."""
        if wanted in (0, 1) or not values.any():
            return np.full(values.size, float(wanted == 1))

        def missing(log_t):
            return np.minimum(1, np.exp(log_t) * values).mean() - wanted

        log_t = brentq(missing, -400, 60, xtol=1e-12)
        return np.minimum(1, np.exp(log_t) * values)

    mean = np.mean([raised(ratio, a) for a in posterior.draws()], axis=0)
    found = fit(p, u, alpha, posterior)
    tilt = TILT / (1 + np.exp(-(u - found.centre) / found.width))
    expected = raised(mean, np.clip((alpha - tilt.mean()) / (1 - TILT), 0, 1))
    np.testing.assert_allclose(found(u), (1 - TILT) * expected + tilt, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.floats(0, 1))
def test_the_scale_solves_its_equation(ratio, alpha):
    ratio = np.array(ratio)
    ratio[ratio < 1e-6] = 0
    reach, share = (ratio > 0).mean(), np.full(ratio.size, 1 / ratio.size)
    mean = np.minimum(1, scale_to(ratio, share, alpha) * ratio).mean()
    assert mean == pytest.approx(min(alpha, reach), abs=1e-9)


def test_the_scale_is_that_of_a_root_finder():
    rng = np.random.default_rng(0)
    ratio, share = rng.gamma(1, 1, 200), rng.dirichlet(np.ones(200))
    wanted = brentq(lambda t: share @ np.minimum(1, t * ratio) - 0.4, 1e-9, 1e9)
    assert scale_to(ratio, share, 0.4) == pytest.approx(wanted, rel=1e-6)


def test_shares_are_as_good_as_rows():
    ratio, times = np.array([0.0, 0.5, 2.0, 7.0]), np.array([3, 1, 4, 2])
    rows = np.repeat(ratio, times)
    assert scale_to(ratio, times / 10, 0.35) == pytest.approx(
        scale_to(rows, np.full(10, 0.1), 0.35)
    )


def test_an_estimate_without_a_posterior_is_taken_as_known():
    assert posterior_of(estimate_of(0.3)) == AlphaPosterior.known(0.3)
    wide = AlphaPosterior(LEVELS)
    assert posterior_of(estimate_of(0.5, wide)) is wide


# --- laws ------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(SCORES, SCORES, QUANTILES)
def test_probabilities_lie_in_range_and_rise_strictly_with_the_score(p, u, quantiles):
    posterior = AlphaPosterior(tuple(quantiles))
    found = fit(p, u, posterior.median, posterior)(np.linspace(-1, 13, 57))
    assert found.min() >= 0
    assert found.max() <= 1
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_mean_over_U_is_alpha_and_values_are_near_bayes(alpha):
    sample = gaussians(alpha, 4000, 4000)
    scores_p, scores_u = sample.scores()
    found = fit(scores_p, scores_u, sample.alpha)(scores_u)
    x = sample.X_u[:, 0]
    bayes = alpha / (alpha + (1 - alpha) * np.exp(4 * (2 - x)))
    assert found.mean() == pytest.approx(sample.alpha, rel=1e-6)
    assert np.abs(found - bayes).mean() < 0.02


@pytest.mark.parametrize("gap", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("alpha", [0.02, 0.3, 0.8])
def test_probabilities_of_an_estimate_add_up_to_the_positives_that_it_names(gap, alpha):
    rng, hidden = np.random.default_rng(0), round(alpha * 2000)
    scores_p = rng.normal(gap, 1, 300)
    scores_u = np.append(rng.normal(gap, 1, hidden), rng.normal(0, 1, 2000 - hidden))
    evidence = Evidence.of(scores_p, scores_u, crossfitted=True)
    estimate = tb.estimate_alpha(evidence)
    found = fit_probabilities(evidence, estimate)(scores_u).sum()
    # The thousandth that orders ties is there even if α is nearer than that to 0 or 1.
    tilt = 0.0 if TILT < estimate.alpha < 1 - TILT else TILT
    assert found == pytest.approx(estimate.alpha * 2000, rel=1e-6, abs=2000 * tilt)


@pytest.mark.parametrize("gap", [1.0, 2.0, 4.0])
def test_a_wider_posterior_gives_probabilities_nearer_to_each_other(gap):
    rng = np.random.default_rng(0)
    scores_p = rng.normal(gap, 1, 500)
    scores_u = np.append(rng.normal(gap, 1, 600), rng.normal(0, 1, 1400))
    spread, largest, best = [], [], np.argsort(scores_u)[-50:]
    for width in (0.0, 0.05, 0.1, 0.2, 0.29):
        posterior = AlphaPosterior(tuple(0.3 + width * (2 * level - 1) for level in LEVELS))
        found = fit(scores_p, scores_u, 0.3, posterior)(scores_u)
        assert found.mean() == pytest.approx(0.3, rel=1e-6)
        spread.append(found.std())
        largest.append(found[best].mean())
    assert np.all(np.diff(spread) < 0)
    assert np.all(np.diff(largest) <= 1e-9)
    assert largest[-1] < 0.9 < largest[0]


@settings(max_examples=50, deadline=None)
@given(SCORES, SCORES, SHARES, st.randoms())
def test_row_order_does_not_matter(p, u, alpha, random):
    one = fit(p, u, alpha)
    shuffled_p, shuffled_u = list(p), list(u)
    random.shuffle(shuffled_p)
    random.shuffle(shuffled_u)
    two = fit(shuffled_p, shuffled_u, alpha)
    np.testing.assert_allclose(one(u), two(u), atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(SCORES, SCORES)
def test_every_unlabeled_row_is_in_one_block(p, u):
    ratio = RatioMap.of(p, u)
    assert ratio.share_u.sum() == pytest.approx(1)
    assert np.all(np.diff(ratio.ratio) >= 0)
    of_rows = np.interp(u, ratio.knots, ratio.ratio)
    assert ratio.share_u @ ratio.ratio == pytest.approx(of_rows.mean(), rel=1e-9)


def test_weights_that_are_all_equal_change_nothing():
    rng = np.random.default_rng(0)
    p, u = rng.normal(2, 1, 60), rng.normal(0, 1, 90)
    one, two = fit(p, u, 0.4), fit(p, u, 0.4, weight_p=np.full(60, 3.0))
    assert two(u) == pytest.approx(one(u))


def test_scores_beyond_the_seen_ones_keep_their_order():
    below, top, above = fit([3.0, 4.0], [1.0, 2.0, 3.0], 0.3)([0.0, 4.0, 5.0])
    assert below < top < above < 1


def test_inputs_are_left_alone():
    p, u = np.array([2.0, 1.0]), np.array([3.0, 0.0])
    fit(p, u, 0.5)
    assert p.tolist() == [2, 1]
    assert u.tolist() == [3, 0]


def test_bad_input_has_a_code():
    with pytest.raises(InputError, match="TB008"):
        fit([1.0], [1.0], 1.5, AlphaPosterior.known(0.5))
    with pytest.raises(InputError, match="TB001"):
        fit([], [1.0], 0.5)
    with pytest.raises(InputError, match="TB004"):
        fit([np.nan], [1.0], 0.5)


def test_the_map_of_earlier_model_folders_is_the_same_one():
    from topbin.learn import probabilities

    assert probabilities.Posterior is ProbabilityMap
