"""AlphaEstimate: what the summary says, and to whom."""

import json
from dataclasses import FrozenInstanceError, replace
from xml.etree import ElementTree

import pytest

from topbin.core import LEVELS, Alarm, AlphaEstimate, AlphaPosterior
from topbin.core.estimate import BOUND_ASSUMES, INTERVAL_ASSUMES

FULL = AlphaEstimate(
    alpha=0.25, n_p=100, n_u=300, method="bbe", cut=0.5, interval=(0.2, 0.31),
    upper_bound=0.3, confidence=0.95, alarms=(Alarm("ties", "many ties.", "up"),),
    notes=("a stated subsample",), caution="if the top bin is impure, the truth is lower than α",
)  # fmt: skip


def test_the_summary_names_both_shares_and_every_doubt():
    text = FULL.summary()
    for part in (
        "α = 0.250 of the 300 unlabeled are positive (about 75 rows), by bbe",
        "π = 0.438 of all 400 rows, the 100 labeled ones included",
        f"95 % interval   0.200 to 0.310   {INTERVAL_ASSUMES}",
        f"95 % bound      α ≤ 0.300   {BOUND_ASSUMES}",
        "if the top bin is impure, the truth is lower",
        "ties: many ties. (estimate may be too high)",
        "a stated subsample",
    ):
        assert part in text
    assert "verif" not in text


def test_few_positives_get_a_range_and_no_bare_point():
    few = AlphaEstimate(
        alpha=0.25, n_p=24, n_u=76, method="bbe", interval=(0.1, 0.6), confidence=0.95
    )
    text = few.summary()
    assert text.startswith("α between 0.10 and 0.60 of the 76 unlabeled")
    assert "π between 0.32 and 0.70 of all 100 rows" in text
    assert "0.25" not in text


def test_few_positives_without_an_interval_get_no_number():
    few = AlphaEstimate(alpha=0.25, n_p=24, n_u=76, method="bbe")
    assert "too few for a point estimate" in few.summary()
    assert "0.25" not in few.summary()


def test_it_is_a_value():
    assert json.loads(json.dumps(FULL.to_dict()))["pi"] == 0.4375
    with pytest.raises(FrozenInstanceError):
        FULL.alpha = 0.1


def test_the_posterior_goes_to_json_and_back_and_older_estimates_have_none():
    held = replace(FULL, posterior=AlphaPosterior.known(0.25))
    stored = json.loads(json.dumps(held.to_dict()))
    assert stored["posterior"] == {"quantiles": [0.25] * len(LEVELS)}
    assert AlphaEstimate.from_dict(stored) == held
    del stored["posterior"]
    assert AlphaEstimate.from_dict(stored) == FULL


def test_too_few_positives_without_an_interval_say_so():
    told = AlphaEstimate(alpha=0.4, n_p=60, n_u=300, method="sar_em", worth=(12, 80)).summary()
    assert told.startswith(
        "60 positives (equivalent to 12 independent rows) are too few for a point estimate, "
    )
    assert "and there is no interval" in told


def test_a_notebook_shows_the_summary_and_the_interval_on_a_scale():
    alarm = Alarm("ties", "3 < 5 & more.", "up")
    est = AlphaEstimate(alpha=0.25, n_p=100, n_u=300, method="bbe", interval=(0.2, 0.35),
                        upper_bound=0.4, confidence=0.995, alarms=(alarm,))  # fmt: skip
    page = est._repr_html_()
    root = ElementTree.fromstring(f"<div>{page.replace('<br>', ' ')}</div>")  # well-formed
    text = " ".join("".join(root.itertext()).split())
    for line in est.summary().splitlines():
        assert "".join(line.split()) in text.replace(" ", "")
    band, mark = [rect.attrib for rect in root.iter("rect")][1:]
    assert (float(band["x"]), float(band["width"])) == (400 * 0.2, pytest.approx(400 * 0.15))
    assert float(mark["x"]) + 1 == 400 * 0.25
    few = replace(est, n_p=10)  # then a range is shown, and no point
    assert few._repr_html_().count("<rect") == 2


def test_the_method_errs_on_top_of_a_doubt_that_says_which_way():
    assert f"bias            {FULL.caution}" in FULL.summary()
    leaks = replace(FULL, alarms=(Alarm("leak", "seen.", "down"),))
    assert f"bias            besides what the alarms say, {FULL.caution}" in leaks.summary()
