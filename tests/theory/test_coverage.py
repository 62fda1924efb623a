"""What the bound and the interval promise, held against hundreds of samples in each setting."""

import numpy as np
import pytest
from roc_models import draw_tails, tilted

from topbin.mpe import alpha_posterior, estimate_alpha, upper_bound
from topbin.mpe.bbe import bbe, bbe_cp

pytestmark = pytest.mark.slow
REPEATS, FEWER = 1000, 300
PROMISED = 0.93
# Two standard deviations of a share of 300 samples, if it is as promised.
CHANCE = 2 * (PROMISED * (1 - PROMISED) / FEWER) ** 0.5
# A posterior promises 95 % over its prior, not for each overlap and each α. These settings fall
# short; the figures are shares of 2,000 samples.
SHORT = {
    ("Beta(8,2)/(2,8)", (100, 1000), 0.3): 0.887,
    ("Beta(8,2)/(2,8)", (100, 1000), 0.7): 0.893,
    ("Gaussians 4σ", (100, 1000), 0.3): 0.901,
    ("Gaussians 4σ", (100, 1000), 0.7): 0.914,
}


def draw(model, n_p, n_u, alpha, repeats=REPEATS):
    return draw_tails(model, n_p, n_u, alpha, repeats=repeats, seed=42)


def covered(model, sizes, alpha):
    drawn = draw(model, *sizes, alpha, repeats=FEWER)
    low, high = np.transpose([estimate_alpha(tails).interval for tails in drawn])
    return np.mean((low <= alpha) & (alpha <= high))


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("sizes", [(100, 1000), (1000, 1000)])
def test_bound_holds_in_its_worst_case(sizes, alpha):
    bounds = np.array([upper_bound(tails) for tails in draw("separated", *sizes, alpha)])
    assert np.mean(bounds < alpha) <= 0.075
    assert np.mean(bounds < alpha) >= 0.025  # and is not merely too wide


@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("model", ["Gaussians 2σ", "pure 20 %", "3σ, 20 score levels"])
def test_bound_holds_for_any_overlap(model, alpha):
    bounds = np.array([upper_bound(tails) for tails in draw(model, 100, 1000, alpha)])
    assert np.mean(bounds < alpha) <= 0.05


@pytest.mark.parametrize("top", [0.3, 0.7])
def test_bound_holds_if_labels_are_as_selective_as_allowed(top):
    hidden = tilted(1.5, top, rare=True)
    drawn = draw_tails("separated", 100, 1000, 0.3, repeats=FEWER, seed=42, hidden=hidden)
    missed = np.mean([upper_bound(tails, gamma=1.5) < 0.3 for tails in drawn])
    assert missed <= 0.05 + 2 * (0.05 * 0.95 / FEWER) ** 0.5


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("sizes", [(100, 1000), (1000, 10_000)])
@pytest.mark.parametrize(
    "model", ["separated", "Gaussians 4σ", "Gaussians 3σ", "Gaussians 2σ", "Beta(8,2)/(2,8)"]
)
def test_interval_covers(model, sizes, alpha):
    promised = SHORT.get((model, sizes, alpha), PROMISED)
    assert covered(model, sizes, alpha) >= promised - CHANCE


@pytest.mark.parametrize("alpha", [0.01, 0.3])
@pytest.mark.parametrize("model", ["3σ, 20 probability levels", "3σ, 100 probability levels"])
def test_interval_covers_under_ties(model, alpha):
    assert covered(model, (1000, 10_000), alpha) >= PROMISED - CHANCE


def test_exact_limits_halve_the_error_for_rare_positives():
    found = [(bbe_cp(t).alpha, bbe(t).alpha) for t in draw("Gaussians 3σ", 100, 1000, 0.05)]
    rmse_cp, rmse_bbe = np.sqrt(np.mean((np.array(found) - 0.05) ** 2, axis=0))
    assert rmse_cp < 0.6 * rmse_bbe


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.7])
def test_the_median_beats_a_pure_top_bin_where_classes_hardly_part(alpha):
    drawn = draw("Gaussians 1σ", 100, 1000, alpha, repeats=FEWER)
    found = [(alpha_posterior(tails).median, bbe_cp(tails).alpha) for tails in drawn]
    rmse, rmse_cp = np.sqrt(np.mean((np.array(found) - alpha) ** 2, axis=0))
    assert rmse < 0.8 * rmse_cp
