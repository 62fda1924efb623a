"""KM1 and KM2: α where a hull distance starts to grow (Ramaswamy, Scott and Tewari 2016).

With φ_p and φ_u the kernel means of both samples and C the convex hull of all rows, the point
λ φ_u + (1 − λ) φ_p is the mean of the negatives at λ = 1/(1 − α): it lies in C up to there and
leaves it after. Its distance d(λ) from C is convex; α is read where the slope d′(λ) crosses a
threshold, and km1 and km2 differ in the threshold only.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.mpe.features.hull import NEWCOMERS, Embedding, HullPoint, best_kernel, project
from topbin.mpe.features.samples import compress, read_samples, standardize, subsample

FIRST_STEP = 0.05
RESOLUTION = 2e-3


def km1(
    X_p: Any, X_u: Any, *, max_rows: int = 1000, n_components: int = 50, random_state: int = 0
) -> AlphaEstimate:
    """Estimate α where the slope of the hull distance passes 1/√min(n_p, n_u), its noise.

    Columns are standardized, and reduced to `n_components` principal components if there are
    more; at most `max_rows` rows of each sample are used, because the cost is cubic. Of five
    kernel widths, 0.1 to 10 times the median distance, the one is taken that sets φ_u and φ_p
    furthest apart, measured without bias. (The authors measure with bias, which rewards the
    narrowest kernel when both samples are nearly alike.)

    Where even the largest slope, ‖φ_u − φ_p‖, is within the noise, nothing separates the unlabeled
    rows from positives: α = 1, with an alarm. (The authors' program then turns to the threshold
    of `km2`, and never answers more than 0.875, because it stops at λ = 8.)

    >>> found = km1([[1.0]] * 50, [[1.0]] * 25 + [[0.0]] * 75)  # a quarter look like positives
    >>> round(found.alpha, 2)
    0.25
    """
    return hull_curve(X_p, X_u, max_rows, n_components, random_state).km1()


def km2(
    X_p: Any, X_u: Any, *, max_rows: int = 1000, n_components: int = 50, random_state: int = 0
) -> AlphaEstimate:
    """Estimate α where the slope passes a fifth of the way from its first to its largest value.

    The first slope is d(1.05)/0.05, the largest ‖φ_u − φ_p‖; all else is as in `km1`.

    >>> found = km2([[1.0]] * 50, [[1.0]] * 25 + [[0.0]] * 75)  # a quarter look like positives
    >>> round(found.alpha, 2)
    0.25
    """
    return hull_curve(X_p, X_u, max_rows, n_components, random_state).km2()


def hull_curve(
    X_p: Any, X_u: Any, max_rows: int = 1000, n_components: int = 50, random_state: int = 0
) -> "HullCurve":
    """The curve both methods read; asked for both, it solves what they share once."""
    whole = read_samples(X_p, X_u)
    pair = subsample(whole, max_rows, random_state)
    pair = compress(standardize(pair), n_components, random_state)
    kernel, width = best_kernel(pair)
    notes = (*pair.notes, f"kernel width {width:.3g} times the median distance")
    return HullCurve(Embedding.of(kernel, len(pair.p)), whole.p.shape[0], whole.u.shape[0], notes)


@dataclass(frozen=True, slots=True, eq=False)
class HullCurve:
    """d(λ) over the candidates κ = 1 − 1/λ in [0, 1], solved where it is asked for."""

    space: Embedding
    n_p: int
    n_u: int
    notes: tuple[str, ...]
    seen: dict[float, HullPoint] = field(default_factory=dict)

    def km1(self) -> AlphaEstimate:
        """Read the curve at the threshold of noise size."""
        return self._read("km1", self.space.noise, lambda alpha: alpha < RESOLUTION)

    def km2(self) -> AlphaEstimate:
        """Read the curve at the threshold between its first and its largest slope."""
        first, last = 0.0 if self._is_flat else self.first_slope(), self.space.full_slope
        return self._read("km2", 0.8 * first + 0.2 * last, lambda _: first > 0.5 * last)

    def first_slope(self) -> float:
        """d(1.05)/0.05; so near to φ_u the unlabeled rows span the nearest point almost alone."""
        unlabeled = np.arange(len(self.space.kernel))[self.space.n_p :]
        return project(self.space, 1 - 1 / (1 + FIRST_STEP), unlabeled).distance / FIRST_STEP

    def crossing(self, threshold: float) -> float:
        """The κ at which the slope passes the threshold, by bisection.

        The answer is the same whatever was asked before; only the work is less.
        """
        low, high = 0.0, 1.0
        while high - low > RESOLUTION:
            middle = (low + high) / 2
            if self._is_below(middle, threshold):
                low = middle
            else:
                high = middle
        return (low + high) / 2

    def _is_below(self, kappa: float, threshold: float) -> bool:
        """Whether the slope at κ is below the threshold; convexity lets other points decide."""
        lam = 1 / (1 - kappa)
        for other, point in self.seen.items():
            if point.slope >= threshold and other <= kappa:
                return False
            if point.slope < threshold and other >= kappa:
                return True
            if lam < 1 / (1 - other) - point.distance / threshold:
                return True
        return self.at(kappa).slope < threshold

    def at(self, kappa: float) -> HullPoint:
        """The point at κ; its program starts from the rows that mattered at the next larger κ."""
        if kappa not in self.seen:
            after = min((k for k in self.seen if k > kappa), default=None)
            likely = np.argsort(self.space.mean_p - self.space.mean_u, kind="stable")[:NEWCOMERS]
            rows = likely if after is None else self.seen[after].support
            self.seen[kappa] = project(self.space, kappa, rows)
        return self.seen[kappa]

    @property
    def _is_flat(self) -> bool:
        return self.space.full_slope <= self.space.noise

    def _read(
        self, method: str, threshold: float, is_steep: Callable[[float], bool]
    ) -> AlphaEstimate:
        alpha, alarms = 1.0, [_INDISTINGUISHABLE]
        if not self._is_flat:
            alpha = self.crossing(threshold)
            alarms = [_STEEP_START] if is_steep(alpha) else []
        found = AlphaEstimate(alpha=alpha, n_p=self.n_p, n_u=self.n_u, method=method)
        return replace(found, alarms=tuple(alarms), notes=self.notes)


_INDISTINGUISHABLE = Alarm(
    "indistinguishable",
    "the kernel means of positives and unlabeled rows differ by no more than noise.",
    "up",
)
_STEEP_START = Alarm(
    "steep-start",
    "the hull distance grows steeply from the start: hardly any unlabeled row is positive, "
    "or too few rows for so many features.",
    "either",
)
