"""AlphaMax against its definition, its laws and its stated error."""

import numpy as np
import pytest
from gaussians import ALPHAS, gaussians
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import LinearConstraint, minimize

from topbin.core import InputError
from topbin.mpe import alphamax
from topbin.mpe.alphamax import histograms, likelihood_drop

shares = (
    st.integers(2, 7)
    .flatmap(lambda k: st.tuples(*[arrays(float, k, elements=st.floats(0.02, 1))] * 2))
    .map(lambda pair: (pair[0] / pair[0].sum(), pair[1] / pair[1].sum()))
)
some_scores = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=25)


def drop_by_definition(p, w, alpha):
    """The convex problem handed to a general solver."""
    result = minimize(
        lambda v: -(p @ np.log(v / (alpha * p)) + w @ np.log((alpha * p + w - v) / w)),
        alpha * w,
        jac=lambda v: -(p / v - w / (alpha * p + w - v)),
        bounds=[(1e-9, share) for share in w],
        constraints=LinearConstraint(np.ones((1, p.size)), alpha, alpha),
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return result.fun


# What the general solver of scipy < 1.16 says when it clips a step; we compare where it ends.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@given(shares, st.floats(0.02, 0.98))
@settings(max_examples=60, deadline=None)
def test_the_drop_is_the_optimum_of_its_convex_problem(pair, alpha):
    found = likelihood_drop(*pair, np.array([alpha]))[0]
    general = drop_by_definition(*pair, alpha)
    assert found <= general + 1e-9
    assert found == pytest.approx(general, abs=1e-4)


@given(shares)
@settings(max_examples=40, deadline=None)
def test_the_drop_is_zero_up_to_the_largest_share_that_fits_and_then_rises(pair):
    p, w = pair
    fits = min(1.0, (w / p).min())
    alphas = np.linspace(0.001, 0.999, 200)
    drop = likelihood_drop(p, w, alphas)
    assert (drop[alphas <= fits] <= 1e-9).all()
    assert (np.diff(drop) >= -1e-9).all()
    assert (drop <= np.sum((p - w) * np.log(p / w)) + 1e-9).all()  # which is f(1)


def elbow_by_definition(p, w, n_p, n_u):
    c = 2 * (p.size - 1) * (1 / n_p + 1 / n_u)

    def f(t):
        return np.where(t > 1e-9, likelihood_drop(p, w, np.sin(np.maximum(t, 1e-3)) ** 2), 0.0)

    t, lag = np.pi / 600 * np.arange(1, 270), np.pi / 20
    return np.sin(t[np.argmax((f(t + lag) - 2 * f(t) + f(t - lag)) / (f(t) + c))]) ** 2


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.8])
def test_the_estimate_is_the_elbow(alpha):
    p, u = gaussians(alpha, 400, 500).scores()
    found = alphamax(p, u)
    expected = elbow_by_definition(*histograms(np.sort(p), np.sort(u), 7), 400, 500)
    assert found.alpha == pytest.approx(expected, rel=1e-9)
    assert found.notes == ("elbow of the likelihood (7 bins)",)


def histograms_by_definition(p, u, bins):
    counts = {}
    for score in sorted({*p, *u}):
        places = [
            (sum(z < score for z in sample) + sum(z == score for z in sample) / 2) / len(sample)
            for sample in (p, u)
        ]
        number = int(sum(places) / 2 * bins)
        cell = counts.setdefault(number, [0, 0])
        cell[0] += sum(z == score for z in p)
        cell[1] += sum(z == score for z in u)
    rows = np.maximum(np.array(list(counts.values())).T, 0.5)
    return rows / rows.sum(axis=1, keepdims=True)


@given(some_scores, some_scores, st.integers(2, 9))
def test_bins_hold_equal_shares_of_both_samples(p, u, bins):
    found = histograms(np.sort(p), np.sort(u), bins)
    np.testing.assert_allclose(found, histograms_by_definition(p, u, bins))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(3))
def test_error_on_gaussians_is_as_stated(alpha, seed):
    found = alphamax(*gaussians(alpha, 2000, 2000, seed=seed).scores())
    assert abs(found.alpha - alpha) <= (0.12 if alpha == 0.95 else 0.035)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_error_with_rare_positives_in_a_large_table(alpha):
    sample = gaussians(alpha, 1000, 20_000)
    found = alphamax(1e5 * sample.X_p[:, 0], 1e5 * sample.X_u[:, 0])
    assert abs(found.alpha - alpha) <= 0.05


@given(some_scores, some_scores, st.randoms())
@settings(deadline=None)
def test_only_the_order_of_scores_matters(p, u, random):
    found = alphamax(p, u)
    assert 0 <= found.alpha <= 1
    random.shuffle(p)
    random.shuffle(u)
    assert alphamax(np.exp(p).astype("f4"), np.exp(u).astype("f4")) == found


@given(some_scores)
def test_the_same_sample_is_all_positive(scores):
    assert alphamax(scores, scores).alpha == 1.0
    assert alphamax(scores, scores * 3).alpha == 1.0


def test_samples_of_one_kind_are_all_positive_nineteen_times_in_twenty():
    rng = np.random.default_rng(11)
    found = [alphamax(rng.normal(size=500), rng.normal(size=800)).alpha for _ in range(100)]
    assert np.mean(np.equal(found, 1.0)) >= 0.9
    assert np.min(found) >= 0.6


@pytest.mark.parametrize(
    ("scores_p", "scores_u"),
    [([0.9], [0.9]), ([0.9], [0.1]), (np.full(9, 0.5), np.full(7, 0.5)), ([1.0, 2.0], [0.0])],
)
def test_too_little_to_tell_apart_is_called_all_positive_and_said(scores_p, scores_u):
    found = alphamax(scores_p, scores_u)
    assert found.alpha == 1.0
    assert "same histogram up to noise" in found.notes[0]


def test_samples_apart_have_next_to_nothing_in_common():
    assert alphamax(np.linspace(90, 100, 500), np.linspace(0, 10, 500)).alpha <= 0.01


def test_input_is_left_alone_and_bins_can_be_chosen():
    p, u = gaussians(0.3, 500, 500).scores()
    untouched = p.copy(), u.copy()
    assert alphamax(p, u, bins=20).notes == ("elbow of the likelihood (20 bins)",)
    np.testing.assert_array_equal(p, untouched[0])
    np.testing.assert_array_equal(u, untouched[1])


@pytest.mark.parametrize("bins", [1, 0, 2.5, True, "8"])
def test_bins_must_be_a_whole_number_of_at_least_two(bins):
    with pytest.raises(InputError, match="TB008 bins must be a whole number ≥ 2"):
        alphamax([0.5], [0.5], bins=bins)
