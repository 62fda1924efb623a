"""Intervals that cover: a bound on α with few assumptions, and a lower end that states one more.

Both assume that rows are independent (if they are in groups, `Evidence.independent` has tails of
as many independent rows) and that the labeled positives are a random sample of all
positives. The bound inverts, over α, the test "no bin of the best positives contains too few
unlabeled rows for this α", calibrated jointly over the bins in `calibration`. The lower end also
assumes that negatives thin out toward the top of the bin that decides. Limits of a single ratio
are Clopper & Pearson's (Biometrika 1934), two of them combined by Zou & Donner's rule (Statistics
in Medicine 2008).

Scores of a cross-fit are not independent: a row trains the models that score the others, so two
similar positives rise together if both are labeled, fall together if both are not, and move apart
otherwise. The gap between the shares of labeled and of hidden positives above a cut then varies
more than independent rows would let it, by the factor `SPREAD`, by which all deviations are
divided. The lower end of cross-fitted scores assumes a pure top bin. Where the ratio still falls
toward the top, it takes a part of that bin's rows as negatives all the same.

`gamma` gives up the random sample: with w the density of hidden positives over that of labeled
ones, it is enough that max w ≤ Γ·min w. Γ = 1 is a random sample. The bound then counts on the
fewest hidden positives in each bin (`calibration`), and the lower end on the most: a share of
Γq/(1 + (Γ − 1)q) where that of the labeled ones is q.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, hypot, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from topbin.core.checks import check_fraction, is_number
from topbin.core.defaults import CONFIDENCE
from topbin.core.errors import InputError
from topbin.core.estimate import INTERVAL_ASSUMES
from topbin.core.shares import exact_lower, exact_upper
from topbin.core.tails import Tails
from topbin.mpe.bbe_cp import at_ranks, geometric_ranks
from topbin.mpe.calibration import (
    SMALLEST_BIN,
    calibrated_ranks,
    critical_shortfall,
    cut_deviations,
    knots,
)

# The shortfall that finds the bin that decides. It is the same at every confidence, and above the
# critical one because larger bins are then preferred (with 2.6 the lower end is 5 % further off).
DECIDING = 3.5
THIRD, LEAST_RING = 3, 10
MARGIN = 2.33
SPLIT, ROUNDS = 40, 5
# Of the upper ends of 288 cross-fits of eight data sets, 3.5 % missed without this factor, 1.7 %
# with 1.1 and 1.0 % with 1.15, if no negative scored among the positives; 2.5 % are promised. The
# margin is for longer plans, whose scores seem to vary more (bench/results/crossfit_coverage.md).
SPREAD = 1.15
# The top bin that cross-fitted scores take as pure has 20 positives, or up to a quarter of those in
# the bin that decides, or down to a half; never fewer than 10, with which chance alone could pull
# the lower end to 0. Of fewer than 100 positives, a fifth replaces these numbers. For the same
# reason it has 10 unlabeled rows, unless the bin that decides has fewer.
HALF, QUARTER, USUAL_PURE, LEAST_PURE, FIFTH = 2, 4, 20, 10, 5
# How the ratio falls toward the top is read from a bin half as large again as the one that decides,
# but without the last fifth of the positives, among which most negatives score. At most three
# tenths of a bin are taken as negatives, so that the lower end keeps most of its height where
# negatives end abruptly. Chosen on 1,182 cross-fits of 24 data sets: 11 lower ends were too high
# instead of 37, at 1.05 times the width (bench/results/crossfit_coverage.md).
WIDER, READ, LEAST_PURITY = 1.5, 0.8, 0.7


def upper_bound(
    tails: Tails,
    confidence: float = CONFIDENCE,
    *,
    crossfitted: bool = False,
    gamma: float = 1.0,
) -> float:
    """The largest α that the counts do not contradict, whatever the scores and the negatives.

    It assumes that rows are independent and that the labeled positives are a random sample of all
    positives. Here and in `interval`, only cuts of `geometric_ranks` are read. `crossfitted` scores
    come from models that the other rows of these samples trained; for them it also assumes that
    their shares vary no more than 1.15 times as much as those of independent rows. With `gamma`,
    they need not be a random sample: the odds of being labeled may differ by that factor.

    >>> tails = Tails.from_scores(np.ones(1000), np.repeat([1.0, 0.0], 500))
    >>> round(upper_bound(tails), 2)
    0.54
    """
    check_fraction(confidence, "confidence")
    check_gamma(gamma)
    tails.require_unlabeled()
    # Roughly the critical shortfall: that of six independent normal deviations.
    usual, spread = float(-ndtri((1 - confidence) / 6)), spread_of(crossfitted)

    def critical(alpha: float) -> float:
        return spread * critical_shortfall(tails.n_p, tails.n_u, alpha, confidence, gamma)

    return _largest_accepted(tails, spread * usual, critical, gamma)


def interval(
    tails: Tails,
    confidence: float = CONFIDENCE,
    *,
    pure_fraction: float | None = None,
    kappa: float = 0.0,
    crossfitted: bool = False,
    gamma: float = 1.0,
) -> tuple[float, float]:
    """A two-sided interval for α; its upper end is as in `upper_bound`, its lower end assumes more.

    By default the lower end assumes that negatives thin out toward the top of the bin that decides
    the upper end: its top third is at least three times less impure. A pure bin qualifies.
    With `pure_fraction` it assumes that no negative scores among the top `pure_fraction` of the
    positives; the lower end is then 0 if no bin is that small. In both cases `kappa` allows the
    bin to contain, besides a share q of the positives, a share κq of the negatives.

    For `crossfitted` scores the upper end is as in `upper_bound`, and the lower end assumes by
    default that some top bin of the size in `interval_assumes`, or larger, holds only positives.
    Where the ratio still falls toward the top, it is up to three tenths lower than that allows.
    `gamma` is as in `upper_bound`; what the lower end assumes about the top bin stays the same.

    >>> tails = Tails.from_scores(np.ones(1000), np.repeat([1.0, 0.0], 500))
    >>> low, high = interval(tails)
    >>> round(low, 2), round(high, 2)
    (0.45, 0.54)
    """
    check_fraction(confidence, "confidence")
    check_fraction(kappa, "kappa", low_open=False)
    risk = (1 - confidence) / 2
    how: dict[str, Any] = {"crossfitted": crossfitted, "gamma": gamma}
    high = upper_bound(tails, 1 - risk, **how)
    if pure_fraction is not None:
        low = _lower_if_pure(tails, risk, pure_fraction, spread_of(crossfitted), gamma)
    elif crossfitted:
        low = _lower_if_top_is_pure(tails, risk, gamma)
    else:
        low = _lower_if_thinning(tails, risk, gamma)
    low = max(0.0, (low - kappa) / (1 - kappa))
    # No upper end is below the bound at one half; under that cap all intervals are nested.
    if not _clearly_below_all_bounds(tails, low, gamma):
        low = min(low, upper_bound(tails, 0.5, **how))
    return min(low, high), high


def interval_assumes(
    tails: Tails,
    pure_fraction: float | None = None,
    *,
    crossfitted: bool = False,
    n_p: int | None = None,
) -> str:
    """What the lower end of `interval` assumes, in a clause that can follow it.

    `n_p` is how many positives there are, if these tails count fewer because of groups.

    >>> tails = Tails.from_scores(np.ones(50), np.repeat([1.0, 0.0], 500))     # one tied bin
    >>> interval_assumes(tails, crossfitted=True)
    'if the unlabeled rows that score like the top 50 positives are positive'
    """
    if pure_fraction is not None:
        return f"if no negative scores among the top {100 * pure_fraction:g} % of the positives"
    if not crossfitted:
        return INTERVAL_ASSUMES
    smallest = _bins_with_a_pure_one(tails, _deciding(tails).above_p)[-1].above_p
    rows = smallest if n_p is None else round(smallest * n_p / tails.n_p)
    top = f"the top {rows:,} positives"
    return f"if the unlabeled rows that score like {top} are positive"


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


def spread_of(crossfitted: bool) -> float:
    """How much more shares vary than those of independent rows."""
    return SPREAD if crossfitted else 1.0


@dataclass(frozen=True, slots=True)
class _Bin:
    """Rows of both kinds in a bin, and the factor that turns counts into a ratio of shares."""

    above_p: int
    above_u: int
    n_p: int
    factor: float
    spread: float = 1.0

    @property
    def ratio(self) -> float:
        return self.factor * self.above_u / self.above_p

    def limit(self, risk: float, exact: Callable[..., Any] = exact_lower) -> float:
        """A limit of the ratio: that of the share of unlabeled rows in the bin, as odds.

        Counts that vary more say as much as fewer independent rows.
        """
        hits, rows = (k / self.spread**2 for k in (self.above_u, self.above_u + self.above_p))
        share = float(exact(hits, rows, risk))
        return self.factor * share / (1 - share)

    def alpha_limit(self, risk: float, gamma: float) -> float:
        """The lower limit of α if the bin is pure, and has as many hidden positives as it can.

        α = q_u(1 + (Γ − 1)q_p)/(Γ q_p) varies less than q_u/q_p, so the limit of that is enough.
        """
        return self.limit(risk) * (1 + (gamma - 1) * self.above_p / self.n_p) / gamma

    def purity(self, outer: "_Bin") -> float:
        """The share of positives in the bin, if impurity grows in proportion to the size of a bin.

        With w the bin's share of the outer one's positives, and ρ the ratio there over the ratio
        here, it is (1 − wρ)/(1 − w). One standard error of log ρ counts as chance, not as a rise.
        """
        if self.above_u == 0 or self.above_p >= outer.above_p:
            return 1.0
        inside, all_rows = (self.above_p, self.above_u), (outer.above_p, outer.above_u)
        chance = sqrt(sum(1 / k - 1 / n for k, n in zip(inside, all_rows, strict=True)))
        w, rise = inside[0] / all_rows[0], outer.ratio / self.ratio * exp(-self.spread * chance)
        return min(1.0, max(LEAST_PURITY, (1 - w * rise) / (1 - w)))


def _lower_if_thinning(tails: Tails, risk: float, gamma: float) -> float:
    """Extrapolate the ratio from the bin and its top third to a bin of size 0.

    With w the inner bin's share of the outer one's positives, and impurity in proportion to size,
    α = (r_inner − w·r_outer) / (1 − w), which in the two disjoint parts is (1 + w)·r_1 − w·r_2.
    Under Γ this is largest, for a given α, if hidden positives are as frequent as they can be in
    the inner bin and as rare as they can be elsewhere: then it is α times `most`.
    """
    inner, outer = _inner_and_outer(tails)
    if inner == outer:
        return outer.alpha_limit(risk, gamma)
    rows = outer.above_p - inner.above_p, outer.above_u - inner.above_u
    ring = _Bin(*rows, outer.n_p, outer.factor)
    w = inner.above_p / outer.above_p
    reach_1, reach_2 = inner.ratio - inner.limit(risk), ring.limit(risk, exact_upper) - ring.ratio
    low = (1 + w) * inner.ratio - w * ring.ratio - hypot((1 + w) * reach_1, w * reach_2)
    most = (1 + (gamma - 1) * (1 + w)) / (1 + (gamma - 1) * inner.above_p / inner.n_p)
    # A ratio that falls toward the outside is noise, not negatives: never extrapolate upward.
    return min(low / most, outer.alpha_limit(risk, gamma))


def _lower_if_top_is_pure(tails: Tails, risk: float, gamma: float) -> float:
    """The smallest lower limit of the bins of which one must be pure, each times its purity.

    The limit of a pure bin is too high with probability `risk`, and the smallest of all limits even
    less often. The purity can only lower it: it is for bins that are not pure. Neither the bins nor
    their purity depend on the confidence, so intervals are nested.
    """
    deciding = _deciding(tails).above_p
    bins, wanted = _bins_with_a_pure_one(tails, deciding), min(WIDER * deciding, READ * tails.n_p)
    outer = next(found for found in reversed(bins) if found.above_p >= wanted)
    return min(found.purity(outer) * found.alpha_limit(risk, gamma) for found in bins)


def _bins_with_a_pure_one(tails: Tails, deciding: int) -> list[_Bin]:
    """The bins of which one must be pure for the lower end of cross-fitted scores to hold.

    The smallest is the first with enough rows of both kinds. That it was chosen by its unlabeled
    rows costs nothing: they are reached too early just as often as a bin of that size, fixed
    beforehand, has too many of them. If the bin that decides has none, the smallest one ends with
    the first unlabeled row, so that the lower end is 0 only if none scores among the positives.
    """
    fifth = tails.n_p / FIFTH
    least = max(deciding / QUARTER, min(deciding / HALF, USUAL_PURE, fifth), min(LEAST_PURE, fifth))
    bins = _bins(at_ranks(tails, geometric_ranks(tails.n_p)), SPREAD)
    large = [found for found in bins if found.above_p >= least]
    kept = [found for found in large if found.above_u >= LEAST_PURE or found.above_p >= deciding]
    reached = [found for found in kept if found.above_u > 0]
    if len(reached) in (0, len(kept)):
        return kept
    # Of the rows that are tied with the first one, nothing is known.
    return [*reached, replace(reached[-1], above_u=1)]


def _lower_if_pure(
    tails: Tails, risk: float, pure_fraction: float, spread: float, gamma: float
) -> float:
    """The lower limit of the ratio in the largest bin that the assumption calls pure.

    A bin with just that share of the sample reaches beyond it in half of all samples, so a margin
    is left: with that, in one of a hundred, at every confidence.
    """
    check_fraction(pure_fraction, "pure_fraction", high_open=False)
    expected = pure_fraction * tails.n_p
    inside = expected - MARGIN * sqrt(expected * (1 - pure_fraction))
    bins = _bins(at_ranks(tails, geometric_ranks(tails.n_p)), spread)
    pure = [found for found in bins if found.above_p <= inside]
    return pure[0].alpha_limit(risk, gamma) if pure else 0.0


def _deciding(tails: Tails) -> _Bin:
    """The bin that contradicts larger α most clearly."""
    coarse = at_ranks(tails, calibrated_ranks(tails.n_p))
    alpha = _largest_accepted(tails, DECIDING, lambda _: DECIDING)
    return _bins(coarse)[int(np.argmin(cut_deviations(coarse, alpha)))]


def _inner_and_outer(tails: Tails) -> tuple[_Bin, _Bin]:
    """The bin that decides and its top third, or the next larger bins if those are too small."""
    deciding = _deciding(tails)
    bins = _bins(at_ranks(tails, geometric_ranks(tails.n_p)))
    bins = [found for found in bins if found.above_p >= min(SMALLEST_BIN, tails.n_p)]
    smallest = bins[-1].above_p
    wanted = max(deciding.above_p, min(smallest + LEAST_RING, tails.n_p))
    outer = next(found for found in reversed(bins) if found.above_p >= wanted)
    inner = next(found for found in bins if found.above_p <= max(wanted // THIRD, smallest))
    return inner, outer


def _bins(tails: Tails, spread: float = 1.0) -> list[_Bin]:
    """From the largest to the smallest."""
    factor = tails.n_p / tails.n_u
    counts = zip(tails.above_p.tolist(), tails.above_u.tolist(), strict=True)
    return [_Bin(x, y, tails.n_p, factor, spread) for x, y in counts]


def _clearly_below_all_bounds(tails: Tails, alpha: float, gamma: float) -> bool:
    """Whether α is below the bound at one half for a reason that needs no calibration.

    From 20 positives on, and one expected positive among the unlabeled, half of all samples fall
    short by more than 0.5 in some bin (at each of 40 simulated sizes, 20 to 10⁸ positives).
    """
    if alpha == 0 or tails.n_p < 20 or alpha * tails.n_u < 1:
        return alpha == 0
    read = at_ranks(tails, calibrated_ranks(tails.n_p))
    return bool(cut_deviations(read, alpha, gamma).min() >= -0.5)


def _largest_accepted(
    tails: Tails, usual: float, critical_at: Callable[[float], float], gamma: float = 1.0
) -> float:
    """sup{α : no shortfall beyond the critical one}, which is known at the knots of a grid.

    The walk starts where the usual critical shortfall would end it, so that few knots are
    simulated. Between knots the critical shortfall is interpolated in log α. Raising it
    everywhere can only raise the result, even where acceptance is not monotone in α.
    """
    read, grid = at_ranks(tails, calibrated_ranks(tails.n_p)), knots(tails.n_u)

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
