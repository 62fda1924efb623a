"""How wrong can "labeled at random" be before a conclusion about α falls?

Let w be the density of hidden positives over that of labeled ones, and Γ ≥ max w / min w. In one
table w ∝ (1 − e)/e, with e the chance of a positive to be labeled, so Γ bounds the odds ratio of
being labeled between any two positives; a sensitivity parameter in the manner of Rosenbaum
(Observational Studies, 2002). The interval for each Γ is that of `topbin.mpe.alpha_posterior`,
which has the formulas; Γ = 1 gives the interval of the estimate to the bit, and a larger Γ contains
the interval of a smaller one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, exp, floor, log
from typing import Any, Literal

import numpy as np

from topbin.core import AlphaEstimate, Evidence
from topbin.core.checks import Floats, as_numbers, check_fraction
from topbin.core.estimate import INTERVAL_ASSUMES, Interval, Share
from topbin.core.formatting import figure, percent
from topbin.core.options import CONFIDENCE, Labeling
from topbin.evaluate.measure import Finding, read_source
from topbin.mpe.bound import check_gamma, upper_bound
from topbin.mpe.estimate import estimate_alpha
from topbin.mpe.overlap import alpha_posterior

GAMMAS = (1.5, 2.0, 3.0)
# The Γ at which the interval is read; no larger one is tried.
LADDER = (1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0,
          50.0, 70.0, 100.0)  # fmt: skip
MOST = LADDER[-1]
MEANS = (
    "Γ = 2 means that the odds of being labeled may be twice as high for some positives as for "
    "others; Γ = 1, that positives are labeled at random"
)
Kind = Literal["at most", "at least"]


@dataclass(frozen=True, slots=True)
class GammaInterval:
    """Interval and bound of α if labeling is selective by a factor `gamma` at most.

    As for an estimate, the bound holds for any overlap of the classes; None if it has none.
    """

    gamma: float
    interval: Interval
    upper_bound: Share | None = None


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Something that a user wants to conclude, and how much selection it bears.

    `holds` says whether it follows at Γ = 1, and `tipping` is the largest Γ at which it does; None
    if it does not at Γ = 1, or still does at Γ = 100.
    """

    kind: Kind
    alpha: float
    holds: bool
    tipping: float | None
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The smallest Γ at which the estimate's interval meets the audit's; None if none up to 100."""

    gamma: float | None
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class Sensitivity(Finding):
    """The interval of α for each Γ, Γ = 1 first, and the conclusions that were asked about.

    `assumes` says what the intervals assume besides Γ.
    """

    intervals: tuple[GammaInterval, ...]
    confidence: float
    assumes: str
    conclusions: tuple[Conclusion, ...] = ()

    def __str__(self) -> str:
        return "\n".join([*self.lines(), f"                {MEANS}"])

    def lines(self) -> list[str]:
        """The lines of a summary."""
        ends = (
            f"Γ = {one.gamma:g}: {figure(one.interval[0])} to {figure(one.interval[1])}"
            for one in self.intervals
        )
        lines = [f"if selective    {'; '.join(ends)}"]
        return lines + [f"tipping point   {one.sentence}" for one in self.conclusions]


def sensitivity(
    scores_p: Any,
    scores_u: Any = None,
    *,
    gamma: Any = GAMMAS,
    at_most: float | None = None,
    at_least: float | None = None,
    confidence: float | None = None,
) -> Sensitivity:
    """How the interval of α widens if positives are not labeled at random, and what still follows.

    Parameters
    ----------
    scores_p, scores_u
        A `Result`, a fitted classifier, an `Evidence` or `Tails`; or scores, beside `scores_u`.
    gamma
        One or more numbers ≥ 1.
    at_most, at_least
        Shares: a conclusion about α each. The answer says up to which Γ it holds.
    confidence
        None: that of the estimate, if there is one.

    Returns
    -------
    Sensitivity
        Interval and bound for each Γ, and up to which Γ each conclusion holds.

    Examples
    --------
    >>> import numpy as np
    >>> scores_p, scores_u = np.linspace(2, 3, 1000), np.linspace(1, 3, 2000)    # half score alike
    >>> found = sensitivity(scores_p, scores_u, at_most=0.6)
    >>> found.conclusions[0].holds, found.conclusions[0].tipping > 1
    (True, True)
    """
    gammas, (evidence, estimate) = check_gammas(gamma), read_source(scores_p, scores_u)
    if confidence is None:
        confidence = (estimate and estimate.confidence) or CONFIDENCE
    check_fraction(confidence, "confidence")
    named: dict[Kind, Any] = {"at most": at_most, "at least": at_least}
    wanted = {
        kind: check_fraction(value, kind.replace(" ", "_"), low_open=False, high_open=False)
        for kind, value in named.items()
        if value is not None
    }
    at_random = _at_random(evidence, estimate, confidence)
    reader = _Reader.of(evidence, at_random, confidence, gammas)
    bounds = _bounds(evidence, at_random.upper_bound, confidence, gammas)
    intervals = tuple(map(GammaInterval, gammas, map(reader.at, gammas), bounds))
    assumes = INTERVAL_ASSUMES if estimate is None else estimate.interval_assumes
    conclusions = tuple(_conclude(reader, *claim, assumes) for claim in wanted.items())
    return Sensitivity(intervals, confidence, assumes, conclusions)


def asked_sensitivity(
    source: Any, labeling: Labeling, confidence: float | None = None
) -> Sensitivity | None:
    """What `sensitivity` says, if these options ask for it."""
    if not labeling.asks_gamma:
        return None
    return sensitivity(
        source, gamma=labeling.gamma or GAMMAS, at_most=labeling.at_most,
        at_least=labeling.at_least, confidence=confidence,
    )  # fmt: skip


def check_gammas(gamma: Any) -> tuple[float, ...]:
    """All Γ from 1 on, ascending; from one number, several, or text with commas.

    >>> check_gammas("3, 1.5"), check_gammas(2)
    ((1.0, 1.5, 3.0), (1.0, 2.0))
    """
    return tuple(sorted({1.0, *map(check_gamma, as_numbers(gamma))}))


def reconcile(source: Any, audited: Interval) -> Reconciled | None:
    """The smallest Γ that reconciles a random audit's interval with an estimate; None if Γ = 1.

    `source` is what `sensitivity` reads. Selective labels are one explanation; if α by the audit is
    lower, negatives among the top scores are another.

    >>> import numpy as np
    >>> about_half = Evidence.of(np.linspace(2, 3, 1000), np.linspace(1, 3, 2000))
    >>> reconcile(about_half, (0.6, 0.7)).gamma > 1.1
    True
    """
    evidence, estimate = read_source(source)
    level = (estimate and estimate.confidence) or CONFIDENCE
    reader = _Reader.of(evidence, _at_random(evidence, estimate, level), level)
    low, high = reader.at(1.0)
    if low <= audited[1] and audited[0] <= high:
        return None
    is_higher = audited[0] > high
    kind: Kind = "at most" if is_higher else "at least"
    missed = np.nextafter(audited[0], 0) if is_higher else np.nextafter(audited[1], 1)
    least = reader.last_inside(kind, float(missed))
    if least is None:
        sentence = f"No selection up to Γ = {MOST:g} reconciles the estimate with the audit."
        return Reconciled(None, sentence)
    least = ceil(100 * least) / 100
    other = "" if is_higher else ", or negatives score among the top positives"
    sentence = f"The estimate and the audit agree if Γ is at least {least:.2f}{other}."
    return Reconciled(least, sentence)


def _at_random(
    evidence: Evidence, estimate: AlphaEstimate | None, confidence: float
) -> AlphaEstimate:
    """What holds if labels are random: the estimate, if it has an interval at this confidence."""
    if estimate is None or estimate.confidence != confidence or estimate.interval is None:
        return estimate_alpha(evidence, confidence=confidence)
    return estimate


def _bounds(
    evidence: Evidence, at_random: float | None, confidence: float, gammas: Sequence[float]
) -> list[float | None]:
    """The bound at each Γ; never below that at a smaller one, whatever the simulations say."""
    if at_random is None:
        return [None] * len(gammas)
    wider = (upper_bound(evidence.independent, confidence, gamma=one) for one in gammas[1:])
    return [*accumulate(wider, max, initial=at_random)]


@dataclass(frozen=True, slots=True, eq=False)
class _Reader:
    """The interval at any Γ; that of a larger Γ contains that of a smaller one.

    It is read at these Γ, and is linear in log Γ between them.
    """

    gammas: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        at_random: AlphaEstimate,
        confidence: float,
        gammas: Sequence[float] = (),
    ) -> "_Reader":
        """Γ = 1 is the interval of the estimate."""
        # What else is asked for must not change the interval at a Γ.
        read, rows = (*LADDER, *(one for one in gammas if one > MOST)), evidence.effective
        wider = (alpha_posterior(evidence.tails, effective=rows, gamma=one) for one in read[1:])
        ends: Any = [at_random.interval, *(one.interval(confidence) for one in wider)]
        low, high = np.transpose(ends)
        return cls(np.array(read), np.minimum.accumulate(low), np.maximum.accumulate(high))

    def at(self, gamma: float) -> Interval:
        """Both ends at this Γ, which is at most the largest that was read."""
        place, places = log(gamma), np.log(self.gammas)
        low, high = (float(np.interp(place, places, end)) for end in (self.low, self.high))
        return low, high

    def last_inside(self, kind: Kind, alpha: float) -> float | None:
        """The largest Γ at which "at most α", or "at least α", holds; None if at all."""
        end, wanted = (self.high, alpha) if kind == "at most" else (-self.low, -alpha)
        if end[-1] <= wanted:
            return None
        gamma = exp(np.interp(wanted, end, np.log(self.gammas)))
        return None if gamma > MOST else gamma


def _conclude(reader: _Reader, kind: Kind, alpha: float, assumes: str) -> Conclusion:
    """Up to which Γ a conclusion holds."""
    share, (low, high) = percent(alpha), reader.at(1.0)
    claim = f"{kind.capitalize()} {share} % of the unlabeled rows are positive, {assumes}"
    if high > alpha if kind == "at most" else low < alpha:
        end = f"begins at {percent(low)}" if kind == "at least" else f"reaches {percent(high)}"
        sentence = f'"{kind} {share} %" does not follow even if labels are random (Γ = 1): the '
        return Conclusion(kind, alpha, False, None, f"{sentence}interval {end} %.")
    last = reader.last_inside(kind, alpha)
    if last is None:
        sentence = f"{claim}, up to Γ = {MOST:g}, the largest that was tried."
        return Conclusion(kind, alpha, True, None, sentence)
    tipping = max(1.0, floor(100 * last) / 100)
    sentence = f"{claim}; this holds as long as Γ ≤ {tipping:.2f}."
    return Conclusion(kind, alpha, True, tipping, sentence)
