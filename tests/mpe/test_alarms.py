"""Alarms: each rings for its own reason, and none rings on clean data."""

import numpy as np
import pytest
from gaussians import gaussians
from scipy.sparse import csr_matrix

from topbin.core import AlphaEstimate, Evidence, Tails
from topbin.core.hashing import find_twins
from topbin.mpe.alarms import find_alarms, methods_disagree, shared_rows
from topbin.mpe.bbe import bbe_cp
from topbin.mpe.estimate import estimate_alpha


def codes(scores_p, scores_u):
    return [alarm.code for alarm in estimate_alpha(scores_p, scores_u).alarms]


def alarms_of(estimate, tails):
    return find_alarms(estimate, Evidence.of(tails))


def test_clean_data_raises_no_alarm():
    assert codes(*gaussians(0.4, 2000, 4000).scores()) == []
    assert (
        "no alarms (this does not prove the estimate right)"
        in estimate_alpha(*gaussians(0.4, 2000, 4000).scores()).summary()
    )


def test_few_positives():
    assert codes(*gaussians(0.4, 99, 4000).scores())[0] == "few-positives"
    assert "few-positives" not in codes(*gaussians(0.4, 100, 4000).scores())


def test_nearly_all_positive_and_indistinguishable():
    rng = np.random.default_rng(0)
    found = codes(rng.normal(size=1000), rng.normal(size=1000))
    assert "indistinguishable" in found
    assert "near-one" not in found  # which no α can be


def test_indistinguishable_has_its_stated_size():
    rng = np.random.default_rng(1)
    quiet = 0
    for _ in range(200):
        tails = Tails.from_scores(rng.normal(size=300), rng.normal(size=300))
        quiet += "indistinguishable" not in [a.code for a in alarms_of(bbe_cp(tails), tails)]
    assert quiet <= 0.05 * 200


def test_heavy_ties():
    sample_p, sample_u = gaussians(0.4, 2000, 4000).scores()
    assert "ties" in codes(np.round(sample_p, 1), np.round(sample_u, 1))


def test_a_tiny_bin():
    scores_p = np.r_[np.full(10, 9.0), np.linspace(0, 1, 990)]
    scores_u = np.r_[np.full(5, 9.0), np.linspace(0, 1, 5000)]
    tails = Tails.from_scores(scores_p, scores_u)
    est = AlphaEstimate(alpha=0.1, n_p=1000, n_u=5005, method="bbe", cut=9.0)
    assert "tiny-bin" in [alarm.code for alarm in alarms_of(est, tails)]


def test_a_rising_ratio_inside_the_bin():
    rng = np.random.default_rng(2)
    scores_p, hidden = rng.normal(1, 1, 3000), rng.normal(1, 1, 1000)
    tails = Tails.from_scores(scores_p, np.r_[hidden, rng.normal(0, 1, 2000)])
    est = AlphaEstimate(alpha=0.6, n_p=3000, n_u=3000, method="bbe", cut=0.0)
    (alarm,) = (a for a in alarms_of(est, tails) if a.code == "no-flat-top")
    assert alarm.bias == "either"  # impure, or mainly clear cases are labeled


def test_a_rising_ratio_is_a_rare_false_alarm_in_a_pure_bin():
    false = 0
    for seed in range(200):
        tails = Tails.from_scores(*gaussians(0.3, 500, 1000, seed=seed).scores())
        false += "no-flat-top" in [a.code for a in alarms_of(bbe_cp(tails), tails)]
    assert false <= 0.1 * 200


def test_a_point_outside_its_interval_says_which_way():
    tails = Tails.from_scores(*gaussians(0.4, 500, 500).scores())
    for alpha, bias in ((0.9, "up"), (0.1, "down")):
        est = AlphaEstimate(alpha=alpha, n_p=500, n_u=500, method="m", interval=(0.35, 0.45))
        (alarm,) = (a for a in alarms_of(est, tails) if a.code == "outside-interval")
        assert alarm.bias == bias
        assert "0.350 to 0.450" in alarm.message


def reading(alpha, method, **more):
    return AlphaEstimate(alpha=alpha, n_p=99, n_u=100, method=method, **more)


def test_a_method_does_not_disagree_with_itself():
    main = reading(0.05, "bbe", interval=(0.2, 0.4))
    assert not list(methods_disagree(main, [main]))


@pytest.mark.parametrize(
    ("alpha", "method", "is_strange"),
    [
        (0.05, "bbe", True),  # a method that errs upward cannot be below
        (0.05, "dedpul", True),
        (0.7, "dedpul", True),
        (0.7, "bbe", False),  # an impure top bin explains it
        (0.7, "scott", False),
        (0.3, "dedpul", False),
        (0.195, "bbe", False),  # by less than a row
        (0.405, "dedpul", False),
    ],
)
def test_methods_disagree_outside_the_interval_unless_they_are_known_to(alpha, method, is_strange):
    main = reading(0.3, "overlap", interval=(0.2, 0.4))
    alarms = list(methods_disagree(main, [main, reading(alpha, method)]))
    assert bool(alarms) == is_strange
    for alarm in alarms:
        assert f"α is {alpha:.3f} by {method}, outside the interval" in alarm.message
        assert "0.300" not in alarm.message


def test_every_method_that_disagrees_is_named():
    others = [reading(0.05, "bbe"), reading(0.6, "dedpul"), reading(0.6, "scott")]
    (alarm,) = methods_disagree(reading(0.3, "overlap", interval=(0.2, 0.4)), others)
    assert "0.050 by bbe, 0.600 by dedpul, outside" in alarm.message
    assert alarm.bias == "either"


def test_methods_cannot_disagree_with_nothing():
    assert not list(methods_disagree(reading(0.3, "overlap"), [reading(0.05, "bbe")]))
    assert not list(methods_disagree(reading(0.3, "overlap", interval=(0.2, 0.4)), []))


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_rows_on_both_sides(kind):
    X_p = np.array([[1.0, 0.0], [2.0, 3.0], [4.0, -0.0]])
    assert shared_rows(find_twins(kind(X_p), kind(X_p + 10))) == ()
    X_u = np.array([[4.0, 0.0], [2.0, 3.0], [9.0, 9.0]])
    (alarm,) = shared_rows(find_twins(kind(X_p), kind(X_u)))
    assert alarm.message.startswith("2 distinct positive rows")


def test_rows_that_are_equal_for_their_few_values_raise_none():
    rng = np.random.default_rng(0)
    X_p, X_u = rng.integers(0, 3, (100, 2)) * 1.0, rng.integers(0, 3, (400, 2)) * 1.0
    assert shared_rows(find_twins(X_p, X_u)) == ()


def test_no_alarm_ever_says_verified():
    rng = np.random.default_rng(0)
    for alarm in estimate_alpha(rng.normal(size=20), rng.normal(size=20)).alarms:
        assert "verif" not in str(alarm)
        assert "estimate may be" in str(alarm)


def test_thinned_tails_raise_the_same_alarms():
    from topbin.core.tails import at_ranks, geometric_ranks

    for alpha in (0.05, 0.5, 0.98):
        tails = Tails.from_scores(*gaussians(alpha, 300, 500).scores())
        thin = at_ranks(tails, geometric_ranks(300))
        assert alarms_of(bbe_cp(tails), thin) == alarms_of(bbe_cp(tails), tails)
