"""Histograms of the positive and the unlabeled scores, with the chosen cut."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core import AlphaEstimate, Evidence
from topbin.core.checks import check_count
from topbin.core.defaults import DEFAULT_METHOD
from topbin.core.optional import require
from topbin.mpe.estimate import estimate_alpha
from topbin.show.canvas import CHOSEN, POSITIVE, UNLABELED, legend_below, open_axis


@dataclass(slots=True)
class ScoreDisplay:
    """How the two samples score: hidden positives are where the two histograms overlap.

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
        evidence = Evidence.of(scores_p, scores_u)
        return cls.from_evidence(evidence, estimate_alpha(evidence, method=method), bins=bins)

    @classmethod
    def from_estimator(cls, estimator: Any, *, bins: int = 40) -> "ScoreDisplay":
        """The picture of a fitted estimator, from its `evidence_` and its `estimate_`."""
        return cls.from_evidence(estimator.evidence_, estimator.estimate_, bins=bins)

    @classmethod
    def from_evidence(
        cls, evidence: Evidence, estimate: AlphaEstimate, *, bins: int = 40
    ) -> "ScoreDisplay":
        """Bin both samples for an estimate that was made before."""
        scores_p, scores_u = evidence.scores
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
        """The numbers of the picture as a pandas table, one row per bin."""
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
                  label=f"positive among them, if α = {est.alpha:.3f}")  # fmt: skip
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
