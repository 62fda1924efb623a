"""The audit: label some random unlabeled rows by hand, and learn whether α̂ is wrong.

No score can show that labeled positives differ from unlabeled ones; a random sample can, because it
makes no assumption about them. `draw` or `draw_stratified` choose the rows, `judge` reads the
answers, `plan` and `power` say how many rows a question needs. Labels from a list of top
candidates do not belong here: they are not random, and mixing them in biases the audit.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from topbin.core import AlphaEstimate, InputError
from topbin.core.checks import check_fraction
from topbin.core.defaults import CONFIDENCE
from topbin.evaluate.audit_draw import AuditSample, Rows, draw, draw_stratified
from topbin.evaluate.audit_limits import (
    ENOUGH_POWER,
    AuditPlan,
    claimed,
    lower_limit,
    plan,
    power,
    upper_limit,
)
from topbin.evaluate.measure import Interval, read_alpha

__all__ = [
    "AuditPlan",
    "AuditResult",
    "AuditSample",
    "draw",
    "draw_stratified",
    "judge",
    "plan",
    "plan_either_way",
    "power",
    "read_answers",
]

Verdict = Literal["agrees", "contradicts", "undecided"]
POSITIVE, NEGATIVE, UNSURE, BLANK = "positive", "negative", "unsure", "blank"
WORDS = {
    POSITIVE: ("1", "1.0", "yes", "y", "true", "t", "positive", "pos", "p"),
    NEGATIVE: ("0", "0.0", "-1", "-1.0", "no", "n", "false", "f", "negative", "neg"),
    UNSURE: ("?", "unsure", "unknown", "maybe", "unclear", "u"),
    BLANK: ("", "nan", "none", "null", "na", "n/a", "<na>", "nat"),
}
VERDICTS = {
    "agrees": "agrees with the estimate",
    "contradicts": "contradicts the estimate",
    "undecided": "is too small to judge the estimate",
}
BIASED_LABELS = "The positives that get labeled are probably not like those that do not."
IMPURE_TOP = "The top scores probably contain negatives too: the model does not separate them."
MEANING = {word: meaning for meaning, words in WORDS.items() for word in words}


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What the audited rows say about α, and whether α̂ agrees with it.

    `interval` is two-sided at `confidence`. The verdict asks in each direction separately whether
    α̂'s nearer end is excluded at `confidence`. Unsure and blank rows count as negative for every
    lower end and as positive for every upper end. `power` is the least chance that so many
    answered rows reject α̂ when it is off by `error` either way.
    """

    kind: str
    n: int
    n_positive: int
    n_negative: int
    n_unsure: int
    n_blank: int
    alpha: float
    interval: Interval
    confidence: float
    claim: float
    claim_interval: Interval
    verdict: Verdict
    error: float
    power: float
    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(self)


def judge(
    sample: AuditSample,
    answers: Any,
    alpha_hat: AlphaEstimate | float,
    *,
    error: float = 0.1,
    confidence: float = CONFIDENCE,
) -> AuditResult:
    """Compare α̂ with what people saw in the drawn rows; `answers` are in the order of the draw.

    >>> print(judge(draw(10_000, 50), ["yes"] * 13 + ["no"] * 37, 0.08))
    The audit contradicts the estimate: 13 of 50 random unlabeled rows are positive, so α is at
    least 0.161 (95 % confidence), and the estimate says 0.080. The positives that get labeled are
    probably not like those that do not.
    """
    level = check_fraction(confidence, "confidence")
    check_fraction(error, "error")
    value, interval, _ = read_alpha(alpha_hat, level)
    least, most = claimed(alpha_hat, level)
    tally = _Tally.of(sample, read_answers(answers))
    possible = _possible_errors((least, most), error)
    powers = [power(tally.answered, claim, off, confidence=level) for claim, off in possible]
    chance = min(powers, default=0.0)
    low, high = tally.limits(1 - level)
    both = tally.limits((1 - level) / 2)
    verdict: Verdict = "contradicts"
    if low > most:
        finding, follows = f"at least {low:.3f}", BIASED_LABELS
    elif high < least:
        finding, follows = f"at most {high:.3f}", IMPURE_TOP
    else:
        verdict = "agrees" if chance >= ENOUGH_POWER else "undecided"
        finding = f"between {both[0]:.3f} and {both[1]:.3f}"
        follows = _what_would_show(sample.kind, chance, alpha_hat, error, level)
    ends = f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval[0] < interval[1] else ""
    return AuditResult(
        kind=sample.kind,
        n=sample.n,
        n_positive=tally.count[POSITIVE],
        n_negative=tally.count[NEGATIVE],
        n_unsure=tally.count[UNSURE],
        n_blank=tally.count[BLANK],
        alpha=tally.alpha,
        interval=both,
        confidence=level,
        claim=value,
        claim_interval=interval,
        verdict=verdict,
        error=error,
        power=chance,
        sentence=f"The audit {VERDICTS[verdict]}: {tally.in_words()}, so α is {finding} "
        f"({100 * level:g} % confidence), and the estimate says {value:.3f}{ends}. {follows}",
    )


def read_answers(answers: Any) -> list[str]:
    """Each answer as "positive", "negative", "unsure" or "blank".

    >>> read_answers([1, "No", "?", None])
    ['positive', 'negative', 'unsure', 'blank']
    """
    values = answers.tolist() if hasattr(answers, "tolist") else list(answers)
    words = [str(value).strip().lower() for value in values]
    strange = Counter(word for word in words if word not in MEANING)
    if strange:
        shown = ", ".join(f"{word!r} ({count:,})" for word, count in strange.most_common(5))
        raise InputError(
            "TB002",
            f"audit answers not understood: {shown}. Write yes or no, ? where you are unsure, "
            "or leave the cell empty.",
        )
    return [MEANING[word] for word in words]


@dataclass(frozen=True, slots=True, eq=False)
class _Tally:
    """The answers counted, in all and by stratum."""

    sample: AuditSample
    count: Counter[str]
    positive: Rows
    open: Rows

    @classmethod
    def of(cls, sample: AuditSample, answers: list[str]) -> "_Tally":
        if len(answers) != sample.n:
            raise InputError(
                "TB005",
                f"{sample.n:,} rows were drawn and {len(answers):,} answers given. Keep every row "
                "of the audit, in its order; leave the cell empty if a row has no answer.",
            )
        count = Counter(answers)
        if not count[POSITIVE] + count[NEGATIVE]:
            raise InputError("TB001", "no audited row has an answer yet; label some rows first.")
        said = np.asarray(answers)
        positive, answered = (
            np.bincount(sample.stratum[np.isin(said, kinds)], minlength=len(sample.sizes))
            for kinds in ([POSITIVE], [POSITIVE, NEGATIVE])
        )
        return cls(sample, count, positive, sample.drawn - answered)

    @property
    def answered(self) -> int:
        return self.count[POSITIVE] + self.count[NEGATIVE]

    @property
    def alpha(self) -> float:
        """The weighted share of positives among the answered rows."""
        weight = self.sample.shares / self.sample.drawn
        return float(weight @ self.positive / (weight @ (self.sample.drawn - self.open)))

    def limits(self, doubt: float) -> Interval:
        """Limits with `doubt` at each end; rows without an answer count against each."""
        drawn, shares = self.sample.drawn, self.sample.shares
        low = lower_limit(self.positive, drawn, shares, doubt)
        return float(low), float(upper_limit(self.positive + self.open, drawn, shares, doubt))

    def in_words(self) -> str:
        """How many rows of how many, and how many without an answer."""
        simple = self.sample.kind == "simple"
        drawn = "random unlabeled rows" if simple else "unlabeled rows, drawn by strata,"
        words = f"{self.count[POSITIVE]:,} of {self.sample.n:,} {drawn} are positive"
        open_rows = [f"{self.count[k]:,} {k}" for k in (UNSURE, BLANK) if self.count[k]]
        if open_rows:
            words += f" ({' and '.join(open_rows)}, counted whichever way is worse)"
        return words


def plan_either_way(
    alpha_hat: AlphaEstimate | float, error: float, *, confidence: float = CONFIDENCE
) -> AuditPlan:
    """How many rows notice an error of this size, whichever way it goes: what a verdict needs.

    >>> plan_either_way(0.08, 0.05).n == max(plan(0.08, 0.05).n, plan(0.08, -0.05).n)
    True
    """
    level, off = check_fraction(confidence, "confidence"), check_fraction(abs(error), "error")
    possible = _possible_errors(claimed(alpha_hat, level), off)
    if not possible:
        raise InputError("TB008", _no_room(off))
    plans = [plan(claim, signed, confidence=level) for claim, signed in possible]
    return max(plans, key=lambda one: one.n)


def _no_room(error: float) -> str:
    return f"The estimate's own range leaves no room for an error of {error:g}."


def _possible_errors(claimed: Interval, error: float) -> list[tuple[float, float]]:
    """The ends of the claim and the signed errors that keep the truth in [0, 1]."""
    both = [(claimed[1], error), (claimed[0], -error)]
    return [(claim, off) for claim, off in both if 0 <= claim + off <= 1]


def _what_would_show(
    kind: str, chance: float, alpha_hat: AlphaEstimate | float, error: float, level: float
) -> str:
    """What an error would have done; figures are those of plain draws, which strata sharpen."""
    if not _possible_errors(claimed(alpha_hat, level), error):
        return _no_room(error)
    audits = "such audits" if kind == "simple" else "plain audits of this size"
    if chance >= ENOUGH_POWER:
        return f"An error of {error:g} would have shown in {100 * chance:.0f} % of {audits}."
    needed = plan_either_way(alpha_hat, error, confidence=level).n
    plainly = "" if kind == "simple" else ", drawn plainly,"
    return (
        f"An error of {error:g} shows in only {100 * chance:.0f} % of {audits}; {needed:,} "
        f"answered rows{plainly} would show it in {100 * ENOUGH_POWER:.0f} %."
    )
