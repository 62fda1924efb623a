"""Histograms of the positive and the unlabeled scores, with the chosen cut."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.checks import check_count, check_scores
from topbin.core.estimate import AlphaEstimate
from topbin.core.optional import require
from topbin.mpe.estimate import estimate_alpha
from topbin.mpe.registry import DEFAULT_METHOD
from topbin.show.canvas import CHOSEN, POSITIVE, UNLABELED, legend_below, open_axis


@dataclass(slots=True)
class ScoreDisplay:
    """How the two samples score: unlabeled positives hide where both histograms stand.

    >>> display = ScoreDisplay.from_scores([1.0, 1.0], [0.0, 1.0], bins=2)
    >>> display.share_p.tolist(), display.share_u.tolist()
    ([0.0, 1.0], [0.5, 0.5])
    """

    edges: NDArray[np.float64]
    share_p: NDArray[np.float64]
    share_u: NDArray[np.float64]
    estimate: AlphaEstimate
    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    @classmethod
    def from_scores(
        cls, scores_p: Any, scores_u: Any, *, method: str = DEFAULT_METHOD, bins: int = 40
    ) -> "ScoreDisplay":
        """Bin both samples on the same edges and find the cut."""
        return cls.from_estimate(
            scores_p, scores_u, estimate_alpha(scores_p, scores_u, method=method), bins=bins
        )

    @classmethod
    def from_estimator(cls, estimator: Any, *, bins: int = 40) -> "ScoreDisplay":
        """The picture of a fitted estimator that keeps its cross-fitted scores."""
        return cls.from_estimate(
            estimator.scores_p_, estimator.scores_u_, estimator.estimate_, bins=bins
        )

    @classmethod
    def from_estimate(
        cls, scores_p: Any, scores_u: Any, estimate: AlphaEstimate, *, bins: int = 40
    ) -> "ScoreDisplay":
        """Bin both samples beside an estimate that is already there."""
        scores_p, scores_u = check_scores(scores_p, "scores_p"), check_scores(scores_u, "scores_u")
        ends = (
            min(float(scores_p.min()), float(scores_u.min())),
            max(float(scores_p.max()), float(scores_u.max())),
        )
        edges = np.histogram_bin_edges(np.asarray(ends), check_count(bins, "bins"))
        share_p, share_u = (
            np.histogram(scores, edges)[0] / scores.size for scores in (scores_p, scores_u)
        )
        return cls(edges, share_p, share_u, estimate)

    def frame(self) -> Any:
        """The numbers of the picture as a pandas table, a row a bin."""
        pd = require("pandas", extra=None, caller="ScoreDisplay.frame")
        return pd.DataFrame(
            {
                "left": self.edges[:-1],
                "right": self.edges[1:],
                "share_p": self.share_p,
                "share_u": self.share_u,
                "expected_positives": self.estimate.alpha * self.share_p,
            }
        )

    def plot(self, ax: Any = None) -> "ScoreDisplay":
        """Draw on `ax`, or on a new one; returns itself with `ax_` and `figure_`."""
        ax = open_axis(ax, "ScoreDisplay.plot")
        est = self.estimate
        ax.stairs(self.share_u, self.edges, fill=True, color=UNLABELED, alpha=0.45,
                  label=f"unlabeled ({est.n_u:,})")  # fmt: skip
        ax.stairs(est.alpha * self.share_p, self.edges, fill=True, color=POSITIVE, alpha=0.45,
                  label=f"of which positive, if α = {est.alpha:.3f}")  # fmt: skip
        ax.stairs(self.share_p, self.edges, color=POSITIVE, linewidth=1.4,
                  label=f"known positives ({est.n_p:,})")  # fmt: skip
        if est.cut is not None:
            ax.axvline(
                est.cut, color=CHOSEN, linewidth=1, linestyle="--", label="start of the top bin"
            )
        ax.set(
            xlabel="score (higher is more positive)",
            ylabel="share of each sample",
            title="Scores of known positives and unlabeled rows",
        )
        legend_below(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
