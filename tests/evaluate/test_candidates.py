"""What to expect of the best rows: the mean of their probabilities, and ends that contain it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topbin.core import AlphaEstimate, Evidence
from topbin.core.posterior import AlphaPosterior
from topbin.evaluate.curves import (
    UNKNOWN,
    list_precision,
    percent_of,
    precision_of_best,
    what_to_expect,
)
from topbin.evaluate.measure import Share
from topbin.learn.probabilities import fit_probabilities
from topbin.mpe.estimate import estimate_alpha

shares = st.lists(st.floats(0, 1), min_size=1, max_size=40).map(sorted)


def ends_of(likely, low, high, known=1.0, n=50, **more):
    return precision_of_best(
        likely, (low, high), Share(np.full(likely.size, known), n), 0.95, **more
    )


@settings(max_examples=60, deadline=None)
@given(shares, st.floats(0, 1), st.floats(0, 1), st.integers(1, 500))
def test_the_precision_is_the_mean_of_the_probabilities_and_lies_between_its_ends(
    rising, low, high, n
):
    likely = np.array(rising[::-1])
    found = ends_of(likely, low * likely, likely + high * (1 - likely), n=n)
    for k in range(likely.size):
        assert found.value[k] == pytest.approx(sum(likely[: k + 1]) / (k + 1))
    assert np.all((found.low >= 0) & (found.low <= found.value + 1e-12))
    assert np.all((found.value <= found.high + 1e-12) & (found.high <= 1))


def test_each_source_of_doubt_widens_the_ends():
    likely = np.linspace(0.9, 0.5, 100)
    plain = ends_of(likely, likely, likely, n=10**9)
    of_rows = Share(plain.value, np.arange(1, 101)).limits(0.95)
    np.testing.assert_allclose((plain.low, plain.high), of_rows, atol=1e-3)  # chance alone
    wider = (
        ends_of(likely, 0.8 * likely, np.minimum(1, 1.1 * likely), n=10**9),  # α
        ends_of(likely, likely, likely, known=0.3, n=50),  # the known positives above
        ends_of(likely, likely, likely, n=10**9, worth=0.2),  # rows in groups
    )
    for found in wider:
        assert np.all(found.low[5:] < plain.low[5:])
        assert np.all(found.high[5:] > plain.high[5:])
        np.testing.assert_array_equal(found.value, plain.value)


def scored(seed=0, gap=1.5):
    rng = np.random.default_rng(seed)
    hidden = rng.random(800) < 0.3
    return Evidence.of(rng.normal(gap, 1, 200), rng.normal(gap * hidden, 1)), hidden


def test_a_list_has_the_precision_of_the_probabilities_that_are_shown():
    evidence, _ = scored()
    estimate = estimate_alpha(evidence)
    ranked = np.sort(evidence.scores[1])[::-1]
    found = list_precision(evidence, estimate, ranked)
    likely = fit_probabilities(evidence, estimate)(ranked)
    np.testing.assert_allclose(found.value, np.cumsum(likely) / np.arange(1, 801))
    # All rows together are α, and their ends contain those of α.
    assert found.value[-1] == pytest.approx(estimate.alpha, rel=1e-6)
    assert found.low[-1] <= estimate.interval[0]
    assert found.high[-1] >= estimate.interval[1]


def test_a_wider_posterior_gives_wider_ends():
    evidence, _ = scored()
    sizes = {"n_p": 200, "n_u": 800, "method": "overlap", "confidence": 0.95}
    ranked = np.sort(evidence.scores[1])[::-1]
    spans = []
    for sd in (0.0, 0.02, 0.06):
        known = AlphaPosterior(tuple(0.3 + sd * k / 7 for k in range(-7, 8)))
        ends = known.interval(0.95)
        told = AlphaEstimate(alpha=0.3, interval=ends, posterior=known, **sizes)
        found = list_precision(evidence, told, ranked)
        spans.append(np.mean(found.high - found.low))
    assert spans == sorted(spans)
    assert spans[0] < spans[-1]


def test_a_list_is_no_worse_than_rows_drawn_at_random():
    """As seen: an interval of .919 to .961, and a list that was "63 % to 100 %" positive."""
    rng = np.random.default_rng(3)
    hidden = rng.random(1500) < 0.94
    evidence = Evidence.of(rng.normal(1.5, 1, 150), rng.normal(1.5 * hidden, 1))
    estimate = estimate_alpha(evidence)
    found = list_precision(evidence, estimate, np.sort(evidence.scores[1])[::-1])
    assert found.low[99] > estimate.interval[0] - 0.1
    assert np.all(found.low <= found.value)


@pytest.mark.slow
def test_the_ends_contain_the_precision_of_lists():
    held = []
    for seed in range(60):
        evidence, hidden = scored(seed, gap=2.0)
        scores = evidence.scores[1]
        order = np.argsort(-scores)
        found = list_precision(evidence, estimate_alpha(evidence), scores[order])
        seen = np.cumsum(hidden[order]) / np.arange(1, 801)
        held += [found.low[k] <= seen[k] <= found.high[k] for k in (19, 99, 299)]
    assert np.mean(held) >= 0.93


def test_words():
    three = 0.834, 0.0042, 1.0
    ends = {"alpha": 0.2, "interval": (0.1, 0.3), "n_u": 900, "method": "overlap"}
    many, few = (AlphaEstimate(n_p=n, **ends) for n in (200, 12))
    assert what_to_expect(many, *three) == "about 83 % positive (0.42 % to 100 %)"
    assert what_to_expect(few, *three) == "between 0.42 % and 100 % positive"
    assert what_to_expect(many, None, None, None) == UNKNOWN
    assert what_to_expect(many, *three[:2], None) == "about 83 % positive"
    assert what_to_expect(replace(many, interval=None), *three) == "about 83 % positive"
    assert [percent_of(share) for share in (0, 1, 0.5, 0.01, 0.00042)] == [
        "0", "100", "50", "1", "0.042",
    ]  # fmt: skip
