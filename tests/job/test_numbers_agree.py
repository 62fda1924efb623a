"""No two numbers contradict each other, whatever the table: before an audit, and after it.

Each day tries half of ten tables; `TOPBIN_RUNS=50 pytest tests/job/test_numbers_agree.py` tries
more.
"""

import os
import re
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from asked import fit
from stored import result_of

import topbin as tb
from topbin import AlphaEstimate
from topbin.core.estimate import RANGE_ONLY
from topbin.core.formatting import counted, figure
from topbin.evaluate.curves import what_to_expect
from topbin.learn.probabilities import TILT
from topbin.show.page import audited_headline, headline, lead
from topbin.show.screen import summarize
from topbin.store.answer import Answer
from topbin.store.runs import CANDIDATES, REPORT

pytestmark = pytest.mark.usefixtures("rendered")

RUNS = range(int(os.environ.get("TOPBIN_RUNS", "0"))) or range(date.today().toordinal() % 2, 10, 2)
LEVEL = r"^95 % {}\s+(.*?)   "
N_AUDITED = 60


def table(rng):
    """A random table: positives many or few, close to the others or far, copied or not.

    With it comes which rows are positive.
    """
    n_p, n_u = (int(rng.choice(each)) for each in ((12, 40, 150, 300), (120, 400, 900)))
    alphas, gaps = (0, 0.01, 0.1, 0.4, 0.95), (0, 0.7, 1.3, 2, 5)
    alpha, gap = (float(rng.choice(each)) for each in (alphas, gaps))
    hidden = round(alpha * n_u)
    is_positive = np.arange(n_p + n_u) < n_p + hidden
    frame = pd.DataFrame(
        rng.normal(gap * is_positive[:, None], 1, (n_p + n_u, 3)), columns=["a", "b", "c"]
    )
    frame["known"] = np.arange(n_p + n_u) < n_p
    rows = np.repeat(np.arange(n_p + n_u), rng.choice([1, 1, 1, 2]))
    return frame.loc[rows].reset_index(drop=True), is_positive[rows]


class Audited(NamedTuple):
    folder: Any
    before: pd.DataFrame  # the candidates
    stored: dict[str, Any]  # result.json
    model: Any

    @property
    def both(self):
        return self.stored["audit"]["together"]


@pytest.fixture(scope="module", params=RUNS)
def made(request):
    rng = np.random.default_rng(request.param)
    asked = {"candidates": int(rng.choice([1, 20, 100]))}
    if rng.random() < 0.3:
        asked["min_precision"] = float(rng.choice([0.3, 0.8]))
    frame, is_positive = table(rng)
    return fit(frame, "known", preset="fast", seed=request.param, **asked), is_positive


@pytest.fixture(scope="module")
def result(made):
    return made[0]


@pytest.fixture(scope="module")
def audited(made, tmp_path_factory):
    """The run after answers to some drawn rows, all of them right."""
    found, is_positive = made
    folder = found.save(tmp_path_factory.mktemp("run") / "run")
    before = pd.read_csv(folder / CANDIDATES)
    audit = tb.audit(folder)
    rows = audit.draw(N_AUDITED)["row"]
    audit.record({row: bool(is_positive[row - 1]) for row in rows})
    audit.judge()
    return Audited(folder, before, result_of(folder), tb.load(folder).model)


def number(text):
    return float(text.replace(",", ""))


def step(text):
    """Half of the last digit, within which the number was rounded."""
    return 0.5000001 * 10.0 ** -len(text.partition(".")[2])


def near(one, other, *texts):
    return abs(one - other) <= sum(map(step, texts)) + 1e-9


def parsed(text, start):
    return [line[16:] for line in text.splitlines() if line.startswith(start)]


def check_probabilities(likely, alpha):
    """They add up to α times their number, unless α is nearer to 0 or 1 than what orders rows.

    A thousandth of each probability orders rows that would have the same one.
    """
    total, n = likely.sum(), likely.size
    assert np.all((likely >= 0) & (likely <= 1))
    if alpha < TILT:
        assert alpha * n * (1 - 1e-6) <= total <= TILT * n
    elif alpha > 1 - TILT:
        assert (1 - TILT) * n <= total <= alpha * n * (1 + 1e-6)
    else:
        assert total == pytest.approx(alpha * n, rel=1e-6)


def check_posterior(estimate):
    low, high = estimate.interval
    assert low <= estimate.alpha <= high
    assert estimate.alpha == estimate.posterior.median
    assert estimate.interval == estimate.posterior.interval(estimate.confidence)
    assert estimate.upper_bound is None or estimate.upper_bound >= estimate.alpha


def check_list(listed, estimate, n_u):
    """What is said of the listed rows follows from α, and lies between its own ends."""
    ends = [listed[f"precision{end}"] for end in ("_low", "", "_high")]
    if estimate.has_no_signal:
        assert ends == [None, None, None]
        return
    assert ends == sorted(ends)
    assert ends[0] >= 0
    assert ends[2] <= 1
    assert listed["rows"] * ends[1] <= estimate.interval[1] * n_u + 0.5
    if 0 < listed["recall"] < 1:
        made = listed["recall"] * estimate.alpha * n_u
        assert listed["rows"] * ends[1] == pytest.approx(made)


def test_the_headline_its_rows_and_pi(result):
    text, n_p, n_u = result.summary(), result.data.labels.n_p, result.data.n_u
    rows = r"\((?:about|at most) ([\d,]+) rows?\)"
    head = re.search(rf"^α (=|≤) ([\d.]+) of the ([\d,]+) .*{rows}", text, re.M)
    if n_p < RANGE_ONLY:
        assert head is None
        return
    sign, alpha, of, rows = head.groups()
    pi_sign, pi, of_all = re.search(r"^π (=|≤) ([\d.]+) of all ([\d,]+) rows", text, re.M).groups()
    assert (number(of), number(of_all), sign) == (n_u, n_p + n_u, pi_sign)
    assert abs(number(rows) - number(alpha) * n_u) <= 0.5 + step(alpha) * n_u
    assert near(number(pi), (n_p + number(alpha) * n_u) / (n_p + n_u), pi, alpha)
    assert (sign == "≤") == (result.estimate.leading_bound is not None)
    assert ("no signal" in head[0]) <= ("indistinguishable" in text)
    assert alpha in repr(result)


def test_point_interval_and_bound_are_of_one_posterior(result):
    check_posterior(result.estimate)


def test_interval_bound_and_alarms(result):
    text, est = result.summary(), result.estimate
    low, high = re.search(LEVEL.format("interval"), text, re.M)[1].split(" to ")
    bound = re.search(LEVEL.format("bound"), text, re.M)[1].removeprefix("α ≤ ")
    assert near(number(low), est.interval[0], low)
    assert near(number(high), est.interval[1], high)
    assert near(number(bound), est.upper_bound, bound)
    codes = {line.split(":")[0] for line in parsed(text, "alarm  ")}
    assert codes == {alarm.code for alarm in est.alarms}
    assert ("no alarm" in text) == (not codes)
    assert not codes & {"above-bound", "outside-interval"}
    directions = {alarm.bias for alarm in est.alarms}
    assert not {"up", "down"} <= directions or "shared-rows" in codes


def test_probabilities_add_up_to_alpha(result):
    check_probabilities(result.probabilities, result.estimate.alpha)
    frame = result.candidates()
    best = np.sort(result.probabilities)[::-1][: len(frame)]
    np.testing.assert_allclose(frame["probability"], best, atol=1e-4)


def test_the_methods(result):
    (said,) = parsed(result.summary(), "agreement")
    word, _, points = said.partition(": ")
    above, _, others = points.partition("; others: ")
    values = [number(p.split()[1]) for part in (others, above) if part for p in part.split(", ")]
    assert values == sorted(values)
    assert (word == "methods disagree") == ("methods-disagree" in result.summary())
    row = 1 / result.data.n_u + 0.001
    low, high = result.estimate.interval
    if word == "methods agree":
        assert low - row <= values[0]
        assert values[-1] <= high + row
    elif word != "methods disagree":
        assert word == "above the interval, as methods that err upward can be"
        assert all(number(point.split()[1]) > high for point in above.split(", "))


def test_the_candidates(result):
    (said,) = parsed(result.summary(), "candidates")
    frame, est, picked = result.candidates(), result.estimate, result.picked()
    listed = result.to_dict()["candidates"]
    check_list(listed, est, result.data.n_u)
    assert number(re.match(r"([\d,]+) rows?: ", said)[1]) == len(frame) == picked.rows
    if est.has_no_signal:
        assert said.endswith("their precision cannot be estimated from the scores that gave α")
        return
    about = re.search(r"about ([\d.]+) % positive \(([\d.]+) % to ([\d.]+) %\)$", said)
    between = re.search(r"between ([\d.]+) % and ([\d.]+) % positive$", said)
    assert (about is not None) == (est.worth_p >= RANGE_ONLY) == (between is None)
    texts = about.groups() if about else (None, *between.groups())
    for text, end in zip(texts, ("", "_low", "_high"), strict=True):
        assert text is None or near(number(text), 100 * listed[f"precision{end}"], text)
    assert picked.precision == pytest.approx(frame["probability"].mean(), abs=1e-4)
    wanted = result.request.listing.min_precision
    if wanted and picked.why.startswith("estimated precision at"):
        assert picked.precision_low >= wanted


def test_what_if(result):
    text, est = result.summary(), result.estimate
    if est.n_p < RANGE_ONLY:
        assert not parsed(text, "what if")
        return
    (said,) = parsed(text, "what if")
    cases = re.findall(r"([a-z][a-z ,]+) ([\d.]+): ([\d,]+) rows?", said)
    middle = "estimate" if est.leading_bound is None else "bound"
    assert sorted(name for name, *_ in cases) == sorted([middle, "high end", "low end"])
    for _, alpha, rows in cases:
        assert abs(number(rows) - number(alpha) * est.n_u) <= 0.5 + step(alpha) * est.n_u
    assert [number(alpha) for _, alpha, _ in cases] == sorted(number(a) for _, a, _ in cases)


def test_words_fit_their_numbers(result):
    shown = result.summary() + repr(result) + headline(result.estimate)
    assert not re.search(r"\b1 (?:rows|positives|alarms|probabilities|candidates)\b", shown)
    assert not re.search(r"(?<![\d,.])(?:[02-9]|\d\d+) (?:row|positive|alarm|candidate)\b", shown)
    low, high = result.estimate.interval
    if high > low:
        ends = set(re.findall(r"α between ([\d.]+) and ([\d.]+)", shown))
        assert all(low != high for low, high in ends)


def test_the_notebook_shows_the_same_numbers_and_no_file(result):
    html = result._repr_html_()
    assert "candidates.csv" not in html
    (said,) = parsed(result.summary(), "candidates")
    assert said.rpartition("; ")[2] in html
    assert headline(result.estimate) in html


def test_the_bar_of_the_report_is_that_of_its_headline(result):
    html = result._repr_html_()
    left, width = map(
        float, re.search(r'<i style="left: ([\d.]+)%; width: ([\d.]+)%', html).groups()
    )
    shown = result.estimate if result.remedy is None else result.remedy.estimate
    low, high = shown.interval
    if shown.worth_p >= RANGE_ONLY and shown.leading_bound is not None:
        low, high = 0.0, shown.leading_bound
    assert (left, left + width) == pytest.approx((100 * low, 100 * high), abs=0.02)
    point = re.search(r'<b style="left: ([\d.]+)%"', html)
    has_point = shown.worth_p >= RANGE_ONLY and shown.leading_bound is None
    assert (point is not None) == has_point
    assert point is None or float(point[1]) == pytest.approx(100 * shown.alpha, abs=0.006)


def test_summary_report_and_result_show_the_same(result, audited):
    """Before the audit, which leaves the estimate as it was."""
    stored, estimate = audited.stored, result.estimate
    assert type(estimate).from_dict(stored["estimate"]) == estimate
    lines = result.summary(data=False).splitlines()
    after = summarize(Answer.from_dict(stored)).splitlines()
    for line in lines:
        is_changed = line.startswith(("candidates ", "verdict ", "next step "))
        assert is_changed or line in after
    html = (audited.folder / REPORT).read_text()
    assert f"Before the audit: {lead(Answer.from_dict(stored))}" in html


def test_after_the_audit_all_numbers_are_of_one_posterior(result, audited):
    model, both = audited.model, audited.both
    check_posterior(model.estimate_)
    assert (model.estimate_.alpha, [*model.estimate_.interval]) == (both["alpha"], both["interval"])
    assert model.alpha_ == both["alpha"]
    assert [*model.estimate_.posterior.quantiles] == both["posterior"]["quantiles"]
    likely = model.probability_map_(model.evidence_.scores[1])
    check_probabilities(likely, both["alpha"])
    frame = pd.read_csv(audited.folder / CANDIDATES)
    best = np.sort(likely)[::-1][: len(frame)].round(4)
    np.testing.assert_array_equal(frame["probability"], best)
    listed = audited.stored["candidates"]
    check_list(listed, model.estimate_, result.data.n_u)
    if listed["precision"] is not None:
        assert listed["precision"] == pytest.approx(frame["probability"].mean(), abs=1e-4)
    rest = [name for name in frame if name != "probability"]
    pd.testing.assert_frame_equal(frame[rest], audited.before[rest])


def test_after_the_audit_summary_and_report_show_the_same(audited):
    stored, both = audited.stored, audited.both
    n_u, text = stored["data"]["n_u"], summarize(Answer.from_dict(stored))
    rows = counted(round(both["alpha"] * n_u))
    head = f"with the audit  α = {figure(both['alpha'])} of the {n_u:,} unlabeled are positive"
    ends = "{} to {}".format(*map(figure, both["interval"]))
    said = text.splitlines()
    assert said[0] == f"verdict         {Answer.from_dict(stored).verdict}"
    first, second = said[(place := said.index(f"{head} (about {rows})")) : place + 2]
    assert first.startswith("with the audit")
    assert second.startswith(f"95 % interval   {ends}   ")
    html = (audited.folder / REPORT).read_text()
    assert f'<p class="answer">{audited_headline(Answer.from_dict(stored))}</p>' in html
    told = headline(
        AlphaEstimate.from_dict(
            {**both, "confidence": 0.95, "n_u": n_u, "n_p": RANGE_ONLY, "method": "audit"}
        )
    )
    shown = re.sub(
        r", by (the audit|scores and answers together)",
        "",
        audited_headline(Answer.from_dict(stored)),
    )
    assert shown == told
    ends = (stored["candidates"][f"precision{end}"] for end in ("", "_low", "_high"))
    expected = what_to_expect(Answer.from_dict(stored).estimate, *ends)
    assert expected in html
    assert parsed(text, "candidates")[0].endswith(expected)
    listed = re.findall(r'<td data-name="probability">([\d.]+)</td>', html)
    frame = pd.read_csv(audited.folder / CANDIDATES)
    assert [float(cell) for cell in listed] == frame["probability"].head(25).tolist()
