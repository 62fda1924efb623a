"""A measured figure with its interval, and the two ways in which intervals are made here.

A share of rows has the exact binomial limits of Clopper & Pearson (Biometrika 1934). A figure
made of several shares squares and adds how far each share's limits move it (Zou & Donner,
Statistics in Medicine 2008), which needs no formula of its own for any figure.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np

from topbin.core import AlphaEstimate, Evidence, InputError
from topbin.core.binomial import effective_rows, exact_upper
from topbin.core.checks import Floats, Scores, check_fraction, unmasked
from topbin.core.estimate import Interval

AlphaLike = AlphaEstimate | float  # a number is taken as known
ALPHA_KNOWN = "α is taken as known: its own uncertainty is not in this interval."


class Finding:
    """A value that an evaluation ends with, and that JSON can hold."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(cast(Any, self))


@dataclass(frozen=True, slots=True)
class Measure(Finding):
    """A figure, its interval, and what to keep in mind when reading it.

    >>> heads = Measure("recall", 0.75, (0.5, 0.875), 0.95)
    >>> print(heads)
    recall 0.750 (95 %: 0.500 to 0.875)
    >>> float(heads)
    0.75
    """

    name: str
    value: float
    interval: Interval
    confidence: float
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = self.interval
        interval = f"{100 * self.confidence:g} %: {low:.3f} to {high:.3f}"
        return "\n  ".join([f"{self.name} {self.value:.3f} ({interval})", *self.notes])


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """A share of rows, and the number of rows that it was counted on; arrays are allowed.

    >>> low, high = Share(0.5, 10).limits(0.95)         # 5 of 10
    >>> round(float(low), 3), round(float(high), 3)
    (0.187, 0.813)
    """

    value: Any
    n: Any

    @classmethod
    def at_least(cls, scores: Scores, threshold: float, weights: Floats | None = None) -> "Share":
        """The share of rows that score at or above the threshold.

        Weighted rows count as (Σw)²/Σw² plain ones, so equal weights change nothing.
        """
        above = scores >= threshold
        if weights is None:
            return cls(float(np.count_nonzero(above) / scores.size), scores.size)
        return cls(float(weights[above].sum() / weights.sum()), effective_rows(weights))

    def limits(self, confidence: float) -> tuple[Any, Any]:
        """Exact two-sided binomial limits; each end fails with half of 1 − confidence."""
        hits = self.value * self.n
        risk = (1 - confidence) / 2
        return 1 - exact_upper(self.n - hits, self.n, risk), exact_upper(hits, self.n, risk)

    def with_limits(self, confidence: float) -> tuple[Any, tuple[Any, Any]]:
        """The share and its limits."""
        return self.value, self.limits(confidence)

    def measure(self, name: str, confidence: float) -> Measure:
        """This one share as a figure."""
        low, high = self.limits(confidence)
        return Measure(name, float(self.value), (float(low), float(high)), confidence)


def square_and_add(
    figure: Callable[..., Any], values: Sequence[Any], limits: Sequence[tuple[Any, Any]]
) -> tuple[Any, Any]:
    """An interval for figure(*values) from limits of each value, taken as independent.

    >>> square_and_add(lambda a, b: a + b, [10.0, 20.0], [(7.0, 13.0), (16.0, 24.0)])
    (25.0, 35.0)
    """
    center = figure(*values)
    down = up = 0.0
    for i, ends in enumerate(limits):
        at_ends = [figure(*values[:i], end, *values[i + 1 :]) for end in ends]
        down = down + np.maximum(0, center - np.minimum(*at_ends)) ** 2
        up = up + np.maximum(0, np.maximum(*at_ends) - center) ** 2
    low, high = center - np.sqrt(down), center + np.sqrt(up)
    return (float(low), float(high)) if np.ndim(low) == 0 else (low, high)


def combined(
    name: str,
    figure: Callable[..., Any],
    parts: Sequence[tuple[Any, tuple[Any, Any]]],
    confidence: float,
    *,
    span: Interval = (0.0, 1.0),
    notes: tuple[str, ...] = (),
) -> Measure:
    """The figure of some values, each with its limits, cut to the values that it can have.

    >>> shares = [Share(0.5, 100).with_limits(0.95), Share(0.8, 100).with_limits(0.95)]
    >>> print(combined("product", lambda a, b: a * b, shares, 0.95))
    product 0.400 (95 %: 0.307 to 0.489)
    """
    values, limits = zip(*parts, strict=True)
    interval = square_and_add(figure, values, limits)
    least, most = span
    value, low, high = (min(most, max(least, float(x))) for x in (figure(*values), *interval))
    return Measure(name, value, (low, high), confidence, notes)


def read_alpha(alpha: Any, confidence: float) -> tuple[float, Interval, tuple[str, ...]]:
    """α and its interval, from an `AlphaEstimate` or a number taken as known; and a note.

    >>> read_alpha(0.3, 0.95)[:2]
    (0.3, (0.3, 0.3))
    """
    if not isinstance(alpha, AlphaEstimate):
        known = check_fraction(alpha, "alpha", low_open=False, high_open=False)
        return known, (known, known), (ALPHA_KNOWN,)
    if alpha.interval is None:
        return alpha.alpha, (alpha.alpha, alpha.alpha), (ALPHA_KNOWN,)
    if alpha.confidence != confidence:
        raise InputError(
            "TB008",
            f"the interval of alpha is at confidence {alpha.confidence!r}, and {confidence!r} is "
            "asked for here. Estimate alpha at the same confidence.",
        )
    return alpha.alpha, alpha.interval, ()


def read_source(source: Any, scores_u: Any = None) -> tuple[Evidence, AlphaEstimate | None]:
    """Evidence and estimate of the result of a fit or of a fitted classifier.

    Of scores, tails or evidence, there is no estimate yet.
    """
    if isinstance(source, AlphaEstimate):
        raise InputError(
            "TB124",
            "an AlphaEstimate has no counts to read again. Pass what it was made from: the result "
            "of a fit, a fitted classifier, or scores_p and scores_u.",
        )
    for one in (source, getattr(source, "model", None)):  # of a run folder
        for evidence, estimate in (("evidence", "estimate"), ("evidence_", "estimate_")):
            if isinstance(getattr(one, evidence, None), Evidence):
                return getattr(one, evidence), getattr(one, estimate, None)
    return Evidence.of(source, scores_u), None


def check_weights(weights: Any, scores: Scores, name: str) -> Floats | None:
    """One finite weight ≥ 0 per row, not all zero; None stays None."""
    if weights is None:
        return None
    array = np.asarray(unmasked(weights))
    if array.shape != scores.shape or array.dtype.kind not in "fiub":
        raise InputError(
            "TB012",
            f"{name} must be {scores.size:,} numbers, one per row; got {array.dtype} of shape "
            f"{array.shape}.",
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all() or array.min() < 0 or array.max() == 0:
        raise InputError("TB012", f"{name} must be finite, ≥ 0, and not all zero.")
    return array
