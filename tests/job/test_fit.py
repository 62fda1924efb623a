"""`topbin.fit`: the whole job on real rows, with the truth kept out of its sight."""

import json
import re
from copy import copy
from dataclasses import replace

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from asked import fit, listing
from make_api import answer_schema
from stored import result_of
from tumours import TRUTH, means

import topbin as tb
from topbin.core import InputError
from topbin.evaluate.curves import list_precision
from topbin.store.answer import Answer


@pytest.fixture(scope="module")
def result():
    return tb.fit(means(), "known", id="case", budget="fast", candidates=60)


def test_the_truth_lies_in_the_interval(result):
    low, high = result.estimate.interval
    assert low <= TRUTH <= high
    assert result.estimate.n_u == 469
    assert result.estimate.alpha == pytest.approx(TRUTH, abs=0.08)


def test_candidates_are_unlabeled_ranked_and_mostly_right(result):
    frame = result.candidates()
    assert list(frame.columns[:3]) == ["rank", "probability", "case"]
    assert len(frame) == 60
    assert frame["probability"].is_monotonic_decreasing
    assert "known" not in frame
    rows = frame.index
    assert (means()["known"].to_numpy()[rows] == 0).all()
    assert (means()["case"].to_numpy()[rows] == frame["case"]).all()
    assert len(result.candidates(10)) == 10
    for n in (0, -3, 2.5):
        with pytest.raises(InputError, match="TB008 n must be a whole number ≥ 1"):
            result.candidates(n)


def test_it_shows_itself_on_a_line(result):
    shown = repr(result)
    assert shown.startswith(f"<Result: α = {result.estimate.alpha:.3f} of 469 unlabeled rows, ")
    assert len(shown) < 200
    assert "stopped early" in repr(replace(result, stopped="interrupted"))


def test_a_wanted_precision_chooses_the_rows(result):
    ranked = np.sort(result.evidence.scores[1])[::-1]
    low = list_precision(result.evidence, result.estimate, ranked).low
    wanted = 0.7 * low.max()
    picked = result.picked(min_precision=wanted)
    assert picked.precision_low >= wanted
    is_last = np.append(ranked[1:] != ranked[:-1], True)  # of rows with the same score
    assert picked.rows == 1 + np.flatnonzero(is_last & (low >= wanted))[-1]
    assert len(result.candidates(min_precision=wanted)) == picked.rows


def test_a_precision_out_of_reach_loses_nothing(result):
    asked = listing(result, candidates=60, min_precision=0.999)
    assert asked.picked().rows == 60
    assert "no threshold has an estimated precision that is 0.999" in asked.summary()
    with pytest.raises(InputError, match="TB008"):
        result.picked(min_precision=0.999)


def test_probabilities_average_to_alpha(result):
    assert result.probabilities.mean() == pytest.approx(result.estimate.alpha, rel=1e-6)


def test_the_summary_answers_in_order(result):
    text = result.summary()
    order = [
        "verdict  ",
        "next step  ",
        "\nα = ",
        "\nπ = ",
        "interval  ",
        "bound  ",
        "\nbias",
        "\nalarm",
        "\nagreement",
        "\ncandidates",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_the_summary_says_how_the_table_was_read():
    frame = means().assign(known=lambda f: f["known"] == 1, town="Bern")
    text = tb.fit(frame, "known", budget="fast").summary()
    assert 'left out        "town" is the same in every row.' in text
    assert 'left out        "case" looks like an identifier' in text
    assert 'False is read as "unknown", not as "negative"' in text


def test_an_estimate_outside_its_interval_is_not_called_between_its_ends(result):
    _, high = result.estimate.interval
    outside = copy(result.classifier)
    outside.estimate_ = replace(outside.estimate_, alpha=high + 0.1, upper_bound=high - 0.01)
    cases = replace(result, classifier=outside).sensitivity()
    assert [case.case for case in cases] == ["low end", "bound", "high end"]  # which is the answer
    outside.estimate_ = replace(outside.estimate_, upper_bound=None)
    cases = replace(result, classifier=outside).sensitivity()
    assert [case.case for case in cases] == [
        "low end", "high end", "estimate, outside the interval",
    ]  # fmt: skip
    assert [case.case for case in result.sensitivity()] == ["low end", "estimate", "high end"]


def test_the_result_fits_its_schema_and_json(result):
    content = json.loads(json.dumps(result.to_dict()))
    assert Answer.from_dict(content).to_dict() == content
    jsonschema.validate(content, answer_schema())


def test_it_draws_itself(result):
    import matplotlib as mpl

    mpl.use("Agg")
    assert len(result.plot().axes) == 2
    assert "<svg" in result._repr_html_()
    mpl.pyplot.close("all")


def test_a_saved_run_can_be_read_back(result, tmp_path):
    folder = result.save(tmp_path / "run")
    stored = result_of(folder)
    assert stored["estimate"]["alpha"] == result.estimate.alpha
    model, encoder = tb.load(folder).model, tb.load(folder).encoder
    again = model.predict_proba(encoder.encode(means().drop(columns=["known"])))[:, 1]
    first = result.classifier.predict_proba(result.data.X)[:, 1]
    np.testing.assert_array_equal(again, first)
    with pytest.raises(InputError, match="TB104"):
        result.save(folder)


def test_every_kind_of_frame_and_label_gives_the_same_answer(result):
    words = means()
    words["known"] = words["known"].map({1: "yes", 0: None})
    found = tb.fit(words, "known", positive="yes", id="case", budget="fast")
    assert found.estimate.alpha == result.estimate.alpha
    found = tb.fit(pl.from_pandas(means()), "known", id="case", budget="fast")
    assert found.estimate.alpha == result.estimate.alpha


def test_known_negatives_serve_no_training(result):
    frame = means()
    more = frame.sample(30, random_state=0).assign(known=-1)
    found = tb.fit(
        pd.concat([frame, more]), "known", positive=1, negative=-1, id="case", budget="fast"
    )
    assert found.estimate.n_u == 469
    assert found.estimate.alpha == result.estimate.alpha
    assert len(found.candidates()) == 100
    alpha = found.estimate.alpha
    pi = (100 + alpha * 469) / 599
    assert found.pi == pi
    assert f"π = {pi:.3f} of all 599 rows, the 130 labeled ones included" in found.summary()
    stored = found.to_dict()
    assert (stored["data"]["rows"], stored["data"]["n_n"]) == (599, 30)
    assert stored["estimate"]["pi"] == pi
    assert [case["pi"] for case in stored["sensitivity"] if case["alpha"] == alpha] == [pi]
    assert (
        "of 599 rows, including the 100 known positives and 30 known negatives"
        in found._repr_html_()
    )


def test_an_interrupt_keeps_the_first_estimate(monkeypatch):
    def interrupt(self, X, y, **_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tb.TEDnClassifier, "crossfit", interrupt)
    found = tb.fit(means(), "known", id="case")
    assert found.stopped == "interrupted after the first estimate"
    assert found.estimate == found.first
    assert found.summary().startswith("stopped early")


def test_a_leaking_column_is_noticed():
    frame = means().assign(inspector=lambda f: f["known"] * 7.5)
    found = tb.fit(frame, "known", id="case", budget="fast")
    assert [f.column for f in found.data.findings if f.code == "leak"] == ["inspector"]
    assert "noticed         leak" in found.summary()
    assert 'leave it out: --drop inspector (drop=["inspector"]).' in found.summary()
    assert "alarm           leak" in found.summary()
    stored = found.to_dict()
    assert "leak" in [alarm["code"] for alarm in stored["estimate"]["alarms"]]
    assert "not to be trusted" in found._repr_html_()
    again = tb.fit(frame, "known", id="case", budget="fast", drop=["inspector"])
    assert "leak" not in again.summary()


def test_known_positives_among_the_unlabeled_ring_the_alarm():
    known = means()[lambda f: f["known"] == 1]
    both = pd.concat([means(), known.assign(known=0)])
    found = tb.fit(both, "known", id="case", budget="fast")
    for estimate in (found.estimate, found.first):
        assert "shared-rows" in [alarm.code for alarm in estimate.alarms]
    assert "100 distinct positive rows are also in the unlabeled data" in found._repr_html_()


def test_few_positives_get_a_range():
    frame = means()
    few = frame[(frame["known"] == 0) | (frame["known"].cumsum() <= 20)]
    found = tb.fit(few, "known", id="case", budget="fast")
    assert repr(found).startswith("<Result: α between ")
    text = found.summary()
    assert "too few for a point estimate" in text
    assert "what if" not in text
    assert re.search(r"probabilities; between \d+ % and \d+ % positive$", text, re.M)
    assert "the interval is the answer" in text
    assert "% of the positives among the unlabeled" not in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"label": "knwon"}, "TB103"),
        ({"label": None}, "TB008"),
        ({"preset": "slow"}, "TB008"),
        ({"candidates": 0}, "TB008"),
        ({"min_precision": 2}, "TB008"),
        ({"confidence": 95}, "TB008"),
        ({"time_limit": 0}, "TB008"),
        ({"label": means()["known"]}, "TB008"),
        ({"label": means()}, "TB008"),
        ({"id": "nope"}, "TB103"),
        ({"drop": ["nope"]}, "TB103"),
        ({"label": "case"}, "TB002"),
    ],
)
def test_wrong_use_is_refused_by_code(options, code):
    with pytest.raises(InputError) as caught:
        fit(means(), **{"label": "known", **options})
    assert caught.value.code == code
