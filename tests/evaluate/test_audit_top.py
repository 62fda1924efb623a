"""The top-bin audit: its formula, its limits, its coverage, and what it cannot see."""

import numpy as np
import pytest
from coded import fails
from hypothesis import given, settings
from hypothesis import strategies as st

from topbin.evaluate.audit import TopBin, judge_top
from topbin.evaluate.audit.limits import SD_FACTOR

SCORES = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=30)


@given(SCORES, SCORES, st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_the_cut_is_the_highest_with_the_share_of_positives_above_it(p, u, share):
    wanted = max(1, round(share * len(p)))
    cut = max(c for c in p if sum(s >= c for s in p) >= wanted)
    if not any(s >= cut for s in u):
        with fails("TB117", "no unlabeled row is in the top bin"):
            TopBin.at(np.array(p), np.array(u), share=share)
        return
    top = TopBin.at(np.array(p), np.array(u), share=share)
    assert top.cut == cut
    assert (top.above_u, top.above_p) == (sum(s >= cut for s in u), sum(s >= cut for s in p))


def test_alpha_is_the_share_above_times_purity_over_recall():
    top = TopBin(0.5, 300, 1000, 140, 200)
    found = judge_top(top, ["yes"] * 40 + ["no"] * 10, 0.3)
    assert found.alpha == pytest.approx(0.3 * 0.8 / 0.7)
    assert found.kind == "top"
    assert "cannot reveal biased labels" in found.sentence
    assert "if labeled positives are like the others" in found.assumes


def test_the_width_is_that_of_the_relative_variance():
    top = TopBin(0.5, 3000, 10_000, 1400, 2000)
    low, high = top.limits(320, 400, 0.025)
    relative = 0.7 / (0.3 * 10_000) + 0.2 / 320 + SD_FACTOR**2 * 0.3 / (0.7 * 2000)
    alpha = top.alpha(320, 400)
    assert high - low == pytest.approx(2 * 1.96 * alpha * np.sqrt(relative), rel=0.05)


@pytest.mark.parametrize(("k", "m"), [(0, 1), (1, 1), (0, 40), (40, 40), (1, 40)])
def test_small_counts_give_wide_intervals(k, m):
    low, high = TopBin(0.5, 300, 1000, 140, 200).limits(k, m, 0.025)
    assert 0 <= low <= 0.3 * k / m / 0.7 <= high <= 1
    assert (low == 0) == (k == 0)
    if m == 1:
        assert high - low > 0.3


def test_open_rows_count_against_each_end():
    top = TopBin(0.5, 300, 1000, 140, 200)
    clear, doubtful = top.limits(30, 50, 0.025), top.limits(30, 50, 0.025, open_rows=10)
    assert doubtful[0] == clear[0]
    assert doubtful[1] > clear[1]


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("m", [30, 100])
def test_the_interval_covers_on_independent_scores(alpha, m):
    rng = np.random.default_rng([round(100 * alpha), m])
    inside = []
    for _ in range(300):
        y = np.arange(2000) < 2000 * alpha
        u, p = rng.normal(size=2000) + 2 * y, rng.normal(2, 1, 200)
        top = TopBin.at(p, u)
        above = np.flatnonzero(u >= top.cut)
        drawn = rng.choice(above, min(m, above.size), replace=False)
        low, high = top.limits(int(y[drawn].sum()), drawn.size, 0.025)
        inside.append(low <= alpha <= high)
    assert np.mean(inside) >= 0.94


def test_biased_labels_do_not_show_in_the_top_bin_and_it_says_so():
    """Half of the positives look like negatives; the top bin never meets one."""
    rng = np.random.default_rng(0)
    u = np.r_[rng.normal(4, 1, 200), rng.normal(0, 1, 1800)]
    y = (np.arange(2000) < 200) | (np.arange(2000) >= 1800)
    top = TopBin.at(rng.normal(4, 1, 300), u)
    drawn = rng.choice(np.flatnonzero(u >= top.cut), 60, replace=False)
    found = judge_top(top, np.where(y[drawn], "yes", "no"), 0.1)
    assert found.interval[1] < y.mean()
    assert "An audit of the top bin cannot reveal biased labels" in found.sentence


def test_no_answer_is_refused():
    with fails("TB001", "no audited row has an answer"):
        judge_top(TopBin(0.5, 300, 1000, 140, 200), ["?", ""], 0.3)
