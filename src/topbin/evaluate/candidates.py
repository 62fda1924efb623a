"""What to expect of the best unlabeled rows: one precision, made of the probabilities shown.

The precision of the k best rows is the mean of their own probabilities. Its ends square and add
three distances (Zou & Donner, Statistics in Medicine 2008): to the same mean with α at the end of
its interval; to the limit of a share of k rows; and to what follows from the limit of the share of
the known positives that score as high (Clopper & Pearson 1934).
"""

from dataclasses import dataclass

import numpy as np

from topbin.core.binomial import share_below
from topbin.core.checks import Floats, Scores
from topbin.core.estimate import RANGE_ONLY, AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.formatting import percent
from topbin.core.options import CONFIDENCE
from topbin.evaluate.measure import Share
from topbin.learn.probabilities import RatioMap, posterior_of

UNKNOWN = "their precision cannot be estimated from the scores that gave α"


@dataclass(frozen=True, slots=True, eq=False)
class ListPrecision:
    """For each k the precision of the k best rows, with both ends of its interval."""

    value: Floats
    low: Floats
    high: Floats

    @property
    def of_others(self) -> "ListPrecision":
        """How many of the same rows are not positive."""
        return ListPrecision(1 - self.value, 1 - self.high, 1 - self.low)


def precision_of_best(
    likely: Floats,
    likely_at: tuple[Floats, Floats],
    known_above: Share,
    confidence: float,
    *,
    worth: float = 1.0,
) -> ListPrecision:
    """How many of the k best rows are positive, for each k.

    `likely` are the rows' probabilities, best first, and `likely_at` those with α at either end of
    its interval. `known_above` is the share of the known positives that score as high as each row.
    Rows in groups count as `worth` independent rows each.

    >>> likely, known = np.repeat([1.0, 0.5], 100), Share(np.full(200, 1.0), 10_000)
    >>> found = precision_of_best(likely, (likely, likely), known, 0.95)      # α is known
    >>> found.value[[99, 199]].tolist(), found.low[[99, 199]].round(2).tolist()
    ([1.0, 0.75], [0.96, 0.68])
    """
    n = np.arange(1, likely.size + 1)
    value, *ends = (np.cumsum(each) / n for each in (likely, *likely_at))
    share = np.maximum(known_above.value, 1 / known_above.n)
    relative = [limit / share for limit in Share(share, known_above.n).limits(confidence)]
    parts = zip(Share(value, n * worth).limits(confidence), ends, relative, strict=True)
    low, high = (
        value + sign * np.sqrt(sum(np.maximum(0.0, sign * (end - value)) ** 2 for end in three))
        for sign, three in zip((-1, 1), ([a, b, c * value] for a, b, c in parts), strict=True)
    )
    return ListPrecision(value, np.maximum(0.0, low), np.minimum(1.0, high))


def list_precision(evidence: Evidence, estimate: AlphaEstimate, ranked: Scores) -> ListPrecision:
    """The precision of the k best rows for each k, from their scores, best first.

    Parameters
    ----------
    evidence
        The scores that α was read from.
    estimate
        α, and what is known of it.
    ranked
        The scores of the listed rows, best first.

    Returns
    -------
    ListPrecision
        For each k the precision of the k best rows, with its interval.

    Examples
    --------
    >>> evidence = Evidence.of(np.repeat([1.0, 0.0], [90, 10]), np.repeat([1.0, 0.0], 100))
    >>> half = AlphaEstimate(alpha=0.5, n_p=100, n_u=200, method="known")
    >>> list_precision(evidence, half, np.repeat([1.0, 0.0], 100)).value[[99, 199]].round(2)
    array([0.9, 0.5])
    """
    ratio = RatioMap.of(*evidence.scores, evidence.weight_p)
    low, high = (
        np.interp(ranked, ratio.knots, ratio.values_at(end))
        for end in estimate.interval or (estimate.alpha, estimate.alpha)
    )
    likely = ratio.probabilities(posterior_of(estimate), estimate.alpha)(ranked)
    above = 1 - share_below(ranked, np.sort(evidence.scores[0]))
    known = Share(above, max(1.0, evidence.effective[0]))
    worth = 1.0 if estimate.worth is None else estimate.worth[1] / estimate.n_u
    level = estimate.confidence or CONFIDENCE
    return precision_of_best(likely, (low, high), known, level, worth=worth)


def what_to_expect(
    estimate: AlphaEstimate,
    precision: float | None,
    low: float | None,
    high: float | None,
    what: str = "positive",
) -> str:
    """How many of some rows are positive, in words, from their precision and its interval.

    If there are too few known positives for a single α, only the range is told.

    >>> found = AlphaEstimate(alpha=0.225, interval=(0.16, 0.33), n_p=200, n_u=900, method="bbe")
    >>> what_to_expect(found, 0.83, 0.63, 0.96)
    'about 83 % positive (63 % to 96 %)'
    """
    if precision is None:
        return UNKNOWN
    about = f"about {percent_of(precision)} % {what}"
    if estimate.interval is None or low is None or high is None:
        return about
    ends = f"{percent_of(low)} %", f"{percent_of(high)} %"
    if estimate.worth_p < RANGE_ONLY:
        return f"between {' and '.join(ends)} {what}"
    return f"{about} ({' to '.join(ends)})"


def percent_of(share: float) -> str:
    """A share as people say it: whole percents, and more digits only below one.

    >>> percent_of(0.834), percent_of(0.0042)
    ('83', '0.42')
    """
    return f"{100 * share:.0f}" if share >= 0.01 or share == 0 else percent(share)
