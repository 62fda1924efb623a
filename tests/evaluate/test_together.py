"""Scores and answers together: what answers say alone, what both say, and what contradicts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import beta

from topbin.core import Alarm, AlphaEstimate
from topbin.core.posterior import LEVELS, AlphaPosterior
from topbin.evaluate.audit import draw, judge
from topbin.evaluate.audit.judging import FLAT, AuditResult, answers_like, update, update_by_all
from topbin.evaluate.measure import Share


def normal(mean, sd):
    """A posterior of this mean and standard deviation."""
    return AlphaPosterior(tuple(float(np.clip(mean + sd * z, 0, 1)) for z in ndtri(LEVELS)))


def estimate(posterior, **more):
    ends = posterior.interval(0.95)
    given = {"alpha": posterior.median, "interval": ends, "posterior": posterior} | more
    return AlphaEstimate(n_p=200, n_u=5000, method="overlap", confidence=0.95, **given)


def exact(hits, n, confidence=0.95):
    low, high = Share(hits / n, n).limits(confidence)
    return hits / n, (float(low), float(high)), confidence


@settings(max_examples=50, deadline=None)
@given(st.integers(20, 2000), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_exact_limits_of_random_rows_lead_back_to_about_as_many_answers(n, share, confidence):
    hits = round(share * n)
    found = answers_like(*exact(hits, n, confidence))
    # Exact limits are a little wider than they need to be, by about one row.
    assert 0.75 * n - 3 <= sum(found) <= n + 3
    assert found[0] == pytest.approx(sum(found) * hits / n)


@pytest.mark.parametrize(("hits", "n"), [(0, 60), (1, 60), (15, 60), (59, 60), (60, 60)])
def test_answers_alone_leave_an_interval_as_wide_as_their_own(hits, n):
    told = exact(hits, n)
    both = update(estimate(FLAT), *told, alone=True)
    assert both.alone
    assert np.ptp(both.interval) == pytest.approx(np.ptp(told[1]), abs=0.002)
    assert both.interval == pytest.approx(told[1], abs=0.02)
    assert both.alpha == pytest.approx(told[0], abs=0.02)


def test_all_and_none_mirror_each_other():
    none, every = (update(estimate(FLAT), *exact(k, 60), alone=True) for k in (0, 60))
    assert none.alpha == pytest.approx(1 - every.alpha)
    assert none.interval[1] == pytest.approx(1 - every.interval[0])


def test_intervals_of_no_width_and_of_full_width():
    assert sum(answers_like(0.2, (0.2, 0.2), 0.95)) > 1e8  # all rows have been answered
    assert sum(answers_like(0.5, (0.0, 1.0), 0.95)) == pytest.approx(0, abs=1e-6)
    found = update(estimate(normal(0.3, 0.05)), 0.2, (0.2, 0.2), 0.95)
    assert found.interval == pytest.approx((0.2, 0.2), abs=1e-3)


def test_point_interval_and_posterior_are_one():
    both = update(estimate(normal(0.3, 0.05)), *exact(20, 60))
    assert both.alpha == both.posterior.median
    assert both.interval == both.posterior.interval(0.95)
    assert both.interval[0] <= both.alpha <= both.interval[1]


def test_both_are_between_what_each_says_and_narrower_than_either():
    scores, told = normal(0.37, 0.05), exact(30, 75)
    both = update(estimate(scores), *told)
    assert scores.median < both.alpha < told[0]
    assert np.ptp(both.interval) < min(np.ptp(scores.interval(0.95)), np.ptp(told[1]))


def test_more_answers_narrow_and_weigh_more():
    scores = estimate(normal(0.3, 0.05))
    found = [update(scores, *exact(2 * n // 5, n)) for n in (25, 100, 400, 1600)]
    widths = [np.ptp(one.interval) for one in found]
    assert widths == sorted(widths, reverse=True)
    alphas = [one.alpha for one in found]
    assert alphas == sorted(alphas)
    assert alphas[-1] == pytest.approx(0.4, abs=0.015)


def test_a_posterior_that_says_nothing_leaves_the_answers():
    told = exact(20, 80)
    hits, others = answers_like(*told)
    both = update(estimate(FLAT), *told)
    expected = beta(hits + 1, others + 1).ppf([0.025, 0.5, 0.975])
    assert (both.interval[0], both.alpha, both.interval[1]) == pytest.approx(expected, abs=2e-3)


def test_a_contradiction_decides_alone():
    scores = estimate(normal(0.1, 0.02))
    told = exact(60, 100)
    both = update(scores, *told, alone=True)
    assert both.alone
    assert both == update(estimate(FLAT), *told, alone=True)  # whatever the scores say
    # Even without being told so, the flat part of the prior lets the answers win.
    assert update(scores, *told).interval == pytest.approx(told[1], abs=0.03)


def test_an_older_estimate_without_a_posterior_leaves_the_answers_alone():
    before = AlphaEstimate(alpha=0.3, n_p=100, n_u=900, method="bbe", interval=(0.2, 0.4))
    both = update(before, *exact(20, 80))
    assert both.alone
    assert both == update(estimate(FLAT), *exact(20, 80), alone=True)


def test_rare_positives_stay_rare():
    """The grid of the update must resolve an α of one in ten thousand."""
    scores = AlphaPosterior(tuple(float(1e-4 * np.exp(0.3 * z)) for z in ndtri(LEVELS)))
    both = update(estimate(scores), *exact(0, 60))
    assert both.alpha == pytest.approx(1e-4, rel=0.1)
    assert both.interval[0] == pytest.approx(scores.interval(0.95)[0], rel=0.1)


def test_the_share_that_is_exactly_zero_is_kept():
    half = AlphaPosterior(tuple(max(0.0, 0.2 * (level - 0.5)) for level in LEVELS))
    both = update(estimate(half), *exact(0, 100))
    at = LEVELS.index(0.35)
    assert both.posterior.quantiles[:at] == (0.0,) * at
    assert both.alpha < 0.01


def test_the_estimate_after_an_audit_does_not_contradict_its_bound():
    before = estimate(normal(0.1, 0.02), upper_bound=0.12, cut=0.7)
    agreeing = update(before, *exact(10, 60))
    after = agreeing.estimate(before)
    assert (after.alpha, after.interval) == (agreeing.alpha, agreeing.interval)
    assert (after.posterior, after.cut) == (agreeing.posterior, None)
    assert after.upper_bound == max(0.12, after.alpha)
    higher = replace(agreeing, alpha=0.3).estimate(before)
    assert higher.upper_bound == 0.3
    assert higher.leading_bound is None
    refuted = update(before, *exact(60, 100), alone=True).estimate(before)
    assert refuted.upper_bound is None
    assert (after.n_p, after.n_u, after.confidence) == (200, 5000, 0.95)


@pytest.mark.parametrize("hits", [2, 5, 9, 20])
def test_answers_win_over_scores_that_mislead(hits):
    """Labels in file order: the scores say .02; no interval of either excludes the other's."""
    both = update(estimate(normal(0.02, 0.0065)), *exact(hits, 100))
    assert both.interval[0] <= hits / 100 <= both.interval[1]


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_answers_that_decide_alone_say_what_the_audit_says_beside_them(confidence):
    both = update(estimate(FLAT), 0.256, (0.151, 0.339), confidence, alone=True)
    assert (both.alpha, *both.interval) == pytest.approx((0.256, 0.151, 0.339))


def audited(alpha, interval, **more):
    about = {"kind": "simple", "n": 60, "confidence": 0.95, "verdict": "agrees", "sentence": ""}
    return AuditResult(alpha=alpha, interval=interval, **about | more)


def test_an_audit_of_another_kind_makes_the_answer_sharper():
    """As seen: 30 answers in the top bin, then 60 random ones, which found one positive."""
    scores = estimate(normal(0.012, 0.005))
    top, anywhere = audited(0.016, (0.011, 0.022), kind="top"), audited(0.017, (0.001, 0.05))
    alone, one = (update(scores, each.alpha, each.interval, 0.95) for each in (anywhere, top))
    both = update_by_all(scores, [anywhere, top])
    assert not both.alone
    assert np.ptp(both.interval) <= min(np.ptp(alone.interval), np.ptp(one.interval)) + 0.001
    assert update_by_all(scores, [anywhere]) == alone


def test_of_several_audits_the_first_decides_alone_if_one_contradicts():
    scores, first = estimate(normal(0.012, 0.005)), audited(0.25, (0.17, 0.34), excludes="interval")
    both = update_by_all(scores, [first, audited(0.016, (0.011, 0.022), kind="top")])
    assert both == update(scores, first.alpha, first.interval, 0.95, alone=True)


@pytest.mark.parametrize("code", ["biased-labels", "leak", "group-column", "near-copies"])
def test_where_an_alarm_says_that_scores_mislead_answers_decide_alone(code):
    """As seen: labels of severe cases, α = .0795, and .016 to .052 by scores and answers."""
    first = audited(0.06, (0.015, 0.111))
    scores = estimate(normal(0.03, 0.01), alarms=(Alarm(code, "", "down"),))
    both = update_by_all(scores, [first])
    assert both.alone
    assert both.interval[1] > 0.1
    after = both.estimate(scores)
    assert after.interval_assumes == "by the answers alone, because an alarm doubts the scores"
    assert after.upper_bound is None
    assert not update_by_all(estimate(normal(0.03, 0.01)), [first]).alone


def test_a_few_answers_do_not_make_the_answer_vaguer():
    before = estimate(normal(0.2, 0.03))
    for open_rows in (18, 12):  # of 20 that were drawn; open ones count whichever way is worse
        said = ["yes"] + ["no"] * (19 - open_rows) + [""] * open_rows
        audited = judge(draw(5000, 20), said, before)
        both = update_by_all(before, [audited])
        assert not both.alone
        assert np.ptp(both.interval) < 1.3 * np.ptp(before.interval)
