import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from topbin import AlphaEstimate
from topbin.core import InputError
from topbin.core.binomial import effective_rows
from topbin.evaluate.measure import (
    ALPHA_KNOWN,
    Measure,
    Share,
    check_weights,
    combined,
    read_alpha,
    square_and_add,
)


@given(st.integers(0, 60), st.integers(1, 60), st.sampled_from([0.8, 0.95, 0.99]))
def test_limits_are_clopper_pearson(hits, n, confidence):
    hits = min(hits, n)
    exact = binomtest(hits, n).proportion_ci(confidence, "exact")
    assert np.allclose(Share(hits / n, n).limits(confidence), (exact.low, exact.high), atol=1e-12)


def test_limits_of_arrays_are_limits_of_each():
    together = Share(np.array([0.0, 0.3, 1.0]), 10).limits(0.9)
    apart = [Share(value, 10).limits(0.9) for value in (0.0, 0.3, 1.0)]
    assert np.array_equal(np.transpose(together), np.array(apart, float))


def test_a_share_counts_ties_as_above():
    assert Share.at_least(np.array([1.0, 2.0, 2.0, 3.0]), 2.0).value == 0.75


def test_equal_weights_change_nothing_and_zero_weights_drop_rows():
    scores = np.array([0.1, 0.7, 0.9, 0.4])
    plain = Share.at_least(scores, 0.5)
    equal = Share.at_least(scores, 0.5, np.full(4, 3.0))
    assert (equal.value, equal.n) == (plain.value, plain.n)
    dropped = Share.at_least(scores, 0.5, np.array([1.0, 1.0, 0.0, 1.0]))
    assert (dropped.value, dropped.n) == (pytest.approx(1 / 3), pytest.approx(3))


def test_uneven_weights_count_as_fewer_rows():
    assert effective_rows(np.array([1.0, 1.0, 1.0, 97.0])) < 1.1


def test_square_and_add_finds_the_end_that_hurts():
    # a falls and b rises with the figure; only the hurting end of each counts on each side.
    low, high = square_and_add(lambda a, b: b - a, [1.0, 5.0], [(0.0, 4.0), (1.0, 5.0)])
    assert (low, high) == (4 - 5.0, 4 + 1.0)


def test_square_and_add_of_a_value_outside_its_own_interval_stays_around_the_figure():
    low, high = square_and_add(lambda a: a, [0.5], [(0.1, 0.3)])
    assert low == pytest.approx(0.1)
    assert high == 0.5


def test_a_figure_is_cut_to_the_values_that_it_can_have():
    def cut(value, ends, **span):
        found = combined("x", lambda a: a, [(value, ends)], 0.95, **span)
        return found.value, *found.interval

    assert cut(1.25, (-0.25, 1.5)) == (1.0, 0.0, 1.0)
    assert cut(0.375, (0.25, 0.5)) == (0.375, 0.25, 0.5)
    assert cut(1.25, (-0.25, 1.5), span=(0.0, 9.0)) == (1.25, 0.0, 1.5)


def test_a_measure_prints_its_notes_and_goes_to_json():
    measure = Measure("recall", 0.5, (0.25, 0.75), 0.9, ("few rows.",))
    assert str(measure) == "recall 0.500 (90 %: 0.250 to 0.750)\n  few rows."
    assert json.loads(json.dumps(measure.to_dict()))["value"] == 0.5


def test_alpha_with_an_interval_brings_it():
    est = AlphaEstimate(alpha=0.3, n_p=9, n_u=9, method="bbe", interval=(0.2, 0.4), confidence=0.9)
    assert read_alpha(est, 0.9) == (0.3, (0.2, 0.4), ())
    with pytest.raises(InputError, match=r"^TB008 .*confidence 0.9, and 0.95"):
        read_alpha(est, 0.95)


def test_alpha_without_an_interval_is_taken_as_known_and_says_so():
    est = AlphaEstimate(alpha=0.3, n_p=9, n_u=9, method="bbe")
    assert read_alpha(est, 0.95) == (0.3, (0.3, 0.3), (ALPHA_KNOWN,))


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), None, "0.3", True])
def test_alpha_must_be_a_fraction(alpha):
    with pytest.raises(InputError, match=r"^TB008 alpha"):
        read_alpha(alpha, 0.95)


@pytest.mark.parametrize(
    "weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan], [1.0, np.inf], ["a", "b"]]
)
def test_bad_weights_are_refused(weights):
    with pytest.raises(InputError, match=r"^TB012 weights_p"):
        check_weights(weights, np.array([1.0, 2.0]), "weights_p")
