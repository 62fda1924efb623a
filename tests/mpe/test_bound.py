import subprocess
import sys
from math import exp, hypot, isclose, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from roc_models import draw_tails
from scipy.stats import beta, binomtest

from topbin.core import InputError, Tails
from topbin.mpe.bbe_cp import at_ranks, bbe_cp, geometric_ranks
from topbin.mpe.calibration import (
    calibrated_ranks,
    critical_shortfall,
    deviation,
    knots,
    worst_shortfalls,
)
from topbin.mpe.intervals import interval, interval_assumes, upper_bound

CONFIDENCES = (1e-3, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9999, 1 - 1e-12)


@st.composite
def samples(draw):
    """Small tied samples of a few fixed sizes, so that each size is calibrated once."""
    n_p, n_u = draw(st.sampled_from([(1, 6), (4, 1), (9, 30), (25, 12), (60, 60)]))
    value = st.integers(0, 15).map(float)
    return (draw(st.lists(value, min_size=n, max_size=n)) for n in (n_p, n_u))


few = settings(max_examples=20, deadline=None)


def shortfall(x, y, n_p, n_u, alpha):
    """The standardized deviation for one cut, in plain Python."""
    q = min(1, (x + y) / (n_p + alpha * n_u))
    variance = alpha * q * (1 - alpha * q) / n_u + alpha**2 * q * (1 - q) / n_p
    return -(y / n_u - alpha * x / n_p) / variance**0.5 if variance > 0 else 0.0


# --- the bound -------------------------------------------------------------------------------


def test_bound_is_the_largest_alpha_that_no_cut_contradicts():
    grid = knots(400)
    for seed in range(5):
        tails = next(draw_tails("Gaussians 3σ", 80, 400, 0.3, repeats=1, seed=seed))
        found = upper_bound(tails, 0.9)
        cuts = [
            (x, y)
            for x, y in zip(tails.above_p.tolist(), tails.above_u.tolist(), strict=True)
            if x in calibrated_ranks(80)
        ]

        def accepted(alpha, cuts=cuts):
            near = np.searchsorted(grid, alpha, side="right") - 1
            ends = grid[near], grid[near + 1]
            weight = log(alpha / ends[0]) / log(ends[1] / ends[0])
            c = [critical_shortfall(80, 400, float(end), 0.9) for end in ends]
            worst = max(shortfall(x, y, 80, 400, alpha) for x, y in cuts)
            return worst <= c[0] + weight * (c[1] - c[0])

        assert accepted(found * (1 - 1e-6))
        assert not any(accepted(a) for a in np.linspace(found * (1 + 1e-6), 0.99, 200))


def test_draws_are_those_of_scores_with_all_negatives_below_all_positives():
    """The calibrated law against samples of scores that are drawn, sorted and counted."""
    n_p, n_u, alpha, ranks = 40, 90, 0.3, calibrated_ranks(40)
    rng, worst = np.random.default_rng(1), []
    for _ in range(4000):
        tails = Tails.from_scores(
            rng.random(n_p), np.where(rng.random(n_u) < alpha, rng.random(n_u), -1.0)
        )
        read = at_ranks(tails, ranks)
        worst.append(-deviation(read.above_p, read.above_u, n_p, n_u, alpha).min())
    draws = worst_shortfalls(n_p, n_u, alpha)
    for share in (0.5, 0.9, 0.95, 0.99):
        seen = np.mean(np.asarray(worst) <= np.quantile(draws, share) + 1e-9)
        assert abs(seen - np.mean(draws <= np.quantile(draws, share) + 1e-9)) < 0.025


@pytest.mark.parametrize("n_p", [7, 100])
@pytest.mark.parametrize("n_u", [1, 9, 250])
def test_more_unlabeled_rows_above_a_cut_never_lower_its_deviation(n_p, n_u):
    # This is what makes the case of no negatives above any positive the worst one.
    y = np.arange(n_u + 1)
    for alpha in (1e-3, 0.05, 0.3, 0.7, 0.99, 1.0):
        for x in {1, n_p // 2, n_p - 1, n_p}:
            assert np.all(np.diff(deviation(x, y, n_p, n_u, alpha)) >= -1e-12)


def test_negatives_above_the_cuts_only_raise_the_bound():
    pure = next(draw_tails("separated", 100, 1000, 0.2, repeats=1, seed=0))
    extra = np.minimum(pure.above_p, 40)
    raised = Tails(pure.cuts, pure.above_p, pure.above_u + extra, pure.n_p, pure.n_u)
    assert upper_bound(raised) > upper_bound(pure)


def test_tail_beyond_the_draws_goes_on_growing_smoothly():
    levels = 1 - np.array([1e-1, 1e-2, 1.1e-3, 1e-3, 0.9e-3, 1e-4, 1e-6, 1e-12])
    found = [critical_shortfall(100, 1000, 0.3, float(level)) for level in levels]
    assert np.all(np.diff(found) >= 0)
    assert found[4] - found[3] < 0.1
    assert 5 < found[-1] < 9


def test_draws_are_kept_and_cannot_be_changed():
    first = worst_shortfalls(10, 20, 0.5)
    assert worst_shortfalls(10, 20, 0.5) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0.0


def test_calibrated_ranks_are_among_those_that_are_read():
    for n_p in [*range(1, 200), 1_000, 54_321, 10**7]:
        assert set(calibrated_ranks(n_p)) <= set(geometric_ranks(n_p))
        assert set(calibrated_ranks(n_p)) <= set(geometric_ranks(n_p))
        assert calibrated_ranks(n_p)[-1] == n_p


# --- the lower end ---------------------------------------------------------------------------


def ratio_limits(x, y, factor, risk):
    """Clopper-Pearson limits of the share of unlabeled rows in a bin, as odds."""
    ends = binomtest(y, x + y).proportion_ci(1 - 2 * risk, method="exact")
    return factor * ends.low / (1 - ends.low), factor * ends.high / (1 - ends.high)


def test_lower_end_extrapolates_from_a_bin_and_its_top_third():
    # Three unlabeled rows stand to each positive down to the 500th of 1,000, the others below:
    # the bin that decides holds 500 positives, and 165 are the most within its top third.
    above_p = np.array([1000, 500, 165])
    above_u = np.array([10_000, 1_500, 495])
    tails = Tails(np.array([0.0, 1.0, 2.0]), above_p, above_u, 1000, 10_000)
    low, _ = interval(tails)
    factor, w = 1000 / 10_000, 165 / 500
    r_1, r_2 = factor * 495 / 165, factor * 1005 / 335
    low_1 = ratio_limits(165, 495, factor, 0.025)[0]
    high_2 = ratio_limits(335, 1005, factor, 0.025)[1]
    reach = hypot((1 + w) * (r_1 - low_1), w * (high_2 - r_2))
    assert isclose(low, (1 + w) * r_1 - w * r_2 - reach, rel_tol=1e-9)
    assert low < ratio_limits(500, 1500, factor, 0.025)[0]


def test_a_ratio_that_rises_outward_is_extrapolated_down_but_never_up():
    cuts, above_p = np.array([0.0, 1.0, 2.0]), np.array([1000, 900, 300])
    # The inner third holds `inner` unlabeled rows, the bin of 900 positives 900 of them.
    flat, rising, falling = (
        interval(Tails(cuts, above_p, np.array([10_000, 900, inner]), 1000, 10_000))[0]
        for inner in (300, 240, 360)
    )
    assert rising < flat
    whole = ratio_limits(900, 900, 0.1, 0.025)[0]
    assert isclose(falling, whole, rel_tol=1e-9)


def test_one_tied_level_gives_the_limit_of_its_ratio():
    tails = Tails.from_scores(np.ones(50), np.repeat([1.0, 0.0], 100))
    assert isclose(interval(tails)[0], ratio_limits(50, 100, 50 / 200, 0.025)[0], rel_tol=1e-9)


def test_pure_fraction_reads_the_largest_bin_within_it():
    cuts, above_p, above_u = np.arange(4.0), np.array([100, 40, 30, 10]), np.array([900, 50, 20, 8])
    tails = Tails(cuts, above_p, above_u, 100, 1000)
    expected = ratio_limits(30, 20, 0.1, 0.025)[0]
    # The top 42 % are 30.5 or more of 100 positives but once in a hundred samples, 41 % are 29.5.
    assert isclose(interval(tails, pure_fraction=0.42)[0], expected, rel_tol=1e-9)
    smaller = ratio_limits(10, 8, 0.1, 0.025)[0]
    assert isclose(interval(tails, pure_fraction=0.41)[0], smaller, rel_tol=1e-9)
    assert interval(tails, pure_fraction=0.05)[0] == 0.0
    assert interval(tails, pure_fraction=0.42)[1] == interval(tails)[1]


def test_pure_fraction_of_one_uses_all_positives():
    tails = next(draw_tails("separated", 100, 1000, 0.3, repeats=1, seed=3))
    expected = ratio_limits(100, int(tails.above_u[0]), 0.1, 0.025)[0]
    assert isclose(interval(tails, pure_fraction=1.0)[0], expected, rel_tol=1e-9)


def test_kappa_takes_the_allowed_negatives_off():
    tails = next(draw_tails("Gaussians 3σ", 1000, 10_000, 0.3, repeats=1, seed=0))
    low, high = interval(tails)
    assert isclose(interval(tails, kappa=0.1)[0], (low - 0.1) / 0.9, rel_tol=1e-12)
    assert interval(tails, kappa=0.1)[1] == high
    assert interval(tails, kappa=0.9)[0] == 0.0


# --- laws ------------------------------------------------------------------------------------


@few
@given(samples())
def test_intervals_are_ordered_and_nested(sample):
    tails = Tails.from_scores(*sample)
    for options in ({}, {"pure_fraction": 0.4}, {"kappa": 0.2}):
        found = [interval(tails, level, **options) for level in CONFIDENCES]
        assert all(0 <= low <= high <= 1 for low, high in found)
        lows, highs = np.transpose(found)
        assert np.all(np.diff(lows) <= 0)
        assert np.all(np.diff(highs) >= 0)
    bounds = [upper_bound(tails, level) for level in CONFIDENCES]
    assert bounds == sorted(bounds)


@few
@given(samples(), st.randoms(use_true_random=False))
def test_row_order_and_monotone_rescaling_change_no_bit(sample, random):
    scores_p, scores_u = sample
    tails = Tails.from_scores(scores_p, scores_u)
    first = interval(tails), interval(tails, crossfitted=True), upper_bound(tails)
    random.shuffle(scores_p)
    random.shuffle(scores_u)
    again = Tails.from_scores(np.exp(scores_p), np.exp(scores_u))
    own = interval(again, crossfitted=True)
    assert (interval(again), own, upper_bound(again)) == first


@few
@given(samples())
def test_tails_of_parts_and_thinned_tails_give_the_same_bits(sample):
    scores_p, scores_u = sample
    whole, empty = Tails.from_scores(scores_p, scores_u), Tails.of_positives(scores_p)
    parts = sum(empty.count(scores_u[i::3]) for i in range(3))
    thin = at_ranks(whole, geometric_ranks(whole.n_p))
    assert interval(parts) == interval(thin) == interval(whole)
    assert upper_bound(parts) == upper_bound(thin) == upper_bound(whole)


def test_thinned_tails_of_many_positives_give_the_same_bits():
    rng = np.random.default_rng(0)
    tails = Tails.from_scores(rng.normal(2, 1, 5_000), rng.normal(0, 1, 20_000))
    thin = at_ranks(tails, geometric_ranks(tails.n_p))
    assert interval(thin, 0.9) == interval(tails, 0.9)
    assert upper_bound(thin) == upper_bound(tails)


def test_another_process_finds_the_same_bits():
    code = (
        "from topbin.core import Tails; from topbin.mpe.intervals import *;"
        "t = Tails.from_scores(range(40), [x / 3 for x in range(90)]);"
        "print(repr((interval(t), upper_bound(t))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    tails = Tails.from_scores(range(40), [x / 3 for x in range(90)])
    assert done.stdout.strip() == repr((interval(tails), upper_bound(tails)))


def test_the_global_random_state_is_neither_read_nor_changed():
    np.random.seed(7)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    worst_shortfalls.cache_clear()
    upper_bound(Tails.from_scores([1.0, 2.0], [1.0]))
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("model", ["Gaussians 3σ", "Beta(8,2)/(2,8)", "3σ, 100 probability levels"])
def test_the_point_estimate_is_almost_always_inside(model):
    inside = 0
    for tails in draw_tails(model, 300, 1000, 0.2, repeats=100, seed=1):
        low, high = interval(tails)
        inside += low <= bbe_cp(tails).alpha <= high
    assert inside >= 96  # the table in bench/results/coverage.md has every model and size


# --- extremes and bad input ------------------------------------------------------------------


@pytest.mark.parametrize(("n_p", "n_u"), [(1, 1), (1, 10**8), (2, 30), (5, 5), (10**6, 3)])
@pytest.mark.parametrize("alpha", [1e-6, 0.4, 1.0])
def test_extreme_sizes_give_finite_ordered_numbers(n_p, n_u, alpha):
    for model in ("separated", "Gaussians 1σ"):
        tails = next(draw_tails(model, n_p, n_u, alpha, repeats=1, seed=0))
        low, high = interval(tails)
        assert 0 <= low <= high <= 1
        assert 0 < upper_bound(tails) <= high


def test_ten_million_positives_and_a_hundred_million_unlabeled():
    tails = next(draw_tails("Gaussians 3σ", 10**7, 10**8, 0.3, repeats=1, seed=0))
    low, high = interval(tails)
    assert 0.29 < low < 0.3 < high < 0.303


def test_no_unlabeled_row_above_the_positives_bounds_alpha_by_about_three_in_n_u():
    tails = Tails.from_scores(np.arange(1.0, 101.0), np.zeros(1000))
    low, high = interval(tails)
    assert low == 0.0
    assert 2.9e-3 < upper_bound(tails) < 4e-3  # -log(.05)/1000 is 3e-3
    assert upper_bound(tails) <= high < 6e-3


def test_all_rows_alike_leave_alpha_up_to_one_possible():
    tails = Tails.from_scores(np.ones(20), np.ones(20))
    assert interval(tails)[1] == upper_bound(tails) == 1.0


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5, float("nan"), None, True])
def test_a_confidence_that_is_no_probability_is_refused(confidence):
    tails = Tails.from_scores([1.0], [1.0])
    for function in (interval, upper_bound):
        with pytest.raises(InputError, match=r"TB008 confidence must be a number in \(0, 1\)"):
            function(tails, confidence)


@pytest.mark.parametrize(
    "options", [{"pure_fraction": 0}, {"pure_fraction": 1.2}, {"kappa": 1}, {"kappa": -0.1}]
)
def test_assumptions_out_of_range_are_refused(options):
    with pytest.raises(InputError, match="TB008"):
        interval(Tails.from_scores([1.0], [1.0]), **options)


def test_no_unlabeled_rows_is_refused():
    for function in (interval, upper_bound):
        with pytest.raises(InputError, match="TB001 scores_u is empty"):
            function(Tails.of_positives([1.0, 2.0]))


# --- cross-fitted scores ---------------------------------------------------------------------


def overdispersed(rng, n_p, n_u, alpha):
    """Tails with all negatives below all positives whose counts vary 1.15 times as much.

    Of the positives of both samples, 19 % come in pairs with one score: then the mean of the
    squared sizes of these groups over the mean size is 1.15².
    """
    rows = []
    for n in (n_p, rng.binomial(n_u, alpha)):
        scores = rng.random(n)
        groups = np.repeat(scores, 1 + (rng.random(n) < 0.1923))
        rows.append(groups[:n])
    positives, hidden = rows
    return Tails.from_scores(positives, np.concatenate([hidden, -np.ones(n_u - hidden.size)]))


def test_upper_ends_hold_where_shares_vary_as_those_of_a_cross_fit():
    rng, missed = np.random.default_rng(11), np.zeros(2)
    for _ in range(800):
        tails = overdispersed(rng, 100, 1000, 0.3)
        missed += [upper_bound(tails, 0.975, crossfitted=own) < 0.3 for own in (False, True)]
    plain, own = missed / 800
    assert plain > 0.04
    assert own <= 0.035


def test_lower_end_is_the_smallest_limit_of_the_bins_of_which_one_must_be_pure():
    # All 100 positives decide. A quarter of them are 25, and the next larger bin has 26.
    cuts, above_p = np.arange(4.0), np.array([100, 50, 26, 10])
    tails = Tails(cuts, above_p, np.array([300, 150, 90, 12]), 100, 1000)
    counts = zip(above_p[:3], tails.above_u[:3], strict=True)
    limits = [ratio_limits_of(x / 1.15**2, y / 1.15**2, 0.1) for x, y in counts]
    assert isclose(interval(tails, crossfitted=True)[0], min(limits), rel_tol=1e-9)
    assert "like the top 26 positives" in interval_assumes(tails, crossfitted=True)


@pytest.mark.parametrize(
    ("inside", "whole"), [(60, 180), (40, 200), (60, 240), (60, 400), (25, 75), (12, 999)]
)
def test_a_ratio_that_falls_toward_the_top_lowers_the_lower_end(inside, whole):
    # 30 of 90 positives, with `inside` of the `whole` unlabeled rows: w = 1/3. One tied level more.
    tails = Tails(np.arange(3.0), np.array([100, 90, 30]), np.array([999, whole, inside]), 100, 999)
    found = interval(tails, crossfitted=True)[0]
    error = 1.15 * (1 / 30 - 1 / 90 + 1 / inside - 1 / whole) ** 0.5
    rise = (whole / 90) / (inside / 30) * exp(-error)
    purity = min(1, max(0.7, (1 - rise / 3) / (1 - 1 / 3)))
    pairs = (30, inside), (90, whole)
    limits = [ratio_limits_of(x / 1.15**2, y / 1.15**2, 100 / 999) for x, y in pairs]
    assert isclose(found, min(purity * limits[0], limits[1]), rel_tol=1e-9)
    assert purity < 1 or whole < 3.9 * inside


def ratio_limits_of(x, y, factor, risk=0.025):
    """The lower one of Clopper and Pearson's limits, for counts that need not be whole."""
    share = beta.ppf(risk, y, x + 1)
    return factor * share / (1 - share)


def test_one_coarse_bin_cannot_pull_the_lower_end_to_zero():
    # Two tied scores: five positives have the upper one and, where 25 unlabeled rows would be
    # expected beside them, five have it too.
    scores_p, scores_u = np.repeat([1.0, 2.0], [95, 5]), np.repeat([2.0, 1.0, 0.0], [5, 495, 500])
    tails = Tails.from_scores(scores_p, scores_u)
    assert interval(tails)[0] == 0.0
    for level in (0.95, 0.9999):
        low, high = interval(tails, level, crossfitted=True)
        assert 0.2 < low < 0.5 < high


@pytest.mark.parametrize("model", ["Gaussians 3σ", "pure 20 %", "3σ, 20 probability levels"])
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_the_lower_end_of_cross_fitted_scores_is_never_zero_from_100_positives_on(model, alpha):
    for tails in draw_tails(model, 100, 1000, alpha, repeats=40, seed=3):
        assert interval(tails, crossfitted=True)[0] > 0


def test_a_bin_without_unlabeled_rows_cannot_pull_the_lower_end_to_zero():
    # The top 25 of 300 positives have no unlabeled row beside them, where 3 or 4 are expected.
    scores_p, top = np.arange(300.0), np.arange(274.5, 200, -6)
    tails = Tails.from_scores(scores_p, np.concatenate([top, np.arange(200.0, -787.0, -1)]))
    assert tails.above_u[tails.above_p == 25] == 0
    low, high = interval(tails, crossfitted=True)
    assert 0 < low < 0.05 < high
    # Ten have the best 79 of the positives, and 81 is the next rank that is read.
    assert "like the top 81 positives" in interval_assumes(tails, crossfitted=True)


@few
@given(samples())
def test_the_lower_end_of_cross_fitted_scores_is_zero_only_without_unlabeled_rows(sample):
    tails = Tails.from_scores(*sample)
    lows = [interval(tails, level, crossfitted=True)[0] for level in (0.5, 0.95, 0.9999)]
    assert all(low > 0 for low in lows) == (tails.above_u.max() > 0)


def test_an_empty_deciding_bin_is_read_up_to_its_first_unlabeled_row():
    # No unlabeled row scores like the best 21 of 300 positives, and 10 are beside the 22nd.
    above_p, above_u = np.array([300, 150, 22, 21]), np.array([1000, 600, 10, 0])
    tails = Tails(np.arange(4.0), above_p, above_u, 300, 1000)
    found = interval(tails, crossfitted=True)[0]
    first = ratio_limits_of(22 / 1.15**2, 1 / 1.15**2, 0.3)
    assert 0.7 * first * (1 - 1e-9) <= found <= first
    assert "like the top 22 positives" in interval_assumes(tails, crossfitted=True)


def test_a_pure_bin_that_unlabeled_rows_choose_is_missed_no_more_often_than_promised():
    # With α = .05 the top bin is the first with ten unlabeled rows, and here it is always pure.
    missed = [
        interval(tails, crossfitted=True)[0] > 0.05
        for tails in draw_tails("separated", 300, 1000, 0.05, repeats=300, seed=8)
    ]
    assert np.mean(missed) <= 0.025


@few
@given(samples())
def test_intervals_of_cross_fitted_scores_are_nested_and_reach_higher(sample):
    tails = Tails.from_scores(*sample)
    for options in ({}, {"pure_fraction": 0.4}, {"kappa": 0.2}):
        found = [interval(tails, level, **options, crossfitted=True) for level in CONFIDENCES]
        assert all(0 <= low <= high <= 1 for low, high in found)
        lows, highs = np.transpose(found)
        assert np.all(np.diff(lows) <= 0)
        assert np.all(np.diff(highs) >= 0)
    assert interval(tails, crossfitted=True)[1] >= interval(tails)[1]
    assert upper_bound(tails, crossfitted=True) >= upper_bound(tails)


@pytest.mark.parametrize(
    ("model", "n_p", "n_u", "alpha", "low", "high", "bound", "low_if_pure"),
    [
        ("Gaussians 3σ", 100, 1000, 0.3, 0.010957777968263333, 0.358724326542371,
         0.3436538079030909, 0.07617630090023596),
        ("pure 20 %", 300, 3000, 0.1, 0.04662852132283321, 0.17989860376546624,
         0.17135658809447588, 0.13642437268485372),
        ("3σ, 20 probability levels", 100, 1000, 0.5, 0.07086821342382926, 0.62410744921875,
         0.609170052734375, 0.0),
    ],
)  # fmt: skip
def test_scores_that_users_bring_keep_the_intervals_of_0_1(
    model, n_p, n_u, alpha, low, high, bound, low_if_pure
):
    tails = next(draw_tails(model, n_p, n_u, alpha, repeats=1, seed=5))
    wanted = low, high, bound, low_if_pure
    found = *interval(tails), upper_bound(tails)
    found = *found, interval(tails, 0.9, pure_fraction=0.3, kappa=0.05)[0]
    # To the bit on one machine; libraries of another may round the last digit differently.
    assert found == pytest.approx(wanted, rel=1e-12)


def test_the_assumption_of_a_pure_fraction_names_it():
    tails = Tails.from_scores([1.0, 2.0], [1.0])
    for own in (False, True):
        clause = interval_assumes(tails, 0.25, crossfitted=own)
        assert clause == "if no negative scores among the top 25 % of the positives"
    assert interval_assumes(tails) == "if some top bin holds only positives"
