"""The verdict of a fit: quote it, quote only the bound, or audit first; why, and what to do next.

The rules, all of them:

1. A leak, rows that belong together, biased labels, or scores that cannot be right (`wrong`
   in `ALARMS`): audit first, or fit again as the remedy says.
2. An α so low that nearly all positives would be labeled already: audit first, because labels that
   follow a rule, such as "all severe cases", look the same.
3. A reason why α can only be too high (`high`): quote only the bound.
4. An interval no wider than 0.05, or than half of α: quote it. Of rare positives it is so narrow
   while their number can be many times larger or smaller; then the reason says so.
5. A wider one whose low end is far below its high end: quote only the bound, if it says anything.
6. Any other: audit first.

After a random audit only the interval counts, because its answers need none of the assumptions.
Where an alarm says that the scores mislead, they decide alone (`update_by_all`).
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from shlex import quote
from typing import Annotated, Literal, Protocol, get_args

import numpy as np
from msgspec import Meta
from scipy.stats import norm

from topbin.core.errors import InputError
from topbin.core.estimate import ALARMS, IF_ALIKE, AlphaEstimate, Interval
from topbin.core.formatting import counted, figure, range_ends
from topbin.core.options import CONFIDENCE
from topbin.evaluate.audit import AuditResult, TopBin
from topbin.evaluate.audit.judging import update
from topbin.evaluate.audit.planning import AuditWidths
from topbin.evaluate.audit.scored import Scored

Say = Literal["quote it", "quote only the bound", "audit first"]
Where = Literal["anywhere", "top"]
NARROW, RELATIVE = 0.05, 0.5  # widths of intervals: in all, and as a part of α
FAR = 4  # times the low end: then only the high end says something
NEARLY_ALL = 0.75  # of the positives; labels at random are hardly ever so complete
USEFUL = 0.5  # a bound above it says too little to be quoted
WORTH = 0.8  # times the width of an interval that is narrow enough already
BLIND = 100  # rows to audit where scores mislead
SIZES = (30, 60, 100, 150, 200, 300, 400)  # of audits that are suggested
RUN = "RUN"  # the run folder, where nobody knows yet what it is called


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What an audit of n rows would make of the interval, if the estimate is right.

    Where scores mislead, it is the interval that answers give alone, at its widest.
    """

    where: Where
    n: Annotated[int, Meta(ge=1)]
    interval: Interval

    @property
    def command(self) -> str:
        """The command that draws the rows."""
        top = " --where top" if self.where == "top" else ""
        return f"topbin audit {RUN} --n {self.n}{top}"

    def __str__(self) -> str:
        after = "{} to {}".format(*range_ends(*self.interval))
        if self.where == "anywhere":
            return f"label {counted(self.n)}: the interval becomes about {after}"
        return f"with --where top {counted(self.n)}: about {after}, {IF_ALIKE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What to do with an answer: `say`, the reason, the command to run next, and what that buys.

    >>> est = AlphaEstimate(alpha=0.2, n_p=200, n_u=900, method="bbe", interval=(0.16, 0.25))
    >>> print(decide(est))
    quote it: the interval 0.160 to 0.250 is narrow enough, and there is no alarm against it
    """

    say: Say
    reason: str
    command: str = ""
    buys: str = ""
    gains: tuple[Gain, ...] = ()

    def __str__(self) -> str:
        return f"{self.say}: {self.reason}"

    def lines(self, run: str = RUN) -> list[str]:
        """As the screen shows it; `run` is the folder of the run."""
        lines = [f"verdict         {self}"]
        if self.command:
            command = self.command.replace(RUN, quote(run)) if run != RUN else self.command
            lines.append(f"next step       {command}   {self.buys}")
        return lines


class OtherFit(Protocol):
    """A fit that is tried where something is wrong with the columns."""

    @property
    def option(self) -> str:
        """What to add to the command."""

    @property
    def sentence(self) -> str:
        """What it gives."""


def verdict_of(
    estimate: AlphaEstimate,
    n_u: int,
    scored: Scored | None,
    *,
    remedy: OtherFit | None = None,
    audit: AuditResult | None = None,
) -> Verdict:
    """The verdict with what an audit would buy, after what was found in an answer.

    Without scores, audits are priced as if there were no model; so they are after an audit that
    decides alone.
    """
    both = estimate if audit is None or audit.together is None else audit.together
    f_u, top = None, None
    is_alone = audit is not None and audit.together is not None and audit.together.alone
    if scored is not None and not is_alone:
        f_u = scored.f_u
        with suppress(InputError):  # no unlabeled row is in the top bin
            top = TopBin.at(scored.p, scored.u).in_groups(estimate)
    widths = AuditWidths(both.alpha, n_u, f_u, top, estimate.confidence or CONFIDENCE)
    if remedy is None:
        return decide(estimate, audit=audit, widths=widths)
    again = f"the same fit with {remedy.option}"
    gained = f"{remedy.sentence}, instead of {figure(estimate.alpha)}"
    return decide(estimate, audit=audit, remedy=again, gained=gained, widths=widths)


def decide(
    estimate: AlphaEstimate,
    *,
    audit: AuditResult | None = None,
    remedy: str | None = None,
    gained: str = "",
    widths: AuditWidths | None = None,
) -> Verdict:
    """The verdict on an estimate, after an audit if there was one.

    `remedy` is how to fit again where something is wrong with the columns, and `gained` what that
    gives. `widths` say what an audit would buy.
    """
    if audit is not None and audit.together is not None:
        estimate = audit.together.estimate(estimate)
    is_random = audit is not None and audit.kind != "top"
    wrong = None if is_random else _wrong(estimate)
    judged: tuple[Say, str] = ("audit first", wrong) if wrong else _judged(estimate, is_random)
    say, reason = judged
    gains: tuple[Gain, ...] = ()
    buys = ""
    if widths is not None and wrong:
        # Where scores mislead, answers count alone, and may be as uncertain as those can be.
        n = min(widths.n_u, BLIND)
        half, at_alpha = (replace(widths, alpha=a).plain(n) / 2 for a in (0.5, estimate.alpha))
        gains = (Gain(where="anywhere", n=n, interval=(0.5 - half, 0.5 + half)),)
        buys = f"label {counted(n)}: α to within {half:.2f}, whatever the scores say"
        if f"{at_alpha:.2f}" != f"{half:.2f}":
            buys += f"; within {at_alpha:.2f} if it is near {figure(estimate.alpha)}"
    elif widths is not None:
        gains = _gains(estimate, widths)
        if say == "quote it":  # then only what is clearly narrower is worth an audit
            now = np.ptp(estimate.interval or (0.0, 1.0))
            gains = tuple(gain for gain in gains if np.ptp(gain.interval) < WORTH * now)
        buys = "; or ".join(map(str, gains))
    command = gains[0].command if gains else ""
    if remedy is not None and wrong is not None:
        command, buys = remedy, gained
    return Verdict(say=say, reason=reason, command=command, buys=buys, gains=gains)


def is_narrow(interval: Interval, alpha: float) -> bool:
    """Whether an interval is narrow enough to be quoted.

    >>> is_narrow((0.1, 0.2), 0.15), is_narrow((0.0, 0.04), 0.01), is_narrow((0.3, 0.5), 0.4)
    (False, True, True)
    """
    return interval[1] - interval[0] <= max(NARROW, RELATIVE * alpha) + 1e-12


def _wrong(estimate: AlphaEstimate) -> str | None:
    """Why α cannot be trusted, if there is a reason."""
    alarms = {alarm.code: alarm for alarm in reversed(estimate.alarms)}
    for code, kind in ALARMS.items():
        if kind.wrong and code in alarms:
            column = alarms[code].column
            return kind.wrong if column is None else f'{kind.wrong} ("{column}")'
    labeled = estimate.n_p / (estimate.n_p + estimate.alpha * estimate.n_u)
    if labeled < NEARLY_ALL:
        return None
    return (
        f"by the scores, {100 * labeled:.0f} % of all positives are labeled already; it looks the "
        "same if labels follow a rule, such as all severe cases"
    )


def _judged(estimate: AlphaEstimate, is_random: bool) -> tuple[Say, str]:
    if estimate.interval is None:
        return "audit first", "there is no interval"
    (low, high), most = estimate.interval, estimate.upper_bound
    of, is_far = f"the interval {figure(low)} to {figure(high)}", FAR * low < high
    wide = f"{of} is still wide" if is_random else f"{of} is wide"
    unopposed = ", as the audit shows" if is_random else ", and there is no alarm against it"
    codes = [] if is_random else [alarm.code for alarm in estimate.alarms]
    if too_high := [kind.high for code, kind in ALARMS.items() if kind.high and code in codes]:
        return _bound(most, too_high[0])
    if not is_narrow(estimate.interval, estimate.alpha):
        return _bound(most, wide) if is_far else ("audit first", wide)
    if is_far:
        rows = f"({round(low * estimate.n_u):,} to {counted(round(high * estimate.n_u))})"
        return (
            "quote it",
            f"{of} {rows} is narrow as a share, not as a count{unopposed}",
        )
    return "quote it", f"{of} is narrow enough{unopposed}"


def _bound(most: float | None, reason: str) -> tuple[Say, str]:
    """The bound, if there is one that says anything."""
    if most is None or most > USEFUL:
        return "audit first", reason
    return "quote only the bound", f"{reason}; the one-sided bound is α ≤ {figure(most)} {IF_ALIKE}"


def _gains(estimate: AlphaEstimate, widths: AuditWidths) -> tuple[Gain, ...]:
    """For each kind the smallest audit that makes the interval narrow enough, or the largest."""
    gains = []
    now = float(np.ptp(estimate.interval or (0.0, 1.0)))
    for where in get_args(Where):
        width_of, rows = widths.of(where)
        sizes = [n for n in SIZES if n <= rows] or ([rows] if rows else [])
        for n in sizes:
            gain = Gain(where=where, n=n, interval=_expected(estimate, width_of(n)))
            if np.ptp(gain.interval) < now and is_narrow(gain.interval, estimate.alpha):
                break
        if sizes:
            gains.append(gain)
    return tuple(gains)


def _expected(estimate: AlphaEstimate, width: float) -> Interval:
    """The mean ends after an audit, whose own interval is so wide, if the estimate is right.

    The audit finds this α, or one that is lower or higher by the standard error.
    """
    level, half = estimate.confidence or CONFIDENCE, width / 2
    error = half / norm.ppf((1 + level) / 2)
    ends = []
    for found in np.clip([estimate.alpha + k * error for k in (-1, 0, 1)], 0.0, 1.0):
        seen = max(0.0, found - half), min(1.0, found + half)
        ends.append(update(estimate, float(found), seen, level).interval)
    low, high = np.mean(ends, axis=0)
    return float(low), float(high)
