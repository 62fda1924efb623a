"""The page: self-contained, escaped, small, and in the right words."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from gaussians import gaussians

import topbin as tb
from topbin.core import AlphaEstimate, Evidence
from topbin.core.estimate import ALARMS
from topbin.job.audits.review import estimate_before
from topbin.show import fragment as show_fragment
from topbin.show import page as show_page
from topbin.show.page import headline
from topbin.store.answer import Answer, plain

SOURCE = Path(tb.__file__).parent
AUDIT = {
    "kind": "simple",
    "n_positive": 31,
    "n_negative": 69,
    "n_unsure": 0,
    "n_blank": 0,
    "upper_bound": 0.4,
    "assumes": "needs only random rows and right answers",
    "claim": 0.3,
    "claim_interval": (0.2, 0.4),
    "error": 0.1,
    "power": 0.5,
    "sentence": "The audit agrees.",
    "verdict": "agrees",
    "n": 100,
    "alpha": 0.31,
    "interval": (0.22, 0.41),
    "confidence": 0.95,
}


def page(result, *more):
    return show_page(Answer.from_dict(plain(result)), *more)


def fragment(result, fitted):
    return show_fragment(Answer.from_dict(plain(result)), fitted)


def answer(estimate):
    return headline(AlphaEstimate.from_dict({"method": "bbe", **estimate}))


@pytest.fixture(scope="module")
def scored():
    scores_p, scores_u = gaussians(0.3, 200, 400).scores()
    estimate = tb.estimate_alpha(scores_p, scores_u)
    return SimpleNamespace(evidence_=Evidence.of(scores_p, scores_u), estimate_=estimate)


@pytest.fixture
def result(scored):
    return {
        "topbin": "0.3.0",
        "seed": 0,
        "preset": "good",
        "data": {
            "n_p": 200,
            "n_u": 400,
            "source": ["<script>alert(1)</script>.csv"],
            "hash": "sha256:" + "0" * 64,
            "rows": 600,
            "label_note": "1 = positive",
            "features": ["<img src=x>"],
            "dropped": [{"name": "id", "reason": '"id" looks like an identifier.'}],
            "findings": [
                {"code": "leak", "column": "x", "figure": None, "sentence": '"x" <b>leaks</b>.'}
            ],
        },
        "estimate": scored.estimate_.to_dict(),
        "agreement": "methods agree: bbe 0.300, scott 0.310",
        "first": scored.estimate_.to_dict(),
        "methods": [
            {"method": name, "alpha": alpha, "n_p": 200, "n_u": 400}
            for name, alpha in (("scott", 0.31), ("bbe", 0.3))
        ],
        "model": {"class": "TEDnClassifier"},
        "history": [{"epoch": i, "loss": 0.5, "alpha": 0.3} for i in (1, 2)],
        "sensitivity": [{"if": "low end", "alpha": 0.2, "rows": 80, "pi": 0.4}],
        "candidates": {
            "rows": 2,
            "threshold": 0.4,
            "precision": 0.9,
            "precision_low": 0.7,
            "recall": 0.5,
        },
        "versions": {"numpy": "2"},
    }


def test_it_asks_nothing_of_the_outside_and_is_small(result, scored):
    text = page(result, scored, [{"rank": 1, "name": "<i>x</i>"}])
    assert len(text.encode()) < 1_000_000
    assert "<script" not in text
    outside = re.findall(r'(?:src|href)="([^"#]*)"', text)
    assert [link for link in outside if link != "data:,"] == []
    assert text.count("<svg") == 5  # three of the estimate, and two curves


def test_cells_names_and_findings_are_escaped(result, scored):
    text = page(result, scored, [{"rank": 1, "name": "<i>x</i>"}])
    for raw in ("<i>x</i>", "<b>leaks</b>", "<img src=x>", "alert(1)</script>"):
        assert raw not in text
    assert "&lt;i&gt;x&lt;/i&gt;" in text


def test_the_same_result_gives_the_same_bytes(result, scored):
    assert page(result, scored) == page(result, scored)


def test_alarms_are_explained_and_silence_is_no_proof(result, scored):
    assert "No alarms (this does not prove the estimate right). If" in page(result, scored)
    alarm = {"code": "ties", "message": "many ties.", "bias": "up"}
    result["estimate"] = {**result["estimate"], "alarms": [alarm]}
    text = page(result, scored)
    assert f"<li>Many ties. {ALARMS['ties'].meaning} The estimate may be too high." in text


def test_alarms_are_grouped_by_what_to_do_the_urgent_ones_first(result, scored):
    codes = "few-positives", "biased-labels", "leak", "ties", "shared-rows"
    alarms = [{"code": code, "message": f"about {code}.", "bias": "up"} for code in codes]
    result["estimate"] = {**result["estimate"], "alarms": alarms}
    boxes = page(result, scored).split('<div class="alarm">')[1:]
    found = [re.findall(r"<code>([a-z-]+)</code>", box) for box in boxes]
    assert found[:3] == [["leak", "shared-rows"], ["biased-labels"], ["few-positives", "ties"]]


def test_where_the_bound_is_the_answer_no_other_number_is_one(result, scored):
    found = replace(scored.estimate_, alpha=0.286, upper_bound=0.279, interval=(0, 0.3), alarms=())
    result |= {"estimate": found.to_dict(), "candidates": {**result["candidates"], "rows": 99}}
    result["candidates"] |= {"precision_low": 0.0, "precision_high": 0.97}
    text = page(result, SimpleNamespace(evidence_=scored.evidence_, estimate_=found), [{"rank": 1}])
    assert "At most 28 % of the 400 unlabeled rows" in text
    assert "<dd>≤ 0.279 of 400 rows</dd>" in text
    assert f"<dd>≤ {found.pi_at(0.279):.3f} of 600 rows, including the 200 known positives" in text
    assert "about 90 % positive (0 % to 97 %)" in text
    assert "Below are the first 1 of 99; candidates.csv has all of them." in text
    assert "0.286" not in re.sub("<svg.*?</svg>", "", text, flags=re.DOTALL)
    assert estimate_before(found) == {"alpha": 0.279, "sign": "≤", "interval": (0, 0.3)}
    assert estimate_before(replace(found, n_p=5))["alpha"] is None


def test_an_audit_and_an_early_stop_are_told(result, scored):
    text = page({**result, "audit": AUDIT, "stopped": "out of time"}, scored)
    assert "The audit agrees." in text
    assert "0.310, 95 % interval 0.220 to 0.410: the audit agrees with the estimate" in text
    assert "About 31 % of the 400 unlabeled rows are positive, by the audit (95 % interval" in text
    assert "out of time" in text
    against = page({**result, "audit": {**AUDIT, "verdict": "contradicts"}}, scored)
    assert '<div class="alarm">The audit agrees.' in against  # its words are the caller's


def test_the_answer_after_an_audit_is_that_of_scores_and_answers_together(result, scored):
    posterior = {"quantiles": scored.estimate_.posterior.quantiles}
    both = {"alpha": 0.29, "interval": (0.25, 0.33), "posterior": posterior, "alone": False}
    text = page({**result, "audit": {**AUDIT, "together": both}}, scored)
    said = "are positive, by scores and answers together (95 % interval 25 % to 33 %)"
    assert f'<p class="answer">About 29 % of the 400 unlabeled rows {said}' in text
    assert 'α by the audit of 100 random rows alone</dt><dd class="agrees">0.310, 95 %' in text
    text = page({**result, "audit": {**AUDIT, "together": {**both, "alone": True}}}, scored)
    assert "About 29 % of the 400 unlabeled rows are positive, by the audit (95 %" in text


def test_methods_are_listed_by_what_they_say(result, scored):
    text = page(result, scored)
    assert "Methods agree. Each reads" in text
    assert text.index("<td>bbe") < text.index("<td>scott")


def test_every_alarm_has_a_meaning():
    source = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    assert set(re.findall(r'Alarm\(\s*"([a-z-]+)"', source)) <= set(ALARMS)
    assert all(kind.meaning for kind in ALARMS.values())


def test_a_precision_that_cannot_be_known_is_not_printed(result, scored):
    result["candidates"] |= {"precision": None, "precision_low": None}
    assert "cannot be estimated from the scores" in page(result, scored)


def test_a_short_history_draws_no_picture(result, scored):
    assert fragment({**result, "history": []}, scored).count("<svg") == 4
    assert "<html" not in fragment(result, scored)


def test_the_answer_in_one_sentence():
    base = {"alpha": 0.25, "n_u": 100, "n_p": 10, "interval": (0.1, 0.6), "confidence": 0.9}
    assert answer(base).startswith("Between 10 % and 60 % of the 100 unlabeled rows")
    assert answer({**base, "interval": None}) == (
        "About 25 % of the 100 unlabeled rows are positive."
    )
    assert np.isfinite(len(answer({**base, "n_p": 100})))


def test_a_doubt_leads_and_the_sentence_goes_on_after_it():
    leak = {"code": "leak", "message": "seen.", "bias": "down"}
    base = {"alpha": 0.25, "n_u": 100, "n_p": 100, "interval": (0.1, 0.6), "confidence": 0.9}
    assert "By the scores alone: about 25 % of the" in answer({**base, "alarms": [leak]})


def test_of_many_columns_with_odd_cells_only_some_are_unfolded(result, scored):
    odd = [
        {
            "code": "odd-cells",
            "column": name,
            "figure": None,
            "sentence": f'"{name}" has odd cells.',
        }
        for name in "abcde"
    ]
    result["data"]["findings"] = [*odd, *result["data"]["findings"]]
    text = page(result, scored)
    assert "2 more columns with odd cells" in text
    assert text.count("has odd cells") == 5
    assert text.index("leaks") < text.index("has odd cells")
