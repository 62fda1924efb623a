"""km1 and km2 against their definition, what must not change them, and error on Gaussians."""

import numpy as np
import pytest
import scipy.sparse as sp
from gaussians import ALPHAS, gaussians
from plain_features import plain_km, simplex_by_nnls

from topbin.core import InputError
from topbin.mpe import hull_curve, km1, km2


def samples(alpha=0.3, n=120, **options):
    sample = gaussians(alpha, n, n + 30, **options)
    return sample.X_p, sample.X_u


@pytest.mark.parametrize(("alpha", "noise"), [(0.1, 1), (0.3, 0), (0.3, 3), (0.6, 1), (0.5, 20)])
def test_both_equal_their_definition(alpha, noise):
    curve = hull_curve(*samples(alpha, 80, noise=noise))
    plain = plain_km(curve.space.kernel, 80, simplex_by_nnls, step=0.01, last=12)
    # The definition bisects in λ with step .01, ours in α with step .002.
    np.testing.assert_allclose([curve.km1().alpha, curve.km2().alpha], plain, atol=0.01)


def test_asking_for_both_gives_what_asking_for_each_gives():
    X_p, X_u = samples()
    curve, other = hull_curve(X_p, X_u), hull_curve(X_p, X_u)
    both = curve.km1(), curve.km2()
    assert both == (km1(X_p, X_u), km2(X_p, X_u))
    assert (other.km2(), other.km1()) == both[::-1]
    assert len(curve.seen) < 18  # two bisections of nine steps would be 18


# Largest |α̂ − α| on Gaussians 4σ apart, 300 + 330 rows, two columns of noise, three seeds.
# Both know little of a few negatives: km2 reads a slope below the noise there.
ERROR = {
    "km1": {0.02: 0.03, 0.1: 0.03, 0.3: 0.03, 0.5: 0.04, 0.8: 0.08, 0.95: 0.07},
    "km2": {0.02: 0.06, 0.1: 0.05, 0.3: 0.04, 0.5: 0.04, 0.8: 0.14, 0.95: 0.26},
}


def errors(alpha):
    curves = [hull_curve(*samples(alpha, 300, seed=seed, noise=2)) for seed in range(3)]
    return {
        "km1": [abs(curve.km1().alpha - alpha) for curve in curves],
        "km2": [abs(curve.km2().alpha - alpha) for curve in curves],
    }


@pytest.mark.parametrize("alpha", ALPHAS)
def test_error_on_gaussians_is_as_stated(alpha):
    for name, found in errors(alpha).items():
        assert max(found) <= ERROR[name][alpha], name


def test_row_order_and_storage_change_no_bit():
    X_p, X_u = samples(noise=60)
    rng = np.random.default_rng(1)
    for method in (km1, km2):
        known = method(X_p, X_u, max_rows=100)
        shuffled = method(rng.permutation(X_p), rng.permutation(X_u), max_rows=100)
        stored = method(sp.csc_array(X_p), sp.csr_matrix(X_u), max_rows=100)
        assert known == shuffled == stored
        assert known.notes == (
            "100 of 120 positives and 100 of 150 unlabeled rows, drawn with seed 0",
            "50 principal components of 61 features",
            "kernel width 1 times the median distance",
        )


def test_units_and_constant_columns_do_not_matter():
    X_p, X_u = samples()
    known = km2(X_p, X_u).alpha
    assert km2(X_p * [1000, 0.001] + 7, X_u * [1000, 0.001] + 7).alpha == known
    ones = np.ones((200, 1))
    assert km2(np.c_[X_p, ones[:120]], np.c_[X_u, ones[:150]]).alpha == known


def test_duplicate_columns_weigh_more_and_are_still_answered():
    X_p, X_u = samples()
    twice = km2(np.c_[X_p, X_p], np.c_[X_u, X_u]).alpha
    assert twice == pytest.approx(km2(X_p, X_u).alpha, abs=0.01)


def test_duplicate_rows_are_answered():
    # Most distances are 0, so the median is no width.
    X_p, X_u = np.ones((40, 1)), np.repeat([[1.0], [0.0]], [35, 5], axis=0)
    curve = hull_curve(X_p, X_u)
    assert curve.km1().alpha == pytest.approx(35 / 40, abs=0.15)
    assert 0 <= curve.km2().alpha <= 1


def test_the_input_is_left_alone():
    X_p, X_u = samples()
    before = X_p.copy(), X_u.copy()
    km1(X_p, X_u, max_rows=50)
    np.testing.assert_array_equal(X_p, before[0])
    np.testing.assert_array_equal(X_u, before[1])


rng = np.random.default_rng(0)
ALIKE = {
    "constant features": (np.ones((30, 2)), np.ones((40, 2))),
    "the same sample twice": (rng.normal(size=(40, 3)),) * 2,
    "one row each": (np.ones((1, 1)), np.zeros((1, 1))),
    "one positive": (np.ones((1, 1)), np.linspace(0, 2, 30)[:, None]),
    "one law": (rng.normal(size=(200, 2)), rng.normal(size=(200, 2))),
}


@pytest.mark.parametrize("case", ALIKE)
def test_what_cannot_be_told_from_positives_is_all_positive(case):
    curve = hull_curve(*ALIKE[case])
    for found in (curve.km1(), curve.km2()):
        assert found.alpha == 1.0
        assert [(alarm.code, alarm.bias) for alarm in found.alarms] == [("indistinguishable", "up")]


def test_samples_that_lie_apart_share_no_positive_and_raise_an_alarm():
    X = np.linspace(0, 1, 60)[:, None]
    curve = hull_curve(X + 50, X)
    for found in (curve.km1(), curve.km2()):
        assert found.alpha < 0.02
        assert [alarm.code for alarm in found.alarms] == ["steep-start"]


def test_sizes_and_methods_are_those_of_the_whole_table():
    X_p, X_u = samples()
    found = km1(X_p, X_u, max_rows=60, random_state=5)
    assert (found.n_p, found.n_u, found.method) == (120, 150, "km1")
    assert found.notes[0].endswith("drawn with seed 5")
    assert km2(X_p, X_u).method == "km2"


@pytest.mark.parametrize("options", [{"max_rows": 0}, {"n_components": 0}, {"random_state": -1}])
@pytest.mark.parametrize("method", [km1, km2])
def test_bad_parameters_are_refused(method, options):
    with pytest.raises(InputError, match="TB008"):
        method(*samples(), **options)
