"""KM1 and KM2: α where a hull distance starts to grow (Ramaswamy, Scott and Tewari 2016).

With φ_p and φ_u the means of both samples in a Gaussian kernel's feature space and C the convex
hull of all rows there, the point λ φ_u + (1 − λ) φ_p is the mean of the negatives at
λ = 1/(1 − α): it lies in C up to there and leaves it after. Its distance d(λ) from C, found by
small quadratic programs, is convex; α is read where the slope d′(λ) crosses a threshold, and km1
and km2 differ in the threshold only.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np
import piqp
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from topbin.core.errors import InputError
from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.mpe.samples import (
    FeatureSamples,
    Matrix,
    compress,
    read_samples,
    standardize,
    subsample,
)

Rows = NDArray[np.intp]
Vector = NDArray[np.float64]
# Of the kernel, relative to its usual width: one power of ten either way, by half powers.
WIDTHS = (0.1, 0.1**0.5, 1.0, 10**0.5, 10.0)
NEGLIGIBLE = 3e-3  # of λ: by convexity the most that a distance taken for 0 can move a crossing
ENOUGH = 1e-4  # duality gap against squared distance
WEIGHTLESS = 1e-7  # of all weight; any small number
NEWCOMERS = 100  # rows that may join at a time; any number changes the speed only
FIRST_STEP = 0.05  # for the slope at the start; any small number
RESOLUTION = 2e-3  # of α, far below its error


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Inner products in feature space: of all rows, of both means with them, of the means."""

    kernel: Matrix
    mean_p: Vector
    mean_u: Vector
    pp: float
    up: float
    uu: float
    n_p: int

    @classmethod
    def of(cls, kernel: Matrix, n_p: int) -> "Embedding":
        """Read the means off a kernel matrix whose first n_p rows are the positives.

        >>> Embedding.of(np.eye(4), n_p=2).full_slope           # ½ + ½: two rows against two
        1.0
        """
        mean_p, mean_u = kernel[:, :n_p].mean(axis=1), kernel[:, n_p:].mean(axis=1)
        parts = (mean_p[:n_p], mean_u[:n_p], mean_u[n_p:])
        pp, up, uu = (float(part.mean()) for part in parts)
        return cls(kernel, mean_p, mean_u, pp, up, uu, n_p)

    @property
    def full_slope(self) -> float:
        """‖φ_u − φ_p‖: the slope of d at λ = ∞, the largest possible."""
        return sqrt(max(0.0, self.uu - 2 * self.up + self.pp))

    @property
    def noise(self) -> float:
        """1/√min(n_p, n_u), the size of the noise in d and in ‖φ_u − φ_p‖."""
        return 1 / sqrt(min(self.n_p, len(self.kernel) - self.n_p))


@dataclass(frozen=True, slots=True, eq=False)
class HullPoint:
    """d at one λ: the distance, its slope in λ, and the rows that span the nearest point."""

    distance: float
    slope: float
    support: Rows


def best_kernel(pair: FeatureSamples) -> tuple[Matrix, float]:
    """The Gaussian kernel matrix that sets the two means furthest apart, and its relative width.

    Widths are multiples of the median distance. If no width sets them apart by more than noise,
    the largest of five random numbers should not choose: the median itself is taken.
    """
    squares = pdist(pair.both, "sqeuclidean")
    unit = float(np.median(squares)) or float(squares.mean()) or 1.0
    table: Matrix = squareform(squares)
    apart = [_unbiased_gap(_gauss(table, unit, width), len(pair.p)) for width in WIDTHS]
    within_noise = max(apart) <= 2 / min(len(pair.p), len(pair.u))
    width = 1.0 if within_noise else WIDTHS[int(np.argmax(apart))]
    return _gauss(table, unit, width), width


def project(space: Embedding, kappa: float, rows: Rows) -> HullPoint:
    """Find the point of C nearest to λ φ_u + (1 − λ) φ_p, λ = 1/(1 − κ).

    Divided by λ this is φ_u − κ φ_p against the hull scaled to 1 − κ, good up to κ = 1. Only
    `rows` enter the first quadratic program; then those join that the residual r says would
    shorten it, until the duality gap is small against ‖r‖². The slope needs no second program:
    by the envelope theorem it is ⟨r, φ_u − φ_p⟩/‖r‖.
    """
    total, pull = 1 - kappa, space.mean_u - kappa * space.mean_p
    negligible = NEGLIGIBLE * min(space.noise, 0.2 * space.full_slope) * total
    while True:
        weight = nearest_weights(space.kernel[np.ix_(rows, rows)], pull[rows], total)
        residual = pull - weight @ space.kernel[rows]
        along_u = space.uu - kappa * space.up - float(weight @ space.mean_u[rows])
        along_p = space.up - kappa * space.pp - float(weight @ space.mean_p[rows])
        carried = float(weight @ residual[rows])
        length = sqrt(max(0.0, along_u - kappa * along_p - carried))
        heavy = rows[weight > WEIGHTLESS * total]
        if length <= negligible:
            return HullPoint(length / total, 0.0, heavy)
        gap = total * float(residual.max()) - carried
        joining = _joining(residual, rows, carried / total)
        if not joining.size or 2 * gap <= ENOUGH * length**2:
            return HullPoint(length / total, (along_u - along_p) / length, heavy)
        rows = np.union1d(heavy, joining)
        if rows.size > 0.8 * pull.size:  # growing further would cost more than all at once
            rows = np.arange(pull.size)


def _joining(residual: Vector, rows: Rows, level: float) -> Rows:
    """The rows outside the program that the residual leans to most, at most doubling it."""
    residual = residual.copy()
    residual[rows] = -np.inf
    joining = np.flatnonzero(residual > level)
    most = max(NEWCOMERS, rows.size)
    return joining[np.argsort(-residual[joining], kind="stable")[:most]]


def nearest_weights(kernel: Matrix, pull: Vector, total: float) -> Vector:
    """Minimize ½ w′Kw − pull′w over w ≥ 0 with Σw = total."""
    solver = piqp.DenseSolver()
    solver.settings.max_iter = 40
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
    solver.settings.eps_duality_gap_abs = 1e-10
    n = pull.size
    solver.setup(kernel, -pull, np.ones((1, n)), np.array([total]), x_l=np.zeros(n))
    solver.solve()  # its status does not matter: the caller checks the duality gap
    weight: Vector = np.maximum(solver.result.x, 0.0)
    if not 0 < weight.sum() < np.inf:
        raise InputError("TB014", "the quadratic program of the hull distance has no solution.")
    weight *= total / weight.sum()
    return weight


def _gauss(squares: Matrix, unit: float, width: float) -> Matrix:
    return np.asarray(np.exp(squares / (-2 * unit * width**2)), np.float64)


def _unbiased_gap(kernel: Matrix, n_p: int) -> float:
    """‖φ_u − φ_p‖² without the diagonal, which is 1 whatever the width."""
    n_u = len(kernel) - n_p
    within_p = (kernel[:n_p, :n_p].sum() - n_p) / (n_p * max(n_p - 1, 1))
    within_u = (kernel[n_p:, n_p:].sum() - n_u) / (n_u * max(n_u - 1, 1))
    return float(within_p + within_u - 2 * kernel[:n_p, n_p:].mean())


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

    Parameters
    ----------
    X_p, X_u
        Features of the positives and of the unlabeled rows, with the same columns.
    max_rows, random_state
        The most rows of each sample that are used, drawn with `random_state`.
    n_components
        A wider table is reduced to so many principal components.

    Returns
    -------
    AlphaEstimate
        α, without an interval.

    Examples
    --------
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

    Parameters
    ----------
    X_p, X_u, max_rows, n_components, random_state
        As in `km1`.

    Returns
    -------
    AlphaEstimate
        α, without an interval.

    Examples
    --------
    >>> found = km2([[1.0]] * 50, [[1.0]] * 25 + [[0.0]] * 75)  # a quarter look like positives
    >>> round(found.alpha, 2)
    0.25
    """
    return hull_curve(X_p, X_u, max_rows, n_components, random_state).km2()


def hull_curve(
    X_p: Any, X_u: Any, max_rows: int = 1000, n_components: int = 50, random_state: int = 0
) -> "HullCurve":
    """The curve both methods read; asked for both, it solves what they share once.

    Parameters
    ----------
    X_p, X_u, max_rows, n_components, random_state
        As in `km1`.

    Returns
    -------
    HullCurve
        Whose methods `km1` and `km2` give estimates.
    """
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
        estimate = AlphaEstimate(alpha=alpha, n_p=self.n_p, n_u=self.n_u, method=method)
        return replace(estimate, alarms=tuple(alarms), notes=self.notes)


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
