"""What answers can say: limits for α, from random rows, strata, weighted draws or the top bin.

For one random sample the limits are those of Clopper & Pearson (Biometrika 1934). For strata the
same binomial tail is taken at the effective number of rows, with the strata's shares at their most
likely values under the limit itself and the heaviest row as the step: with one stratum it IS
Clopper & Pearson, and in simulations its coverage stayed at or above the nominal one.

Where every unlabeled row has a probability f, the answers need to show only where f is wrong:
α = mean f over all rows + mean (y − f) over the answered ones (prediction-powered inference,
Angelopoulos et al., Science 2023; with a factor λ on f, PPI++, 2023). `limits_of_mean` bounds such
a mean of bounded values as Gaffke (2005) does; for 0/1 values it IS Clopper & Pearson too. Where
rows of the rarer class were drawn more often, answers count by how often (`draw_weighted`), and the
risk is shared out between the ends by `share_of_upper`, before anybody has answered.

Above a cut that was fixed beforehand lie a share q_p of the known positives and q_u of the
unlabeled rows. If k of m random rows up there are positive, α = q_u·(k/m)/q_p. That measures what
the estimate assumes, namely that negatives thin out at the top. It requires the labeled
positives to be like the others, as the estimate does: biased labels cannot show here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import exp, hypot, inf, log, log1p
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from scipy.special import betainc

from topbin.core.binomial import exact_lower, exact_upper
from topbin.core.checks import Floats, Scores, check_fraction
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate, Interval
from topbin.evaluate.audit.draw import reach

# What an interval assumes, whatever the scores say.
NEEDS_RANDOM = "needs only random rows and right answers"
NEEDS_ALIKE = "if labeled positives are like the others"
HALVINGS = 60  # of at most 100 in the logarithm: far below the last digit of a share
FOLDS = 5  # of the answers, so that no answer chooses the λ of its own difference
TRUST = 10  # answers that the probabilities are worth before there are any: λ begins at 1
OF_A_KIND = 10  # with fewer positive or negative answers the limits are exact
DRAWS, SEED = 10_000, 0  # of random weights; the same ones each time
SPENT = 0.8  # of the risk that is left goes into each look at the result
# Of the known positives above the cut. On five real tables .9 covered more often than .5 and .7,
# with narrower intervals: q_p then hardly varies (bench/results/audit_coverage.md).
SHARE = 0.9
# Held-out scores of cross-fitting are not independent: similar rows train each other's models.
# Between known and hidden positives above a cut the sd was 0.94 to 1.26 of the binomial one over
# five tables and four scorers; 1.2 covers most of them. It is a variance 1.44 times as large, more
# than VARIANCE_FACTOR, which is right on average, because here one cut decides.
SD_FACTOR = 1.2


def risk_of_look(risk: float, look: int) -> float:
    """The risk that look 1, 2, … may use, so that all looks together use `risk` at most.

    >>> round(risk_of_look(0.05, 1), 4), round(risk_of_look(0.05, 2), 4)
    (0.04, 0.008)
    """
    return risk * SPENT * (1 - SPENT) ** (look - 1)


def share_of_upper(f_u: Floats | None) -> float:
    """How much of the risk the upper end gets in a weighted draw; half of it in a plain one.

    An end is about reach·log(1/risk)/n away, so the sum is least where risks are as the reaches:
    where positives are rare, the lower end is near 0 anyway. No answer has a say in it.

    >>> round(share_of_upper(np.full(9, 0.05)), 2), share_of_upper(None)
    (0.81, 0.5)
    """
    if f_u is None:
        return 0.5
    up, down = reach(float(f_u.mean()))
    return up / (up + down)


def fold_factors(y: Floats, z: Floats, z_u: Floats, w: Floats) -> Floats:
    """For each fold of answers, what the columns of z count in a guess of y, from the other folds.

    Every factor is between 0 and 1. Without answers the first column counts 1 and the others 0,
    which is worth as much as `TRUST` answers; with one column this is the λ of PPI++.

    >>> likely = np.full((100, 1), 0.3)
    >>> fold_factors(np.zeros(2), likely[:2], likely, np.ones(2)).ravel()    # it does not vary
    array([0., 0.])
    """
    trusted, folds = TRUST * z_u.var(0), np.arange(y.size) % FOLDS
    factors = np.zeros((min(FOLDS, y.size), z.shape[1]))
    for k in range(len(factors)):
        y_, z_, by = y[folds != k], z[folds != k], w[folds != k]
        joint = np.zeros(2 * [z.shape[1] + 1])
        if by.any():
            joint = y_.size * np.cov(y_, z_, rowvar=False, bias=True, aweights=by)
        start = np.eye(z.shape[1])[0] * trusted
        factors[k] = np.linalg.lstsq(joint[1:, 1:] + np.diag(trusted), joint[1:, 0] + start)[0]
    return factors.clip(0, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """A guess of y for every unlabeled row: its mean, and those of the audited rows.

    With w for what an answer counts, w(y − guess) + the mean of all guesses has α as its mean, and
    lies between `limits`.
    """

    mean: float
    audited: Floats
    limits: Interval

    @classmethod
    def of(cls, z_u: Floats, factors: Floats, w_u: Floats, rows: Any) -> "Guess":
        """The guess with these factors."""
        guess = np.minimum(1, z_u @ factors)
        mean = float(guess.mean())
        limits = mean - float((w_u * guess).max()), mean + float((w_u * (1 - guess)).max())
        return cls(mean, guess[rows], limits)


def without_replacement(share: float) -> float:
    """What is left of a limit's distance if this share of all rows was drawn, none of them twice.

    Where no row of n was positive, (1 − share)ᴹ is the chance to miss M positives, and for many
    rows the limit is then −share/log(1 − share) of the one for independent rows. Where answers
    vary, √(1 − share) would be left, which is never more.

    >>> without_replacement(0.0), round(without_replacement(0.5), 2), without_replacement(1.0)
    (1.0, 0.72, 0.0)
    """
    if not 0 < share < 1:
        return float(share <= 0)
    return -share / log1p(-share)


def limits_of_mean(
    least: Floats, most: Floats, ends: Interval, *, weight: float = 1.0
) -> Callable[[float], Interval]:
    """Limits for the mean of values inside `ends`, as a function of the risk at each side.

    The answers get random weights that sum to 1 (Dirichlet), and so does a point at the end of the
    range: the limit is a quantile of the weighted mean. `least` and `most` are the values with open
    answers counted against each side. A `weight` of ½ for the end is enough, and sharper, where
    there are answers of both kinds.

    >>> low, high = limits_of_mean(np.zeros(59), np.zeros(59), (0.0, 1.0))(0.05)
    >>> low, round(high, 2)                                     # "none in 59": at most 5 %
    (0.0, 0.05)
    """
    of_end = np.random.default_rng(SEED).gamma(weight, size=DRAWS)
    lower = _weighted_sums(least)
    upper = lower if np.array_equal(least, most) else _weighted_sums(most)

    def limits(risk: float) -> Interval:
        sides = (lower, ends[0], risk), (upper, ends[1], 1 - risk)
        low, high = (
            np.quantile((values + of_end * end) / (weights + of_end), level)
            for (values, weights), end, level in sides
        )
        return float(low), float(high)

    return limits


def _weighted_sums(values: Floats) -> tuple[Floats, Floats]:
    """Sums of the values under random weights, and of the weights."""
    if values.size <= 500:
        weights, sums = _exponential(values.size)
        return weights @ values, sums
    random = np.random.default_rng(SEED + 1)
    # Rows that differ by less than anybody reads share a weight.
    kinds, counts = np.unique(np.round(400 * values) / 400, return_counts=True)
    total = np.zeros((2, DRAWS))
    for part in np.array_split(np.arange(kinds.size), kinds.size // 500 + 1):
        weights = random.gamma(counts[part], size=(DRAWS, part.size))
        total += weights @ kinds[part], weights.sum(1)
    return total[0], total[1]


@lru_cache(maxsize=1)  # the next audit, or the other side, often has as many rows
def _exponential(n: int) -> tuple[Floats, Floats]:
    """Random weights of n rows, and their sums."""
    weights = np.random.default_rng(SEED + 1).standard_exponential((DRAWS, n))
    return weights, weights.sum(1)


def upper_limit(positives: Any, drawn: Any, shares: Any, risk: float) -> Any:
    """The largest α under which so few positives have a probability of about `risk`.

    `positives`, `drawn` and `shares` (which sum to 1) have one entry per stratum; `positives` may
    have leading axes, one limit each.

    >>> round(float(upper_limit([0], [59], [1.0], 0.05)), 3)    # "none in 59": at most 5 %
    0.05
    """
    x, n, share = (np.asarray(part, np.float64) for part in (positives, drawn, shares))
    if share.size == 1:
        return exact_upper(x[..., 0], n[0], risk)
    seen = (x / n) @ share
    # exp(step) times a stratum's weight pulls its share up: as step rises, α rises from seen to 1.
    low = np.full(seen.shape, -30.0)
    high = np.full(seen.shape, 40 + float(np.log(n.max() / share.min())))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        likely = _probability_of_so_few(x, n, share, _pulled(x, n, share, middle)) > risk
        low, high = np.where(likely, middle, low), np.where(likely, high, middle)
    return np.where(seen >= 1, 1.0, np.minimum(1.0, _pulled(x, n, share, high) @ share))


def lower_limit(positives: Any, drawn: Any, shares: Any, risk: float) -> Any:
    """The smallest α under which so many positives have a probability of about `risk`."""
    negatives = np.asarray(drawn) - np.asarray(positives)
    return 1 - upper_limit(negatives, drawn, shares, risk)


def _pulled(x: Floats, n: Floats, share: Floats, step: Floats) -> Floats:
    """The most likely share of each stratum when α is pulled up by a Lagrange multiplier.

    The root in [0, 1] of pull·p² + (n − pull)·p − x = 0, in the form that loses no digits.
    """
    pull = np.exp(step)[..., None] * share
    b = n - pull
    root = np.sqrt(b * b + 4 * pull * x)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(b > 0, 2 * x / (b + root), (root - b) / (2 * pull))


def _probability_of_so_few(x: Floats, n: Floats, share: Floats, p: Floats) -> Floats:
    """P(the weighted share of positives ≤ the one seen), by the binomial of as many plain rows."""
    alpha, seen, heaviest = p @ share, (x / n) @ share, (share / n).max()
    variance = np.maximum((p * (1 - p)) @ (share**2 / n), 1e-300)
    rows = np.minimum(alpha * (1 - alpha) / variance, 1e9)
    hits = seen * rows + np.maximum(1, heaviest * rows)
    misses = rows - hits + 1
    return np.where(misses > 0, betainc(np.maximum(misses, 1e-9), hits, 1 - alpha), 1.0)


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
        top = cls.above(cut, scores_p, scores_u)
        if not top.above_u:
            raise InputError(
                "TB117", "no unlabeled row is in the top bin, so none can be drawn from it."
            )
        return top

    @classmethod
    def above(cls, cut: float, scores_p: Scores, scores_u: Scores) -> "TopBin":
        """The rows of both kinds at and above a cut."""
        above_u, above_p = (int(np.count_nonzero(s >= cut)) for s in (scores_u, scores_p))
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

    def limits(self, positive: float, drawn: int, risk: float, *, open_rows: int = 0) -> Interval:
        """Limits with `risk` at each end; rows without an answer count against each.

        Exact binomial limits of the three shares, their relative distances squared and added
        (Zou & Donner, Statistics in Medicine 2008). The known positives count as fewer rows than
        they are, by `SD_FACTOR`.

        >>> low, high = TopBin(3.0, 500, 1000, 140, 200).limits(40, 50, 0.025)
        >>> round(low, 2), round(high, 2)
        (0.46, 0.69)
        """
        few, many = positive, positive + open_rows
        low, high = exact_lower(few, drawn, risk), exact_upper(many, drawn, risk)
        few, many = few / drawn, many / drawn
        down, up = self._distances(risk)
        down = hypot(down, log(few / low)) if low > 0 else inf
        up = hypot(up, log(high / many)) if many else up
        lower, upper = self.alpha(few, 1) * exp(-down), self.alpha(many or high, 1) * exp(up)
        return float(lower), float(min(1.0, upper))

    def _distances(self, risk: float) -> Interval:
        """How far q_u/q_p may be off downward and upward, in logarithms."""
        above_p, n_p = (n * self.worth_p / SD_FACTOR**2 for n in (self.above_p, self.n_p))
        down_p, up_p = _relative_distances(above_p, n_p, risk)
        above_u, n_u = self.above_u * self.worth_u, self.n_u * self.worth_u
        down_u, up_u = _relative_distances(above_u, n_u, risk)
        return hypot(down_u, up_p), hypot(up_u, down_p)


def _relative_distances(hits: float, n: float, risk: float) -> Interval:
    """How far a share of rows may be off downward and upward, in logarithms."""
    low, high = float(exact_lower(hits, n, risk)), float(exact_upper(hits, n, risk))
    return log(hits / n / low), log(high / (hits / n))


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
    risk: float | None = None,
    goal: float | None = None,
) -> RecallBound:
    """A lower bound for recall from (positive, drawn) on each side; open rows are in the counts.

    Positives above are at least so many, positives below at most so many, each at half the risk.

    Parameters
    ----------
    at
        The threshold, and how many rows are above it.
    above, below
        How many are positive, and how many were drawn, on each side.
    confidence
        The level of the bound.
    risk
        What a look may use, if not 1 − confidence.
    goal
        A recall that is asked for.

    Returns
    -------
    RecallBound
        The least recall, and how many more rows would show the goal.

    Examples
    --------
    >>> at = TopBin(0.5, 200, 1000, 90, 100)
    >>> print(recall_bound(at, (45, 50), (0, 100), confidence=0.95, goal=0.8))
    With 95 % confidence at least 84 % of the positives are among the 200 rows above the threshold.
    That reaches the 80 % that you asked for, so you can stop.
    """
    risk = (1 - confidence if risk is None else risk) / 2
    rest = at.n_u - at.above_u
    above_least = at.above_u * float(exact_lower(*above, risk))
    below_most = rest * float(exact_upper(*below, risk)) if rest else 0.0
    least = above_least / (above_least + below_most) if above_least else 0.0
    words = (
        f"With {100 * confidence:g} % confidence at least {100 * least:.0f} % of the positives are "
        f"among the {at.above_u:,} rows above the threshold."
    )
    more = None
    if goal is not None and least >= goal:
        more = 0
        words += f" That reaches the {100 * goal:g} % that you asked for, so you can stop."
    elif goal is not None:
        enough = above_least * (1 - goal) / goal / max(1, rest)
        sizes = below[1] + np.arange(1, rest - below[1] + 1)
        wide = np.flatnonzero(exact_upper(below[0], sizes, risk) <= enough)
        more = int(wide[0]) + 1 if wide.size else None
        need = "More answers above the threshold are needed first, or a lower threshold."
        if more is not None:
            need = f"About {more:,} more rows below it, none of them positive, would show that."
        words = f"{words} The wanted recall is {100 * goal:g} %. {need}"
    return RecallBound(at.cut, at.above_u, least, confidence, goal, more, words)
