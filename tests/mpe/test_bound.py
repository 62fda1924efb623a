"""The bound: the largest α that no count contradicts, calibrated for the rows at hand."""

import subprocess
import sys
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from roc_models import draw_tails

from topbin.core import Evidence, InputError, Tails
from topbin.core.evidence import VARIANCE_FACTOR
from topbin.core.tails import at_ranks, geometric_ranks
from topbin.mpe.bound import (
    alpha_grid,
    calibrated_ranks,
    critical_shortfall,
    deviation,
    upper_bound,
    worst_shortfalls,
)

CONFIDENCES = (1e-3, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9999, 1 - 1e-12)


@st.composite
def samples(draw):
    """Small tied samples of a few fixed sizes, so that each size is calibrated once."""
    n_p, n_u = draw(st.sampled_from([(1, 6), (4, 1), (9, 30), (25, 12), (60, 60)]))
    value = st.integers(0, 15).map(float)
    return (draw(st.lists(value, min_size=n, max_size=n)) for n in (n_p, n_u))


few = settings(max_examples=20, deadline=None)


def shortfall(x, y, n_p, n_u, alpha):
    """The standardized deviation for one cut, in plain Python.

    Of round(α·n_u) hidden positives y are in the bin, and x of n_p labeled ones. Both shares
    estimate the same q, and y/n_u − α·x/n_p varies as α·(share of hidden − share of labeled).
    """
    q = min(1, (x + y) / (n_p + 1 + alpha * n_u))
    share_of_hidden, share_of_labeled = q * (1 - q) / (alpha * n_u), q * (1 - q) / n_p
    variance = alpha**2 * (share_of_hidden + share_of_labeled)
    return -(y / n_u - alpha * x / n_p) / variance**0.5 if variance > 0 else 0.0


# --- the definition --------------------------------------------------------------------------


@given(st.integers(1, 80), st.integers(0, 400), st.floats(1e-3, 1))
def test_the_deviation_of_one_cut_is_that_of_plain_python(x, y, alpha):
    found = float(deviation(np.array(x), np.array(y), 80, 400, alpha))
    q = (x + y) / (81 + alpha * 400)
    if q < 1 - 1e-9:
        assert found == pytest.approx(-shortfall(x, y, 80, 400, alpha), rel=1e-9, abs=1e-9)
    else:
        assert found >= 0  # more rows than there are hidden positives are no shortfall


def test_bound_is_the_largest_alpha_that_no_cut_contradicts():
    grid = alpha_grid(400)
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


@pytest.mark.parametrize("alpha", [0.1, 0.3, 1.0])
def test_draws_are_those_of_scores_with_all_negatives_below_all_positives(alpha):
    """The calibrated law against samples of scores that are drawn, sorted and counted."""
    n_p, n_u, ranks = 40, 90, calibrated_ranks(40)
    rng, worst, hidden = np.random.default_rng(1), [], round(alpha * n_u)
    for _ in range(4000):
        scores_u = np.append(rng.random(hidden), np.full(n_u - hidden, -1.0))
        read = at_ranks(Tails.from_scores(rng.random(n_p), scores_u), ranks)
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
        assert calibrated_ranks(n_p)[-1] == n_p


@pytest.mark.parametrize("n_u", [1, 2, 3, 7, 50, 999, 10**6, 10**9])
def test_the_grid_has_shares_of_whole_rows_up_to_all_of_them(n_u):
    rows = alpha_grid(n_u) * n_u
    np.testing.assert_allclose(rows, np.rint(rows), rtol=1e-12)
    assert rows[0] == 1
    assert rows[-1] == pytest.approx(n_u)
    assert np.all(np.diff(rows) > 0)
    # Critical shortfalls are interpolated in between, so steps are short.
    assert np.all(rows[1:] <= np.maximum(rows[:-1] + 1, 2.4 * rows[:-1]))


# --- laws ------------------------------------------------------------------------------------


@few
@given(samples())
def test_bounds_are_in_range_and_rise_with_the_confidence(sample):
    tails = Tails.from_scores(*sample)
    bounds = [upper_bound(tails, level) for level in CONFIDENCES]
    assert bounds == sorted(bounds)
    assert bounds[0] >= 0
    assert bounds[-1] <= 1


@few
@given(samples(), st.randoms(use_true_random=False))
def test_row_order_and_monotone_rescaling_change_no_bit(sample, random):
    scores_p, scores_u = sample
    first = upper_bound(Tails.from_scores(scores_p, scores_u))
    random.shuffle(scores_p)
    random.shuffle(scores_u)
    assert upper_bound(Tails.from_scores(np.exp(scores_p), np.exp(scores_u))) == first


@few
@given(samples())
def test_tails_of_parts_and_thinned_tails_give_the_same_bits(sample):
    scores_p, scores_u = sample
    whole, empty = Tails.from_scores(scores_p, scores_u), Tails.of_positives(scores_p)
    parts = sum(empty.count(scores_u[i::3]) for i in range(3))
    thin = at_ranks(whole, geometric_ranks(whole.n_p))
    assert upper_bound(parts) == upper_bound(thin) == upper_bound(whole)


def test_thinned_tails_of_many_positives_give_the_same_bits():
    rng = np.random.default_rng(0)
    tails = Tails.from_scores(rng.normal(2, 1, 5_000), rng.normal(0, 1, 20_000))
    thin = at_ranks(tails, geometric_ranks(tails.n_p))
    assert upper_bound(thin) == upper_bound(tails)


def test_another_process_finds_the_same_bits():
    code = (
        "from topbin.core import Tails; from topbin.mpe import upper_bound;"
        "t = Tails.from_scores(range(40), [x / 3 for x in range(90)]);"
        "print(repr(upper_bound(t)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    tails = Tails.from_scores(range(40), [x / 3 for x in range(90)])
    assert done.stdout.strip() == repr(upper_bound(tails))


def test_the_global_random_state_is_neither_read_nor_changed():
    np.random.seed(7)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    worst_shortfalls.cache_clear()
    upper_bound(Tails.from_scores([1.0, 2.0], [1.0]))
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# --- extremes and bad input ------------------------------------------------------------------


@pytest.mark.parametrize(("n_p", "n_u"), [(1, 1), (1, 10**8), (2, 30), (5, 5), (10**6, 3)])
@pytest.mark.parametrize("alpha", [1e-6, 0.4, 1.0])
def test_extreme_sizes_give_numbers_in_range(n_p, n_u, alpha):
    for model in ("separated", "Gaussians 1σ"):
        tails = next(draw_tails(model, n_p, n_u, alpha, repeats=1, seed=0))
        assert 0 < upper_bound(tails) <= 1


def test_ten_million_positives_and_a_hundred_million_unlabeled():
    tails = next(draw_tails("Gaussians 3σ", 10**7, 10**8, 0.3, repeats=1, seed=0))
    assert 0.3 < upper_bound(tails) < 0.303


def test_no_unlabeled_row_above_the_positives_leaves_few_hidden_ones():
    # One hidden positive scores below all 100 labeled ones with probability 1/101, two even less.
    tails = Tails.from_scores(np.arange(1.0, 101.0), np.zeros(1000))
    assert 0 < upper_bound(tails) <= 2e-3


def test_all_rows_alike_leave_alpha_up_to_one_possible():
    assert upper_bound(Tails.from_scores(np.ones(20), np.ones(20))) == 1.0


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5, float("nan"), None, True])
def test_a_confidence_that_is_no_probability_is_refused(confidence):
    tails = Tails.from_scores([1.0], [1.0])
    with pytest.raises(InputError, match=r"TB008 confidence must be a number in \(0, 1\)"):
        upper_bound(tails, confidence)


def test_no_unlabeled_rows_is_refused():
    with pytest.raises(InputError, match="TB001 scores_u is empty"):
        upper_bound(Tails.of_positives([1.0, 2.0]))


# --- cross-fitted scores ---------------------------------------------------------------------


def overdispersed(rng, n_p, n_u, alpha):
    """Tails with all negatives below all positives, whose shares vary as those of a cross-fit.

    A share s of the positives of both samples comes in pairs with one score. The mean of the
    squared sizes of these groups over the mean size is (1 + 3s)/(1 + s), which is to be
    VARIANCE_FACTOR.
    """
    rows, pairs = [], (VARIANCE_FACTOR - 1) / (3 - VARIANCE_FACTOR)
    for n in (n_p, round(alpha * n_u)):
        groups = np.repeat(rng.random(n), 1 + (rng.random(n) < pairs))
        rows.append(groups[:n])
    positives, hidden = rows
    return Tails.from_scores(positives, np.concatenate([hidden, -np.ones(n_u - hidden.size)]))


def test_the_bound_holds_where_shares_vary_as_those_of_a_cross_fit():
    rng, missed = np.random.default_rng(11), np.zeros(2)
    for _ in range(800):
        tails = overdispersed(rng, 100, 1000, 0.3)
        fewer = Evidence(counted=tails, crossfitted=True).independent
        missed += [upper_bound(one, 0.975) < 0.3 for one in (tails, fewer)]
    plain, own = missed / 800
    assert plain > 0.04
    assert own <= 0.035


@few
@given(samples())
def test_the_bound_of_cross_fitted_scores_is_no_lower(sample):
    tails = Tails.from_scores(*sample)
    own = upper_bound(Evidence(counted=tails, crossfitted=True).independent)
    assert own >= upper_bound(tails) - 1 / tails.n_u  # α is a share of whole rows
