"""No two numbers of a summary contradict each other, whatever the table.

`TOPBIN_RUNS=50 pytest tests/job/test_numbers_agree.py` tries more tables.
"""

import os
import re

import numpy as np
import pandas as pd
import pytest

import topbin as tb
from topbin.core.defaults import RANGE_ONLY
from topbin.show.page import answer

RUNS = int(os.environ.get("TOPBIN_RUNS", "10"))
LEVEL = r"^95 % {}\s+(.*?)   "


def table(rng):
    """A random table: positives many or few, close to the others or far, copied or not."""
    n_p, n_u = (int(rng.choice(each)) for each in ((12, 40, 150, 300), (120, 400, 900)))
    alpha, gap = (float(rng.choice(each)) for each in ((0, 0.01, 0.1, 0.4, 0.95), (0, 0.7, 2, 5)))
    hidden = round(alpha * n_u)
    centers = np.repeat([gap, gap, 0.0], [n_p, hidden, n_u - hidden])
    frame = pd.DataFrame(rng.normal(centers[:, None], 1, (n_p + n_u, 3)), columns=["a", "b", "c"])
    frame["known"] = np.arange(n_p + n_u) < n_p
    return frame.loc[np.repeat(frame.index, rng.choice([1, 1, 1, 2]))].reset_index(drop=True)


@pytest.fixture(scope="module", params=range(RUNS))
def result(request):
    rng = np.random.default_rng(request.param)
    asked = {"review": int(rng.choice([1, 20, 100]))}
    if rng.random() < 0.3:
        asked["min_precision"] = float(rng.choice([0.3, 0.8]))
    return tb.fit(table(rng), "known", preset="fast", seed=request.param, **asked)


def number(text):
    return float(text.replace(",", ""))


def step(text):
    """Half of the last digit, within which the number was rounded."""
    return 0.5000001 * 10.0 ** -len(text.partition(".")[2])


def near(one, other, *texts):
    return abs(one - other) <= sum(map(step, texts)) + 1e-9


def parsed(text, start):
    return [line[16:] for line in text.splitlines() if line.startswith(start)]


def test_the_headline_its_rows_and_pi(result):
    text, n_p, n_u = result.summary(), result.data.labels.n_p, result.data.n_u
    rows = r"\((?:about|at most) ([\d,]+) rows?\)"
    head = re.match(rf"α (=|≤) ([\d.]+) of the ([\d,]+) .*{rows}", text)
    if n_p < RANGE_ONLY:
        assert head is None
        return
    sign, alpha, of, rows = head.groups()
    pi_sign, pi, of_all = re.search(r"^π (=|≤) ([\d.]+) of all ([\d,]+) rows", text, re.M).groups()
    assert (number(of), number(of_all), sign) == (n_u, n_p + n_u, pi_sign)
    assert abs(number(rows) - number(alpha) * n_u) <= 0.5 + step(alpha) * n_u
    assert near(number(pi), (n_p + number(alpha) * n_u) / (n_p + n_u), pi, alpha)
    assert (sign == "≤") == (result.estimate.leading_bound is not None)
    assert ("no signal" in text.splitlines()[0]) <= ("indistinguishable" in text)
    assert alpha in repr(result)


def test_interval_bound_and_alarms(result):
    text, est = result.summary(), result.estimate
    low, high = re.search(LEVEL.format("interval"), text, re.M)[1].split(" to ")
    bound = re.search(LEVEL.format("bound"), text, re.M)[1].removeprefix("α ≤ ")
    assert number(low) <= number(high)
    assert number(bound) <= number(high) + step(bound) + step(high)
    codes = {line.split(":")[0] for line in parsed(text, "alarm  ")}
    assert codes == {alarm.code for alarm in est.alarms}
    assert ("no alarm" in text) == (not codes)
    outside = est.alpha < est.interval[0] or est.alpha > est.upper_bound
    assert outside == bool(codes & {"above-bound", "outside-interval"})
    directions = {alarm.bias for alarm in est.alarms}
    assert not {"up", "down"} <= directions or "shared-rows" in codes


def test_the_methods(result):
    (said,) = parsed(result.summary(), "agreement")
    word, _, points = said.partition(": ")
    values = [number(point.split()[1]) for point in points.split(", ")]
    assert values == sorted(values)
    assert (word == "methods disagree") == ("methods-disagree" in result.summary())
    low, high = result.estimate.interval
    if word == "methods agree":
        allowed = max((high - low) / 2, result.estimate.alpha / 4, 1 / result.data.n_u)
        assert values[-1] - values[0] <= min(0.1, allowed) + 1 / result.data.n_u + 0.001


def test_the_candidates(result):
    (said,) = parsed(result.summary(), "candidates")
    frame, est, picked = result.candidates(), result.estimate, result.picked()
    assert number(re.match(r"([\d,]+) rows?: ", said)[1]) == len(frame) == picked.rows
    if est.has_no_signal:
        assert said.endswith("their precision cannot be estimated from the scores that gave α")
        assert picked.precision is None
        return
    about = re.search(r"about ([\d.]+) % positive", said)
    has_point = est.worth_p >= RANGE_ONLY
    assert (about is not None) == has_point == ("depends on α" not in said)
    likely = 100 * frame["probability"].mean()
    assert not has_point or near(number(about[1]), likely, about[1], "0.00")
    least = re.search(r"at least ([\d.]+) % if α ≥ ([\d.]+)", said)
    if least is None:
        assert said.endswith("; how many at least is not known")
        is_read_at_point = has_point and (est.leading_bound is None or est.alpha < est.upper_bound)
        told = f" if α = {tb.core.figures.figure(est.alpha)}; " in said
        assert told == is_read_at_point
    else:
        assert 1 <= number(least[1]) <= likely + 0.5
        assert near(number(least[2]), est.interval[0], least[2])
        if result.min_precision and said.split(": ")[1].startswith("estimated precision at"):
            assert number(least[1]) >= 100 * result.min_precision - 1
    tilt = 0.001 * result.data.n_u  # by which probabilities are tilted to break ties
    assert picked.rows * picked.precision <= est.alpha * result.data.n_u + tilt
    if 0 < picked.recall < 1:
        made = picked.recall * est.alpha * result.data.n_u
        assert picked.rows * picked.precision == pytest.approx(made)


def test_what_if(result):
    text, est = result.summary(), result.estimate
    if est.n_p < RANGE_ONLY:
        assert not parsed(text, "what if")
        return
    (said,) = parsed(text, "what if")
    cases = re.findall(r"([a-z][a-z ,]+) ([\d.]+): ([\d,]+) rows?", said)
    middle = "estimate" if est.leading_bound is None else "bound"
    assert sorted(name.split(",")[0] for name, *_ in cases) == [middle, "high end", "low end"]
    for name, alpha, rows in cases:
        assert abs(number(rows) - number(alpha) * est.n_u) <= 0.5 + step(alpha) * est.n_u
        assert ("outside" in name) == (
            name.startswith("estimate") and not est.interval[0] <= est.alpha <= est.interval[1]
        )
    assert [number(alpha) for _, alpha, _ in cases] == sorted(number(a) for _, a, _ in cases)


def test_words_fit_their_numbers(result):
    shown = result.summary() + repr(result) + answer(result.estimate.to_dict())
    assert not re.search(r"\b1 (?:rows|positives|alarms|probabilities|candidates)\b", shown)
    assert not re.search(r"(?<![\d,.])(?:[02-9]|\d\d+) (?:row|positive|alarm|candidate)\b", shown)
    low, high = result.estimate.interval
    if high > low:
        assert len(set(re.findall(r"between ([\d.]+) and ([\d.]+)", shown))) in (0, 2)
        assert not re.search(r"([\d.]+ %) (?:to|and) \1", shown)


def test_the_notebook_shows_the_same_numbers_and_no_file(result):
    html = result._repr_html_()
    assert "candidates.csv" not in html
    (said,) = parsed(result.summary(), "candidates")
    assert said.rpartition("; ")[2] in html
    assert answer(result.estimate.to_dict()) in html
