"""Which unlabeled rows are listed, best first: how many of them, and what to expect of them."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from topbin.core.checks import Floats, RowNumbers, Scores, check_fraction
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.options import Listing
from topbin.data.write import in_front
from topbin.evaluate.curves import ListPrecision, list_precision
from topbin.evaluate.metrics import OutOfReach, out_of_reach
from topbin.store.answer import Candidates

NO_INTERVAL = "min_precision needs an interval, and this estimate has none; ask for n rows instead."
USUAL_ROWS, FEWEST_ROWS = 100, 10  # that are listed if nobody says how many


def order(scores: Scores, n: int | None = None, *, novel: bool = False) -> RowNumbers:
    """The places of the n best rows, best first; of equal ones those that come first.

    Positives are sought, which score high; or `novel` rows of no known class, which score low.

    >>> scores = np.array([0.2, 0.9, 0.5])
    >>> order(scores, 2).tolist(), order(scores, 2, novel=True).tolist()
    ([1, 2], [0, 2])
    """
    return np.argsort(scores if novel else -scores, kind="stable")[:n]


def likely(probability_map: Any, scores: Scores, *, novel: bool = False) -> Floats:
    """How likely each row is what is sought, from the map of scores to p(positive)."""
    positive: Floats = probability_map(scores)
    return 1 - positive if novel else positive


@dataclass(frozen=True, eq=False)
class RankedRows:
    """The best of `of` unlabeled rows by score, best first: how many to list, and what they hold.

    What is sought are positives, or `novel` rows; α and its interval are those of positives.
    """

    scores: Scores
    evidence: Evidence
    estimate: AlphaEstimate
    of: int
    novel: bool = False

    @cached_property
    def precision(self) -> ListPrecision:
        """For each k, how many of the k best rows are what is sought."""
        positive = list_precision(self.evidence, self.estimate, self.scores)
        return positive.of_others if self.novel else positive

    def as_asked(self, listing: Listing) -> Candidates:
        """By the precision the job was asked for; by number where no threshold reaches it."""
        if listing.min_precision is None:
            return self.first(listing.candidates)
        try:
            return self.down_to(listing.min_precision)
        except OutOfReach as error:
            instead = self.first(listing.candidates or self._usual_rows())
            return replace(instead, why=f"{error.message} Instead, {instead.why}")

    def first(self, n: int | None = None) -> Candidates:
        """The n best rows; without a number, as many as is usual."""
        rows = min(n or self._usual_rows(), self.scores.size)
        why = highest(rows)
        if n is None and rows <= FEWEST_ROWS:
            why += ", the fewest that are listed"
        elif n is None and rows < USUAL_ROWS:
            why += f", as many as can be {'novel' if self.novel else 'positive'}"
        return self.top(rows, why)

    def down_to(self, min_precision: float) -> Candidates:
        """All rows down to a precision whose LOW end is this."""
        low, scores = self.precision.low, self.scores
        wanted = check_fraction(min_precision, "min_precision")
        if self.estimate.interval is None:
            raise InputError("TB126", NO_INTERVAL)
        if self.estimate.has_no_signal:  # then probabilities are α for all rows, whatever α is
            low = np.zeros_like(low)
        is_last = np.append(scores[1:] != scores[:-1], True)  # of rows with the same score
        good = np.flatnonzero(is_last & (low >= wanted))
        if good.size == 0:
            raise out_of_reach(wanted, low)
        rows = int(good[-1]) + 1
        why = f"estimated precision at least {min_precision:g}, by the interval's low end"
        if rows == scores.size < self.of:
            why += "; more rows reach it, and only the first are listed"
        return self.top(rows, why)

    def top(self, n: int, why: str) -> Candidates:
        """What to expect of the n best rows, which are listed for this reason."""
        precision, last = self.precision, n - 1
        sought = self._share(self.estimate.alpha) * self.of
        recall = min(1.0, float(n * precision.value[last] / sought)) if sought else 0.0
        ends = (float(end[last]) for end in (precision.value, precision.low, precision.high))
        value, low, high = (None, None, None) if self.estimate.has_no_signal else ends
        return Candidates(
            rows=n, threshold=float(self.scores[last]), precision=value, precision_low=low,
            precision_high=high, recall=recall, why=why,
        )  # fmt: skip

    def _usual_rows(self) -> int:
        """As many rows as are sought at the high end of α; at least a few, at most 100."""
        if self.estimate.interval is not None:
            most = self._share(self.estimate.interval[0 if self.novel else 1])
        else:
            bound = None if self.novel else self.estimate.upper_bound
            most = bound or self._share(self.estimate.alpha)
        return min(USUAL_ROWS, max(FEWEST_ROWS, ceil(most * self.of)))

    def _share(self, alpha: float) -> float:
        """The share of what is sought among all unlabeled rows."""
        return 1 - alpha if self.novel else alpha


def highest(rows: int) -> str:
    """Why these rows are listed, if it is only for their rank."""
    return f"the {rows:,} highest probabilities" if rows > 1 else "the highest probability"


def ranked(frame: Any, numbers: Any, probability: Any, id: str | None) -> Any:
    """Rows as candidates.csv has them: rank, number, probability and id before the others."""
    if id in frame:
        frame = frame[[id, *(name for name in frame if name != id)]]
    return in_front(
        frame, {"rank": np.arange(1, len(frame) + 1), "row": numbers, "probability": probability}
    )
