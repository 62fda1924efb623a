"""BBE against Algorithm 1 walked through every threshold, its laws, and its stated error."""

from math import log, sqrt

import numpy as np
import pytest
from coded import fails
from gaussians import ALPHAS, gaussians
from hard_scores import LARGE, large, samples
from hypothesis import given, settings
from hypothesis import strategies as st

from topbin.core import Tails
from topbin.mpe import bbe
from topbin.mpe.bbe import upper_confidence


def every_threshold(scores_p, scores_u):
    """All scores of both samples, what lies between neighbours, and what lies beyond."""
    scores = np.unique(np.concatenate([scores_p, scores_u]).astype(np.float64))
    between = scores[:-1] / 2 + scores[1:] / 2
    return np.concatenate([scores, between, [scores[0] - 1, np.nextafter(scores[-1], np.inf)]])


def algorithm_1(scores_p, scores_u, delta, gamma):
    """Ratio and bound at every threshold with a positive at or above it, by the paper's lines."""
    n_p, n_u = len(scores_p), len(scores_u)
    ratios, bounds = [], []
    for c in every_threshold(scores_p, scores_u):
        q_p = sum(z >= c for z in scores_p) / n_p
        q_u = sum(z >= c for z in scores_u) / n_u
        if q_p > 0:
            terms = sqrt(log(4 / delta) / (2 * n_u)) + sqrt(log(4 / delta) / (2 * n_p))
            ratios.append(q_u / q_p)
            bounds.append(q_u / q_p + (1 + gamma) / q_p * terms)
    return np.array(ratios), np.array(bounds)


@settings(deadline=None)
@given(samples(12), st.sampled_from([0.01, 0.1, 0.5]), st.sampled_from([0.0, 0.01, 1.0]))
def test_it_is_algorithm_1_over_every_threshold(pair, delta, gamma):
    scores_p, scores_u = pair
    ratios, bounds = algorithm_1(scores_p, scores_u, delta, gamma)
    tails = Tails.from_scores(scores_p, scores_u)
    found = bbe(tails, delta=delta, gamma=gamma)
    bound = upper_confidence(tails, delta=delta, gamma=gamma).min()
    assert bound == pytest.approx(bounds.min(), rel=1e-12)
    # Bounds that are equal but for rounding may belong to different ratios.
    best = np.minimum(1, ratios[bounds <= bounds.min() * (1 + 1e-12)])
    assert np.abs(best - found.alpha).min() < 1e-12
    at_cut = np.mean(scores_u >= np.float64(found.cut)) / np.mean(scores_p >= np.float64(found.cut))
    assert found.alpha == pytest.approx(min(1, at_cut), rel=1e-12)
    assert found.cut in scores_p
    assert (found.n_p, found.n_u, found.method) == (len(scores_p), len(scores_u), "bbe")


@pytest.mark.parametrize("kind", sorted(LARGE))
def test_row_order_and_monotone_change_leave_every_bit(kind):
    scores_p, scores_u = large(kind, 20_000)
    found = bbe(Tails.from_scores(scores_p, scores_u))
    assert bbe(Tails.from_scores(scores_p[::-1], np.roll(scores_u, 77))) == found
    _, ranks = np.unique(np.concatenate([scores_p, scores_u]), return_inverse=True)
    ranked = bbe(Tails.from_scores(ranks[: scores_p.size], ranks[scores_p.size :]))
    assert ranked.alpha == found.alpha
    assert np.mean(ranks[: scores_p.size] >= ranked.cut) == np.mean(
        scores_p >= scores_p.dtype.type(found.cut)
    )
    scaled = bbe(Tails.from_scores(scores_p / 4, scores_u / 4))
    if kind != "too wide":  # the smallest denormal has no quarter
        assert (scaled.alpha, scaled.cut) == (found.alpha, found.cut / 4)


def test_of_equal_bounds_the_larger_bin_is_chosen():
    # Scores cannot tie a bound exactly but for luck; counts written by hand can.
    tails = Tails(np.array([1.0, 2.0]), np.array([4, 4]), np.array([2, 2]), 4, 4)
    assert bbe(tails).cut == 1.0


def test_answers_that_can_be_checked_in_the_head():
    assert bbe(Tails.from_scores([1.0], [0.0])).alpha == 0.0
    assert bbe(Tails.from_scores([0.5], [0.5])).alpha == 1.0
    assert bbe(Tails.from_scores([0.5] * 9, [0.5] * 7)).alpha == 1.0
    same = np.random.default_rng(0).random(5000)
    assert bbe(Tails.from_scores(same, same)).alpha == 1.0
    assert bbe(Tails.from_scores(same - 2, same)).alpha == 1.0  # every ratio is above 1
    quarter = Tails.from_scores(np.ones(10**6), np.repeat([1.0, 0.0, 0.0, 0.0], 250_000))
    assert bbe(quarter).alpha == 0.25


@pytest.mark.parametrize("alpha", ALPHAS)
def test_it_finds_alpha_in_gaussians_four_apart(alpha):
    sample = gaussians(alpha, 5000, 5000)
    found = bbe(Tails.from_scores(*sample.scores()))
    assert abs(found.alpha - sample.alpha) < 0.03


def test_parts_of_the_unlabeled_give_the_bits_of_the_whole():
    scores_p, scores_u = large("probabilities", 10_000)
    parts = np.array_split(scores_u, 7)
    assert bbe(Tails.from_chunks(scores_p, parts)) == bbe(Tails.from_scores(scores_p, scores_u))


@pytest.mark.parametrize("delta", [0, 1, -0.1, np.nan, "a", True])
def test_delta_is_checked(delta):
    with fails("TB008", "delta"):
        bbe(Tails.from_scores([1.0], [1.0]), delta=delta)


@pytest.mark.parametrize("gamma", [-0.1, np.inf, np.nan, None])
def test_gamma_is_checked(gamma):
    with fails("TB008", "gamma"):
        bbe(Tails.from_scores([1.0], [1.0]), gamma=gamma)


def test_no_unlabeled_rows_are_refused():
    with fails("TB001", "scores_u"):
        bbe(Tails.of_positives([1.0]))
