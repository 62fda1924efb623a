"""What every registered estimator promises, whatever it does inside."""

import numpy as np
import pytest
from gaussians import ALPHAS, gaussians

from topbin.core import InputError, Tails
from topbin.mpe import METHODS

# Largest |α̂ − α| allowed on 1,000 + 1,000 rows, Gaussians 4σ apart, at any of the six α.
# A method that is not listed is held to the tolerance of bbe.
TOLERANCE = {
    # The median of a posterior that allows for overlap, which these Gaussians hardly have: it is
    # low by .02 here, and by up to .07 in 20 other samples where nearly all rows are positive.
    "overlap": 0.05,
    "bbe": 0.08,
    "bbe_cp": 0.05,
    "scott": 0.12,
    "elkan_noto": 0.06,
    "dedpul": 0.06,
    "alphamax": 0.10,
    "km1": 0.10,
    "km2": 0.06,
    "tice": 0.25,
}
every_method = pytest.mark.parametrize("name", METHODS)


def estimate(name, sample):
    method = METHODS[name]
    if method.needs == "features":
        return method.estimate(sample.X_p, sample.X_u)
    return from_scores(name, *sample.scores())


def from_scores(name, scores_p, scores_u):
    method = METHODS[name]
    if method.needs == "tails":
        return method.estimate(Tails.from_scores(scores_p, scores_u))
    return method.estimate(scores_p, scores_u)


def from_columns(name, p, u):
    if METHODS[name].needs == "features":
        return METHODS[name].estimate(np.c_[p, p], np.c_[u, u])
    return from_scores(name, p, u)


def test_every_stated_tolerance_is_of_a_method():
    assert set(TOLERANCE) <= set(METHODS)


@every_method
@pytest.mark.parametrize("alpha", ALPHAS)
def test_recovers_alpha_on_gaussians(name, alpha):
    found = estimate(name, gaussians(alpha))
    assert abs(found.alpha - alpha) <= TOLERANCE.get(name, TOLERANCE["bbe"])
    assert (found.method, found.n_p, found.n_u) == (name, 1000, 1000)
    assert isinstance(found.alpha, float)


@every_method
def test_row_order_does_not_change_a_bit(name):
    sample = gaussians(0.3, 200, 300)
    shuffled = gaussians(0.3, 200, 300)
    rng = np.random.default_rng(1)
    rng.shuffle(shuffled.X_p)
    rng.shuffle(shuffled.X_u)
    assert estimate(name, shuffled).alpha == estimate(name, sample).alpha


@every_method
def test_the_same_input_gives_the_same_bits_and_is_left_alone(name):
    sample, untouched = gaussians(0.3, 200, 300), gaussians(0.3, 200, 300)
    assert estimate(name, sample) == estimate(name, sample)
    np.testing.assert_array_equal(sample.X_p, untouched.X_p)
    np.testing.assert_array_equal(sample.X_u, untouched.X_u)


@every_method
def test_no_global_random_state_is_used(name):
    sample = gaussians(0.3, 200, 300)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    estimate(name, sample)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


HARD = {
    "ties": (np.repeat([0.2, 0.5, 0.9], 40), np.repeat([0.1, 0.2, 0.5, 0.9], 30)),
    "the same sample twice": (np.linspace(0.1, 0.9, 60), np.linspace(0.1, 0.9, 60)),
    "all equal": (np.full(30, 0.5), np.full(40, 0.5)),
    "one positive": (np.array([0.9]), np.linspace(0.1, 0.9, 30)),
    "one unlabeled": (np.linspace(0.1, 0.9, 30), np.array([0.2])),
    "one each": (np.array([0.9]), np.array([0.1])),
    "two each": (np.array([0.9, 0.8]), np.array([0.1, 0.2])),
    "apart": (np.linspace(0.8, 0.9, 50), np.linspace(0.1, 0.2, 50)),
    "float32": (np.linspace(0.3, 0.9, 50, dtype="f4"), np.linspace(0.1, 0.9, 50, dtype="f4")),
    "saturated": (np.r_[np.ones(40), 0.5, 0.7], np.r_[np.zeros(40), np.ones(9), 0.6]),
}


@every_method
@pytest.mark.parametrize("case", HARD)
def test_hard_input_is_answered_in_range_or_refused_by_code(name, case):
    try:
        found = from_columns(name, *HARD[case])
    except InputError as error:
        assert error.code.startswith("TB")
        assert len(error.message) > 20
    else:
        assert 0.0 <= found.alpha <= 1.0
        assert np.isfinite(found.alpha)


@every_method
def test_indistinguishable_samples_are_called_all_positive(name):
    rng = np.random.default_rng(5)
    found = from_columns(name, rng.uniform(0.2, 0.8, 300), rng.uniform(0.2, 0.8, 300))
    if METHODS[name].needs != "probabilities":  # these scores are not p(labeled | x), which is ½
        assert found.alpha >= 0.7


@every_method
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused(name, bad):
    with pytest.raises(InputError, match="TB004"):
        from_columns(name, np.array([0.5, bad]), np.array([0.1, 0.2]))
    with pytest.raises(InputError, match="TB004"):
        from_columns(name, np.array([0.5, 0.6]), np.array([0.1, bad]))


@every_method
def test_empty_samples_are_refused(name):
    for p, u in (([], [0.1]), ([0.1], [])):
        with pytest.raises(InputError, match="TB001"):
            from_columns(name, np.array(p, float), np.array(u, float))
