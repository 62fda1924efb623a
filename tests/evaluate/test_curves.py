"""Curves without negatives: the figures of the metrics, and bands that contain the true curve."""

from dataclasses import replace

import numpy as np
import pytest
from coded import fails
from scipy.stats import norm

import topbin as tb
from topbin.core import Evidence
from topbin.core.posterior import AlphaPosterior

ALPHA = 0.3


def draw(seed, n_p=150, n_u=900, gap=3):
    rng = np.random.default_rng(seed)
    hidden = rng.random(n_u) < ALPHA
    return rng.normal(gap, 1, n_p), rng.normal(np.where(hidden, gap, 0), 1), hidden


SCORES_P, SCORES_U, HIDDEN = draw(0)


@pytest.fixture(scope="module")
def curves():
    return tb.pu_curves(SCORES_P, SCORES_U)


def test_the_band_follows_the_posterior_of_alpha(curves):
    estimate = tb.estimate_alpha(SCORES_P, SCORES_U)
    assert curves.alpha_range == estimate.interval
    sure, high = (replace(estimate, posterior=AlphaPosterior.known(a)) for a in (0.3, 0.6))
    at = np.linspace(0.1, 0.9, 9)
    wide, narrow, above = (
        tb.pu_curves(SCORES_P, SCORES_U, alpha=one).precision_band(at)
        for one in (estimate, sure, high)
    )
    assert np.mean(wide[1] - wide[0]) > np.mean(narrow[1] - narrow[0])
    assert above[0].mean() > narrow[0].mean()


def test_figures_are_those_of_the_metrics_at_the_same_threshold():
    known = tb.pu_curves(SCORES_P, SCORES_U, alpha=ALPHA)
    for i in (0, 40, -1):
        asked = {"threshold": known.threshold[i]}
        assert known.recall[i] == tb.metrics.recall(SCORES_P, **asked).value
        told = tb.metrics.estimated_precision(SCORES_P, SCORES_U, alpha=ALPHA, **asked)
        assert known.precision[i] == pytest.approx(told.value, rel=1e-12)


def test_the_area_is_that_of_the_estimated_auc():
    known = tb.pu_curves(SCORES_P, SCORES_U, alpha=ALPHA)
    area = np.trapezoid(np.r_[0, known.recall, 1], np.r_[0, known.fpr, 1])
    told = tb.metrics.estimated_auc(SCORES_P, SCORES_U, alpha=ALPHA).value
    assert area == pytest.approx(told, abs=0.01)


def test_the_curve_is_inside_its_band_which_is_monotone_and_a_share(curves):
    low, high = curves.precision_band(curves.recall)
    assert np.all((low >= 0) & (low <= curves.precision + 1e-9))
    assert np.all((curves.precision <= high + 1e-9) & (high <= 1))
    grid = np.linspace(0, 1, 300)
    for ends in curves.tpr_band(grid):
        assert np.all((ends >= 0) & (ends <= 1))
        assert np.all(np.diff(ends) >= -1e-9)
    low, high = curves.tpr_band(curves.fpr)
    assert np.all((low <= curves.recall + 1e-9) & (curves.recall <= high + 1e-9))
    assert np.all(np.diff(curves.fpr) >= 0)


def test_a_known_alpha_and_more_rows_make_the_band_narrower(curves):
    at = [0.3, 0.6]
    widths = [
        np.subtract(*found.precision_band(at)[::-1])
        for found in (curves, tb.pu_curves(SCORES_P, SCORES_U, alpha=ALPHA),
                      tb.pu_curves(*draw(1, 3000, 18_000)[:2], alpha=ALPHA))
    ]  # fmt: skip
    assert np.all(widths[0] > widths[1])
    assert np.all(widths[1] > widths[2])


def test_crossfitted_scores_and_groups_widen_the_band():
    plain = Evidence.of(SCORES_P, SCORES_U)
    twice = [np.arange(n) // 2 for n in (SCORES_P.size, SCORES_U.size)]
    pairs = Evidence(np.sort(SCORES_P), np.sort(SCORES_U), groups_p=twice[0], groups_u=twice[1])
    crossfitted = Evidence.of(SCORES_P, SCORES_U, crossfitted=True)
    at = np.linspace(0.05, 0.95, 19)  # at one place alone, draws differ by more than that
    bands = [
        tb.pu_curves(one, alpha=ALPHA).precision_band(at) for one in (plain, crossfitted, pairs)
    ]
    widths = [np.mean(high - low) for low, high in bands]
    assert widths == sorted(widths)
    assert widths[2] > 1.1 * widths[0]


def test_where_the_curve_is_vertical_the_band_contains_all_of_it():
    """Below the last positive the recall stays 1, and the precision falls to α."""
    scores_p, scores_u = np.arange(200.0, 300.0), np.arange(300.0)  # 100 positives, then 200 others
    found = tb.pu_curves(scores_p, scores_u, alpha=1 / 3)
    low, high = found.precision_band([1.0])
    assert low[0] == pytest.approx(1 / 3)
    assert high[0] > 0.9
    low, high = found.tpr_band([0.0])
    assert low[0] == 0
    assert high[0] > 0.9


@pytest.mark.parametrize("gap", [3, 1.3])
def test_bands_contain_the_curve_of_the_population_and_of_the_rows(gap):
    at = np.linspace(-2, 5, 60)
    recall, fpr = norm(gap).sf(at), norm(0).sf(at)
    precision = ALPHA * recall / (ALPHA * recall + (1 - ALPHA) * fpr)
    held = []
    for seed in range(25):
        scores_p, scores_u, hidden = draw(seed, gap=gap)
        found = tb.pu_curves(scores_p, scores_u)
        low, high = found.precision_band(recall)
        tpr_low, tpr_high = found.tpr_band(fpr)
        held.append(np.all((low <= precision) & (precision <= high)))
        held.append(np.all((tpr_low <= recall) & (recall <= tpr_high)))
        picked = [scores_u >= t for t in at if (scores_u >= t).any()]
        tpr, fpr_seen, seen = np.array(
            [(hidden[p].sum() / hidden.sum(), (~hidden)[p].sum() / (~hidden).sum(),
              hidden[p].mean()) for p in picked]
        ).T  # fmt: skip
        low, high = found.precision_band(tpr)
        held.append(np.all((low <= seen) & (seen <= high)))
        low, high = found.tpr_band(fpr_seen)
        held.append(np.all((low <= tpr) & (tpr <= high)))
    assert np.mean(held) >= 0.93


def test_no_negatives_no_roc():
    found = tb.pu_curves([1.0, 2.0], [1.5, 2.5], alpha=1.0)
    assert np.isnan(found.fpr).all()
    with fails("TB008", "no unlabeled row is negative"):
        tb.ROCDisplay.from_curves(found)
    with fails("TB124", "Pass what it was made from"):
        tb.pu_curves(tb.estimate_alpha(SCORES_P, SCORES_U))
