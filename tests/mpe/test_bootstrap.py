"""The bootstrap of counts against resampling the rows themselves."""

import numpy as np
import pytest
from coded import fails
from gaussians import gaussians

from topbin.core import Tails
from topbin.mpe import bbe, bootstrap


def by_resampling(scores_p, scores_u, replicates, seed=1):
    rng = np.random.default_rng(seed)
    return np.array(
        [
            bbe(
                Tails.from_scores(
                    rng.choice(scores_p, len(scores_p)), rng.choice(scores_u, len(scores_u))
                )
            ).alpha
            for _ in range(replicates)
        ]
    )


@pytest.mark.parametrize(("alpha", "n_p", "n_u"), [(0.3, 1000, 4000), (0.8, 3000, 1000)])
def test_it_is_distributed_like_resampled_rows(alpha, n_p, n_u):
    scores = gaussians(alpha, n_p, n_u).scores()
    slow = by_resampling(*scores, 600)
    fast = bootstrap(Tails.from_scores(*scores), replicates=6000)
    error = slow.std() / np.sqrt(slow.size)
    assert abs(fast.mean() - slow.mean()) < 4 * error
    # The standard error of a standard deviation of 600 draws is 3 %.
    assert fast.std() == pytest.approx(slow.std(), rel=0.12)
    quantiles = [0.1, 0.5, 0.9]
    assert np.allclose(np.quantile(fast, quantiles), np.quantile(slow, quantiles), atol=6 * error)


def test_ties_and_single_rows():
    tied = bootstrap(Tails.from_scores([0.5] * 50, [0.5] * 10 + [0.1] * 40), replicates=4000)
    assert tied.mean() == pytest.approx(0.2, abs=0.005)
    assert tied.std() == pytest.approx(np.sqrt(0.2 * 0.8 / 50), rel=0.1)
    assert set(bootstrap(Tails.from_scores([1.0], [1.0]), replicates=9)) == {1.0}
    assert set(bootstrap(Tails.from_scores([1.0], [0.0]), replicates=9)) == {0.0}
    few = bootstrap(Tails.from_scores(np.arange(4.0), np.arange(3.0)), replicates=500)
    assert few.min() >= 0
    assert few.max() <= 1


def test_a_seed_fixes_every_bit_and_row_order_none():
    scores_p, scores_u = gaussians(0.3, 500, 500).scores()
    tails = Tails.from_scores(scores_p, scores_u)
    first = bootstrap(tails, replicates=50, seed=3)
    assert first.shape == (50,)
    again = bootstrap(Tails.from_scores(scores_p[::-1], scores_u[::-1]), replicates=50, seed=3)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, bootstrap(tails, replicates=50, seed=4))


def test_it_varies_around_the_estimate():
    tails = Tails.from_scores(*gaussians(0.3, 50_000, 50_000).scores())
    alphas = bootstrap(tails, replicates=2000)
    assert abs(alphas.mean() - bbe(tails).alpha) < alphas.std()


def test_parameters_are_passed_on_and_checked():
    tails = Tails.from_scores(*gaussians(0.3, 300, 300).scores())
    bold, shy = (bootstrap(tails, replicates=500, gamma=gamma).mean() for gamma in (0.0, 5.0))
    assert bold < shy  # a heavier penalty prefers larger, less pure bins
    with fails("TB008", "replicates"):
        bootstrap(tails, replicates=0)
    with fails("TB008", "delta"):
        bootstrap(tails, delta=1.5)
    with fails("TB001", "scores_u"):
        bootstrap(Tails.of_positives([1.0]))


def test_the_page_says_that_it_does_not_cover():
    assert "not a confidence" in bootstrap.__doc__
    assert "7 to 90 %" in bootstrap.__doc__
