"""The answer to "how many": a small frozen value that explains itself."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Annotated, Any, Literal

import msgspec

from topbin.core.formatting import counted, figure, line, low_to_high, range_ends
from topbin.core.posterior import AlphaPosterior

# With fewer known positives than this, only a range is shown: for a true α of .5 the point was
# seen anywhere from .39 to .55 with fewer than FEW_POSITIVES, which therefore raise an alarm.
RANGE_ONLY, FEW_POSITIVES = 25, 100
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Interval = tuple[Share, Share]
Bias = Literal["up", "down", "either"]
NO_ALARMS = "no alarms (this does not prove the estimate right)"
DIRECTION: dict[Bias, str] = {"up": "too high", "down": "too low", "either": "off either way"}
INTERVAL_ASSUMES = "if the classes overlap as in the data sets that the prior was learned from"
IF_ALIKE = "if the labeled positives are like the others"
# What to do about an alarm, the most urgent first.
FIX = "fix the rows, columns or scores, then run it again"
AUDIT = "label some rows: an audit decides"
MORE = "more known positives, or other columns, would help"
FINER = "a finer score would help: probabilities, not classes"
# Why scores say nothing about α, by the code of the alarm.
NO_SIGNAL = {
    "indistinguishable": "these scores do not separate positives from unlabeled rows",
    "reversed-scores": "positives score lower than unlabeled rows",
}
BOUND_ASSUMES = "one-sided; if rows are independent and positives are labeled at random"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmKind:
    """What an alarm with some code means.

    `doubt` follows a headline that cannot stand without it. `wrong` says why α cannot be
    trusted, and `high` why it can only be too high. `meaning` is what the report says of it.
    """

    remedy: str = AUDIT
    doubt: str = ""
    wrong: str = ""
    high: str = ""
    meaning: str = ""


_NOT_INDEPENDENT = AlarmKind(
    remedy=FIX,
    doubt="rows seem to belong together, so the share is likely higher",
    wrong="rows seem to belong together",
)
_NOTHING_LEARNED = AlarmKind(remedy=MORE, high="a model that learned nothing gives such an α too")
# By code. Of several alarms the first in this order is the one that a headline or a verdict names.
ALARMS = {
    "repeated-rows": AlarmKind(
        remedy=FIX,
        wrong="many rows are copies of others; keep one of each, and fit again",
        meaning="Models that score a row have seen a copy of it, so known positives score too "
        "high; interval and bound, which count every copy, are too narrow.",
    ),
    "leak": AlarmKind(
        remedy=FIX,
        doubt="a column seems to leak the label, so the share is likely higher",
        wrong="a column seems to leak the label",
        meaning="A column that was filled in because of the label makes all other rows look "
        "negative.",
    ),
    "group-column": replace(
        _NOT_INDEPENDENT,
        meaning="Models that score a row have seen other rows of the same group, so known "
        "positives score too high and hidden ones too low.",
    ),
    "near-copies": replace(
        _NOT_INDEPENDENT,
        meaning="Models that score a visit have seen the other visits of the same patient, so "
        "known positives score too high and hidden ones too low.",
    ),
    "seen-in-training": AlarmKind(
        remedy=FIX,
        doubt="the scores may be of rows that trained the model, so the share is likely higher",
        wrong="the scores may be of rows that trained the model",
        meaning="A model knows the labels of the rows it was trained on, so hidden positives score "
        "as low as negatives.",
    ),
    "biased-labels": AlarmKind(
        doubt="the labels do not look random, so the share is likely higher",
        wrong="the labels do not look random, so that α is likely higher",
        meaning="Some kinds of positives are labeled more often than others; those that are rarely "
        "labeled are then undercounted.",
    ),
    "lower-scores": AlarmKind(
        remedy=MORE,
        wrong="known positives score lower than unlabeled rows",
        meaning="Known positives look like rows that are not positive, so the share is not to be "
        "trusted.",
    ),
    "reversed-scores": AlarmKind(
        remedy=FIX,
        wrong="the scores seem to be reversed",
        meaning="Known positives have the lowest scores: the scores seem to be reversed.",
    ),
    "indistinguishable": AlarmKind(
        remedy=MORE,
        wrong="nothing separates known positives from unlabeled rows",
        meaning="The features do not separate positives from unlabeled rows.",
    ),
    "methods-disagree": AlarmKind(
        wrong="methods that read the same scores disagree",
        meaning="Different ways to read the same scores give different answers: methods that trust "
        "one top bin err upward if it is not pure, others either way.",
    ),
    "no-flat-top": AlarmKind(
        wrong="no group of rows looks purely positive",
        meaning="No group of top rows looks purely positive, or only clear cases are labeled.",
    ),
    "unlike-prior": AlarmKind(
        wrong="the classes overlap unlike those of all data sets seen before",
        meaning="The interval was learned from other data sets, and none of them is like these "
        "rows.",
    ),
    "outside-interval": AlarmKind(
        wrong="the point is outside the interval",
        meaning="The method's point and the counts contradict each other.",
    ),
    "diverged": AlarmKind(
        remedy=FIX,
        wrong="training failed",
        meaning="Training failed and was stopped; an earlier state of the model was used.",
    ),
    "shared-rows": AlarmKind(
        remedy=FIX,
        high="known positives seem to be among the unlabeled rows too",
        meaning="Some known positives seem to be listed again as unlabeled.",
    ),
    "near-one": replace(
        _NOTHING_LEARNED,
        meaning="Either nearly all rows are positive, or the model cannot separate the classes.",
    ),
    "alpha-near-one": replace(
        _NOTHING_LEARNED,
        meaning="During training, the model did not yet separate positives from the rest.",
    ),
    "above-bound": AlarmKind(
        high="the point is above the bound",
        meaning="The point counts rows as positive that the known positives do not account for.",
    ),
    "steep-start": AlarmKind(
        remedy=MORE,
        high="the rows are too few for so many columns",
        meaning="Hardly any positive is unlabeled, or too few rows have too many columns.",
    ),
    "few-positives": AlarmKind(
        remedy=MORE,
        meaning="With few known positives the estimate moves a lot from sample to sample.",
    ),
    "tiny-bin": AlarmKind(remedy=MORE, meaning="The estimate is based on very few rows."),
    "ties": AlarmKind(
        remedy=FINER,
        meaning="Many rows share a score, so they cannot be ranked against each other.",
    ),
}
UNNAMED = AlarmKind()  # of a code that is not in the table


@dataclass(frozen=True, slots=True)
class Alarm:
    """A reason to doubt an estimate: a code, a sentence, and which way the estimate would err.

    `column` is the column that it is about, if it is about one.

    >>> print(Alarm("ties", "40% of the scores share 3 values.", "up"))
    ties: 40% of the scores share 3 values. (estimate may be too high)
    """

    code: str
    message: str
    bias: Bias
    column: str | None = None

    @property
    def kind(self) -> AlarmKind:
        """What its code means."""
        return ALARMS.get(self.code, UNNAMED)

    def __str__(self) -> str:
        return f"{self.code}: {self.message} (estimate may be {DIRECTION[self.bias]})"


@dataclass(frozen=True, slots=True)
class Headline:
    """What leads the answer: the point, the bound, or with few positives only a range.

    It is "unknown" if scores say nothing. `alpha` is the point or the bound, and `interval` what
    there is to show beside it.
    """

    kind: Literal["point", "bound", "range", "unknown"]
    alpha: Share
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaEstimate:
    """α, the share of positives among the unlabeled, and how far to trust it.

    `interval` is two-sided: quantiles of `posterior`, which assumes that the classes overlap as in
    data sets that were seen before. `upper_bound` is one-sided and holds for any overlap; like the
    interval it assumes that rows are independent and that the labeled positives are a random sample
    of all positives. Both are at `confidence`, and both are about these rows. `interval_assumes`
    says what the interval needs, and `caution` which way the method errs. `worth` says how many
    independent positives and unlabeled rows the rows are worth, if they are in groups; then groups
    are assumed to be independent, not rows.

    >>> est = AlphaEstimate(alpha=0.25, n_p=100, n_u=300, method="bbe")
    >>> est.pi                 # (100 + 0.25 * 300) / 400
    0.4375
    """

    alpha: Share
    n_p: Annotated[int, msgspec.Meta(ge=1)]
    n_u: Annotated[int, msgspec.Meta(ge=1)]
    method: str
    cut: float | None = None
    interval: Interval | None = None
    upper_bound: Share | None = None
    confidence: Share | None = None
    alarms: tuple[Alarm, ...] = ()
    notes: tuple[str, ...] = ()
    caution: str | None = None
    interval_assumes: str = INTERVAL_ASSUMES
    worth: tuple[int, int] | None = None
    posterior: AlphaPosterior | None = None

    def __repr__(self) -> str:
        alarms = counted(len(self.alarms), "alarm")
        rows = f"{counted(self.n_p, 'positive')}, {self.n_u:,} unlabeled"
        return f"<AlphaEstimate: {self.in_short} by {self.method}; {rows}; {alarms}>"

    def _repr_html_(self) -> str:
        """In a notebook: the interval on a scale from 0 to 1, and the summary below."""
        first, second, *rest = map(escape, self.summary().splitlines())
        cells = (re.split(" {2,}", text, maxsplit=1) for text in rest)
        left = 'style="text-align:left"'
        rows = "".join(f"<tr><th {left}>{a}</th><td {left}>{b}</td></tr>" for a, b in cells)
        return f"<p>{first}<br>{second}</p>{self._scale()}<table>{rows}</table>"

    def _scale(self) -> str:
        """The scale as a picture: a band for the interval, a mark for α if it can be trusted."""
        low, high = self.interval or (self.alpha, self.alpha)
        is_shown = self.in_short.startswith("α =")
        point = f'<rect x="{400 * self.alpha - 1:.1f}" y="3" width="2" height="14"/>'
        return (
            f'<svg role="img" aria-label="{escape(self.in_short)}" viewBox="-2 0 404 30" '
            'width="404" height="30" fill="currentColor" font-size="10">'
            '<rect x="0" y="9" width="400" height="2" opacity="0.3"/>'
            f'<rect x="{400 * low:.1f}" y="6" width="{400 * (high - low):.1f}" height="8" '
            f'opacity="0.5"/>{point if is_shown else ""}'
            '<text x="0" y="28">0</text><text x="400" y="28" text-anchor="end">1</text></svg>'
        )

    @property
    def in_short(self) -> str:
        """α, or the range or the bound that leads where a bare point would mislead.

        >>> AlphaEstimate(alpha=0.25, n_p=100, n_u=300, method="bbe").in_short
        'α = 0.250'
        """
        lead = self.headline
        if lead.kind == "range" and lead.interval is not None:
            return "α between {} and {}".format(*range_ends(*lead.interval))
        if lead.kind == "unknown":
            return "α is unknown"
        return f"α {'=' if self.leading_bound is None else '≤'} {figure(lead.alpha)}"

    @property
    def headline(self) -> Headline:
        """What leads the answer, wherever it is shown.

        >>> AlphaEstimate(alpha=0.3, n_p=100, n_u=300, method="bbe", upper_bound=0.2).headline
        Headline(kind='bound', alpha=0.2, interval=(0.0, 0.2))
        """
        bound = self.leading_bound
        alpha = self.alpha if bound is None else bound
        if self.worth_p < RANGE_ONLY:
            return Headline("range", alpha, self.interval)
        if self.has_no_signal and bound in (None, 1):
            return Headline("unknown", alpha, self.interval)
        if bound is not None:
            return Headline("bound", alpha, (0.0, alpha))
        return Headline("point", alpha, self.interval)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "AlphaEstimate":
        """The estimate that `to_dict` made, also when it has been to JSON and back.

        >>> est = AlphaEstimate(alpha=0.25, n_p=100, n_u=300, method="bbe", interval=(0.2, 0.3))
        >>> AlphaEstimate.from_dict(est.to_dict()) == est
        True
        """
        return msgspec.convert(stored, cls)

    def moved_to(self, alpha: float) -> "AlphaEstimate":
        """The same estimate with another α; the interval is stretched to contain it.

        >>> last = AlphaEstimate(alpha=0.5, n_p=9, n_u=9, method="bbe", interval=(0.25, 0.5))
        >>> last.moved_to(0.625).interval
        (0.25, 0.625)
        """
        ends = self.interval
        held = None if ends is None else (min(ends[0], alpha), max(ends[1], alpha))
        return replace(self, alpha=alpha, interval=held)

    @property
    def worth_p(self) -> int:
        """How many independent rows the known positives are worth."""
        return self.n_p if self.worth is None else self.worth[0]

    @property
    def bound_assumes(self) -> str:
        """What the bound assumes, in a clause that can follow it."""
        return BOUND_ASSUMES if self.worth is None else BOUND_ASSUMES.replace("rows", "groups")

    @property
    def pi(self) -> float:
        """The share of positives among ALL rows, labeled ones included."""
        return self.pi_at(self.alpha)

    def pi_at(self, alpha: float, *, n_u: int | None = None, negatives: int = 0) -> float:
        """π if α had this value.

        `n_u` is the number of all unlabeled rows, if α was estimated from only some of them, and
        `negatives` the number of rows known to be negative.

        >>> est = AlphaEstimate(alpha=0.25, n_p=100, n_u=300, method="bbe")
        >>> est.pi_at(0.25, negatives=100)         # (100 + 0.25 * 300) / 500
        0.35
        """
        n_u = self.n_u if n_u is None else n_u
        return (self.n_p + alpha * n_u) / (self.n_p + n_u + negatives)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {**asdict(self), "pi": self.pi}

    def summary(self, *, n_u: int | None = None, negatives: int = 0) -> str:
        """The answer in the order people ask: how many, ± what, biased which way, trust it?

        `n_u` and `negatives` are as in `pi_at`.
        """
        doubt = "" if self.doubt is None else f"; but {self.doubt}"
        headline = f"{self._share_of_unlabeled()}{doubt}"
        lines = [headline, self._share_of_all(self.n_u if n_u is None else n_u, negatives)]
        if self.interval is not None and self.confidence is not None:
            level = f"{100 * self.confidence:g} %"
            ends = low_to_high(self.interval)
            lines.append(f"{level} interval   {ends}   {self.interval_assumes}")
            if self.upper_bound is not None:
                most = figure(self.upper_bound)
                lines.append(f"{level} bound      α ≤ {most}   {self.bound_assumes}")
        if self.errs is not None:
            lines.append(line("bias", self.errs))
        lines += [line("note", note) for note in self.notes]
        for to_do, alarms in self.alarms_to_do:
            lines.append(line("alarms", to_do))
            lines += [line("alarm", alarm) for alarm in alarms]
        if not self.alarms:
            lines.append(line("alarms", NO_ALARMS))
        return "\n".join(lines)

    @property
    def alarms_to_do(self) -> list[tuple[str, list[Alarm]]]:
        """The alarms, by what to do about them; what comes first is to be done first.

        >>> found = Alarm("few-positives", "40 positives", "either"), Alarm("leak", "seen", "down")
        >>> est = AlphaEstimate(alpha=0.2, n_p=40, n_u=300, method="bbe", alarms=found)
        >>> [(to_do, [alarm.code for alarm in alarms]) for to_do, alarms in est.alarms_to_do][0]
        ('fix the rows, columns or scores, then run it again', ['leak'])
        """
        by_remedy: dict[str, list[Alarm]] = {FIX: [], AUDIT: [], MORE: [], FINER: []}
        for alarm in self.alarms:
            by_remedy[alarm.kind.remedy].append(alarm)
        return [(to_do, alarms) for to_do, alarms in by_remedy.items() if alarms]

    @property
    def leading_bound(self) -> float | None:
        """The bound, if it is the answer because the point exceeds it or says nothing; else None.

        Not where an alarm says that α may be too low: then the bound may be too low as well.
        """
        if self.upper_bound is None or (self.alpha <= self.upper_bound and not self.has_no_signal):
            return None
        return None if any(alarm.bias == "down" for alarm in self.alarms) else self.upper_bound

    @property
    def too_few(self) -> str:
        """Why there is no single number.

        >>> AlphaEstimate(alpha=0.25, n_p=1, n_u=300, method="bbe").too_few
        '1 positive is too few for a point estimate'
        >>> AlphaEstimate(alpha=0.25, n_p=60, n_u=300, method="bbe", worth=(12, 80)).too_few
        '60 positives (equivalent to 12 independent rows) are too few for a point estimate'
        """
        rows, verb = counted(self.n_p, "positive"), "is" if self.n_p == 1 else "are"
        if self.worth is not None:
            rows += f" (equivalent to {counted(self.worth_p, 'independent row')})"
        return f"{rows} {verb} too few for a point estimate"

    @property
    def has_no_signal(self) -> bool:
        """Whether positives do not score above unlabeled rows, so that any α fits the scores."""
        return self.why_unknown is not None

    @property
    def why_unknown(self) -> str | None:
        """Why scores say nothing about α, if they do not."""
        codes = (alarm.code for alarm in self.alarms)
        return next((NO_SIGNAL[code] for code in codes if code in NO_SIGNAL), None)

    @property
    def doubt(self) -> str | None:
        """What a headline must say beside α, if there is an alarm of that kind."""
        codes = [alarm.code for alarm in self.alarms]
        kinds = (kind for code, kind in ALARMS.items() if code in codes)
        return next((kind.doubt for kind in kinds if kind.doubt), None)

    @property
    def errs(self) -> str | None:
        """Which way the method errs. Where a doubt says which way α is wrong, it comes on top."""
        if self.caution is None or self.doubt is None:
            return self.caution
        return f"besides what the alarms say, {self.caution}"

    def _share_of_unlabeled(self) -> str:
        lead, of = self.headline, f"of the {self.n_u:,} unlabeled are positive"
        if lead.kind == "unknown":
            return f"{self.in_short}: {self.why_unknown}"
        rows = counted(lead.alpha * self.n_u)
        if lead.kind == "point":
            return f"{self.in_short} {of} (about {rows}), by {self.method}"
        if lead.kind == "bound":
            point = f"the point estimate of {self.method}, {figure(self.alpha)}, is above the bound"
            if self.has_no_signal:
                point = f"no signal: {self.why_unknown}"
            return f"{self.in_short} {of} (at most {rows}) {IF_ALIKE}, by the bound; {point}"
        if lead.interval is None:
            return f"{self.too_few}, and there is no interval"
        return f"{self.in_short} {of}; {self.too_few}"

    def _share_of_all(self, n_u: int, negatives: int) -> str:
        rows, labeled = f"of all {self.n_p + n_u + negatives:,} rows", self.n_p + negatives
        lead = self.headline
        alone = (lead.alpha,) if lead.kind != "unknown" else ()
        ends = (lead.interval or ()) if lead.kind == "range" else alone
        shares = [self.pi_at(alpha, n_u=n_u, negatives=negatives) for alpha in ends]
        if not shares:
            return f"π unknown, {rows}"
        if len(shares) == 1:
            sign = "=" if lead.kind == "point" else "≤"
            return f"π {sign} {figure(shares[0])} {rows}, the {labeled:,} labeled ones included"
        low, high = range_ends(*shares)
        return f"π between {low} and {high} {rows}, labeled ones included"
