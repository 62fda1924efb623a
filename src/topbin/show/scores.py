"""Displays of two samples of scores, and what every display shares: colors, its table, its axes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from topbin.core import AlphaEstimate, Evidence, InputError, Tails
from topbin.core.checks import check_count
from topbin.core.formatting import counted
from topbin.core.options import CONFIDENCE, DEFAULT_METHOD
from topbin.evaluate.curves import Curves, pu_curves
from topbin.mpe.bbe import DELTA, dkw_slack
from topbin.mpe.estimate import estimate_alpha

POSITIVE = "#0072b2"  # blue and orange stay apart for color-blind readers
UNLABELED = "#e69f00"
CHOSEN = "#222222"
BOUND = "#cc3311"
NARROW = 6.0  # inches
POINTS = 600
CHANCE = {"color": CHOSEN, "linewidth": 1, "linestyle": ":", "label": "rows at random"}


class Display:
    """Numbers that can be shown as a table and as a picture; drawing comes last.

    `caption` is what the report says below the picture.
    """

    caption: ClassVar[str]
    ax_: Any = None
    figure_: Any = None

    def __repr__(self) -> str:
        rows = counted(len(next(iter(self.columns().values()))))
        return f"<{type(self).__name__}: {rows}; see .frame() and .plot()>"

    def frame(self) -> Any:
        """The numbers of the picture as a pandas table."""
        return pd.DataFrame(self.columns())

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new one; returns itself with `ax_` and `figure_`."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25, linewidth=0.6)
        self.draw(ax)
        # Under the picture the legend covers no line; a narrow picture has no room for columns.
        is_wide = ax.figure.get_figwidth() > NARROW
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14 if is_wide else -0.18)}
        size = {"ncols": 3 if is_wide else 1, "fontsize": "small" if is_wide else "medium"}
        ax.legend(frameon=False, **place, **size)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def columns(self) -> Mapping[str, Any]:
        """The columns of the table: by default, all that has one value per row."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def band(self, ax: Any, x: Any, low: Any, high: Any, label: str) -> None:
        """Draw what covers a curve."""
        ax.fill_between(x, low, high, color=POSITIVE, alpha=0.15, linewidth=0, label=label)

    @property
    def height(self) -> float:
        """Inches, in the report."""
        return 4.6

    def draw(self, ax: Any) -> None:
        """Draw the numbers on an axis."""
        raise NotImplementedError


@dataclass(repr=False)
class TopBinDisplay(Display):
    """Where the ratio is flat the top bin is pure, and its height is α.

    It is the paper's figure 1, left: q_u/q_p against the share of unlabeled rows in the top bin.

    From left to right the bin grows: the ratio is noisy while the bin contains few rows, flat while
    it contains only positives, and rises when negatives enter. The table has one row per cut.

    >>> display = TopBinDisplay.from_scores(np.ones(100), np.repeat([1.0, 0.0], 50))
    >>> display.frame()["ratio"].tolist()
    [0.5]
    """

    caption = (
        "Rows are ranked by score and cut at every score. The line is the share of unlabeled rows "
        "above a cut, divided by the share of known positives above it. Where the rows above are "
        "(almost) all positive, this ratio is α, and the line is flat."
    )
    cut: NDArray[np.floating[Any]]
    top_share: NDArray[np.float64]
    ratio: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    estimate: AlphaEstimate

    @classmethod
    def from_scores(
        cls,
        scores_p: Any,
        scores_u: Any,
        *,
        method: str = DEFAULT_METHOD,
        confidence: float | None = CONFIDENCE,
    ) -> "TopBinDisplay":
        """Count the scores, estimate α, keep what the picture needs."""
        evidence = Evidence.of(scores_p, scores_u)
        estimate = estimate_alpha(evidence, method=method, confidence=confidence)
        return cls.from_tails(evidence.tails, estimate)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> "TopBinDisplay":
        """Draw the picture of a fitted estimator, from its `evidence_` and its `estimate_`."""
        return cls.from_tails(estimator.evidence_.tails, estimator.estimate_).plot(ax)

    @classmethod
    def from_tails(cls, tails: Tails, estimate: AlphaEstimate) -> "TopBinDisplay":
        """At most 600 cuts, evenly spread over the share of positives above them."""
        last = np.searchsorted(-tails.above_p, -np.linspace(1, tails.n_p, POINTS), side="right") - 1
        tails = tails.at(np.unique(np.clip(last, 0, None))[::-1])
        slack = dkw_slack(tails, DELTA) / tails.q_p
        ratio = tails.ratio
        low, high = np.maximum(0, ratio - slack), ratio + slack
        return cls(tails.cuts, tails.q_u, ratio, low, high, estimate)

    def draw(self, ax: Any) -> None:
        """The ratio with its band, and the estimate."""
        label = f"{100 * (1 - DELTA):g} % band (lemma 1)"
        self.band(ax, self.top_share, self.low, self.high, label)
        ax.plot(self.top_share, self.ratio, color=POSITIVE, linewidth=1.6, label="ratio q_u / q_p")
        self._mark_estimate(ax)
        top = 0.05 + max(1.6 * self.estimate.alpha, 1.25 * (self.estimate.upper_bound or 0))
        ax.set(
            xlim=(0, self._last_share_below(top)),
            ylim=(0, min(1.05, top)),
            xlabel="share of the unlabeled in the top bin",
            ylabel="estimated share of positives, α",
            title="Where the ratio is flat, its height is α",
        )

    def _last_share_below(self, top: float) -> float:
        """Where the ratio leaves the picture for good, so that nothing to the right is visible."""
        inside = np.flatnonzero(self.ratio <= top)
        last = float(self.top_share[inside[-1] if inside.size else -1])
        return min(1.0, 1.1 * last) or 1.0

    def _mark_estimate(self, ax: Any) -> None:
        est = self.estimate
        if est.interval is not None:
            low, high = est.interval
            label = f"{100 * (est.confidence or 0):g} % interval: {low:.3f} to {high:.3f}"
            ax.axhspan(low, high, color=CHOSEN, alpha=0.07, linewidth=0, label=label)
        label = f"α = {est.alpha:.3f}"
        if est.leading_bound is not None:
            label = f"{est.method}: {est.alpha:.3f}, not the answer"
        ax.axhline(est.alpha, color=CHOSEN, linewidth=1, linestyle="--", label=label)
        if est.upper_bound is not None:
            label = f"one-sided bound: {est.upper_bound:.3f}"
            ax.axhline(est.upper_bound, color=BOUND, linewidth=1, linestyle=":", label=label)
        if est.cut is not None:
            near = int(np.argmin(np.abs(self.cut - est.cut)))
            ax.plot(self.top_share[near], self.ratio[near], "o", color=CHOSEN, label="chosen bin")


@dataclass(repr=False)
class ScoreDisplay(Display):
    """How the two samples score: hidden positives are where the two histograms overlap.

    >>> display = ScoreDisplay.from_scores([1.0, 1.0], [0.0, 1.0], bins=2)
    >>> display.share_p.tolist(), display.share_u.tolist()
    ([0.0, 1.0], [0.5, 0.5])
    """

    caption = (
        "Scores by models that never saw the row. Known positives should be on the right. Where "
        "hardly any negatives score as high, the unlabeled rows among them are positive."
    )
    edges: NDArray[np.float64]
    share_p: NDArray[np.float64]
    share_u: NDArray[np.float64]
    estimate: AlphaEstimate

    @classmethod
    def from_scores(
        cls, scores_p: Any, scores_u: Any, *, method: str = DEFAULT_METHOD, bins: int = 40
    ) -> "ScoreDisplay":
        """Bin both samples on the same edges and find the cut."""
        evidence = Evidence.of(scores_p, scores_u)
        return cls.from_evidence(evidence, estimate_alpha(evidence, method=method), bins=bins)

    @classmethod
    def from_estimator(cls, estimator: Any, *, bins: int = 40, ax: Any = None) -> "ScoreDisplay":
        """Draw the picture of a fitted estimator, from its `evidence_` and its `estimate_`."""
        return cls.from_evidence(estimator.evidence_, estimator.estimate_, bins=bins).plot(ax)

    @classmethod
    def from_evidence(
        cls, evidence: Evidence, estimate: AlphaEstimate, *, bins: int = 40
    ) -> "ScoreDisplay":
        """Bin both samples for an estimate that was made before."""
        both = evidence.scores
        ends = np.array([[float(scores.min()), float(scores.max())] for scores in both])
        edges = np.histogram_bin_edges(ends, check_count(bins, "bins"))
        weights = (evidence.weight_p, None)
        counts = [np.histogram(z, edges, weights=w)[0] for z, w in zip(both, weights, strict=True)]
        share_p, share_u = (rows / rows.sum() for rows in counts)
        return cls(edges, share_p, share_u, estimate)

    def columns(self) -> Mapping[str, Any]:
        """One row per bin."""
        return {
            "left": self.edges[:-1],
            "right": self.edges[1:],
            "share_p": self.share_p,
            "share_u": self.share_u,
            "expected_positives": self.estimate.headline.alpha * self.share_p,
        }

    def draw(self, ax: Any) -> None:
        """Both histograms, the positives that α implies, and the cut."""
        est, area = self.estimate, {"fill": True, "alpha": 0.45}
        alpha = est.headline.alpha
        label = f"unlabeled ({est.n_u:,})"
        ax.stairs(self.share_u, self.edges, color=UNLABELED, label=label, **area)
        label = f"positive among them, if α = {alpha:.3f}"
        ax.stairs(alpha * self.share_p, self.edges, color=POSITIVE, label=label, **area)
        label = f"known positives ({est.n_p:,})"
        ax.stairs(self.share_p, self.edges, color=POSITIVE, linewidth=1.4, label=label)
        if est.cut is not None:
            label = "start of the top bin"
            ax.axvline(est.cut, color=CHOSEN, linewidth=1, linestyle="--", label=label)
        ax.set(
            xlabel="score (higher is more positive)",
            ylabel="share of each sample",
            title="Scores of known positives and unlabeled rows",
        )


class CurveDisplay(Display):
    """A display that is made from `Curves`."""

    curves: Curves

    @classmethod
    def from_curves(cls, curves: Curves) -> Self:
        """From curves that were made before."""
        raise NotImplementedError

    @classmethod
    def from_scores(
        cls,
        scores_p: Any,
        scores_u: Any = None,
        *,
        alpha: Any = None,
        confidence: float = CONFIDENCE,
    ) -> Self:
        """Count the scores, estimate α unless it is given, keep what the picture needs."""
        return cls.from_curves(pu_curves(scores_p, scores_u, alpha=alpha, confidence=confidence))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, alpha: Any = None, confidence: float = CONFIDENCE, ax: Any = None
    ) -> Self:
        """Draw the curve of a fitted classifier, from scores of models that never saw the row."""
        return cls.from_scores(estimator, alpha=alpha, confidence=confidence).plot(ax)

    def draw_curve(self, ax: Any, x: Any, y: Any, at: Any, low: Any, high: Any) -> None:
        """A curve, and its band at some places."""
        least, most = self.curves.alpha_range
        label = f"{100 * self.curves.confidence:g} % band of the curve"
        label += f", α {least:.3f} to {most:.3f}" if least < most else ""
        self.band(ax, at, low, high, label)
        ax.plot(x, y, color=POSITIVE, linewidth=1.6, label=f"if α = {self.curves.alpha:.3f}")


@dataclass
class PRDisplay(CurveDisplay):
    """Which precision at which recall: the price of finding more of the positives.

    The band holds for the whole curve at once, and allows for the interval of α unless α is given.
    The table has one row per threshold.

    >>> display = PRDisplay.from_scores(np.arange(100.0), np.arange(-100.0, 100.0), alpha=0.5)
    >>> display.precision.tolist() == [1.0] * 100
    True
    """

    caption = (
        "If all unlabeled rows above some score are picked: the share of positives among them, "
        "against the share of all positives that is found. The band holds for the whole curve."
    )
    threshold: NDArray[np.float64]
    recall: NDArray[np.float64]
    precision: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    curves: Curves

    @classmethod
    def from_curves(cls, curves: Curves) -> Self:
        """From curves that were made before."""
        at = curves.threshold, curves.recall, curves.precision
        return cls(*at, *curves.precision_band(curves.recall), curves)

    def draw(self, ax: Any) -> None:
        """The curve with its band, and the precision of picking rows at random."""
        self.draw_curve(ax, self.recall, self.precision, self.recall, self.low, self.high)
        ax.axhline(self.curves.alpha, **CHANCE)
        ax.set(
            xlim=(0, 1),
            ylim=(0, 1.03),
            xlabel="recall: share of all positives that is found",
            ylabel="precision: share of positives",
            title="Precision and recall, without known negatives",
        )


@dataclass
class ROCDisplay(CurveDisplay):
    """Which share of the positives against which share of the negatives, at every threshold.

    The band holds for the whole curve at once, and allows for the interval of α unless α is given.
    The table has one row per threshold.

    >>> display = ROCDisplay.from_scores(np.arange(100.0), np.arange(-100.0, 100.0), alpha=0.5)
    >>> display.fpr.max()
    np.float64(0.0)
    """

    caption = (
        "The share of the positives above some score, against that of the negatives. The band "
        "holds for the whole curve."
    )
    threshold: NDArray[np.float64]
    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    curves: Curves

    @classmethod
    def from_curves(cls, curves: Curves) -> Self:
        """From curves that were made before; TB008 if α is 1, which leaves no negatives."""
        if curves.alpha == 1:
            raise InputError(
                "TB008",
                "alpha is 1: no unlabeled row is negative, so there is no false positive rate. "
                "Look at precision and recall instead.",
            )
        at = curves.threshold, curves.fpr, curves.recall
        return cls(*at, *curves.tpr_band(curves.fpr), curves)

    def draw(self, ax: Any) -> None:
        """The curve with its band, which goes on to both corners, and the line of chance."""
        grid = np.unique(np.concatenate([np.linspace(0, 1, 200), self.fpr]))
        ends = np.concatenate([[0.0], self.fpr, [1.0]]), np.concatenate([[0.0], self.tpr, [1.0]])
        self.draw_curve(ax, *ends, grid, *self.curves.tpr_band(grid))
        ax.plot([0, 1], [0, 1], **CHANCE)
        ax.set(
            xlim=(0, 1),
            ylim=(0, 1.03),
            xlabel="false positive rate: share of the negatives",
            ylabel="true positive rate (recall)",
            title="ROC curve, without known negatives",
        )
