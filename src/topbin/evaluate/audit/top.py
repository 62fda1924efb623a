"""The top-bin audit, and how many positives a threshold finds: answers above and below a cut.

Above a cut that was fixed beforehand lie a share q_p of the known positives and q_u of the
unlabeled rows. If k of m random rows up there are positive, α = q_u·(k/m)/q_p. That measures what
the estimate assumes, namely that negatives thin out at the top. It requires the labeled
positives to be like the others, as the estimate does: biased labels cannot show here.
"""

from dataclasses import dataclass, field, replace
from math import exp, hypot, inf, log
from typing import Annotated

import numpy as np
from msgspec import Meta

from topbin.core.binomial import exact_lower, exact_upper
from topbin.core.checks import Scores, check_fraction
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.evaluate.measure import Interval

# Of the known positives above the cut. On five real tables .9 covered more often than .5 and .7,
# with narrower intervals: q_p then hardly varies (bench/results/audit_coverage.md).
SHARE = 0.9
# Held-out scores of cross-fitting are not independent: similar rows train each other's models.
# Between known and hidden positives above a cut the sd was 0.94 to 1.26 of the binomial one over
# five tables and four scorers; 1.2 covers most of them.
SPREAD = 1.2


@dataclass(frozen=True, slots=True)
class TopBin:
    """How many rows score at least the cut, of all unlabeled and of all known positives.

    Rows in groups count as fewer independent ones: `worth_u` and `worth_p` say what one is worth.
    """

    cut: float
    above_u: Annotated[int, Meta(ge=0)]
    n_u: Annotated[int, Meta(ge=1)]
    above_p: Annotated[int, Meta(ge=0)]
    n_p: Annotated[int, Meta(ge=1)]
    worth_u: Annotated[float, Meta(gt=0, le=1)] = field(default=1.0, repr=False)
    worth_p: Annotated[float, Meta(gt=0, le=1)] = field(default=1.0, repr=False)

    @classmethod
    def at(cls, scores_p: Scores, scores_u: Scores, *, share: float = SHARE) -> "TopBin":
        """The bin that contains this share of the known positives.

        >>> TopBin.at(np.arange(10.0), np.arange(8.0), share=0.7)
        TopBin(cut=3.0, above_u=5, n_u=8, above_p=7, n_p=10)
        """
        wanted = max(1, round(check_fraction(share, "share") * scores_p.size))
        cut = float(np.partition(scores_p, scores_p.size - wanted)[scores_p.size - wanted])
        above_u, above_p = (int(np.count_nonzero(s >= cut)) for s in (scores_u, scores_p))
        if not above_u:
            raise InputError(
                "TB117", "no unlabeled row is in the top bin, so none can be drawn from it."
            )
        return cls(cut, above_u, scores_u.size, above_p, scores_p.size)

    def in_groups(self, estimate: AlphaEstimate) -> "TopBin":
        """The bin with rows that count as the independent rows that they are worth."""
        if estimate.worth is None:
            return self
        worth_p, worth_u = estimate.worth
        return replace(self, worth_p=worth_p / estimate.n_p, worth_u=worth_u / estimate.n_u)

    def alpha(self, positive: float, drawn: float) -> float:
        """α = q_u·(k/m)/q_p, at most 1.

        >>> TopBin(3.0, 50, 100, 80, 100).alpha(4, 5)             # .5·.8/.8
        0.5
        """
        return min(1.0, self.above_u / self.n_u * positive / drawn * self.n_p / self.above_p)

    def limits(self, positive: float, drawn: int, doubt: float, *, open_rows: int = 0) -> Interval:
        """Limits with `doubt` at each end; rows without an answer count against each.

        Exact binomial limits of the three shares, their relative distances squared and added
        (Zou & Donner, Statistics in Medicine 2008). The known positives count as fewer rows than
        they are, by `SPREAD`.

        >>> low, high = TopBin(3.0, 500, 1000, 140, 200).limits(40, 50, 0.025)
        >>> round(low, 2), round(high, 2)
        (0.46, 0.69)
        """
        few, many = positive, positive + open_rows
        ends = exact_lower(few, drawn, doubt), exact_upper(many, drawn, doubt)
        return self.limits_from(few / drawn, many / drawn, ends, doubt)

    def limits_from(self, few: float, many: float, ends: Interval, doubt: float) -> Interval:
        """The same from the least and the largest share of positives in the bin, and its limits."""
        down, up = self._distances(doubt)
        down = hypot(down, log(few / ends[0])) if ends[0] > 0 else inf
        up = hypot(up, log(ends[1] / many)) if many else up
        lower, upper = self.alpha(few, 1) * exp(-down), self.alpha(many or ends[1], 1) * exp(up)
        return float(lower), float(min(1.0, upper))

    def _distances(self, doubt: float) -> Interval:
        """How far q_u/q_p may be off downward and upward, in logarithms."""
        rows, hits = (n * self.worth_p / SPREAD**2 for n in (self.n_p, self.above_p))
        n_u, above_u = self.n_u * self.worth_u, self.above_u * self.worth_u
        q_u, q_p = above_u / n_u, hits / rows
        down = (
            log(q_u / float(exact_lower(above_u, n_u, doubt))),
            log(float(exact_upper(hits, rows, doubt)) / q_p),
        )
        up = (
            log(float(exact_upper(above_u, n_u, doubt)) / q_u),
            log(q_p / float(exact_lower(hits, rows, doubt))),
        )
        return hypot(*down), hypot(*up)


@dataclass(frozen=True, slots=True)
class RecallBound:
    """How many of the positives among the unlabeled are above a threshold, at least.

    `least` holds at `confidence` and needs only random rows on both sides of the threshold, with
    right answers. `goal` is the recall that was asked for, and `more` how many more rows below,
    none of them positive, would show it; None where no number would.
    """

    threshold: float
    rows: int
    least: float
    confidence: float
    goal: float | None
    more: int | None
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def recall_bound(
    at: TopBin,
    above: tuple[int, int],
    below: tuple[int, int],
    *,
    confidence: float,
    doubt: float | None = None,
    goal: float | None = None,
) -> RecallBound:
    """A lower bound for recall from (positive, drawn) on each side; open rows are in the counts.

    Positives above are at least so many, positives below at most so many, each at half the doubt.

    >>> at = TopBin(0.5, 200, 1000, 90, 100)
    >>> print(recall_bound(at, (45, 50), (0, 100), confidence=0.95, goal=0.8))
    With 95 % confidence at least 84 % of the positives are among the 200 rows above the threshold.
    That is the wanted 80 %: you can stop.
    """
    doubt = (1 - confidence if doubt is None else doubt) / 2
    rest = at.n_u - at.above_u
    found = at.above_u * float(exact_lower(*above, doubt))
    missed = rest * float(exact_upper(*below, doubt)) if rest else 0.0
    least = found / (found + missed) if found else 0.0
    words = (
        f"With {100 * confidence:g} % confidence at least {100 * least:.0f} % of the positives are "
        f"among the {at.above_u:,} rows above the threshold."
    )
    more = None
    if goal is not None and least >= goal:
        more, words = 0, f"{words} That is the wanted {100 * goal:g} %: you can stop."
    elif goal is not None:
        enough = found * (1 - goal) / goal / max(1, rest)
        sizes = below[1] + np.arange(1, rest - below[1] + 1)
        wide = np.flatnonzero(exact_upper(below[0], sizes, doubt) <= enough)
        more = int(wide[0]) + 1 if wide.size else None
        need = "More answers above the threshold are needed first, or a lower threshold."
        if more is not None:
            need = f"About {more:,} more rows below it, none of them positive, would show that."
        words = f"{words} The wanted recall is {100 * goal:g} %. {need}"
    return RecallBound(at.cut, at.above_u, least, confidence, goal, more, words)
