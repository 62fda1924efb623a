"""How many labels an interval of a wanted width needs, of each kind of audit, before any is drawn.

The widths are those that the limits have on average if the estimate and the model's probabilities
are right; the audit itself does not rely on that.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import norm

from topbin.core.binomial import exact_lower, exact_upper
from topbin.core.checks import check_count, check_fraction
from topbin.core.defaults import CONFIDENCE
from topbin.evaluate.audit.draw import how_often, reach
from topbin.evaluate.audit.limits import OF_A_KIND, doubt_of_look, share_of_upper
from topbin.evaluate.audit.top import TopBin


@dataclass(frozen=True, slots=True)
class WidthPlan:
    """Labels for an interval no wider than `width`; None where no number of labels is enough.

    `plain` are random rows without a model, `anywhere` random rows whose probabilities are known,
    and `top` random rows of the top bin, whose interval is never narrower than `top_at_best`.
    """

    width: float
    confidence: float
    plain: int | None
    anywhere: int | None = None
    top: int | None = None
    top_at_best: float | None = None

    def __str__(self) -> str:
        lines = [f"For a {100 * self.confidence:g} % interval no wider than {self.width:g}:"]
        random, needs = self.plain, "needs only random rows and right answers"
        if self.anywhere is not None:
            random, needs = self.anywhere, "if the model's probabilities are right, more if not"
            needs += f"; {_rows(self.plain)} without the model"
        lines.append(f"  --where anywhere   {_rows(random)}   {needs}")
        if self.top_at_best is not None:
            best = f"; never narrower than {self.top_at_best:.3f}"
            lines.append(
                f"  --where top        {_rows(self.top)}   if labeled positives are like the "
                f"others{best}"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class AuditWidths:
    """How wide the interval of an audit of n rows is on average, if α is right.

    `probabilities` are those of all unlabeled rows, if there are any.

    >>> round(AuditWidths(0.3, 10_000).plain(372), 3)
    0.1
    """

    alpha: float
    n_u: int
    probabilities: Any = None
    top: TopBin | None = None
    confidence: float = CONFIDENCE

    @property
    def _doubt(self) -> float:
        return doubt_of_look(1 - self.confidence, 1) / 2

    def plain(self, n: int) -> float:
        """Of random rows without a model."""
        hits = self.alpha * n
        return float(exact_upper(hits, n, self._doubt) - exact_lower(hits, n, self._doubt))

    def anywhere(self, n: int) -> float:
        """Of random rows whose probabilities are known."""
        if self.probabilities is None:
            return self.plain(n)
        alpha, f = self.alpha, np.asarray(self.probabilities, np.float64)
        variance, reaches = float(np.mean(f * (1 - f) / how_often(f))), reach(float(f.mean()))
        upper = share_of_upper(f)
        z = [float(norm.isf(2 * self._doubt * share)) for share in (upper, 1 - upper)]
        end = 1.0 if n * min(alpha, 1 - alpha) < OF_A_KIND else 0.5
        far = [
            end * one / n + z_one * sqrt((variance + end * one * one / n) / n)
            for one, z_one in zip(reaches, z, strict=True)
        ]
        return min(self.plain(n), min(far[0], 1 - alpha) + min(far[1], alpha))

    def in_top(self, n: int) -> float:
        """Of random rows of the top bin."""
        assert self.top is not None
        top = self.top
        pure = min(1.0, self.alpha * top.above_p / top.n_p * top.n_u / top.above_u)
        low, high = top.limits(pure * n, n, self._doubt)
        return high - low

    def of(self, where: str) -> tuple[Callable[[int], float], int]:
        """The width of a kind of audit as a function of n, and how many rows it can draw."""
        if where == "anywhere":
            return self.anywhere, self.n_u
        return self.in_top, 0 if self.top is None else self.top.above_u


def plan_width(
    alpha: float,
    width: float,
    n_u: int,
    *,
    probabilities: Any = None,
    top: TopBin | None = None,
    confidence: float = CONFIDENCE,
) -> WidthPlan:
    """How many labels of each kind make the interval no wider than this, if α is right.

    >>> print(plan_width(0.3, 0.1, 10_000))
    For a 95 % interval no wider than 0.1:
      --where anywhere   372 rows   needs only random rows and right answers
    """
    check_fraction(width, "width")
    check_fraction(alpha, "alpha", low_open=False, high_open=False)
    level, n_u = check_fraction(confidence, "confidence"), check_count(n_u, "n_u")
    of = AuditWidths(alpha, n_u, probabilities, top, level)
    plain = _least(of.plain, width, n_u)
    if probabilities is None:
        return WidthPlan(width, level, plain)
    found = plain, _least(of.anywhere, width, n_u)
    if top is None:
        return WidthPlan(width, level, *found)
    labels = _least(of.in_top, width, top.above_u)
    return WidthPlan(width, level, *found, labels, of.in_top(top.above_u))


def _least(width_of: Callable[[int], float], width: float, most: int) -> int | None:
    """The smallest number of rows whose interval is narrow enough; None if `most` is too few."""
    if width_of(most) > width:
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if width_of(middle) <= width else (middle, high)
    return high


def _rows(n: int | None) -> str:
    return "more rows than there are" if n is None else f"{n:,} rows"
