"""What the bound and the interval promise, held against 1,000 samples in each setting."""

import numpy as np
import pytest
from roc_models import draw_tails

from topbin.mpe.bbe import bbe
from topbin.mpe.bbe_cp import bbe_cp
from topbin.mpe.intervals import interval, upper_bound

pytestmark = pytest.mark.slow
REPEATS = 1000


def draw(model, n_p, n_u, alpha):
    return draw_tails(model, n_p, n_u, alpha, repeats=REPEATS, seed=42)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("sizes", [(100, 1000), (1000, 1000)])
def test_bound_holds_in_its_worst_case(sizes, alpha):
    bounds = np.array([upper_bound(tails) for tails in draw("separated", *sizes, alpha)])
    assert np.mean(bounds < alpha) <= 0.075
    assert np.mean(bounds < alpha) >= 0.025  # and is not merely too wide


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("sizes", [(100, 1000), (1000, 10_000)])
@pytest.mark.parametrize("model", ["Gaussians 3σ", "Beta(8,2)/(2,8)", "pure 20 %"])
def test_interval_covers(model, sizes, alpha):
    low, high = np.transpose([interval(tails) for tails in draw(model, *sizes, alpha)])
    assert np.mean((low <= alpha) & (alpha <= high)) >= 0.93


@pytest.mark.parametrize("alpha", [0.01, 0.3])
@pytest.mark.parametrize("model", ["3σ, 20 score levels", "3σ, 20 probability levels"])
def test_interval_covers_under_ties(model, alpha):
    low, high = np.transpose([interval(tails) for tails in draw(model, 1000, 10_000, alpha)])
    assert np.mean((low <= alpha) & (alpha <= high)) >= 0.93


@pytest.mark.parametrize("alpha", [0.05, 0.7])
def test_lower_end_holds_under_the_stated_assumption(alpha):
    found = [interval(t, pure_fraction=0.2) for t in draw("pure 20 %", 1000, 10_000, alpha)]
    low, high = np.transpose(found)
    assert np.mean((low <= alpha) & (alpha <= high)) >= 0.93
    assert low.mean() > 0.7 * alpha  # by default about half of α


def test_exact_limits_halve_the_error_for_rare_positives():
    found = [(bbe_cp(t).alpha, bbe(t).alpha) for t in draw("Gaussians 3σ", 100, 1000, 0.05)]
    rmse_cp, rmse_bbe = np.sqrt(np.mean((np.array(found) - 0.05) ** 2, axis=0))
    assert rmse_cp < 0.6 * rmse_bbe
