"""What n audited rows can say: exact limits for α, the power to reject an error, how many to take.

For one random sample the limits are those of Clopper & Pearson (Biometrika 1934). For strata the
same binomial tail is taken at the effective number of rows, with the strata's shares at their most
likely values under the limit itself and the heaviest row as the step: with one stratum it IS
Clopper & Pearson, and in simulations its coverage stayed at or above the nominal one.

Where every unlabeled row has a probability f, the answers need to show only where f is wrong:
α = mean f over all rows + mean (y − f) over the answered ones (prediction-powered inference,
Angelopoulos et al., Science 2023; with a factor λ on f, PPI++, 2023). `limits_of_mean` bounds such
a mean of bounded values as Gaffke (2005) does; for 0/1 values it IS Clopper & Pearson too. Where
rows of the rarer class were drawn more often, answers count by how often (`draw_weighted`), and the
doubt is shared out between the ends by `share_of_upper`, before anybody has answered.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import binom, norm

from topbin.core import AlphaEstimate, InputError
from topbin.core.binomial import exact_upper
from topbin.core.checks import check_count, check_fraction, is_number
from topbin.core.defaults import CONFIDENCE
from topbin.evaluate.audit.draw import reach
from topbin.evaluate.measure import Floats, Interval, read_alpha

HALVINGS = 60
FOLDS = 5  # of the answers, so that no answer chooses the λ of its own difference
TRUST = 10  # answers that the probabilities are worth before there are any: λ begins at 1
OF_A_KIND = 10  # with fewer positive or negative answers the limits are exact
DRAWS, SEED = 10_000, 0  # of random weights; the same ones each time
SPENT = 0.8  # of the doubt that is left goes into each look at the result
MOST_ROWS = 1_000_000
ENOUGH_POWER = 0.8  # of a plan, and of the verdict "agrees"


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """How many rows to audit, and what that buys."""

    n: int
    power: float
    claim: float
    truth: float
    confidence: float

    def __str__(self) -> str:
        return (
            f"{self.n:,} random rows reject α = {self.claim:.3f} at {100 * self.confidence:g} % "
            f"confidence in {100 * self.power:.0f} % of audits if the truth is {self.truth:.3f}."
        )


def plan(
    alpha_hat: AlphaEstimate | float,
    error: float,
    *,
    power: float = ENOUGH_POWER,
    confidence: float = CONFIDENCE,
) -> AuditPlan:
    """How many random rows reject α̂ with this power when the truth is α̂ + error.

    The error has a sign. An estimate with an interval is held to its nearer end. Exact power rises
    in a sawtooth; the answer is the number from which on it stays above `power`.

    >>> print(plan(0.08, 0.17))
    35 random rows reject α = 0.080 at 95 % confidence in 81 % of audits if the truth is 0.250.
    """
    wanted = check_fraction(power, "power")
    doubt = 1 - check_fraction(confidence, "confidence")
    claim, truth = _claim_and_truth(alpha_hat, error, confidence)
    spread = [(p * (1 - p)) ** 0.5 for p in (claim, truth)]
    near = ((norm.isf(doubt) * spread[0] + norm.ppf(wanted) * spread[1]) / error) ** 2
    if near > MOST_ROWS:
        raise InputError(
            "TB008",
            f"an error of {error:g} would take about {near:,.0f} audited rows to reject; ask for "
            "a larger error.",
        )
    # A tooth of the saw is about √n/(p(1 − p)) rows long; small plans are searched from 1 row.
    reach = min(1.0, 8 / (1e-9 + min(spread) * near**0.5))
    ns = np.arange(max(1, int((1 - reach) * near - 100)), int((1 + reach) * near + 300))
    reached = _power(ns, claim, truth, doubt)
    first = int(np.flatnonzero(np.append(True, reached < wanted))[-1])
    return AuditPlan(int(ns[first]), float(reached[first]), claim, truth, confidence)


def power(
    n: int, alpha_hat: AlphaEstimate | float, error: float, *, confidence: float = CONFIDENCE
) -> float:
    """How often an audit of n random rows rejects α̂ when the truth is α̂ + error.

    >>> round(power(50, 0.08, 0.17), 3)       # 50 rows find out that .08 should have been .25
    0.955
    """
    check_count(n, "n")
    doubt = 1 - check_fraction(confidence, "confidence")
    claim, truth = _claim_and_truth(alpha_hat, error, confidence)
    return float(_power(np.array([n]), claim, truth, doubt)[0])


def _power(n: NDArray[np.int64], claim: float, truth: float, doubt: float) -> Floats:
    """P(X rejects claim | truth), X binomial, on the one side where the truth lies."""
    if truth < claim:
        claim, truth = 1 - claim, 1 - truth
    largest_accepted = binom.isf(doubt, n, claim)
    return np.asarray(binom.sf(largest_accepted, n, truth), np.float64)


def claimed(alpha_hat: AlphaEstimate | float, confidence: float) -> Interval:
    """The range that an estimate claims, including its point.

    >>> claimed(0.3, 0.95)
    (0.3, 0.3)
    """
    value, (low, high), _ = read_alpha(alpha_hat, confidence)
    return min(value, low), max(value, high)


def _claim_and_truth(
    alpha_hat: AlphaEstimate | float, error: float, confidence: float
) -> tuple[float, float]:
    low, high = claimed(alpha_hat, confidence)
    if not is_number(error) or error == 0:
        raise InputError("TB008", f"error must be a finite number other than 0; got {error!r}.")
    claim = high if error > 0 else low
    truth = claim + float(error)
    if not -1e-12 <= truth <= 1 + 1e-12:
        raise InputError(
            "TB008",
            f"an error of {error:g} from {claim:.3f} would put the truth at {truth:.3f}, outside "
            "[0, 1].",
        )
    return claim, min(1.0, max(0.0, truth))


def doubt_of_look(doubt: float, look: int) -> float:
    """The doubt that look 1, 2, … may use, so that all looks together use `doubt` at most.

    >>> round(doubt_of_look(0.05, 1), 4), round(doubt_of_look(0.05, 2), 4)
    (0.04, 0.008)
    """
    return doubt * SPENT * (1 - SPENT) ** (look - 1)


def share_of_upper(f_u: Floats | None) -> float:
    """How much of the doubt the upper end gets in a weighted draw; half of it in a plain one.

    An end is about reach·log(1/doubt)/n away, so the sum is least where doubts are as the reaches:
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
    found = np.zeros((min(FOLDS, y.size), z.shape[1]))
    for k in range(len(found)):
        y_, z_, by = y[folds != k], z[folds != k], w[folds != k]
        joint = np.zeros(2 * [z.shape[1] + 1])
        if by.any():
            joint = y_.size * np.cov(y_, z_, rowvar=False, bias=True, aweights=by)
        start = np.eye(z.shape[1])[0] * trusted
        found[k] = np.linalg.lstsq(joint[1:, 1:] + np.diag(trusted), joint[1:, 0] + start)[0]
    return found.clip(0, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """A guess of y for every unlabeled row: its mean, and those of the audited rows.

    With w for what an answer counts, w(y − guess) + the mean of all guesses has α as its mean, and
    lies between `ends`.
    """

    mean: float
    audited: Floats
    ends: Interval

    @classmethod
    def of(cls, z_u: Floats, factors: Floats, w_u: Floats, rows: Any) -> "Guess":
        """The guess with these factors."""
        guess = np.minimum(1, z_u @ factors)
        mean = float(guess.mean())
        ends = mean - float((w_u * guess).max()), mean + float((w_u * (1 - guess)).max())
        return cls(mean, guess[rows], ends)


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
    """Limits for the mean of values inside `ends`, as a function of the doubt at each side.

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

    def limits(doubt: float) -> Interval:
        sides = (lower, ends[0], doubt), (upper, ends[1], 1 - doubt)
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


def upper_limit(positives: Any, drawn: Any, shares: Any, doubt: float) -> Any:
    """The largest α under which so few positives have a probability of about `doubt`.

    `positives`, `drawn` and `shares` (which sum to 1) have one entry per stratum; `positives` may
    have leading axes, one limit each.

    >>> round(float(upper_limit([0], [59], [1.0], 0.05)), 3)    # "none in 59": at most 5 %
    0.05
    """
    x, n, share = (np.asarray(part, np.float64) for part in (positives, drawn, shares))
    if share.size == 1:
        return exact_upper(x[..., 0], n[0], doubt)
    seen = (x / n) @ share
    # exp(step) times a stratum's weight pulls its share up: as step rises, α rises from seen to 1.
    low = np.full(seen.shape, -30.0)
    high = np.full(seen.shape, 40 + float(np.log(n.max() / share.min())))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        likely = _probability_of_so_few(x, n, share, _pulled(x, n, share, middle)) > doubt
        low, high = np.where(likely, middle, low), np.where(likely, high, middle)
    return np.where(seen >= 1, 1.0, np.minimum(1.0, _pulled(x, n, share, high) @ share))


def lower_limit(positives: Any, drawn: Any, shares: Any, doubt: float) -> Any:
    """The smallest α under which so many positives have a probability of about `doubt`."""
    negatives = np.asarray(drawn) - np.asarray(positives)
    return 1 - upper_limit(negatives, drawn, shares, doubt)


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
