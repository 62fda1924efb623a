"""A bound on α that holds for any overlap of the classes and any scores.

It assumes that rows are independent (`Evidence.independent` has tails of as many independent rows,
if they are in groups or cross-fitted) and that the labeled positives are a random sample of all
positives. It inverts, over α, the test "no bin of the best positives contains too few unlabeled
rows for this α", calibrated jointly over the bins in `calibration`. α is the share of positives
among these very rows, so their number does not vary.

`gamma` gives up the random sample: with w the density of hidden positives over that of labeled
ones, it is enough that max w ≤ Γ·min w. Γ = 1 is a random sample. The bound then counts on the
fewest hidden positives in each bin (`calibration`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from topbin.core.checks import check_fraction, is_number
from topbin.core.defaults import CONFIDENCE
from topbin.core.errors import InputError
from topbin.core.tails import Tails, at_ranks
from topbin.mpe.calibration import alpha_grid, calibrated_ranks, critical_shortfall, cut_deviations

SPLIT, ROUNDS = 40, 5


def upper_bound(tails: Tails, confidence: float = CONFIDENCE, *, gamma: float = 1.0) -> float:
    """The largest α that the counts do not contradict, whatever the scores and the negatives.

    It assumes that rows are independent and that the labeled positives are a random sample of all
    positives. With `gamma`, they need not be: the odds of being labeled may differ by that factor.
    Only cuts of `geometric_ranks` are read.

    >>> tails = Tails.from_scores(np.linspace(2, 3, 1000), np.linspace(1, 3, 2000))
    >>> 0.5 <= upper_bound(tails) < 0.52                         # half score like positives
    True
    """
    check_fraction(confidence, "confidence")
    check_gamma(gamma)
    tails.require_unlabeled()
    # Roughly the critical shortfall: that of six independent normal deviations.
    usual = float(-ndtri((1 - confidence) / 6))

    def critical(alpha: float) -> float:
        return critical_shortfall(tails.n_p, tails.n_u, alpha, confidence, gamma)

    return _largest_accepted(tails, usual, critical, gamma)


def check_gamma(gamma: Any) -> float:
    """Γ as a float of at least 1; how selective labeling may be.

    >>> check_gamma(0.5)
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB123 gamma must be a finite number ≥ 1; got 0.5. ...
    """
    if not is_number(gamma) or gamma < 1:
        raise InputError(
            "TB123",
            f"gamma must be a finite number ≥ 1; got {gamma!r}. 1 means that positives are labeled "
            "at random; 2, that the odds of being labeled may be twice as high for some as for "
            "others.",
        )
    return float(gamma)


def _largest_accepted(
    tails: Tails, usual: float, critical_at: Callable[[float], float], gamma: float = 1.0
) -> float:
    """sup{α : no shortfall beyond the critical one}, which is known at the values of a grid.

    The walk starts where the usual critical shortfall would end it, so that few of them are
    simulated. Between two of them the critical shortfall is interpolated in log α. Raising it
    everywhere can only raise the result, even where acceptance is not monotone in α.
    """
    read, grid = at_ranks(tails, calibrated_ranks(tails.n_p)), alpha_grid(tails.n_u)

    def critical(knot: int) -> float:
        return critical_at(float(grid[knot]))

    least = cut_deviations(read, grid, gamma).min(axis=1)
    knot = int(np.count_nonzero(least >= -usual)) - 1
    while knot >= 0 and least[knot] < -critical(knot):
        knot -= 1
    while knot + 1 < grid.size and least[knot + 1] >= -critical(knot + 1):
        knot += 1
    if knot + 1 == grid.size:
        return 1.0
    low, high = (float(grid[knot]) if knot >= 0 else 0.0), float(grid[knot + 1])
    between = np.log([low or high / 2, high]), [critical(max(knot, 0)), critical(knot + 1)]
    for _ in range(ROUNDS):
        trial = np.linspace(low, high, SPLIT + 1)[1:]
        allowed = -np.interp(np.log(trial), *between)
        refused = cut_deviations(read, trial, gamma).min(axis=1) < allowed
        first = int(np.argmax(np.append(refused[:-1], True)))
        low, high = (float(trial[first - 1]) if first else low), float(trial[first])
    return low
