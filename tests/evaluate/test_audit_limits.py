import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

from topbin import AlphaEstimate
from topbin.core import InputError
from topbin.evaluate.audit.limits import lower_limit, upper_limit
from topbin.evaluate.audit.planning import plan, power


def naive_power(n, claim, truth, level):
    """Every outcome by itself: does the exact one-sided test reject the claim?"""
    total = 0.0
    for x in range(n + 1):
        tail = binom.sf(x - 1, n, claim) if truth > claim else binom.cdf(x, n, claim)
        total += binom.pmf(x, n, truth) * (tail <= 1 - level)
    return total


@given(
    st.integers(1, 80), st.floats(0.01, 0.98), st.floats(0.02, 0.98), st.sampled_from([0.8, 0.95])
)
def test_power_is_its_definition(n, claim, truth, level):
    if abs(truth - claim) < 0.01:
        return
    expected = naive_power(n, claim, truth, level)
    assert power(n, claim, truth - claim, confidence=level) == pytest.approx(expected, abs=1e-9)


def test_fifty_rows_reject_008_when_the_truth_is_025():
    assert power(50, 0.08, 0.17) == pytest.approx(0.955, abs=0.001)
    rng = np.random.default_rng(0)
    positives = rng.binomial(50, 0.25, 4000)
    rejected = [lower_limit([x], [50], [1.0], 0.05) > 0.08 for x in positives]
    assert np.mean(rejected) == pytest.approx(0.955, abs=0.01)  # 3 standard errors


@pytest.mark.parametrize(
    ("claim", "error", "wanted"),
    [(0.08, 0.17, 0.9), (0.3, -0.1, 0.9), (0.5, 0.05, 0.8), (0.0, 0.1, 0.9), (1.0, -0.2, 0.5)],
)
def test_a_plan_is_the_number_from_which_on_the_power_is_there(claim, error, wanted):
    found = plan(claim, error, power=wanted)
    assert power(found.n - 1, claim, error) < wanted
    assert all(power(n, claim, error) >= wanted for n in range(found.n, found.n + 60))
    assert found.power == power(found.n, claim, error)


def test_a_plan_for_a_small_error_is_near_the_normal_one():
    z = norm.ppf([0.95, 0.9])
    near = (z @ np.sqrt([0.3 * 0.7, 0.302 * 0.698]) / 0.002) ** 2
    assert plan(0.3, 0.002, power=0.9).n == pytest.approx(near, rel=0.01)


def test_one_row_is_a_plan_when_little_is_asked():
    assert plan(0.01, 0.5, power=0.05).n == 1


def test_an_estimate_with_an_interval_is_held_to_its_nearer_end():
    est = AlphaEstimate(alpha=0.3, n_p=9, n_u=9, method="x", interval=(0.2, 0.4), confidence=0.95)
    assert plan(est, 0.2) == plan(0.4, 0.2)
    assert plan(est, -0.1) == plan(0.2, -0.1)
    assert power(60, est, 0.2) == power(60, 0.4, 0.2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plan(0.3, 0.0), "error must be a finite number other than 0"),
        (lambda: plan(0.3, np.nan), "error must be"),
        (lambda: plan(0.3, True), "error must be"),
        (lambda: plan(0.3, 0.8), "an error of 0.8 from 0.300 would put the truth at 1.100"),
        (lambda: plan(0.3, -0.31), "an error of -0.31"),
        (lambda: plan(0.3, 0.0001), "an error of 0.0001 would take about"),
        (lambda: plan(0.3, 0.1, power=1.0), "power must be"),
        (lambda: plan(1.3, 0.1), "alpha must be"),
        (lambda: power(0, 0.3, 0.1), "n must be"),
    ],
)
def test_impossible_questions_are_refused(call, words):
    with pytest.raises(InputError, match=f"^TB008 {words}"):
        call()


@given(st.integers(1, 80), st.integers(0, 80))
def test_one_stratum_has_the_limits_of_clopper_and_pearson(n, x):
    x = min(x, n)
    exact = binomtest(x, n).proportion_ci(0.95, "exact")
    assert lower_limit([x], [n], [1.0], 0.025) == pytest.approx(exact.low, abs=1e-12)
    assert upper_limit([x], [n], [1.0], 0.025) == pytest.approx(exact.high, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=6))
def test_limits_of_strata_enclose_the_estimate(rows):
    n = np.array([row[1] for row in rows])
    x = np.minimum(n, [row[0] for row in rows])
    shares = np.arange(1, n.size + 1) / np.arange(1, n.size + 1).sum()
    low, high = lower_limit(x, n, shares, 0.025), upper_limit(x, n, shares, 0.025)
    seen = (x / n) @ shares
    assert 0 <= low <= seen + 1e-9
    assert seen - 1e-9 <= high <= 1
    if x.sum() == 0:
        assert low == pytest.approx(0, abs=1e-9)
    # Turning every answer around turns the interval around.
    assert 1 - upper_limit(n - x, n, shares, 0.025) == pytest.approx(float(low), abs=1e-12)


def test_equal_answers_in_equal_strata_are_one_sample():
    # 2 of 25 in each of two halves: the pooled exact interval, to the last digits.
    exact = binomtest(4, 50).proportion_ci(0.95, "exact")
    assert upper_limit([2, 2], [25, 25], [0.5, 0.5], 0.025) == pytest.approx(exact.high, abs=1e-9)
    assert lower_limit([2, 2], [25, 25], [0.5, 0.5], 0.025) == pytest.approx(exact.low, abs=1e-9)


def test_limits_of_many_audits_at_once_are_those_of_each():
    rng = np.random.default_rng(1)
    n, shares = np.array([10, 20, 5]), np.array([0.5, 0.3, 0.2])
    x = rng.binomial(n, 0.4, (7, 3))
    together = upper_limit(x, n, shares, 0.05)
    assert together == pytest.approx([float(upper_limit(row, n, shares, 0.05)) for row in x])


STRATIFIED = {
    "rare, ten strata": ([10] * 10, [0.1] * 10, [0, 0, 0, 0, 0, 0, 0.005, 0.02, 0.08, 0.4]),
    "half, good scores": ([20] * 5, [0.2] * 5, [0.02, 0.1, 0.5, 0.9, 0.98]),
    "useless scores": ([5] * 5, [0.2] * 5, [0.1] * 5),
    "nearly all": ([8] * 5, [0.2] * 5, [0.9, 0.97, 0.99, 1, 1]),
    "uneven shares": ([30, 10, 20], [0.6, 0.1, 0.3], [0.02, 0.3, 0.7]),
    "one heavy row": ([5, 60], [0.5, 0.5], [0.3, 0.02]),
}


@pytest.mark.parametrize("case", STRATIFIED)
@pytest.mark.parametrize("doubt", [0.025, 0.05])
def test_limits_of_strata_keep_their_promise(case, doubt):
    """Each end misses at most `doubt`, within 3 standard errors of 2,000 audits; so coverage of
    the two-sided 95 % interval is at least 94 %."""
    n, shares, p = (np.asarray(part) for part in STRATIFIED[case])
    x = np.random.default_rng(0).binomial(n, p, (2000, n.size))
    alpha = shares @ p
    slack = 3 * np.sqrt(doubt * (1 - doubt) / 2000)
    too_high = np.mean(lower_limit(x, n, shares, doubt) > alpha + 1e-9)
    too_low = np.mean(upper_limit(x, n, shares, doubt) < alpha - 1e-9)
    assert max(too_high, too_low) <= doubt + slack
    assert too_high + too_low <= 2 * doubt + 0.01


def test_good_scores_make_strata_sharper_than_a_simple_sample():
    n, shares, p = (np.asarray(part) for part in STRATIFIED["half, good scores"])
    rng = np.random.default_rng(2)
    x = rng.binomial(n, p, (500, 5))
    stratified = upper_limit(x, n, shares, 0.025) - lower_limit(x, n, shares, 0.025)
    pooled = rng.binomial(100, shares @ p, (500, 1))
    simple = upper_limit(pooled, [100], [1.0], 0.025) - lower_limit(pooled, [100], [1.0], 0.025)
    assert stratified.mean() < 0.75 * simple.mean()
