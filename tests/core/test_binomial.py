"""Exact limits of a share against the binomial tails that define them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from topbin.core.binomial import exact_lower, exact_upper

DOUBT = st.floats(1e-4, 0.4)
COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS, DOUBT)
def test_at_the_limits_what_was_seen_is_as_unlikely_as_allowed(counts, doubt):
    hits, n = counts
    high, low = float(exact_upper(hits, n, doubt)), float(exact_lower(hits, n, doubt))
    assert 0 <= low <= hits / n <= high <= 1
    if hits < n:
        assert binom.cdf(hits, n, high) == pytest.approx(doubt, rel=1e-6)
    if hits > 0:
        assert binom.sf(hits - 1, n, low) == pytest.approx(doubt, rel=1e-6)


@given(COUNTS, DOUBT)
def test_the_lower_limit_of_hits_is_the_upper_one_of_misses(counts, doubt):
    hits, n = counts
    mirrored = 1 - float(exact_upper(n - hits, n, doubt))
    assert float(exact_lower(hits, n, doubt)) == pytest.approx(mirrored, abs=1e-9)


def test_all_or_none_and_arrays():
    hits = np.array([0, 5, 10])
    assert exact_upper(hits, 10, 0.05)[2] == 1
    assert exact_lower(hits, 10, 0.05)[0] == 0
    np.testing.assert_allclose(exact_upper(hits, 10, 0.05)[0], 1 - 0.05 ** (1 / 10))
