"""The paper's figure 1 (left): q_u/q_p against the share of unlabeled rows in the top bin."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core import AlphaEstimate, Evidence, Tails
from topbin.core.defaults import CONFIDENCE, DEFAULT_METHOD, DELTA
from topbin.mpe.bbe import dkw_slack
from topbin.mpe.estimate import estimate_alpha
from topbin.show.canvas import BOUND, CHOSEN, POSITIVE, Display

POINTS = 600


@dataclass(repr=False)
class TopBinDisplay(Display):
    """Where the ratio is flat the top bin is pure, and its height is α.

    From left to right the bin grows: the ratio is noisy while the bin contains few rows, flat while
    it contains only positives, and rises when negatives enter. The table has one row per cut.

    >>> display = TopBinDisplay.from_scores(np.ones(100), np.repeat([1.0, 0.0], 50))
    >>> display.frame()["ratio"].tolist()
    [0.5]
    """

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
        band = {"color": POSITIVE, "alpha": 0.15, "linewidth": 0, "label": label}
        ax.fill_between(self.top_share, self.low, self.high, **band)
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
