"""DEDPUL against its definition, its laws and its stated error."""

import numpy as np
import pytest
from gaussians import ALPHAS, gaussians
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit
from scipy.stats import norm

from topbin.core import InputError
from topbin.mpe import dedpul, dedpul_posterior
from topbin.mpe.dedpul import _largest_root, _sharpest_bend, density_ratio

ratios = st.lists(st.floats(0, 8), min_size=1, max_size=30).map(np.sort)
some_scores = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=25)


def rolling_median(values, reach):
    reach = min(reach, (len(values) - 1) // 2)
    padded = np.pad(values, reach, mode="edge")
    return np.array([np.median(padded[i : i + 2 * reach + 1]) for i in range(len(values))])


def ratio_by_definition(z_p, z_u, bandwidth=0.2):
    """Two Gaussian kernel estimates summed over every pair, then smoothed as the paper says."""
    z_p, z_u = np.sort(z_p), np.sort(z_u)
    width = bandwidth * z_p.std()
    density_p, density_u = (norm.pdf(z_u[:, None], z, width).mean(axis=1) for z in (z_p, z_u))
    ratio = rolling_median(density_p / density_u, 5)
    upper = z_u >= (z_p.mean() + z_u.mean()) / 2
    ratio[upper] = np.maximum.accumulate(ratio[upper])
    return np.sort(rolling_median(ratio, len(z_u) // 20))


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_the_ratio_is_that_of_two_kernel_estimates(alpha):
    sample = gaussians(alpha, 300, 400)
    scores_p, scores_u = sample.scores()
    cuts, ratio = density_ratio(scores_p, scores_u)
    exact = ratio_by_definition(logit(scores_p), logit(scores_u))
    np.testing.assert_array_equal(cuts, np.sort(scores_u))
    np.testing.assert_allclose(ratio, exact, rtol=2e-3, atol=2e-3 * exact.max())
    x_p, x_u = sample.X_p[:, 0], sample.X_u[:, 0]
    exact = ratio_by_definition(x_p, x_u, bandwidth=0.4)
    ratio = density_ratio(x_p, x_u, bandwidth=0.4)[1]
    np.testing.assert_allclose(ratio, exact, rtol=2e-3, atol=2e-3 * exact.max())


@given(ratios)
def test_the_root_is_where_em_ends(ratio):
    root = _largest_root(ratio)
    if ratio.mean() < 1 - 1e-6:
        assert root is None
    elif root is not None:
        # D is not negative above its largest root, so EM comes down to it; and it stays there.
        above = np.linspace(root, 1, 50)
        gap = above - np.minimum(1, above[:, None] * ratio).mean(axis=1)
        assert abs(gap[0]) <= 1e-8
        assert (gap >= -1e-8).all()


def test_em_iterated_from_one_reaches_the_root():
    scores = gaussians(0.5, 2000, 2000).scores()
    _, ratio = density_ratio(*scores)
    alpha = 1.0
    for _ in range(2000):
        alpha = np.minimum(1, alpha * ratio).mean()
    assert _largest_root(ratio) == pytest.approx(alpha, abs=1e-6)
    assert dedpul(*scores, rule="em").alpha == _largest_root(ratio)


@given(ratios)
@settings(deadline=None, max_examples=50)
def test_the_bend_is_the_largest_second_difference(ratio):
    alphas = np.arange(1001) / 1000
    gap = np.array([a - np.minimum(1, a * ratio).mean() for a in alphas])
    bends = gap[2:] - 2 * gap[1:-1] + gap[:-2]
    bends[gap[1:-1] >= 0.05] = 0
    found = _sharpest_bend(ratio)
    if bends.max() < 1e-10:
        assert found == 1.0
    elif bends.max() > 1e-8:
        assert bends[round(found * 1000) - 1] == pytest.approx(bends.max(), abs=1e-10)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(3))
def test_error_on_gaussians_is_as_stated(alpha, seed):
    found = dedpul(*gaussians(alpha, 2000, 2000, seed=seed).scores())
    assert abs(found.alpha - alpha) <= 0.02


@pytest.mark.parametrize("alpha", ALPHAS)
def test_error_on_raw_scores(alpha):
    sample = gaussians(alpha, 2000, 2000)
    assert abs(dedpul(100 * sample.X_p[:, 0] - 7, 100 * sample.X_u[:, 0] - 7).alpha - alpha) <= 0.06


@pytest.mark.parametrize("alpha", [0.97, 0.98, 0.99, 1.0])
def test_no_flip_near_one(alpha):
    sample = gaussians(alpha, 2000, 2000)
    assert dedpul(*sample.scores()).alpha >= 0.95
    assert dedpul(sample.X_p[:, 0], sample.X_u[:, 0]).alpha >= 0.9


@given(some_scores)
def test_the_same_sample_is_all_positive(scores):
    assert dedpul(scores, scores).alpha == pytest.approx(1.0)
    assert dedpul(scores, scores * 3).alpha == pytest.approx(1.0)


@given(some_scores, some_scores)
@settings(deadline=None)
def test_any_scores_get_an_answer_in_range(scores_p, scores_u):
    found = dedpul(scores_p, scores_u)
    posterior = dedpul_posterior(scores_p, scores_u)
    assert 0 <= found.alpha <= 1
    assert posterior.shape == (len(scores_u),)
    assert ((posterior >= 0) & (posterior <= 1)).all()
    rank = np.argsort(scores_u, kind="stable")
    assert (np.diff(posterior[rank]) >= 0).all()


@given(some_scores, some_scores, st.randoms())
@settings(deadline=None)
def test_row_order_does_not_change_a_bit(scores_p, scores_u, random):
    scores_u = np.array(scores_u)
    order = random.sample(range(len(scores_u)), len(scores_u))
    found, posterior = dedpul(scores_p, scores_u), dedpul_posterior(scores_p, scores_u)
    random.shuffle(scores_p)
    assert dedpul(scores_p, scores_u[order]) == found
    np.testing.assert_array_equal(dedpul_posterior(scores_p, scores_u[order]), posterior[order])


@pytest.mark.parametrize("factor", [1e-300, 1e-6, 1e6, 1e300])
def test_the_unit_of_raw_scores_does_not_matter(factor):
    sample = gaussians(0.3, 300, 400)
    p, u = sample.X_p[:, 0], sample.X_u[:, 0]
    assert dedpul(factor * p, factor * u).alpha == pytest.approx(dedpul(p, u).alpha, rel=1e-6)


def test_float32_gives_nearly_the_same():
    p, u = gaussians(0.3, 1000, 1000).scores()
    assert abs(dedpul(p.astype("f4"), u.astype("f4")).alpha - dedpul(p, u).alpha) <= 0.005


@pytest.mark.parametrize("bandwidth", [0.05, 0.2, 1.0])
def test_ties_are_exact(bandwidth):
    p, u = np.repeat([0.3, 0.9], [10, 90]), np.repeat([0.1, 0.3, 0.9], [540, 100, 360])
    assert dedpul(p, u, bandwidth=bandwidth).alpha == pytest.approx(0.4, abs=1e-3)


def test_saturated_probabilities_are_kept_apart():
    p, u = (
        np.r_[np.ones(90), np.full(10, 0.999)],
        np.r_[np.ones(45), np.zeros(50), np.full(5, 0.999)],
    )
    assert dedpul(p, u).alpha == pytest.approx(0.5, abs=0.02)
    tiny = 1e-12 * p, 1e-12 * u  # still probabilities
    assert dedpul(*tiny).alpha == pytest.approx(0.5, abs=0.02)


def test_the_mean_posterior_is_alpha_after_em():
    p, u = gaussians(0.5, 1000, 1000).scores()
    found = dedpul(p, u, rule="em")
    assert dedpul_posterior(p, u, rule="em").mean() == pytest.approx(found.alpha, rel=1e-9)
    assert found.notes == ("α is the mean posterior (EM)",)


def test_the_posterior_finds_the_hidden_positives():
    sample = gaussians(0.3, 1000, 1000)
    p, u = sample.scores()
    x = sample.X_u[:, 0]
    truth = 0.3 * norm.pdf(x, 4) / (0.3 * norm.pdf(x, 4) + 0.7 * norm.pdf(x, 0))
    assert np.abs(dedpul_posterior(p, u) - truth).mean() <= 0.03
    assert np.abs(dedpul_posterior(p, u, alpha=0.3) - truth).mean() <= 0.03
    assert dedpul_posterior(p, u, alpha=0.0).max() == 0


def test_the_posterior_at_other_scores_is_interpolated():
    p, u = gaussians(0.3, 500, 500).scores()
    posterior = dedpul_posterior(p, u)
    np.testing.assert_array_equal(dedpul_posterior(p, u, at=u[::7]), posterior[::7])
    ends = dedpul_posterior(p, u, at=[-1.0, 2.0])
    assert ends.tolist() == [posterior.min(), posterior.max()]
    assert dedpul_posterior(p, u, at=[]).size == 0


def test_samples_far_apart_have_nothing_in_common_and_say_so():
    found = dedpul(np.linspace(90, 100, 50), np.linspace(0, 10, 50))
    assert found.alpha == 0.0
    assert found.notes == ("no unlabeled score lies near a positive one",)
    assert dedpul_posterior([90.0, 91.0], [1.0, 2.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("scores_p", "scores_u"), [([0.9], [0.9]), ([0.5, 0.7], [0.6])])
def test_one_unlabeled_row_like_the_positives(scores_p, scores_u):
    assert dedpul(scores_p, scores_u).alpha == 1.0


def test_em_without_a_root_is_refused_and_auto_uses_the_bend():
    samples = [gaussians(0.02, 1000, 1000, seed=seed).scores() for seed in range(8)]
    for p, u in samples:
        if density_ratio(p, u)[1].mean() < 0.99:
            break
    with pytest.raises(
        InputError, match="TB014 EM only finds α = 0, as the density ratio averages"
    ):
        dedpul(p, u, rule="em")
    assert dedpul(p, u) == dedpul(p, u, rule="bend")
    assert dedpul(p, u).notes == ("α is the sharpest bend of D",)


def test_parameters_out_of_range_are_refused():
    with pytest.raises(InputError, match="TB008 rule must be 'auto', 'em' or 'bend'; got 'EM'"):
        dedpul([0.5], [0.5], rule="EM")
    with pytest.raises(InputError, match="TB008 bandwidth must be a finite number > 0; got 0"):
        dedpul([0.5], [0.5], bandwidth=0)
    with pytest.raises(InputError, match=r"TB008 bandwidth must be at least 0\.01; got 1e-06"):
        dedpul([0.5], [0.5], bandwidth=1e-6)
    with pytest.raises(InputError, match="TB008 alpha must be a number in"):
        dedpul_posterior([0.5], [0.5], alpha=1.5)
    with pytest.raises(InputError, match="TB004 at has 1 of 1 scores"):
        dedpul_posterior([0.5], [0.5], at=[np.nan])
