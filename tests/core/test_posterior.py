"""The posterior of α: its quantiles, what is between them, and what more rows change."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from coded import fails
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri, xlog1py, xlogy
from scipy.stats import beta

from topbin.core import LEVELS, AlphaPosterior
from topbin.core.posterior import DRAWS, FLAT_SHARE

SHARES = st.floats(0, 1, allow_subnormal=False)
quantiles = st.lists(SHARES, min_size=len(LEVELS), max_size=len(LEVELS)).map(
    lambda found: AlphaPosterior(tuple(sorted(found)))
)
WIDE = AlphaPosterior(tuple(map(float, beta.ppf(LEVELS, 3, 7))))
UNEVEN = AlphaPosterior(
    (0.0, 0.0, 0.01, 0.02, 0.1, 0.1, 0.1, 0.3, 0.3, 0.5, 0.7, 0.9, 1.0, 1.0, 1.0)
)
EVEN = AlphaPosterior(LEVELS)
HIGH = AlphaPosterior(tuple(0.6 + 0.3 * level for level in LEVELS))


# --- quantiles -------------------------------------------------------------------------------


@given(quantiles)
def test_each_level_gives_back_its_quantile_to_the_bit(posterior):
    assert tuple(posterior.at(LEVELS).tolist()) == posterior.quantiles
    assert tuple(float(posterior.at(level)) for level in LEVELS) == posterior.quantiles
    assert posterior.median == float(posterior.at(0.5)) == posterior.quantiles[7]
    for k, confidence in enumerate((0.998, 0.99, 0.95, 0.9, 0.8, 0.6, 0.3)):
        assert posterior.interval(confidence) == (
            posterior.quantiles[k],
            posterior.quantiles[-k - 1],
        )


@given(quantiles)
def test_between_and_beyond_the_levels_it_rises_and_stays_in_range(posterior):
    levels = np.concatenate([np.geomspace(1e-15, 0.01, 50), np.linspace(0.01, 0.99, 300)])
    found = posterior.at(np.concatenate([levels, 1 - np.geomspace(1e-15, 0.01, 50)[::-1]]))
    assert np.all(np.diff(found) >= 0)
    assert found[0] >= 0
    assert found[-1] <= 1


@pytest.mark.parametrize("level", [1e-6, 0.0005, 0.003, 0.03, 0.42, 0.5, 0.77, 0.985, 0.9999])
def test_in_between_it_is_linear_in_the_normal_score(level):
    normal = AlphaPosterior(tuple(float(0.5 + 0.05 * z) for z in ndtri(LEVELS)))
    assert normal.at(level) == pytest.approx(0.5 + 0.05 * ndtri(level), abs=1e-12)


@given(quantiles)
def test_intervals_are_nested_around_the_median(posterior):
    found = [posterior.interval(c) for c in (1e-3, 0.2, 0.5, 0.9, 0.95, 0.99, 0.9999, 1 - 1e-12)]
    assert all(0 <= low <= posterior.median <= high <= 1 for low, high in found)
    low, high = np.transpose(found)
    assert np.all(np.diff(low) <= 0)
    assert np.all(np.diff(high) >= 0)


@given(SHARES)
def test_a_known_alpha_is_the_same_everywhere(alpha):
    known = AlphaPosterior.known(alpha)
    assert known.median == alpha
    assert known.interval(0.95) == known.interval(1 - 1e-12) == (alpha, alpha)
    assert set(known.draws().tolist()) == {alpha}


@given(quantiles, SHARES)
def test_a_bound_cuts_what_is_above_it_and_nothing_else(posterior, bound):
    found = posterior.at_most(bound)
    assert found.quantiles == tuple(q if q <= bound else bound for q in posterior.quantiles)
    assert found.at_most(bound) == found
    assert posterior.at_most(1.0) == posterior
    assert found.interval(0.998)[1] <= bound


def test_what_nothing_is_known_of_may_be_all_and_excludes_no_share():
    found = AlphaPosterior.unknown()
    assert found.median == 1.0
    assert all(found.interval(level) == (0.0, 1.0) for level in (0.95, 0.99))


def test_it_is_a_value():
    assert AlphaPosterior(WIDE.quantiles) == WIDE
    with pytest.raises(FrozenInstanceError):
        WIDE.quantiles = LEVELS


@pytest.mark.parametrize(
    "wrong",
    [
        (),
        LEVELS[:-1],
        LEVELS[::-1],
        (-0.1, *LEVELS[1:]),
        (*LEVELS[:-1], 1.1),
        (*LEVELS[:-1], float("nan")),
        (*LEVELS[:-1], "1"),
        (*LEVELS[:-1], None),
    ],
)
def test_what_is_no_list_of_quantiles_is_refused(wrong):
    with fails("TB008", "15 numbers from 0 to 1 in ascending order"):
        AlphaPosterior(wrong)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5, float("nan"), None, True])
def test_a_confidence_that_is_no_probability_is_refused(confidence):
    with fails("TB008", "confidence must be a number in (0, 1)"):
        WIDE.interval(confidence)


# --- draws -----------------------------------------------------------------------------------


@given(quantiles, st.integers(1, 300))
def test_draws_are_quantiles_at_equal_steps(posterior, n):
    draws = posterior.draws(n)
    assert draws.tolist() == [float(posterior.at((k + 0.5) / n)) for k in range(n)]
    assert np.all(np.diff(draws) >= 0)
    for level, quantile in zip(LEVELS, posterior.quantiles, strict=True):
        # As many draws are at most a quantile as its level says, to within one.
        assert np.sum(draws < quantile) <= level * n + 1
        assert np.sum(draws <= quantile) >= level * n - 1


def test_draws_average_to_the_mean():
    assert EVEN.draws().size == DRAWS
    assert EVEN.draws().mean() == pytest.approx(0.5, abs=1e-12)
    assert WIDE.draws().mean() == pytest.approx(0.3, abs=2e-3)  # 3/(3 + 7)
    assert np.mean(WIDE.draws() ** 2) == pytest.approx(0.3 * 0.7 / 11 + 0.09, abs=3e-3)


# --- what more rows change -------------------------------------------------------------------


def counted(positives, negatives):
    """The likelihood of rows that were drawn at random, and of which so many are positive."""
    return lambda alpha: xlogy(positives, alpha) + xlog1py(negatives, -alpha)


def plain_update(posterior, log_likelihood, n=400_001):
    """Many draws of the posterior and even ones, with weights by the likelihood."""
    even = (np.arange(n) + 0.5) / n
    alpha = np.clip(np.concatenate([posterior.at(even), even]), 1e-12, 1 - 1e-12)
    seen = log_likelihood(alpha)
    weight = np.repeat([1 - FLAT_SHARE, FLAT_SHARE], n) * np.exp(seen - seen.max())
    return alpha, weight / weight.sum()


@pytest.mark.parametrize("posterior", [WIDE, EVEN, UNEVEN], ids=["wide", "even", "uneven"])
@pytest.mark.parametrize("seen", [(0, 0), (1, 0), (0, 5), (3, 7), (30, 70), (900, 100)])
def test_an_update_is_that_of_weighted_draws(posterior, seen):
    alpha, weight = plain_update(posterior, counted(*seen))
    found = posterior.updated(counted(*seen)).quantiles
    for level, quantile in zip(LEVELS, found, strict=True):
        # A lump may be at the quantile itself. What is less likely than 1 in 4,000 is spread
        # evenly there, which matters where only the flat part of the prior agrees with the rows.
        assert weight[alpha < quantile - 1e-6].sum() <= level + 5e-3
        assert weight[alpha <= quantile + 1e-6].sum() >= level - 5e-3


@pytest.mark.parametrize("alpha", [0.001, 0.25, 0.9])
def test_a_known_alpha_stays_where_what_is_seen_agrees(alpha):
    agrees = counted(1000 * alpha, 1000 * (1 - alpha))
    after = AlphaPosterior.known(alpha).updated(agrees)
    assert after.median == pytest.approx(alpha, abs=1e-6)
    assert after.interval(0.8) == pytest.approx((alpha, alpha), abs=1e-6)


@pytest.mark.parametrize("before", [AlphaPosterior.known(0.9), AlphaPosterior.known(1.0), HIGH])
def test_what_contradicts_the_scores_decides_alone(before):
    after = before.updated(counted(2, 198))
    expected = beta.ppf([0.025, 0.5, 0.975], 3, 199)  # from an even prior
    np.testing.assert_allclose(after.at([0.025, 0.5, 0.975]), expected, atol=2e-3)


@settings(max_examples=30)
@given(quantiles, st.integers(0, 50), st.integers(0, 50))
def test_updates_ascend_are_in_range_and_move_toward_what_was_seen(posterior, positives, negatives):
    more = posterior.updated(counted(positives + 20, negatives)).quantiles
    less = posterior.updated(counted(positives, negatives + 20)).quantiles
    assert list(more) == sorted(more)
    assert 0 <= less[0] <= more[-1] <= 1
    assert np.all(np.array(less) <= np.array(more) + 1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_none_and_all_can_be_the_answer(alpha):
    after = AlphaPosterior.known(alpha).updated(counted(50 * alpha, 50 * (1 - alpha)))
    assert after.median == alpha
    assert after.interval(0.5) == (alpha, alpha)


def test_the_scale_of_the_likelihood_does_not_matter():
    plain, shifted = (
        WIDE.updated(lambda a, c=c: counted(3, 7)(a) + c).quantiles for c in (0.0, -5000.0)
    )
    np.testing.assert_allclose(plain, shifted, atol=1e-9)
