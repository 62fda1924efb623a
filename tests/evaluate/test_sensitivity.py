"""What follows if labels are selective: intervals, tipping points, and what an audit implies."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from coded import fails
from roc_models import draw_tails

import topbin as tb
from topbin.core import AlphaEstimate, Evidence, Tails
from topbin.evaluate.sensitivity import LADDER, MOST, check_gammas, reconcile
from topbin.mpe.bound import upper_bound
from topbin.mpe.overlap import alpha_posterior

TAILS = next(draw_tails("Gaussians 3σ", 200, 1000, 0.1, repeats=1, seed=1))


def interval(tails, gamma=1.0):
    """The interval at a Γ that is read, never narrower than that of a smaller one."""
    read = [one for one in LADDER if one <= gamma]
    ends = [alpha_posterior(tails, gamma=one).interval(0.95) for one in read]
    return min(low for low, _ in ends), max(high for _, high in ends)


AT_MOST = (interval(TAILS, 1.5)[1] + interval(TAILS, 3.0)[1]) / 2
AT_LEAST = (interval(TAILS)[0] + interval(TAILS, 1.5)[0]) / 2


@pytest.fixture(scope="module")
def found():
    return tb.sensitivity(TAILS, gamma=(3, 1.5), at_most=AT_MOST, at_least=AT_LEAST)


def test_gamma_1_comes_first_and_is_the_interval_of_the_estimate_to_the_bit(found):
    assert [one.gamma for one in found.intervals] == [1.0, 1.5, 3.0]
    assert found.intervals[0].interval == tb.estimate_alpha(TAILS).interval
    assert found.intervals[1].interval == interval(TAILS, gamma=1.5)


def unbounded():
    """A result without a bound, so that none is simulated for each Γ."""
    estimate = replace(tb.estimate_alpha(TAILS), upper_bound=None)
    return SimpleNamespace(evidence=Evidence.of(TAILS), estimate=estimate)


def test_the_bound_is_that_of_the_estimate_at_gamma_1_and_higher_at_larger_ones(found):
    estimate = tb.estimate_alpha(TAILS)
    at_three = upper_bound(TAILS, gamma=3.0)
    first, second, third = (one.upper_bound for one in found.intervals)
    assert (first, third) == (estimate.upper_bound, at_three)
    assert first < second < third
    assert [one.upper_bound for one in tb.sensitivity(unbounded(), gamma=3).intervals] == [
        None,
        None,
    ]


def test_intervals_of_larger_gamma_contain_those_of_smaller_ones(found):
    many = tb.sensitivity(unbounded(), gamma=np.geomspace(1, 200, 60))
    for low, high in (
        np.transpose([one.interval for one in each.intervals]) for each in (found, many)
    ):
        assert np.all(np.diff(low) <= 0)
        assert np.all(np.diff(high) >= 0)


def test_a_conclusion_holds_up_to_its_tipping_point_and_not_much_further(found):
    most, least = found.conclusions
    for tipping in (most.tipping, least.tipping):
        assert 1 <= tipping < MOST
    tried = most.tipping, 1.02 * most.tipping, least.tipping, 1.02 * least.tipping
    ends = {one.gamma: one.interval for one in tb.sensitivity(TAILS, gamma=tried).intervals}
    assert ends[tried[0]][1] <= AT_MOST < ends[tried[1]][1]
    assert ends[tried[2]][0] >= AT_LEAST > ends[tried[3]][0]
    for one in (most, least):  # both ends assume how the classes overlap
        assert str(one).endswith(f"{found.assumes}; this holds as long as Γ ≤ {one.tipping:.2f}.")


def test_a_conclusion_that_never_held_is_said_not_refused():
    told = tb.sensitivity(TAILS, gamma=1, at_most=0.01).conclusions[0]
    assert (told.holds, told.tipping) == (False, None)
    assert "does not follow even if labels are random" in told.sentence


def test_the_text_and_the_dict_say_the_same(found):
    text, plain = str(found), json.loads(json.dumps(found.to_dict()))
    for one in plain["intervals"]:
        assert f"Γ = {one['gamma']:g}: " in text
    assert all(one["sentence"] in text for one in plain["conclusions"])


def test_a_fitted_model_gives_its_own_interval_confidence_and_assumption():
    evidence = Evidence(counted=TAILS, crossfitted=True)
    estimate = tb.estimate_alpha(evidence, confidence=0.9)
    stretched = estimate.moved_to(0.9)  # as nets do
    model = SimpleNamespace(evidence_=evidence, estimate_=stretched)
    for source in (model, SimpleNamespace(model=model)):  # as tb.load of a run folder has it
        told = tb.sensitivity(source, gamma=2)
        assert told.confidence == 0.9
        assert told.intervals[0].interval == stretched.interval
        assert told.intervals[1].interval[1] == 0.9
        assert told.assumes == estimate.interval_assumes


def test_gammas_may_be_text_numbers_or_arrays():
    assert check_gammas("1.5,2") == check_gammas([2, 1.5]) == check_gammas(np.array([1.5, 2.0]))
    for wrong in ("two", "1.5,,2", "", 0.5, [2, None]):
        with fails("TB123", "gamma must be"):
            check_gammas(wrong)


def test_conclusions_are_shares_and_estimates_alone_are_refused():
    with fails("TB008", "at_most must be a number in [0, 1]"):
        tb.sensitivity([3.0, 4.0], [1.0, 2.0], at_most=10)
    estimate = AlphaEstimate(alpha=0.1, n_p=10, n_u=10, method="bbe")
    with fails("TB124", "Pass what it was made from"):
        tb.sensitivity(estimate)


def test_an_audit_is_reconciled_by_the_smallest_gamma_that_makes_both_meet():
    high = interval(TAILS)[1]
    assert reconcile(TAILS, (high - 0.01, 0.5)) is None
    told = reconcile(TAILS, (high + 0.05, 0.5))
    near = tb.sensitivity(TAILS, gamma=(told.gamma / 1.02, told.gamma)).intervals[1:]
    assert near[0].interval[1] < high + 0.05 <= near[1].interval[1]
    assert f"agree if Γ is at least {told.gamma:.2f}" in str(told)


def test_an_audit_that_no_gamma_reaches():
    pure = Tails.from_scores(np.linspace(1, 2, 300), np.r_[np.linspace(1, 2, 300), np.zeros(2700)])
    told = reconcile(pure, (0.95, 1.0))
    assert told.gamma is None
    assert "No selection up to Γ = 100" in told.sentence
