import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from topbin import AlphaEstimate
from topbin.core import InputError
from topbin.evaluate.audit import (
    draw,
    draw_stratified,
    judge,
    plan_either_way,
    power,
    read_answers,
)


def answers(positive, negative, unsure=0, blank=0):
    return ["yes"] * positive + ["no"] * negative + ["?"] * unsure + [""] * blank


def estimate(alpha, low, high):
    return AlphaEstimate(
        alpha=alpha, n_p=500, n_u=9000, method="bbe", interval=(low, high), confidence=0.95
    )


@pytest.mark.parametrize(
    "given",
    [
        ["1", "0", "?", ""],
        [1, 0, "unsure", None],
        [" YES", "no ", "Maybe", "NaN"],
        [True, False, "unclear", pd.NA],
        np.array(["y", "n", "u", ""], object),
        pd.Series(["positive", "negative", "unknown", None]),
        [1.0, -1.0, "?", float("nan")],
    ],
)
def test_answers_as_people_write_them(given):
    assert read_answers(given) == ["positive", "negative", "unsure", "blank"]


def test_other_answers_are_shown():
    with pytest.raises(InputError, match=r"^TB002 .*'fraud' \(2\), 'ok' \(1\)\. Write yes or no"):
        read_answers(["fraud", "Fraud", "ok", "yes"])


def test_a_wrong_estimate_is_contradicted_in_words():
    result = judge(draw(9000, 100), answers(30, 70), estimate(0.1, 0.05, 0.15))
    assert result.verdict == "contradicts"
    assert result.alpha == 0.3
    exact = binomtest(30, 100).proportion_ci(0.95, "exact")
    assert result.interval == pytest.approx((exact.low, exact.high))
    one_sided = binomtest(30, 100).proportion_ci(0.9, "exact").low
    assert str(result) == (
        "The audit contradicts the estimate: 30 of 100 random unlabeled rows are positive, so α is "
        f"at least {one_sided:.3f} (95 % confidence), and the estimate says 0.100 (0.050 to "
        "0.150). The positives that get labeled are probably not like those that stay unlabeled."
    )


def test_an_estimate_that_is_too_high_is_contradicted_too():
    result = judge(draw(9000, 100), answers(5, 95), 0.3)
    assert result.verdict == "contradicts"
    assert "at most 0.10" in result.sentence
    assert "The top scores probably contain negatives too" in result.sentence


def test_a_right_estimate_agrees_when_there_are_rows_enough():
    result = judge(draw(9000, 300), answers(60, 240), 0.2)
    assert result.verdict == "agrees"
    assert result.power == min(power(300, 0.2, 0.1), power(300, 0.2, -0.1))
    assert f"would have shown in {100 * result.power:.0f} % of such audits" in result.sentence


def test_few_rows_decide_nothing_and_say_how_many_would():
    result = judge(draw(9000, 10), answers(2, 8), 0.2)
    assert result.verdict == "undecided"
    assert result.sentence.startswith("The audit does not contradict the estimate: 2 of 10")
    needed = int(result.sentence.split("audits; ")[1].split()[0])
    assert judge(draw(9000, needed), answers(needed // 5, needed - needed // 5), 0.2).verdict == (
        "agrees"
    )


def test_a_larger_error_needs_fewer_rows():
    assert judge(draw(9000, 40), answers(8, 32), 0.2, error=0.3).verdict == "agrees"
    # From .2 no error of .3 leads down, so only the way up counts.
    assert judge(draw(9000, 40), answers(8, 32), 0.2, error=0.3).power == power(40, 0.2, 0.3)


def test_the_error_that_must_show_is_relative():
    errors = [judge(draw(9000, 50), answers(5, 45), a).error for a in (0.01, 0.1, 0.2, 0.6)]
    assert errors == [0.02, 0.05, 0.1, 0.1]


def test_an_estimate_without_room_for_an_error_cannot_be_judged():
    result = judge(draw(9000, 200), answers(100, 100), estimate(0.5, 0.05, 0.95))
    assert (result.verdict, result.power) == ("undecided", 0.0)
    assert "An error of 0.1, up or down from the estimate's own range, would" in result.sentence


def test_unsure_and_blank_rows_count_against_each_end():
    clear = judge(draw(9000, 100), answers(30, 70), 0.3)
    open_rows = judge(draw(9000, 100), answers(30, 50, unsure=15, blank=5), 0.3)
    worst_low = binomtest(30, 100).proportion_ci(0.95, "exact").low
    worst_high = binomtest(50, 100).proportion_ci(0.95, "exact").high
    assert open_rows.interval == pytest.approx((worst_low, worst_high))
    assert open_rows.interval[1] > clear.interval[1]
    assert open_rows.alpha == pytest.approx(30 / 80)
    assert (open_rows.n_unsure, open_rows.n_blank, open_rows.n) == (15, 5, 100)
    assert "(15 unsure and 5 blank, counted whichever way is worse)" in open_rows.sentence
    assert open_rows.power == min(power(80, 0.3, 0.1), power(80, 0.3, -0.1))


def test_unsure_rows_can_save_an_estimate_from_contradiction():
    assert judge(draw(9000, 100), answers(10, 90), 0.25).verdict == "contradicts"
    assert judge(draw(9000, 100), answers(10, 75, unsure=15), 0.25).verdict != "contradicts"


def test_strata_are_weighted():
    sample = draw_stratified(np.arange(1001.0), 15, strata=2)  # 501 and 500 rows, 8 and 7 drawn
    said = np.where(sample.stratum == 1, "yes", "no")
    result = judge(sample, said, 0.5)
    assert result.kind == "stratified"
    assert result.alpha == pytest.approx(500 / 1001)
    assert "7 of 15 unlabeled rows, drawn by strata, are positive" in result.sentence


def test_a_stratum_without_an_answer_leaves_the_others():
    sample = draw_stratified(np.arange(1000.0), 20, strata=2)
    said = np.where(sample.stratum == 1, "yes", "")
    result = judge(sample, said, 0.5)
    assert result.alpha == 1
    assert result.interval[0] < 0.5
    assert result.interval[1] == 1


@pytest.mark.parametrize("truth", [0.08, 0.25])
def test_a_right_estimate_is_seldom_contradicted_and_a_wrong_one_mostly(truth):
    rng = np.random.default_rng(0)
    verdicts = [
        judge(draw(9000, 50), answers(x, 50 - x), 0.08).verdict
        for x in rng.binomial(50, truth, 500)
    ]
    share = verdicts.count("contradicts") / 500
    if truth == 0.08:
        assert share <= 0.10 + 3 * np.sqrt(0.09 / 500)  # 5 % in each direction
    else:
        assert share == pytest.approx(0.955, abs=0.028)  # 3 standard errors


def test_biased_labels_that_no_score_shows_are_found_by_the_audit():
    """Only one kind of positive is ever labeled; α̂ sees that kind alone."""
    rng = np.random.default_rng(1)
    found = 0
    for seed in range(50):
        hidden = rng.random(5000) < 0.25  # .08 of the labeled kind, .17 of the other
        rows = draw(5000, 100, seed=seed).rows
        said = np.where(hidden[rows], "yes", "no")
        found += judge(draw(5000, 100, seed=seed), said, estimate(0.08, 0.06, 0.1)).verdict == (
            "contradicts"
        )
    assert found >= 45


def test_a_result_goes_to_json():
    result = judge(draw(9000, 50), answers(13, 37), 0.08)
    stored = json.loads(json.dumps(result.to_dict()))
    assert stored["verdict"] == "contradicts"
    assert stored["n_positive"] + stored["n_negative"] == stored["n"] == 50


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: judge(draw(90, 3), ["yes"], 0.3), "TB005 3 rows were drawn and 1 answers given"),
        (lambda: judge(draw(90, 3), ["", "?", ""], 0.3), "TB001 no audited row has an answer"),
        (lambda: judge(draw(90, 3), ["yes"] * 3, 1.3), "TB008 alpha"),
        (lambda: judge(draw(90, 3), ["yes"] * 3, 0.3, error=0), "TB008 error"),
        (lambda: judge(draw(90, 3), ["yes"] * 3, 0.3, confidence=1), "TB008 confidence"),
    ],
)
def test_bad_input_is_refused(call, code):
    with pytest.raises(InputError, match=f"^{code}"):
        call()


@pytest.mark.parametrize("stratified", [False, True])
def test_the_verdict_asks_for_as_many_rows_as_the_plan(stratified):
    scores = np.random.default_rng(0).random(9000)
    sample = draw_stratified(scores, 40) if stratified else draw(9000, 40)
    planned = plan_either_way(0.2, 0.1)
    small = judge(sample, answers(8, 32), 0.2)
    drawn = f"{planned.n:,} answered rows{', drawn plainly,' * stratified} would show it in 80 %"
    assert drawn in small.sentence
    hits = round(0.2 * planned.n)
    enough = judge(draw(9000, planned.n), answers(hits, planned.n - hits), 0.2)
    assert enough.verdict == "agrees"
    assert plan_either_way(0.2, -0.1) == planned


def test_a_plan_within_the_range_of_the_estimate_is_refused():
    wide = AlphaEstimate(
        alpha=0.5, n_p=9, n_u=9, method="x", interval=(0.05, 0.96), confidence=0.95
    )
    with pytest.raises(InputError, match=r"TB008 An error of 0.1, up or down from the"):
        plan_either_way(wide, 0.1)
