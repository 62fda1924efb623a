"""Limits of shares above all thresholds at once: the definition, both ends, and coverage."""

import numpy as np
import pytest

from topbin.evaluate.bands import critical_divergence, divergence, limits_above


def test_limits_are_where_the_divergence_is_critical():
    above, n = np.array([1, 20, 77, 99]), 100
    low, high = limits_above(above, n, 0.05)
    for end in (low, high):
        np.testing.assert_allclose(n * divergence(above / n, end), critical_divergence(n, 0.05))
    assert np.all(low < above / n)
    assert np.all(above / n < high)


def test_a_second_sample_widens_the_limits_and_a_huge_one_does_not():
    above, n = np.arange(0, 101, 10), 100
    plain, small, huge = (limits_above(above, n, 0.05, second=k) for k in (None, 50, 10**9))
    assert np.all(small[0] <= plain[0])
    assert np.all(small[1] >= plain[1])
    assert small[1][-2] == 1.0  # all 50 may be above although 10 of 100 are not
    np.testing.assert_allclose(huge, plain, atol=0.02)


@pytest.mark.parametrize("n", [30, 1000])
def test_all_limits_hold_at_once_as_often_as_promised(n):
    rng, held = np.random.default_rng(0), []
    k = np.arange(n + 1)
    low, high = limits_above(k, n, 0.1)
    for _ in range(400):
        share = np.sort(rng.random(n))  # above the k-th best row
        held.append(np.all(low[1:] <= share) and np.all(share <= high[:-1]))
    assert 0.86 <= np.mean(held) <= 0.97
