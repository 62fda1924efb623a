"""How wrong can "labeled at random" be before a conclusion about α falls?

Let w be the density of hidden positives over that of labeled ones, and Γ ≥ max w / min w. In one
table w ∝ (1 − e)/e, with e the chance of a positive to be labeled, so Γ bounds the odds ratio of
being labeled between any two positives; a sensitivity parameter in the manner of Rosenbaum
(Observational Studies, 2002). The interval for each Γ is that of `topbin.mpe.alpha_posterior`,
which has the formulas; Γ = 1 gives the interval of the estimate to the bit, and a larger Γ contains
the interval of a smaller one.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import ceil, floor, log, sqrt
from typing import Any, Literal

import numpy as np

from topbin.core import AlphaEstimate, Evidence
from topbin.core.checks import Floats, as_numbers, check_fraction
from topbin.core.estimate import INTERVAL_ASSUMES, Interval
from topbin.core.formatting import figure, percent
from topbin.core.options import CONFIDENCE, Labeling
from topbin.evaluate.measure import read_source
from topbin.mpe.bound import check_gamma
from topbin.mpe.estimate import estimate_alpha
from topbin.mpe.overlap import alpha_posterior

GAMMAS = (1.5, 2.0, 3.0)
# The Γ at which the interval is read; no larger one is tried.
LADDER = (1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0,
          50.0, 70.0, 100.0)  # fmt: skip
MOST = LADDER[-1]
FINE = 1.005  # the ratio of two Γ that count as the same
MEANS = (
    "Γ = 2 means that the odds of being labeled may be twice as high for some positives as for "
    "others; Γ = 1, that positives are labeled at random"
)
Kind = Literal["at most", "at least"]


@dataclass(frozen=True, slots=True)
class GammaInterval:
    """The interval of α if labeling is selective by a factor `gamma` at most."""

    gamma: float
    interval: Interval


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
class Sensitivity:
    """The interval of α for each Γ, Γ = 1 first, and the conclusions that were asked about.

    `assumes` says what the intervals assume besides Γ.
    """

    intervals: tuple[GammaInterval, ...]
    confidence: float
    assumes: str
    conclusions: tuple[Conclusion, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(self)

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
        An interval for each Γ, and up to which Γ each conclusion holds.

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
    wanted: list[tuple[Kind, float]] = [
        (kind, check_fraction(value, kind.replace(" ", "_"), low_open=False, high_open=False))
        for kind, value in named.items()
        if value is not None
    ]
    reader = _Reader.of(evidence, estimate, confidence, gammas)
    intervals = tuple(GammaInterval(one, reader.at(one)) for one in gammas)
    assumes = INTERVAL_ASSUMES if estimate is None else estimate.interval_assumes
    conclusions = tuple(_conclude(reader, one, gammas, assumes) for one in wanted)
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
    reader = _Reader.of(evidence, estimate, level)

    def meets(gamma: float) -> bool:
        low, high = reader.at(gamma)
        return low <= audited[1] and audited[0] <= high

    if meets(1.0):
        return None
    other = "" if audited[0] > reader.at(1.0)[1] else ", or negatives score among the top positives"
    turn = _turn(meets, [1.0])
    if turn is None:
        sentence = f"No selection up to Γ = {MOST:g} reconciles the estimate with the audit."
        return Reconciled(None, sentence)
    least = ceil(100 * turn[1]) / 100
    return Reconciled(
        least,
        f"The estimate and the audit are reconciled if labeling is at least {least:.2f} times "
        f"selective (Γ = {least:.2f}){other}.",
    )


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
        estimate: AlphaEstimate | None,
        confidence: float,
        gammas: Sequence[float] = (),
    ) -> "_Reader":
        """Γ = 1 is the interval of the estimate, if it is at this confidence."""
        random = None
        if estimate is not None and estimate.confidence == confidence:
            random = estimate.interval
        if random is None:
            random = estimate_alpha(evidence, confidence=confidence).interval
        # What else is asked for must not change the interval at a Γ.
        read, rows = (*LADDER, *(one for one in gammas if one > MOST)), evidence.effective
        wider = (alpha_posterior(evidence.tails, effective=rows, gamma=one) for one in read[1:])
        low, high = np.transpose([random, *(one.interval(confidence) for one in wider)])
        return cls(np.array(read), np.minimum.accumulate(low), np.maximum.accumulate(high))

    def at(self, gamma: float) -> Interval:
        """Both ends at this Γ, which is at most the largest that was read."""
        place, places = log(gamma), np.log(self.gammas)
        low, high = (float(np.interp(place, places, end)) for end in (self.low, self.high))
        return low, high


def _conclude(
    reader: _Reader, wanted: tuple[Kind, float], gammas: Sequence[float], assumes: str
) -> Conclusion:
    """Up to which Γ a conclusion holds; the Γ of the intervals come first, so that both agree."""
    kind, alpha = wanted

    def fails(gamma: float) -> bool:
        low, high = reader.at(gamma)
        return high > alpha if kind == "at most" else low < alpha

    said = f"{kind.capitalize()} {percent(alpha)} % of the unlabeled rows are positive, {assumes}"
    if fails(1.0):
        low, high = reader.at(1.0)
        end = f"begins at {percent(low)}" if kind == "at least" else f"reaches {percent(high)}"
        sentence = (
            f'"{kind} {percent(alpha)} %" does not follow even if labels are random (Γ = 1): the '
        )
        return Conclusion(kind, alpha, False, None, f"{sentence}interval {end} %.")
    turn = _turn(fails, gammas)
    if turn is None:
        sentence = f"{said}, up to Γ = {MOST:g}, the largest that was tried."
        return Conclusion(kind, alpha, True, None, sentence)
    tipping = max(1.0, floor(100 * turn[0]) / 100)
    sentence = f"{said}; this holds as long as Γ ≤ {tipping:.2f}."
    return Conclusion(kind, alpha, True, tipping, sentence)


def _turn(is_so: Callable[[float], bool], tried: Sequence[float]) -> tuple[float, float] | None:
    """Two Γ close together: at the first it is not so, at the second it is; None if at no Γ.

    >>> low, high = _turn(lambda gamma: gamma > 2.5, [1.0])
    >>> low <= 2.5 < high, high / low < FINE
    (True, True)
    """
    low, high = tried[0], 0.0
    for gamma in (*tried[1:], *(tried[-1] * 2**k for k in range(1, 10))):
        high = min(gamma, MOST)
        if is_so(high):
            break
        if high == MOST:
            return None
        low = high
    while high / low >= FINE:
        middle = sqrt(low * high)
        low, high = (low, middle) if is_so(middle) else (middle, high)
    return low, high
