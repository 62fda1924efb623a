"""What the answers of an audit say about an estimate: α with the audit, and the verdict.

What scores and answers say together is the posterior of α, updated by the audit. An audit of any
kind ends with an estimate and an interval, which need no prior. Answers to so many random rows
would have given them, and the binomial likelihood of these is what the posterior is updated with.
An audit that contradicts the estimate shows that the scores mislead; then it alone counts.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import betaincinv, xlog1py, xlogy
from scipy.stats import mannwhitneyu

from topbin.core import AlphaEstimate, InputError
from topbin.core.checks import Floats, check_fraction
from topbin.core.estimate import IF_ALIKE, Interval, Share
from topbin.core.formatting import figure
from topbin.core.labels import BLANK, NEGATIVE, POSITIVE, UNSURE, read_answers
from topbin.core.options import CONFIDENCE
from topbin.core.posterior import FLAT_SHARE, LEVELS, AlphaPosterior
from topbin.evaluate.audit.draw import AuditSample
from topbin.evaluate.audit.limits import (
    NEEDS_ALIKE,
    NEEDS_RANDOM,
    OF_A_KIND,
    Guess,
    RecallBound,
    TopBin,
    fold_factors,
    limits_of_mean,
    lower_limit,
    risk_of_look,
    share_of_upper,
    upper_limit,
    without_replacement,
)
from topbin.evaluate.audit.planning import (
    ENOUGH_POWER,
    claimed,
    no_room,
    plan_either_way,
    possible_errors,
    power,
)
from topbin.evaluate.measure import AlphaLike, Finding, read_alpha
from topbin.evaluate.sensitivity import Reconciled

Verdict = Literal["agrees", "contradicts", "undecided"]
Excludes = Literal["interval", "point"] | None
Limits = Callable[[float], Interval]  # of α, at any risk at each end
VERDICTS = {
    "agrees": "agrees with the estimate",
    "contradicts": "contradicts the estimate",
    "undecided": "does not contradict the estimate",
}
BIASED_LABELS = "The positives that get labeled are probably not like those that stay unlabeled."
IMPURE_TOP = "The top scores probably contain negatives too: the model does not separate them."
POINT_ONLY = "contradicts the estimate's α, not its interval"
OFF_CENTER = "The ranges overlap, but the audit's excludes the estimate's α: use α with the audit."
CANNOT = "An audit of the top bin cannot reveal biased labels; a random audit can."
DRAWN = {  # how the rows were drawn, before "are positive"
    "stratified": "unlabeled rows, drawn by strata,",
    "weighted": "random unlabeled rows, of which those that look like the rarer class were drawn "
    "more often and count less,",
}
NO_PURE_BIN = "no pure top bin is needed"
RELATIVE_ERROR, LEAST_ERROR, LARGEST_ERROR = 0.5, 0.02, 0.1  # that an audit must notice
FEW = 5  # positives; fewer say nothing about how they differ from the labeled ones
UNLIKELY = 0.01
FLAT = AlphaPosterior(LEVELS)  # every α is as likely as any other
WITH_SCORES = "scores and answers together"
ANSWERS_ALONE = "by the answers alone, which contradict the scores"
SCORES_IN_DOUBT = "by the answers alone, because an alarm doubts the scores"
TELLING = 20  # answers, from which on the whole flat part of the prior counts
MOST, HALVINGS = 1e9, 40  # answers, and steps that find how many


@dataclass(frozen=True, slots=True)
class Together:
    """α from scores and answers, and what is known of it; `alone`: the answers decide alone.

    >>> Together(0.25, (0.25, 0.25), AlphaPosterior.known(0.25), alone=True).interval
    (0.25, 0.25)
    """

    alpha: Share
    interval: Interval
    posterior: AlphaPosterior
    alone: bool

    def estimate(self, before: AlphaEstimate) -> AlphaEstimate:
        """The estimate of a run, as it is after the audit.

        A bound that is higher is as valid, and must not contradict the answer beside it. If the
        answers decide alone, the bound of the scores may not hold.
        """
        why_alone = SCORES_IN_DOUBT if before.doubt else ANSWERS_ALONE
        bound = None if self.alone else before.upper_bound
        return replace(
            before, alpha=self.alpha, interval=self.interval, posterior=self.posterior, cut=None,
            interval_assumes=why_alone if self.alone else WITH_SCORES,
            upper_bound=None if bound is None else max(bound, self.alpha),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class AuditResult(Finding):
    """α with the audit, and whether the estimate without it, `claim`, agrees.

    `interval` is two-sided and `upper_bound` one-sided at `confidence`; `assumes` says what they
    need. The verdict is "contradicts" if the claim's nearer end is excluded at `confidence`, and
    `excludes` is "interval" then; or if the interval excludes the claim's α but not its whole
    interval, and `excludes` is "point". `verdict_words` says which. Unsure and blank rows count as
    negative for every lower end and as positive for every upper end. `power` is the least chance
    that so many answered rows reject α̂ when it is off by `error` either way. `look` counts how
    often people have seen the result, `labels` compares the labeled positives with those that the
    audit found, `recall` says how many of them the candidates contain, `gamma` how selective labels
    must be to reconcile both if they contradict each other, `together` what scores and answers say
    together, `proxies` which columns with cheaper labels made the interval narrower, and `others`
    are audits of other kinds in the same run.
    """

    kind: str
    n: int
    alpha: Share
    interval: Interval
    confidence: Share
    verdict: Verdict
    sentence: str
    # What follows is not in the oldest files.
    n_positive: int = 0
    n_negative: int = 0
    n_unsure: int = 0
    n_blank: int = 0
    upper_bound: Share = 1.0
    assumes: str = NEEDS_RANDOM
    claim: float | None = None
    claim_interval: Interval | None = None
    error: float | None = None
    power: float | None = None
    look: int = 1
    excludes: Excludes = None
    labels: str | None = None
    recall: RecallBound | None = None
    gamma: Reconciled | None = None
    together: Together | None = None
    proxies: tuple[str, ...] = ()
    others: tuple["AuditResult", ...] = ()

    def __str__(self) -> str:
        return self.sentence

    def progress(self, width: float) -> str:
        """Whether the interval is as narrow as wanted, or about how many more labels that takes."""
        now = self.interval[1] - self.interval[0]
        if now <= width:
            return f"{now:.3f}, the wanted {width:g} is reached: you can stop"
        more = self.n * ((now / width) ** 2 - 1)
        return f"{now:.3f}, not yet {width:g}: about {more:,.0f} more labels of this kind"

    @property
    def has_contradiction(self) -> bool:
        """Whether this audit, or one of another kind beside it, contradicts the estimate."""
        return any(one.verdict == "contradicts" for one in (self, *self.others))


def verdict_words(verdict: Verdict, excludes: Excludes = None) -> str:
    """What an audit does to the estimate.

    >>> verdict_words("contradicts", "point")
    "contradicts the estimate's α, not its interval"
    """
    is_point = verdict == "contradicts" and excludes == "point"
    return POINT_ONLY if is_point else VERDICTS[verdict]


def judge(
    sample: AuditSample,
    answers: Any,
    alpha_hat: AlphaLike,
    *,
    error: float | None = None,
    confidence: float = CONFIDENCE,
    probabilities: Any = None,
    proxies: Any = None,
    look: int | None = None,
    within: Interval = (0.0, 1.0),
) -> AuditResult:
    """Compare α̂ with what people saw in the drawn rows; `answers` are in the order of the draw.

    The verdict "agrees" needs an interval no wider than `error`, or rows enough to notice such an
    error. Whatever `probabilities` and `proxies` are, the interval stays valid.

    Parameters
    ----------
    sample
        The draw.
    answers
        One per drawn row, in its order: yes, no, ?, or empty.
    alpha_hat
        The estimate that is audited, or its α.
    error
        The error that must show. None: half of α̂, but at least 0.02 and at most 0.1.
    confidence
        The level of the interval.
    probabilities
        Of all unlabeled rows: the answers need to show only where these are wrong, so the interval
        is narrower. A weighted draw needs them.
    proxies
        Cheaper labels of all unlabeled rows, from 0 to 1 and one column each, such as what a
        language model says. They help as much as the answers show them to be right.
    look, within
        Which look at the result this is, from 1 on (None: the only one), and what earlier looks
        showed. All looks together then hold at `confidence`, so that the interval is cut to it.

    Returns
    -------
    AuditResult
        α with the audit, and the verdict.

    Examples
    --------
    >>> from topbin.evaluate.audit import draw
    >>> print(judge(draw(10_000, 50), ["yes"] * 13 + ["no"] * 37, 0.08))
    The audit contradicts the estimate: 13 of 50 random unlabeled rows are positive, so α is at
    least 0.161 (95 % confidence), and the estimate says 0.080. The positives that get labeled are
    probably not like those that stay unlabeled.
    """
    words = read_answers(answers)
    if len(words) != sample.n:
        raise InputError(
            "TB005",
            f"{sample.n:,} rows were drawn and {len(words):,} answers given. Keep every row "
            "of the audit, in its order; leave the cell empty if a row has no answer.",
        )
    count = _count(words)
    f_u = None if probabilities is None else np.asarray(probabilities, np.float64)
    if f_u is None and sample.expected:
        raise InputError("TB008", "a weighted draw can be judged only with its probabilities.")
    if f_u is None:
        alpha, limits = _by_stratum(np.asarray(words), sample)
    else:
        alpha, limits = _prediction_powered(np.asarray(words), sample, f_u, proxies)
    upper = share_of_upper(f_u if sample.expected else None)
    claim = _Claim(alpha_hat, error, confidence, look, within, upper)
    where = DRAWN.get(sample.kind, "random unlabeled rows")
    return claim.judged(sample.kind, count, where, alpha, limits)


def judge_top(
    top: TopBin,
    answers: Any,
    alpha_hat: AlphaLike,
    *,
    error: float | None = None,
    confidence: float = CONFIDENCE,
    look: int | None = None,
    within: Interval = (0.0, 1.0),
) -> AuditResult:
    """The same for answers to random rows of the top bin: α = q_u·(k/m)/q_p.

    Parameters
    ----------
    top
        The bin that the rows were drawn from.
    answers
        One per drawn row: yes, no, ?, or empty.
    alpha_hat
        The estimate that is audited, or its α.
    error, confidence, look, within
        As in `judge`.

    Returns
    -------
    AuditResult
        α with the audit, and the verdict.

    Examples
    --------
    >>> top = TopBin(cut=0.8, above_u=400, n_u=1000, above_p=140, n_p=200)
    >>> audited = judge_top(top, ["yes"] * 45 + ["no"] * 5, 0.5)
    >>> round(audited.alpha, 3), audited.verdict                      # .4·.9/.7
    (0.514, 'undecided')
    """
    words = read_answers(answers)
    count = _count(words)
    answered, open_rows = count[POSITIVE] + count[NEGATIVE], count[UNSURE] + count[BLANK]

    def limits(risk: float) -> Interval:
        return top.limits(count[POSITIVE], len(words), risk, open_rows=open_rows)

    where = (
        f"random rows of the top bin, the {top.above_u:,} unlabeled rows that score as high as "
        f"{100 * top.above_p / top.n_p:.0f} % of the known positives,"
    )
    claim = _Claim(alpha_hat, error, confidence, look, within)
    return claim.judged("top", count, where, top.alpha(count[POSITIVE], answered), limits)


def compare_labels(scores_p: Any, scores_found: Any, *, what: str = "positives") -> str:
    """Whether positives that a random audit found score like the labeled ones, in a sentence.

    The test takes scores as independent: of rows in groups, give one score per group, and say so
    in `what`.

    Parameters
    ----------
    scores_p
        Scores of the labeled positives.
    scores_found
        Scores of the positives that a random audit found.
    what
        What the sentence calls them.

    Returns
    -------
    str
        The sentence.

    Examples
    --------
    >>> compare_labels(np.arange(50.0, 100.0), np.arange(20.0))
    'The 20 positives that the audit found score lower than the labeled ones (p < 0.0001): labels
    are biased, and estimates from scores alone are wrong.'
    """
    labeled, audited = np.asarray(scores_p), np.asarray(scores_found)
    if min(labeled.size, audited.size) < FEW:
        few = f"The {what} that the audit found are too few ({audited.size})"
        return f"{few} to say whether labels are biased."
    test = mannwhitneyu(audited, labeled)
    k, p = f"{audited.size:,} {what} that the audit found", float(test.pvalue)
    if p >= UNLIKELY:
        alike = f"The {k} score like the labeled ones (p = {p:.2f})"
        return (
            f"{alike}: their scores show no sign of biased labels; this does not prove that there "
            "are none."
        )
    lower = test.statistic < audited.size * labeled.size / 2
    chance = "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"
    return (
        f"The {k} score {'lower' if lower else 'higher'} than the labeled ones ({chance}): labels "
        "are biased, and estimates from scores alone are wrong."
    )


@dataclass(frozen=True, slots=True)
class _Claim:
    """The estimate to be judged, and how strictly."""

    alpha_hat: AlphaLike
    given_error: float | None
    confidence: float
    look: int | None
    within: Interval
    upper: float = 0.5  # how much of the risk the upper end of the interval gets

    @property
    def error(self) -> float:
        """The error that must show: the one that was given, or a part of α̂."""
        if self.given_error is not None:
            return check_fraction(self.given_error, "error")
        value = read_alpha(self.alpha_hat, self.confidence)[0]
        return round(min(LARGEST_ERROR, max(LEAST_ERROR, RELATIVE_ERROR * value)), 3)

    def judged(
        self, kind: str, count: Counter[str], where: str, alpha: float, limits: Limits
    ) -> AuditResult:
        """The verdict on the estimate, from limits of α; `where` says which rows were drawn."""
        level, error = check_fraction(self.confidence, "confidence"), self.error
        value, interval, _ = read_alpha(self.alpha_hat, level)
        risk = 1 - level if self.look is None else risk_of_look(1 - level, self.look)
        one_sided = _cut(limits(risk), self.within)
        two_sided = limits(risk * (1 - self.upper))[0], limits(risk * self.upper)[1]
        both = _cut(two_sided, self.within)
        # The least chance that so many answers reject the claim if it is off either way.
        answered = count[POSITIVE] + count[NEGATIVE]
        possible = possible_errors(claimed(self.alpha_hat, level), error)
        chance = min((power(answered, c, off, confidence=level) for c, off in possible), default=0)
        verdict, excludes, finding, follows = self._verdict(kind, value, one_sided, both, chance)
        low, high = map(figure, interval)
        ends = f" ({low} to {high})" if interval[0] < interval[1] else ""
        most = self.alpha_hat.leading_bound if isinstance(self.alpha_hat, AlphaEstimate) else None
        claim = figure(value) if most is None else f"at most {figure(most)} {IF_ALIKE}"
        sentence = (
            f"The audit {verdict_words(verdict, excludes)}: {_in_words(count, where)}, so α is "
            f"{finding} ({100 * level:g} % confidence), and the estimate says {claim}{ends}. "
            f"{follows}"
        )
        assumes = f"{NEEDS_ALIKE}; {NO_PURE_BIN}" if kind == "top" else NEEDS_RANDOM
        return AuditResult(
            kind=kind, n=count.total(), n_positive=count[POSITIVE], n_negative=count[NEGATIVE],
            n_unsure=count[UNSURE], n_blank=count[BLANK],
            alpha=min(both[1], max(both[0], alpha)), interval=both, upper_bound=one_sided[1],
            confidence=level, assumes=assumes, claim=value, claim_interval=interval,
            verdict=verdict, excludes=excludes, error=error, power=chance, look=self.look or 1,
            sentence=f"{sentence} {CANNOT}" if kind == "top" else sentence,
        )  # fmt: skip

    def _verdict(
        self, kind: str, value: float, one_sided: Interval, both: Interval, chance: float
    ) -> tuple[Verdict, Excludes, str, str]:
        """The verdict, what it excludes, what the audit found, and what follows from it."""
        (least, most), (low, high) = claimed(self.alpha_hat, self.confidence), one_sided
        if low > most:
            return "contradicts", "interval", f"at least {figure(low)}", BIASED_LABELS
        if high < least:
            return "contradicts", "interval", f"at most {figure(high)}", IMPURE_TOP
        finding = f"between {figure(both[0])} and {figure(both[1])}"
        shown = figure(value), *map(figure, both)
        if not both[0] <= value <= both[1] and shown[0] not in shown[1:]:
            return "contradicts", "point", finding, OFF_CENTER
        if chance >= ENOUGH_POWER:
            return "agrees", None, finding, self._what_would_show(kind, chance)
        if both[1] - both[0] <= self.error:
            follows = f"The audit's interval is no wider than {self.error:g}."
            return "agrees", None, finding, follows
        return "undecided", None, finding, self._what_would_show(kind, chance)

    def _what_would_show(self, kind: str, chance: float) -> str:
        """What an error would have done; figures are those of plain draws, which strata sharpen."""
        error, level = self.error, self.confidence
        if not possible_errors(claimed(self.alpha_hat, level), error):
            return no_room(error)
        audits = "such audits" if kind == "simple" else "plain audits of this size"
        if chance >= ENOUGH_POWER:
            return f"An error of {error:g} would have shown in {100 * chance:.0f} % of {audits}."
        needed = plan_either_way(self.alpha_hat, error, confidence=level).n
        plainly = "" if kind == "simple" else ", drawn plainly,"
        return (
            f"An error of {error:g} shows in only {100 * chance:.0f} % of {audits}; {needed:,} "
            f"answered rows{plainly} would show it in {100 * ENOUGH_POWER:.0f} %."
        )


def _cut(ends: Interval, within: Interval) -> Interval:
    """The part of an interval that is inside another, or all of it if none is."""
    low, high = max(ends[0], within[0]), min(ends[1], within[1])
    return (low, high) if low <= high else ends


def _prediction_powered(
    answers: Any, sample: AuditSample, f_u: Floats, proxies: Floats | None
) -> tuple[float, Limits]:
    """α and its limits from answers, and what is known of all unlabeled rows."""
    w_u = sample.weights(f_u)
    z_u = f_u[:, None] if proxies is None else np.column_stack([f_u, proxies])
    w = w_u[sample.rows]
    is_positive, is_open = answers == POSITIVE, np.isin(answers, [UNSURE, BLANK])
    y, rows, by = is_positive[~is_open] * 1.0, sample.rows[~is_open], w[~is_open]
    factors = fold_factors(y, z_u[rows], z_u, by)
    guesses = [Guess.of(z_u, one, w_u, rows) for one in factors]
    # No answer has a say in its own guess: those of its fold are made by the others.
    own = np.arange(y.size) % len(guesses), np.arange(y.size)
    known = by * (y - np.stack([one.audited for one in guesses])[own])
    known += np.array([one.mean for one in guesses])[own[0]]
    # Open rows get the mean of the factors: what they would have been either way.
    open_ = Guess.of(z_u, factors.mean(0), w_u, sample.rows[is_open])
    negative = open_.mean - w[is_open] * open_.audited
    least, most = np.append(known, negative), np.append(known, negative + w[is_open])
    lows, highs = zip(*(one.limits for one in (*guesses, open_)), strict=True)
    ends = min(lows), max(highs)
    is_negative = ~is_positive & ~is_open
    of_a_kind = min(w[is_positive].sum(), w[is_negative].sum())
    of_mean = limits_of_mean(least, most, ends, weight=1.0 if of_a_kind < OF_A_KIND else 0.5)
    unseen = float(np.mean(w_u == 0))  # rows that no draw could take may be of either kind
    left = without_replacement(answers.size / f_u.size / float(w_u.max()))
    points = float(least.mean()), float(most.mean())

    def limits(risk: float) -> Interval:
        low, high = (
            point + left * (end - point) for point, end in zip(points, of_mean(risk), strict=True)
        )
        return min(1.0, max(0.0, low - unseen)), max(0.0, min(1.0, high + unseen))

    return float(np.clip(known.mean(), 0, 1)), limits


def _by_stratum(answers: Any, sample: AuditSample) -> tuple[float, Limits]:
    """α and its limits from answers alone; rows without an answer count against each end."""
    drawn, shares = sample.drawn, sample.shares
    positive, answered = (
        np.bincount(sample.stratum[np.isin(answers, kinds)], minlength=len(sample.sizes))
        for kinds in ([POSITIVE], [POSITIVE, NEGATIVE])
    )
    most, weight = positive + drawn - answered, shares / drawn

    def limits(risk: float) -> Interval:
        low = lower_limit(positive, drawn, shares, risk)
        return float(low), float(upper_limit(most, drawn, shares, risk))

    return float(weight @ positive / (weight @ answered)), limits


def _count(answers: list[str]) -> Counter[str]:
    count = Counter(answers)
    if not count[POSITIVE] + count[NEGATIVE]:
        raise InputError("TB001", "no audited row has an answer yet; label some rows first.")
    return count


def _in_words(count: Counter[str], drawn: str) -> str:
    words = f"{count[POSITIVE]:,} of {count.total():,} {drawn} are positive"
    open_rows = [f"{count[k]:,} {k}" for k in (UNSURE, BLANK) if count[k]]
    if open_rows:
        words += f" ({' and '.join(open_rows)}, counted whichever way is worse)"
    return words


def answers_like(alpha: float, interval: Interval, confidence: float) -> tuple[float, float]:
    """How many positive and how many other answers would have given this estimate and interval.

    The interval is compared with that of a Beta distribution, which such answers leave if nothing
    else is known, by its width.

    >>> hits, others = answers_like(0.25, (0.15, 0.35), 0.95)
    >>> round(hits), round(others)                                # 17 of 69 random rows
    (17, 52)
    """
    width = interval[1] - interval[0]

    def is_wider(n: float) -> bool:
        low, high = _beta(n * alpha, n * (1 - alpha), [(1 - confidence) / 2, (1 + confidence) / 2])
        return bool(high - low > width)

    few, many = 0.0, 1.0
    while is_wider(many) and many < MOST:
        few, many = many, 2 * many
    for _ in range(HALVINGS):
        middle = (few + many) / 2
        few, many = (middle, many) if is_wider(middle) else (few, middle)
    return many * alpha, many * (1 - alpha)


def _beta(hits: float, others: float, levels: Sequence[float]) -> Floats:
    """Quantiles of α after these answers, if every α was as likely as any other before."""
    return np.asarray(betaincinv(hits + 1, others + 1, levels))


def _moved(
    posterior: AlphaPosterior, alpha: float, interval: Interval, confidence: float
) -> AlphaPosterior:
    """The posterior with the median and the interval that the audit found, and says beside it."""
    low, high = posterior.interval(confidence)
    before, after = (0, low, posterior.median, high, 1), (0, interval[0], alpha, interval[1], 1)
    return AlphaPosterior(tuple(map(float, np.interp(posterior.quantiles, before, after))))


def update(
    before: AlphaEstimate,
    alpha: float,
    interval: Interval,
    confidence: float,
    *,
    alone: bool = False,
    flat: float = FLAT_SHARE,
) -> Together:
    """The posterior after an audit that found this α and this interval.

    A share `flat` of the prior is spread evenly, because scores mislead where labels are biased.
    Fewer than 20 answers can hardly show that, and spread less, so that the first ones do not make
    the answer vaguer.

    >>> flat = AlphaPosterior(LEVELS)
    >>> before = AlphaEstimate(alpha=0.3, n_p=100, n_u=900, method="overlap", posterior=flat)
    >>> both = update(before, 0.25, (0.15, 0.35), 0.95)
    >>> 0.25 < both.alpha < 0.26, both.alone                     # the prior is flat
    (True, False)
    """
    hits, others = answers_like(alpha, interval, confidence)

    def log_likelihood(alpha: Floats) -> Floats:
        return np.asarray(xlogy(hits, alpha) + xlog1py(others, -alpha))

    if alone or before.posterior is None:
        posterior = AlphaPosterior(tuple(map(float, _beta(hits, others, LEVELS))))
        if interval[0] < alpha < interval[1]:
            posterior = _moved(posterior, alpha, interval, confidence)
        return Together(posterior.median, posterior.interval(confidence), posterior, alone=True)
    flat *= min(1.0, (hits + others) / TELLING)
    posterior = before.posterior.updated(log_likelihood, flat=flat)
    return Together(posterior.median, posterior.interval(confidence), posterior, alone=False)


def update_by_all(before: AlphaEstimate, audits: Sequence["AuditResult"]) -> Together:
    """The posterior after audits of several kinds, of which the first weighs most.

    So an audit of another kind makes the answer sharper, never vaguer. If any of them excludes the
    whole interval of the scores, or an alarm says that the scores mislead, the first decides alone.
    """
    first = audits[0]
    # A sharp audit may exclude the median of a wide posterior, and both are right.
    if before.doubt or any(one.excludes == "interval" for one in audits):
        return update(before, first.alpha, first.interval, first.confidence, alone=True)
    for one in reversed(audits):
        both = update(before, one.alpha, one.interval, one.confidence)
        before = both.estimate(before)
    return both
