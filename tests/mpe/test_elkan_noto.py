"""Elkan and Noto's estimator against its definition, its laws and its stated error."""

import numpy as np
import pytest
from gaussians import ALPHAS, gaussians
from hypothesis import given
from hypothesis import strategies as st

from topbin.core import InputError
from topbin.mpe import elkan_noto

shares = st.floats(0.01, 0.99)
probabilities = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=12)


def c_by_definition(g_p, g_u, variant):
    """Section 2 of the paper: P are the labeled rows of the validation set V."""
    in_v = [*g_p, *g_u]
    return {
        "e1": sum(g_p) / len(g_p),
        "e2": sum(g_p) / sum(in_v),
        "e3": max(in_v),
    }[variant]


@given(probabilities, probabilities, st.sampled_from(["e1", "e2", "e3"]))
def test_is_the_papers_estimate_of_c_turned_into_alpha(g_p, g_u, variant):
    c = c_by_definition(g_p, g_u, variant)
    positives = len(g_p) / c  # of all rows, when a share c of them is labeled
    alpha = (positives - len(g_p)) / len(g_u)
    found = elkan_noto(g_p, g_u, variant=variant)
    assert found.alpha == pytest.approx(min(1.0, alpha), abs=1e-9)
    assert (found.n_p, found.n_u, found.method) == (len(g_p), len(g_u), "elkan_noto")


@given(shares, shares)
def test_recovers_alpha_from_any_mix_when_classes_stand_apart(alpha, share_p):
    c = share_p / (share_p + (1 - share_p) * alpha)
    hidden = round(alpha * 1000)
    g_u = np.repeat([c, 0.0], [hidden, 1000 - hidden])
    for variant in ("e1", "e3"):
        found = elkan_noto(np.full(9, c), g_u, share_p=share_p, variant=variant)
        assert found.alpha == pytest.approx(alpha, rel=1e-9)
    exact = elkan_noto(np.full(9, c), g_u, share_p=share_p, variant="e2").alpha
    assert exact == pytest.approx(hidden / 1000, abs=1e-9)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("variant", ["e1", "e2"])
def test_is_too_high_on_gaussians_by_no_more_than_stated(alpha, variant):
    found = elkan_noto(*gaussians(alpha, 2000, 2000).scores(), variant=variant)
    assert 0 < found.alpha - alpha <= (0.045 if alpha < 0.8 else 0.028)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_maximum_is_exact_for_an_exact_scorer(alpha):
    found = elkan_noto(*gaussians(alpha, 2000, 2000).scores(), variant="e3")
    assert found.alpha == pytest.approx(alpha, abs=1e-3)


def test_a_balanced_scorer_needs_its_share():
    sample = gaussians(0.3, 500, 4000)
    natural = elkan_noto(*sample.scores()).alpha
    balanced = elkan_noto(*sample.scores(0.5), share_p=0.5).alpha
    assert abs(natural - 0.3) <= 0.06
    assert abs(balanced - 0.3) <= 0.06
    assert abs(elkan_noto(*sample.scores(0.5)).alpha - 0.3) > 0.2  # the wrong share


@pytest.mark.parametrize("variant", ["e1", "e2", "e3"])
def test_row_order_does_not_change_a_bit(variant):
    rng = np.random.default_rng(3)
    g_p, g_u = rng.random(501), rng.random(703)
    shuffled = elkan_noto(rng.permutation(g_p), rng.permutation(g_u), variant=variant)
    assert elkan_noto(g_p, g_u, variant=variant) == shuffled


def test_float32_differs_by_its_rounding_alone_and_input_is_left_alone():
    g_p, g_u = gaussians(0.3, 300, 300).scores()
    untouched = g_p.copy()
    narrow = elkan_noto(g_p.astype("f4"), g_u.astype("f4")).alpha
    assert narrow == pytest.approx(elkan_noto(g_p, g_u).alpha, abs=1e-6)
    np.testing.assert_array_equal(g_p, untouched)


def test_constant_calibrated_scores_mean_all_positive():
    assert elkan_noto(np.full(30, 0.25), np.full(90, 0.25)).alpha == pytest.approx(1.0)
    assert elkan_noto([1.0], [1.0]).alpha == 0.0  # certain that positives are always labeled


def test_notes_tell_c_and_the_cut_at_one():
    found = elkan_noto([0.5], [0.1, 0.2, 0.3], share_p=0.75)
    assert found.alpha == 1.0
    assert found.notes == (
        "c = 0.5 by e1, for a scorer trained on 75 % positives",
        "α came out as 3 and was cut to 1: the scores are not calibrated",
    )


@pytest.mark.parametrize(
    ("scores_p", "scores_u", "message"),
    [
        ([0.5, 1.5], [0.1], "scores_p run from 0.5 to 1.5. Use predict_proba"),
        ([0.5], [-2.0, 0.1], "scores_u run from -2 to 0.1. Use predict_proba"),
        ([0.0, 0.0], [0.5], "every positive has probability 0 of being labeled"),
    ],
)
def test_scores_that_are_not_probabilities_are_refused(scores_p, scores_u, message):
    with pytest.raises(InputError, match=f"TB009 .*{message}"):
        elkan_noto(scores_p, scores_u)


def test_all_zero_scores_are_refused_by_every_variant():
    for variant in ("e1", "e2", "e3"):
        with pytest.raises(InputError, match="TB009"):
            elkan_noto([0.0], [0.0], variant=variant)


def test_parameters_out_of_range_are_refused():
    with pytest.raises(InputError, match=r"TB008 share_p must be a number in \(0, 1\)"):
        elkan_noto([0.5], [0.5], share_p=1.0)
    with pytest.raises(InputError, match="TB008 variant must be 'e1', 'e2' or 'e3'; got 'e4'"):
        elkan_noto([0.5], [0.5], variant="e4")
