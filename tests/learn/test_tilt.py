"""The floor of p_u/p_p: against known mixtures, its laws, and inputs without an answer."""

import numpy as np
import pytest

from topbin.core import Evidence, InputError
from topbin.learn.classifiers.fitting import FitOptions, judge
from topbin.learn.tilt import lower_end, tilted, tilted_floor
from topbin.mpe import METHODS


def mixture(alpha, gap, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    m = round(alpha * n)
    return rng.normal(size=n), np.append(rng.normal(size=m), rng.normal(-gap, 1, n - m))


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("gap", [1.7, 4.0])
def test_alpha_is_found_where_logits_are_log_likelihood_ratios(alpha, gap):
    assert tilted_floor(*mixture(alpha, gap)) == pytest.approx(alpha, abs=0.06)


def test_without_a_pure_bin_it_is_less_biased_than_bbe():
    samples = [mixture(0.5, 1.5, seed=seed) for seed in range(8)]
    floor = np.mean([tilted_floor(*sample) for sample in samples])
    bbe = np.mean([METHODS["bbe"].read(Evidence(*sample)).alpha for sample in samples])
    assert abs(floor - 0.5) < 0.02 < 0.04 < bbe - 0.5


def test_a_floor_below_the_interval_of_a_pure_bin_is_not_believed():
    rng = np.random.default_rng(0)
    p, hidden = 3 + rng.standard_t(2, 2000), 3 + rng.standard_t(2, 1000)
    evidence = Evidence.of(p, np.append(hidden, rng.standard_t(2, 1000)), crossfitted=True)
    bbe, low = METHODS["bbe"].read(evidence), lower_end(evidence)
    assert tilted_floor(*evidence.scores) < low
    found = tilted(bbe, evidence)
    assert found.alpha == pytest.approx((bbe.alpha + low) / 2)
    assert f"{low:.3f}" in found.notes[0]


def test_alarms_are_those_of_the_alpha_that_is_shown():
    evidence = Evidence.of(*mixture(0.5, 1.0, n=400, seed=1), crossfitted=True)
    read = judge(evidence, FitOptions(), tilts=True)
    assert read.method == "bbe+tilt"
    assert read.interval[0] <= read.alpha <= read.interval[1]
    told = [alarm.message for alarm in read.alarms if alarm.code.startswith(("above", "outside"))]
    assert told == []


def test_order_shift_and_scale_of_logits_do_not_matter():
    p, u = mixture(0.3, 2.0, n=300)
    found = tilted_floor(p, u)
    assert tilted_floor(p[::-1], u[::-1]) == found
    assert tilted_floor(3 * p + 7, 3 * u + 7) == pytest.approx(found, abs=1e-3)


@pytest.mark.parametrize(
    ("p", "u"),
    [([1.0], [1.0]), ([1.0, 1.0], [1.0]), ([2.0], [0.0, 1.0]), ([3.0, 4.0], [0.0]),
     (np.ones(30), np.repeat([1.0, 0.0], 15))],
)  # fmt: skip
def test_hard_input_has_an_answer_in_range(p, u):
    assert 0.0 <= tilted_floor(p, u) <= 1.0


def test_samples_that_do_not_differ_are_all_positive():
    rng = np.random.default_rng(5)
    assert tilted_floor(np.ones(3), np.ones(4)) == 1.0
    assert tilted_floor(rng.normal(size=500), rng.normal(size=500)) > 0.7


def test_bad_scores_are_refused():
    with pytest.raises(InputError, match="TB004"):
        tilted_floor([0.5, np.nan], [0.1])
    with pytest.raises(InputError, match="TB001"):
        tilted_floor([], [0.1])
