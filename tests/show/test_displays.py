"""Displays: the numbers are right, the picture has them, nothing else is touched."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from gaussians import gaussians
from sklearn.linear_model import LogisticRegression

import topbin as tb
from topbin.core import InputError, Tails

mpl.use("Agg")
SAMPLE = gaussians(0.3, 400, 600)


@pytest.fixture
def fitted():
    X = np.r_[SAMPLE.X_p, SAMPLE.X_u]
    s = np.r_[np.ones(400), np.zeros(600)]
    return tb.AlphaEstimator(estimator=LogisticRegression(), repeats=1).fit(X, s)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_top_bin_holds_the_tails():
    scores = SAMPLE.scores()
    frame = tb.TopBinDisplay.from_scores(*scores).frame()
    tails = Tails.from_scores(*scores)
    at = np.searchsorted(tails.cuts, frame["cut"])
    np.testing.assert_array_equal(frame["ratio"], tails.ratio[at])
    np.testing.assert_array_equal(frame["top_share"], tails.q_u[at])
    assert frame["top_share"].is_monotonic_increasing
    assert (frame["low"] <= frame["ratio"]).all()
    assert (frame["ratio"] <= frame["high"]).all()


def test_top_bin_thins_a_long_curve():
    display = tb.TopBinDisplay.from_scores(np.arange(50_000.0), np.arange(100.0))
    assert 300 < len(display.frame()) <= 600


@pytest.mark.parametrize("confidence", [0.95, None])
def test_top_bin_draws_cut_interval_and_bound(confidence):
    display = tb.TopBinDisplay.from_scores(*SAMPLE.scores(), confidence=confidence).plot()
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"α = {display.estimate.alpha:.3f}" in labels
    assert any("bound" in label for label in labels) == (confidence is not None)
    assert display.ax_.get_xlabel() == "share of the unlabeled in the top bin"


def test_a_method_without_a_cut_is_drawn_too():
    display = tb.TopBinDisplay.from_scores(*SAMPLE.scores(), method="dedpul").plot()
    assert display.figure_ is display.ax_.figure


def test_score_shares_add_up_and_show_the_cut():
    display = tb.ScoreDisplay.from_scores(*SAMPLE.scores(), bins=10)
    frame = display.frame()
    assert frame["share_p"].sum() == pytest.approx(1)
    assert frame["share_u"].sum() == pytest.approx(1)
    assert frame["expected_positives"].sum() == pytest.approx(display.estimate.alpha)
    by_cut = tb.ScoreDisplay.from_scores(*SAMPLE.scores(), bins=10, method="bbe")
    for one in (display, by_cut):
        labels = [text.get_text() for text in one.plot().ax_.get_legend().get_texts()]
        assert ("start of the top bin" in labels) == (one is by_cut)  # overlap reads all bins
        assert "unlabeled (600)" in labels


def test_scores_all_equal_can_be_drawn():
    assert tb.ScoreDisplay.from_scores([1.0, 1.0], [1.0, 1.0]).plot().ax_ is not None


def test_both_come_from_a_fitted_estimator_on_a_given_axis(fitted):
    figure, axes = plt.subplots(1, 2)
    for display, ax in zip((tb.TopBinDisplay, tb.ScoreDisplay), axes, strict=True):
        drawn = display.from_estimator(fitted).plot(ax)
        assert drawn.ax_ is ax
        assert drawn.figure_ is figure
        assert drawn.estimate is fitted.estimate_


def test_a_bin_count_must_be_a_count():
    with pytest.raises(InputError, match="TB008 bins"):
        tb.ScoreDisplay.from_scores([1.0], [0.0], bins=0)


@pytest.mark.parametrize("display", [tb.PRDisplay, tb.ROCDisplay])
def test_curves_are_drawn_at_once_with_a_row_per_threshold(fitted, display):
    _, ax = plt.subplots()
    drawn = display.from_estimator(fitted, ax=ax)
    assert drawn.ax_ is ax
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(label.startswith("95 % band of the curve, α ") for label in labels)
    frame = drawn.frame()
    assert {"threshold", "low", "high"} < set(frame)
    assert (frame["low"] <= frame["high"]).all()
    known = display.from_scores(*SAMPLE.scores(), alpha=0.3)
    assert known.ax_ is None
    assert known.plot().ax_.get_legend().get_texts()[0].get_text() == "95 % band of the curve"


def test_gamma_marks_the_conclusion_and_its_tipping_point(fitted):
    drawn = tb.GammaDisplay.from_estimator(fitted, gamma=(2, 4), at_most=0.6)
    tipping = drawn.sensitivity.conclusions[0].tipping
    labels = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert "at most 0.6" in labels
    assert (f"holds up to Γ = {tipping:.2f}" in labels) == (tipping is not None and tipping <= 4)
    assert drawn.frame()["gamma"].tolist() == [1.0, 2.0, 4.0]
    assert drawn.frame()["low"][0] == fitted.estimate_.interval[0]
