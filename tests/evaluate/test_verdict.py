"""The verdict: its rules one by one, and what an audit is said to buy."""

from dataclasses import replace

import numpy as np
import pytest

from topbin.core import Alarm, AlphaEstimate
from topbin.core.estimate import ALARMS
from topbin.core.posterior import LEVELS, AlphaPosterior
from topbin.evaluate.audit import draw, judge
from topbin.evaluate.audit.judging import update
from topbin.evaluate.audit.planning import AuditWidths
from topbin.evaluate.audit.scored import Scored
from topbin.evaluate.verdict import Gain, decide, verdict_of


def estimate(low, high, *codes, n_p=200, n_u=1000, bound=None):
    alpha = (low + high) / 2
    posterior = AlphaPosterior(tuple(low + (high - low) * level for level in LEVELS))
    return AlphaEstimate(
        alpha=alpha, n_p=n_p, n_u=n_u, method="overlap", interval=(low, high), confidence=0.95,
        upper_bound=high if bound is None else bound, posterior=posterior,
        alarms=tuple(Alarm(code, "words.", "either") for code in codes),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "say"),
    [
        (estimate(0.2, 0.3), "quote it"),
        (estimate(0.03, 0.07, n_p=40), "quote it"),
        (estimate(0.1, 0.3), "audit first"),
        (estimate(0.01, 0.3), "quote only the bound"),
        (estimate(0.01, 0.9), "audit first"),  # a bound of .9 says nothing
        (estimate(0.0, 0.005), "audit first"),  # 200 of 205 positives would be labeled
        (estimate(0.0, 0.04, n_p=75), "audit first"),  # 75 of 95, as where severe cases come first
        (estimate(0.2, 0.3, "few-positives"), "quote it"),
    ],
)
def test_the_rules(found, say):
    assert decide(found).say == say


@pytest.mark.parametrize("code", [code for code, kind in ALARMS.items() if kind.wrong])
def test_what_makes_alpha_wrong_asks_for_an_audit(code):
    assert decide(estimate(0.2, 0.3, code)).say == "audit first"


@pytest.mark.parametrize("code", [code for code, kind in ALARMS.items() if kind.high])
def test_what_makes_alpha_too_high_leaves_the_bound_with_its_condition(code):
    found = decide(estimate(0.2, 0.3, code))
    assert found.say == "quote only the bound"
    assert "α ≤ 0.300 if the labeled positives are like the others" in found.reason


def test_the_next_step_says_what_it_buys_for_both_kinds_of_audit():
    rng = np.random.default_rng(0)
    f = rng.beta(0.3, 0.7, 1000)
    found = decide(estimate(0.11, 0.44), widths=AuditWidths(0.275, 1000, f))
    (gain,) = found.gains  # no top bin is known
    assert found.command == f"topbin audit RUN --n {gain.n}"
    assert 0.11 < gain.interval[0] < 0.275 < gain.interval[1] < 0.44
    assert f"label {gain.n} rows: the interval becomes about" in found.buys
    assert found.lines("run 1")[1].startswith(f"next step       topbin audit 'run 1' --n {gain.n} ")


def test_what_an_audit_buys_is_about_what_it_brings():
    before = estimate(0.05, 0.55)
    gain = decide(before, widths=AuditWidths(0.3, 100_000)).gains[0]
    rng, widths = np.random.default_rng(1), []
    for _ in range(40):
        said = np.where(rng.random(gain.n) < 0.3, "yes", "no")
        judged = judge(draw(100_000, gain.n), said, before, look=1)
        after = update(before, judged.alpha, judged.interval, 0.95).interval
        widths.append(after[1] - after[0])
    assert np.mean(widths) == pytest.approx(gain.interval[1] - gain.interval[0], rel=0.15)


def test_where_scores_mislead_an_audit_is_priced_without_them():
    found = decide(estimate(0.0, 0.002, "biased-labels"), widths=AuditWidths(0.001, 5000))
    assert "label 100 rows: α to within 0.1" in found.buys
    assert "whatever the scores say" in found.buys


def test_after_a_random_audit_only_the_interval_counts():
    before = estimate(0.1, 0.5, "biased-labels")
    said = ["yes"] * 120 + ["no"] * 280
    judged = judge(draw(9000, 400), said, before)
    both = update(before, judged.alpha, judged.interval, 0.95)
    assert decide(before, audit=replace(judged, together=both)).say == "quote it"


def test_what_can_be_quoted_is_not_audited_for_a_wider_interval():
    found = decide(estimate(0.2, 0.22), widths=AuditWidths(0.21, 1000, np.full(1000, 0.21)))
    assert (found.say, found.gains, found.command) == ("quote it", (), "")


def test_a_narrow_share_of_rare_positives_says_that_it_is_a_wide_count():
    found = decide(estimate(0.0, 0.022, n_p=30, n_u=8000))
    assert found.say == "quote it"
    assert "(0 to 176 rows) is narrow as a share, not as a count" in found.reason
    assert "count" not in decide(estimate(0.2, 0.22)).reason


def test_a_blind_audit_of_rare_positives_is_priced_for_them_too():
    found = decide(estimate(0.01, 0.03, "leak"), widths=AuditWidths(0.02, 1000))
    assert found.buys.startswith("label 100 rows: α to within 0.1")
    assert found.buys.endswith("; within 0.04 if it is near 0.020")


def test_after_an_audit_that_contradicts_the_scores_no_audit_is_priced_by_them():
    before = estimate(0.0, 0.02, n_p=40)
    judged = judge(draw(1000, 100), ["yes"] * 26 + ["no"] * 74, before)
    both = update(before, judged.alpha, judged.interval, 0.95, alone=True)
    scored = Scored(
        p=np.linspace(0.5, 1, 40), u=np.linspace(0, 1, 1000),
        f_p=np.ones(40), f_u=np.linspace(0, 0.04, 1000),
    )  # fmt: skip
    found = verdict_of(before, 1000, scored, audit=replace(judged, together=both))
    assert [gain.where for gain in found.gains] == ["anywhere"]
    assert found.gains[0].n >= 100


def test_an_audit_of_the_top_bin_alone_is_no_alternative():
    top = Gain(where="top", n=30, interval=(0.011, 0.022))
    assert str(top).startswith("with --where top 30 rows: about 0.011 to 0.022")
