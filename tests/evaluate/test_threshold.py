import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import topbin as tb
from evaluate.hidden import World, all_measures
from topbin import AlphaEstimate, Tails
from topbin.core import InputError
from topbin.evaluate.measure import Share
from topbin.evaluate.metrics import (
    IN_TOP_BIN,
    estimated_f1,
    estimated_precision,
    recall,
    threshold_for_precision,
)

tied = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=20)
WORLDS = [World(0.3, 2, 1), World(0.05, 3, 2), World(0.7, 1, 0.5), World(0.5, 3, 1.5)]


@example([0.0, 1.0], [0.0], 5e-324, 1)  # half of the smallest float is no float
@given(tied, tied, st.floats(0, 1), st.integers(0, 5))
def test_figures_are_their_definitions(scores_p, scores_u, alpha, threshold):
    q_p = sum(p >= threshold for p in scores_p) / len(scores_p)
    q_u = sum(u >= threshold for u in scores_u) / len(scores_u)
    at = {"threshold": threshold, "alpha": alpha}
    assert recall(scores_p, threshold=threshold).value == q_p
    if q_u == 0:
        with pytest.raises(InputError, match=r"^TB003 no unlabeled row scores"):
            estimated_precision(scores_p, scores_u, **at)
        precision = 1.0 if q_p else 0.0
    else:
        measure = estimated_precision(scores_p, scores_u, **at)
        precision = measure.value
        assert precision == pytest.approx(min(1.0, alpha * q_p / q_u))
        assert 0 <= measure.interval[0] <= measure.interval[1] <= 1
        assert (alpha * q_p / q_u > 1) == any("cut to 1" in note for note in measure.notes)
    f1 = estimated_f1(scores_p, scores_u, **at)
    if alpha > 0 and precision + q_p > 0:
        assert f1.value == pytest.approx(2 * precision * q_p / (precision + q_p))
    else:
        assert f1.value == 0
    assert 0 <= f1.interval[0] <= f1.value + 1e-9
    assert f1.value - 1e-9 <= f1.interval[1] <= 1


@pytest.mark.parametrize("world", WORLDS)
def test_every_metric_finds_what_hidden_labels_say(world):
    # 40,000 rows a side: standard errors below .015, or of that share of Lee-Liu's scale, 1/α.
    measures = all_measures(*world.draw(40_000, 40_000, 7)[:2], world.threshold, world.alpha)
    assert [m.name for m in measures] == list(world.truth)
    for measure in measures:
        truth = world.truth[measure.name]
        spread = measure.interval[1] - measure.interval[0]
        assert abs(measure.value - truth) < spread  # four standard errors
        assert spread < (0.06 if measure.name != "Lee-Liu score" else 0.06 / world.alpha)


def test_precision_is_that_of_the_labels_in_the_very_rows():
    scores_p, scores_u, y = World(0.3, 2, 1).draw(50_000, 50_000, 8)
    picked = scores_u >= 1
    found = estimated_precision(scores_p, scores_u, threshold=1, alpha=float(y.mean()))
    assert found.value == pytest.approx(y[picked].mean(), abs=0.012)  # 3 standard errors
    f1 = estimated_f1(scores_p, scores_u, threshold=1, alpha=float(y.mean()))
    true_f1 = 2 * (picked & y).sum() / (picked.sum() + y.sum())
    assert f1.value == pytest.approx(true_f1, abs=0.012)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "audited", "n_p", "n_u"),
    [
        (WORLDS[0], None, 30, 300),
        (WORLDS[1], None, 300, 1000),
        (WORLDS[2], 100, 30, 300),
        (WORLDS[3], 100, 300, 1000),
        (WORLDS[1], 200, 15, 1000),
    ],
)
def test_every_interval_covers(world, audited, n_p, n_u):
    """Nominal .95; 400 runs have a standard error of .011, so .925 is nominal minus 2.3 of them."""
    rng, runs = np.random.default_rng(0), 400
    inside = dict.fromkeys(world.truth, 0)
    for seed in range(runs):
        alpha = world.alpha if audited is None else an_audit(world.alpha, audited, rng)
        scores_p, scores_u, _ = world.draw(n_p, n_u, seed)
        for measure in all_measures(scores_p, scores_u, world.threshold, alpha):
            low, high = measure.interval
            inside[measure.name] += low - 1e-12 <= world.truth[measure.name] <= high + 1e-12
    assert min(inside.values()) >= 0.925 * runs, inside


def an_audit(alpha, n, rng):
    share = Share(rng.binomial(n, alpha) / n, n)
    low, high = (float(end) for end in share.limits(0.95))
    return AlphaEstimate(
        alpha=share.value, n_p=1, n_u=n, method="audit", interval=(low, high), confidence=0.95
    )


def test_precision_at_the_cut_of_alpha_itself_is_refused():
    scores_p, scores_u, _ = World(0.3, 3, 1).draw(500, 1000, 1)
    est = tb.mpe.bbe(Tails.from_scores(scores_p, scores_u))
    at = {"alpha": est, "threshold": est.cut}
    for metric in (estimated_precision, estimated_f1):
        with pytest.raises(InputError, match=r"^TB201 .*is 1 by construction"):
            metric(scores_p, scores_u, **at)
    # A threshold that no score separates from the cut is the same bin.
    below = max(np.r_[scores_p[scores_p < est.cut], scores_u[scores_u < est.cut]])
    with pytest.raises(InputError, match=r"^TB201"):
        estimated_precision(scores_p, scores_u, alpha=est, threshold=(below + est.cut) / 2)
    with pytest.raises(InputError, match=r"^TB201"):
        estimated_precision(
            scores_p, scores_u, alpha=est, threshold=est.cut, weights_p=np.arange(500.0)
        )


def test_precision_in_the_top_bin_or_on_other_rows_is_marked():
    world = World(0.3, 3, 1)
    scores_p, scores_u, _ = world.draw(500, 1000, 1)
    est = tb.mpe.bbe(Tails.from_scores(scores_p, scores_u))
    above = estimated_precision(scores_p, scores_u, alpha=est, threshold=est.cut + 0.5)
    assert IN_TOP_BIN in above.notes
    other_p, other_u, _ = world.draw(500, 1000, 2)
    other = estimated_precision(other_p, other_u, alpha=est, threshold=est.cut)
    assert IN_TOP_BIN in other.notes
    lower = estimated_precision(scores_p, scores_u, alpha=est, threshold=est.cut - 1)
    assert IN_TOP_BIN not in lower.notes


def test_an_estimate_without_a_cut_is_never_its_own_cut():
    est = AlphaEstimate(alpha=0.5, n_p=2, n_u=2, method="dedpul")
    assert estimated_precision([1.0, 0.0], [1.0, 0.0], alpha=est, threshold=1).value == 0.5


def test_alpha_zero_and_one():
    scores_p, scores_u = np.array([2.0, 1.0]), np.array([2.0, 1.0, 0.0, 0.0])
    none = estimated_precision(scores_p, scores_u, threshold=1, alpha=0.0)
    assert (none.value, none.interval) == (0.0, (0.0, 0.0))
    assert estimated_f1(scores_p, scores_u, threshold=1, alpha=0).value == 0
    assert estimated_precision(scores_p, scores_u, threshold=0, alpha=1).value == 1
    assert estimated_f1([0.0], [0.0], threshold=1, alpha=0.0).interval == (0.0, 0.0)


def test_weights_stand_for_copies_in_the_figure():
    scores_p, scores_u, at = [2.0, 0.0], [2.0, 0.0, 0.0], {"threshold": 1.0, "alpha": 0.2}
    weighted = estimated_precision(scores_p, scores_u, weights_p=[3, 1], weights_u=[2, 3, 1], **at)
    copies = estimated_precision([2.0] * 3 + [0.0], [2.0] * 2 + [0.0] * 4, **at)
    assert weighted.value == pytest.approx(copies.value)
    assert recall(scores_p, threshold=1, weights_p=[3, 1]).value == 0.75


@pytest.mark.parametrize("threshold", [None, np.nan, np.inf, "1", True])
def test_bad_thresholds_are_refused(threshold):
    with pytest.raises(InputError, match=r"^TB008 threshold"):
        recall([1.0], threshold=threshold)


@pytest.mark.parametrize(
    ("scores_p", "scores_u", "code"),
    [([], [1.0], "TB001"), ([1.0], [], "TB001"), ([1.0], [np.nan], "TB004")],
)
def test_bad_scores_are_refused(scores_p, scores_u, code):
    with pytest.raises(InputError, match=f"^{code}"):
        estimated_f1(scores_p, scores_u, threshold=0, alpha=0.5)


def test_the_chosen_threshold_is_the_lowest_that_promises_the_precision():
    world = World(0.3, 2.5, 1)
    scores_p, scores_u, y = world.draw(3000, 3000, 5)
    chosen = threshold_for_precision(scores_p, scores_u, alpha=0.3, precision=0.8)
    lows = {
        cut: estimated_precision(scores_p, scores_u, alpha=0.3, threshold=cut).interval[0]
        for cut in np.unique(scores_p)[::25]
    }
    assert all(low < 0.8 for cut, low in lows.items() if cut < chosen.threshold)
    picked = scores_u >= chosen.threshold
    assert chosen.n_picked == picked.sum()
    assert chosen.recall == np.mean(scores_p >= chosen.threshold)
    assert 0.8 <= chosen.precision_low <= y[picked].mean()
    tails = Tails.from_scores(scores_p, scores_u)
    assert threshold_for_precision(tails, alpha=0.3, precision=0.8) == chosen


def test_a_wider_alpha_asks_for_a_higher_threshold():
    scores_p, scores_u, _ = World(0.3, 2.5, 1).draw(3000, 3000, 5)
    est = AlphaEstimate(
        alpha=0.3, n_p=3000, n_u=3000, method="x", interval=(0.27, 0.33), confidence=0.95
    )
    known, unsure = (
        threshold_for_precision(scores_p, scores_u, alpha=a, precision=0.8) for a in (0.3, est)
    )
    assert unsure.threshold > known.threshold


def test_a_precision_out_of_reach_says_what_is_in_reach():
    scores = np.arange(200.0)
    with pytest.raises(InputError, match=r"^TB008 .*the highest is 0\.\d+"):
        threshold_for_precision(scores, scores, alpha=0.1, precision=0.9)
    with pytest.raises(InputError, match=r"^TB008 .*no threshold picks a row"):
        threshold_for_precision([5.0], [1.0], alpha=0.1, precision=0.9)
    with pytest.raises(InputError, match=r"^TB001"):
        threshold_for_precision(Tails.of_positives([1.0]), alpha=0.1, precision=0.9)
