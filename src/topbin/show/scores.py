"""Histograms of the positive and the unlabeled scores, with the chosen cut."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core import AlphaEstimate, Evidence
from topbin.core.checks import check_count
from topbin.core.defaults import DEFAULT_METHOD
from topbin.mpe.estimate import estimate_alpha
from topbin.show.canvas import CHOSEN, POSITIVE, UNLABELED, Display


@dataclass(repr=False)
class ScoreDisplay(Display):
    """How the two samples score: hidden positives are where the two histograms overlap.

    >>> display = ScoreDisplay.from_scores([1.0, 1.0], [0.0, 1.0], bins=2)
    >>> display.share_p.tolist(), display.share_u.tolist()
    ([0.0, 1.0], [0.5, 0.5])
    """

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
        share_p, share_u = (found / found.sum() for found in counts)
        return cls(edges, share_p, share_u, estimate)

    def columns(self) -> dict[str, Any]:
        """One row per bin."""
        return {
            "left": self.edges[:-1],
            "right": self.edges[1:],
            "share_p": self.share_p,
            "share_u": self.share_u,
            "expected_positives": self._alpha * self.share_p,
        }

    @property
    def _alpha(self) -> float:
        """The bound, where it is the answer."""
        most = self.estimate.leading_bound
        return self.estimate.alpha if most is None else most

    def draw(self, ax: Any) -> None:
        """Both histograms, the positives that α implies, and the cut."""
        est, area = self.estimate, {"fill": True, "alpha": 0.45}
        label = f"unlabeled ({est.n_u:,})"
        ax.stairs(self.share_u, self.edges, color=UNLABELED, label=label, **area)
        label = f"positive among them, if α = {self._alpha:.3f}"
        ax.stairs(self._alpha * self.share_p, self.edges, color=POSITIVE, label=label, **area)
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
