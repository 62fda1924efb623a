"""What the pictures of curves share: ways to make one, and how its band looks."""

from abc import abstractmethod
from typing import Any, Self

from topbin.core.defaults import CONFIDENCE
from topbin.evaluate.curves import Curves, pu_curves
from topbin.show.canvas import POSITIVE, Display


class CurveDisplay(Display):
    """A display that is made from `Curves`."""

    curves: Curves

    @classmethod
    @abstractmethod
    def from_curves(cls, curves: Curves) -> Self:
        """From curves that were made before."""

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

    @classmethod
    def from_result(cls, result: Any, *, alpha: Any = None, ax: Any = None) -> Self:
        """Draw the curve of the result of `topbin.fit`, at its confidence."""
        level = result.estimate.confidence or CONFIDENCE
        return cls.from_estimator(result, alpha=alpha, confidence=level, ax=ax)

    def band_style(self) -> dict[str, Any]:
        """How the band is drawn, and what its label says."""
        low, high = self.curves.alpha_range
        label = f"{100 * self.curves.confidence:g} % band of the curve"
        if low < high:
            label += f", α {low:.3f} to {high:.3f}"
        return {"color": POSITIVE, "alpha": 0.15, "linewidth": 0, "label": label}
