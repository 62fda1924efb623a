"""The posterior of α: what the rows say about α, as quantiles that everything else is made from.

The point is its median and the interval its quantiles; probabilities, precisions, curves and what
an audit changes are means over its draws. So no two of these numbers can contradict each other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtri

from topbin.core.checks import Floats, check_fraction, is_number
from topbin.core.errors import InputError

# Of the quantiles that are kept. Between two of them, and beyond the last, α is taken to be linear
# in the normal score of the level.
LEVELS = (
    0.001, 0.005, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.975, 0.995, 0.999,
)  # fmt: skip
DRAWS = 64
# How much of α's prior is flat, once people have answered: where labels are biased, scores mislead,
# and answers must win long before they contradict. The least that covers there
# (bench/results/audit_together.md).
FLAT_SHARE, GRID = 0.5, 4001
RAREST, RARE = 1e-8, 500


@dataclass(frozen=True, slots=True)
class AlphaPosterior:
    """The quantiles of α at `LEVELS`.

    >>> AlphaPosterior.known(0.25).interval(0.95)
    (0.25, 0.25)
    >>> even = AlphaPosterior(LEVELS)                            # every α is as likely as any other
    >>> [round(end, 3) for end in even.interval(0.95)]
    [0.025, 0.975]
    """

    quantiles: tuple[float, ...]

    def __post_init__(self) -> None:
        given = self.quantiles
        are_shares = len(given) == len(LEVELS) and all(map(is_number, given))
        if not are_shares or not all(0 <= a <= b <= 1 for a, b in pairwise(given)):
            raise InputError(
                "TB008",
                f"the quantiles of a posterior must be {len(LEVELS)} numbers from 0 to 1 in "
                f"ascending order, one for each of the levels {LEVELS[0]} to {LEVELS[-1]}; got "
                f"{given!r:.80}.",
            )

    @classmethod
    def known(cls, alpha: float) -> "AlphaPosterior":
        """α known exactly."""
        return cls((float(alpha),) * len(LEVELS))

    @property
    def median(self) -> float:
        """The point estimate: α is as likely above it as below."""
        return self.quantiles[LEVELS.index(0.5)]

    def at(self, level: Any) -> Any:
        """The quantile at any level, or at several."""
        z, ends = ndtri(np.asarray(level, np.float64)), np.asarray(self.quantiles)
        knots = _normal_scores()
        inner = np.interp(z, knots, ends)
        below = ends[0] + (z - knots[0]) * (ends[1] - ends[0]) / (knots[1] - knots[0])
        above = ends[-1] + (z - knots[-1]) * (ends[-1] - ends[-2]) / (knots[-1] - knots[-2])
        found = np.where(z < knots[0], below, np.where(z > knots[-1], above, inner))
        return np.clip(found, 0.0, 1.0)

    def interval(self, confidence: float) -> tuple[float, float]:
        """The quantiles between which α is with this probability, and below and above alike."""
        # (1 − .95)/2 is not .025 to the last digit, and an end that is 0 must be 0.
        risk = round((1 - check_fraction(confidence, "confidence")) / 2, 16)
        low, high = self.at([risk, 1 - risk])
        return float(low), float(high)

    def at_most(self, bound: float) -> "AlphaPosterior":
        """The same, with nothing above a bound that holds whatever the prior is.

        >>> AlphaPosterior(LEVELS).at_most(0.8).interval(0.95)
        (0.025, 0.8)
        """
        return AlphaPosterior(tuple(min(q, bound) for q in self.quantiles))

    @classmethod
    def unknown(cls) -> "AlphaPosterior":
        """α where scores separate nothing: all rows may be positive, and no share is excluded.

        >>> AlphaPosterior.unknown().median, AlphaPosterior.unknown().interval(0.95)
        (1.0, (0.0, 1.0))
        """
        spread = np.interp(LEVELS, [0.025, 0.5], [0.0, 1.0])
        return cls(tuple(map(float, spread)))

    def draws(self, n: int = DRAWS) -> Floats:
        """So many equally likely values of α, ascending; always the same ones."""
        return np.asarray(self.at((np.arange(n) + 0.5) / n))

    def updated(
        self, log_likelihood: Callable[[Floats], Floats], *, flat: float = FLAT_SHARE
    ) -> "AlphaPosterior":
        """The posterior after more was seen, by the logarithm of its likelihood for each α.

        Before that, a share `flat` of it is spread evenly from 0 to 1: scores can mislead, and what
        people saw then decides alone.

        >>> seen = AlphaPosterior.known(0.5).updated(lambda a: 1 * np.log(a) + 99 * np.log1p(-a))
        >>> 0.005 < seen.median < 0.04                           # one of a hundred, not a half
        True
        """
        edges = self._edges()
        alpha, below = (edges[1:] + edges[:-1]) / 2, self._below(edges)
        below[0] = 0.0  # the first cell has what is exactly 0
        mass = (1 - flat) * np.diff(below) + flat * np.diff(edges)
        seen = log_likelihood(alpha)
        weight = mass * np.exp(seen - seen.max())
        after = np.append(0.0, np.cumsum(weight) / weight.sum())
        found = np.interp(LEVELS, after, edges)
        found = np.where(found < RAREST, 0.0, np.where(found > 1 - RAREST, 1.0, found))
        return AlphaPosterior(tuple(map(float, found)))

    def _edges(self) -> Floats:
        """Cells of [0, 1] so small that α is known in each: narrow where it is likely, or rare."""
        even, rare = np.linspace(0.0, 1.0, GRID), np.geomspace(RAREST, 1 / GRID, RARE)
        likely = self.at(even[1:-1])
        below = np.maximum(0.0, likely - RAREST)  # equal quantiles have a cell of their own
        return np.unique(np.concatenate([even, rare, 1 - rare, likely, below]))

    def _below(self, alpha: Floats) -> Floats:
        """The probability that α is at most so large."""
        levels = np.linspace(0.0, 1.0, GRID)[1:-1]
        ends = np.concatenate([[-1e-12], self.at(levels), [1.0]])
        # Equal quantiles are a lump, of which all is at or below.
        return np.interp(alpha, np.maximum.accumulate(ends), np.linspace(0.0, 1.0, GRID))


@cache
def _normal_scores() -> Floats:
    return np.asarray(ndtri(LEVELS))
