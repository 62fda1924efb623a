"""Plans keep what they promise: an audit of the planned size has about the wanted width."""

import numpy as np
import pytest
from coded import fails

from topbin.evaluate.audit import (
    TopBin,
    draw,
    draw_weighted,
    judge,
    judge_top,
    plan_width,
    recall_bound,
)


def scored(alpha, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(20_000) < 20_000 * alpha
    x = rng.normal(size=y.size) + 3 * y
    odds = alpha / (1 - alpha) * np.exp(3 * x - 4.5)
    return y, x, odds / (1 + odds), rng.normal(3, 1, 1000)


@pytest.mark.parametrize("alpha", [0.02, 0.05, 0.3])
def test_the_planned_number_gives_the_wanted_width(alpha):
    y, x, f, p = scored(alpha)
    top = TopBin.at(p, x)
    planned = plan_width(alpha, 0.08, y.size, probabilities=f, top=top)
    widths = []
    for seed in range(20):
        sample = draw_weighted(f, planned.anywhere, seed=seed)
        found = judge(sample, y[sample.rows], alpha, probabilities=f, look=1)
        widths.append(found.interval[1] - found.interval[0])
    assert np.mean(widths) == pytest.approx(0.08, rel=0.2)
    assert planned.anywhere <= planned.plain
    above = np.flatnonzero(x >= top.cut)
    rows = above[draw(above.size, planned.top).rows]
    low, high = judge_top(top, y[rows], alpha, look=1).interval
    assert high - low == pytest.approx(0.08, rel=0.35)


def test_a_width_that_no_number_reaches_is_said():
    y, x, f, p = scored(0.3)
    planned = plan_width(0.3, 0.001, y.size, probabilities=f, top=TopBin.at(p[:50], x))
    assert (planned.anywhere, planned.top) == (None, None)
    assert str(planned).count("more rows than there are") == 2
    assert planned.top_at_best > 0.05


@pytest.mark.parametrize(("alpha", "width"), [(0.3, 0), (0.3, 1.5), (1.2, 0.1)])
def test_widths_and_shares_out_of_range_are_refused(alpha, width):
    with fails("TB008"):
        plan_width(alpha, width, 100)


def test_the_recall_bound_holds():
    rng = np.random.default_rng(0)
    y, x, _, _ = scored(0.1)
    is_above = x >= 1.5
    at = TopBin(1.5, int(is_above.sum()), x.size, 9, 10)
    recall, held = y[is_above].sum() / y.sum(), []
    for _ in range(400):
        above = y[rng.choice(np.flatnonzero(is_above), 50, replace=False)]
        below = y[rng.choice(np.flatnonzero(~is_above), 200, replace=False)]
        counts = (int(above.sum()), 50), (int(below.sum()), 200)
        held.append(recall_bound(at, *counts, confidence=0.95).least <= recall)
    assert np.mean(held) >= 0.95


def test_as_many_more_rows_as_it_says_show_the_wanted_recall():
    at = TopBin(0.5, 200, 5000, 90, 100)
    short = recall_bound(at, (45, 50), (0, 30), confidence=0.95, goal=0.8)
    assert short.least < 0.8
    enough = recall_bound(at, (45, 50), (0, 30 + short.more), confidence=0.95, goal=0.8)
    assert (enough.more, enough.least >= 0.8) == (0, True)
    assert recall_bound(at, (45, 50), (0, 29 + short.more), confidence=0.95).least < 0.8


def test_without_a_positive_above_nothing_is_promised():
    found = recall_bound(TopBin(0.5, 200, 5000, 9, 10), (0, 50), (0, 30), confidence=0.95, goal=0.8)
    assert (found.least, found.more) == (0.0, None)
    assert "More answers above the threshold are needed first" in found.sentence
