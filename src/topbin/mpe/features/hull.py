"""The nearest point of a convex hull in a Gaussian kernel's feature space, by small programs.

What km1 and km2 need of Ramaswamy, Scott and Tewari 2016: φ_p and φ_u are the means of the
positive and the unlabeled rows in feature space, C is the convex hull of all rows.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import piqp
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from topbin.core.errors import InputError
from topbin.mpe.features.samples import Matrix, TwoSamples

Rows = NDArray[np.intp]
Vector = NDArray[np.float64]
WIDTHS = (0.1, 0.1**0.5, 1.0, 10**0.5, 10.0)
NEGLIGIBLE = 3e-3  # of λ: by convexity the most that a distance taken for 0 can move a crossing
ENOUGH = 1e-4  # duality gap against squared distance
WEIGHTLESS = 1e-7
NEWCOMERS = 100


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


def best_kernel(pair: TwoSamples) -> tuple[Matrix, float]:
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
