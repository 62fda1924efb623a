"""α of a part of the rows, such as a group or a week, from the scores and α of the whole.

Let positives score alike in all parts, and negatives too. With f any function of the score, and
means of f over a part, over the rest and over the known positives, the shares differ by

    α_part − α_rest = (1 − α)·D,   D = (f_part − f_rest)/(f_positives − f_unlabeled)

D needs neither α nor the overlap of the classes, so their error mostly cancels where parts are
compared. The f with the least variance is p(positive | score). A normal prior over the logarithm of
the odds ratio of part and rest draws parts with few rows toward the whole, and keeps shares in
(0, 1). For prevalence by group see Balachandar, Garg & Pierson (PURPLE, 2024).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logit
from scipy.stats import chi2, ks_2samp

from topbin.core.binomial import effective_rows
from topbin.core.checks import Floats, RowNumbers
from topbin.core.estimate import AlphaEstimate, Interval
from topbin.core.evidence import Evidence
from topbin.core.formatting import counted, figure, visible
from topbin.core.posterior import AlphaPosterior
from topbin.evaluate.measure import Finding
from topbin.learn.probabilities import fit_probabilities, posterior_of

# Of the logarithm of the odds ratio: before any row is seen, the odds of two parts in three are at
# most e = 2.7 times those of the rest, and at least 1/e times.
PRIOR_SD = 1.0
FARTHEST, STEPS, REACH = 7.0, 129, 5.0  # of log odds ratios; points for each α, and how many sd
RAREST = 1e-6
UNITS = 1 << 32  # of a probability, when many are added
SEPARATES = 3.0  # standard errors between positives and unlabeled rows; else D says nothing
BINS, FEWEST = 10, 5  # of scores, and rows of a part that a test of them needs
APART = 0.02  # the least difference of probabilities between bins
BORROWS = 0.5  # of the prior's variance: if more is left, most is known from the whole
LEVEL = 0.01  # the level of the tests of what is assumed, for all groups together
LINES = 12  # groups on the screen
ASSUMES = (
    "if positives score alike in all groups, and negatives too, so that only their shares differ"
)
PRIOR = (
    f"the odds of a group and of the rest are expected to differ by a factor up to e (a normal "
    f"prior, sd {PRIOR_SD:g}, of the log odds ratio); that draws groups with few rows to the whole"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """α of a part, and against the rest: difference and ratio, each with an interval.

    `p_value` is twice the probability that the part is on the other side of the rest. `borrows`
    says that the part has so few rows that most of its α comes from the whole. The tests say
    whether what the comparison assumes can be: `like_positives` whether its known positives score
    like the others, `fit` whether its unlabeled rows score like a mixture of the same two classes.
    None: too few rows.
    """

    alpha: float
    interval: Interval
    difference: float
    difference_interval: tuple[float, float]
    ratio: float
    ratio_interval: tuple[float, float]
    p_value: float
    borrows: bool
    like_positives: float | None = None
    fit: float | None = None


@dataclass(frozen=True, slots=True)
class ScoreSums:
    """All that is read from the scores of some rows: parts add.

    `total` is the sum of their probabilities, each a whole number of `UNITS`, so that the order of
    additions does not matter. `bins` are counts of them between `Whole.cuts`.

    >>> cuts = np.array([0.4])
    >>> both = ScoreSums.of(np.array([0.25, 0.5]), cuts) + ScoreSums.of(np.array([0.75]), cuts)
    >>> both.rows, both.mean, both.bins
    (3, 0.5, (1, 2))
    """

    rows: int
    total: int
    bins: tuple[int, ...]

    @classmethod
    def of(cls, f: Floats, cuts: Floats) -> "ScoreSums":
        """What is read from rows with these probabilities."""
        bins = np.bincount(np.searchsorted(cuts, f, "right"), minlength=cuts.size + 1)
        total = int(np.rint(f * UNITS).astype(np.int64).sum())
        return cls(f.size, total, tuple(map(int, bins)))

    def __add__(self, other: "ScoreSums") -> "ScoreSums":
        bins = tuple(a + b for a, b in zip(self.bins, other.bins, strict=True))
        return ScoreSums(self.rows + other.rows, self.total + other.total, bins)

    @property
    def mean(self) -> float:
        """The mean probability."""
        return self.total / (UNITS * self.rows)


@dataclass(frozen=True, eq=False)
class Whole:
    """Probabilities of the positives and of the unlabeled rows, and what is known of their α.

    `worth` is how many independent ones a row of either kind counts for, and `weight_p` how much
    each positive counts, if not all the same.
    """

    f_p: Floats
    f_u: Floats
    posterior: AlphaPosterior
    worth: tuple[float, float] = (1.0, 1.0)
    weight_p: Any = None

    @classmethod
    def of(cls, evidence: Evidence, estimate: AlphaEstimate, scores: Any = None) -> "Whole":
        """From what α was read from; `scores` of both kinds take the place of its own."""
        p, u = evidence.scores if scores is None else scores
        own = Evidence(p, u, weight_p=evidence.weight_p)
        likely = fit_probabilities(own, estimate)
        worth = worth_of(evidence)
        return cls(likely(p), likely(u), posterior_of(estimate), worth, evidence.weight_p)

    @cached_property
    def cuts(self) -> Floats:
        """Between bins with about as many unlabeled rows, but not between nearly equal ones.

        Which of two such rows scores higher depends on the models, and new rows have others.
        """
        cuts = [0.0]
        for cut in np.quantile(self.f_u, np.linspace(0, 1, BINS + 1)[1:-1]):
            cuts += [cut] if cut - cuts[-1] >= APART else []
        return np.array(cuts[1:])

    def seen(self, f: Floats) -> ScoreSums:
        """What is read from rows with these probabilities."""
        return ScoreSums.of(f, self.cuts)

    @cached_property
    def unlabeled(self) -> ScoreSums:
        """What is read from all unlabeled rows."""
        return self.seen(self.f_u)

    @cached_property
    def alpha(self) -> float:
        """The point, away from 0 and from 1."""
        return float(np.clip(self.posterior.median, RAREST, 1 - RAREST))

    def alpha_of(self, seen: ScoreSums) -> float:
        """α of these rows, if that of the whole is known."""
        value = self.contrast(seen, self.unlabeled).value
        return float(np.clip(self.alpha + (1 - self.alpha) * value, RAREST, 1 - RAREST))

    def sd(self, contrast: "Contrast", *shares: float) -> float:
        """The standard deviation of D if part and rest have these shares of positives."""
        alpha, *each = (np.array([share]) for share in (self.alpha, *shares))
        return float(np.sqrt(contrast.variance(alpha, *each)[0]))

    def compare(
        self, part: ScoreSums, rest: ScoreSums, share: float, confidence: float, own_p: Any = None
    ) -> Compared:
        """A part of the unlabeled rows against the rest; `share` is its share of them.

        A share of 0 compares new rows with the whole. `own_p` says which positives are the part's.

        >>> p, u = np.repeat([3.0, 2.0], 500), np.repeat([3.0, 0.0], [300, 700])
        >>> whole = Whole.of(Evidence.of(p, u), AlphaEstimate(
        ...     alpha=0.6, n_p=1000, n_u=1000, method="known", posterior=AlphaPosterior.known(0.6)))
        >>> part, rest = map(whole.seen, (whole.f_u[400:], whole.f_u[:400]))
        >>> found = whole.compare(part, rest, 0.6, 0.95)
        >>> found.p_value < 0.05, found.alpha < 0.6
        (True, True)
        """
        alpha, other, odds, weight = self._posterior(self.contrast(part, rest), share)

        def read(figure: Floats) -> tuple[float, tuple[float, float]]:
            low, middle, high = _quantiles(figure, weight, confidence)
            return middle, (low, high)

        (own, ends), (gap, gaps), (times, both) = map(read, (alpha, alpha - other, alpha / other))
        above = float(weight[odds > 0].sum() / weight.sum())
        mean = float((weight * odds).sum() / weight.sum())
        left = float((weight * (odds - mean) ** 2).sum() / weight.sum()) / PRIOR_SD**2
        like = None
        if own_p is not None and min(own_p.sum(), (~own_p).sum()) >= FEWEST:
            like = float(ks_2samp(self.f_p[own_p], self.f_p[~own_p]).pvalue)
        return Compared(
            alpha=own, interval=ends, difference=gap, difference_interval=gaps, ratio=times,
            ratio_interval=both, p_value=2 * min(above, 1 - above), borrows=left > BORROWS,
            like_positives=like, fit=self.fit(part, rest),
        )  # fmt: skip

    @cached_property
    def _n_p(self) -> float:
        """How many independent positives of equal weight these are worth."""
        weight = self.weight_p
        return self.worth[0] * (self.f_p.size if weight is None else effective_rows(weight))

    @cached_property
    def _moments(self) -> tuple[tuple[float, float], tuple[float, float], float, float]:
        """Means and mean squares of positives and of unlabeled rows, their gap, and its noise."""
        weight = self.weight_p
        mean, square = (float(np.average(f, weights=weight)) for f in (self.f_p, self.f_p**2))
        unlabeled = float(self.f_u.mean()), float((self.f_u**2).mean())
        gap, noise = mean - unlabeled[0], (square - mean**2) / self._n_p
        enough = SEPARATES * np.sqrt(noise + self.f_u.var() / (self.f_u.size * self.worth[1]))
        return (mean, square), unlabeled, gap if gap > enough else np.inf, noise

    def contrast(self, part: ScoreSums, rest: ScoreSums) -> "Contrast":
        """D, and what its noise depends on."""
        positives, unlabeled, gap, noise = self._moments
        value = (part.mean - rest.mean) / gap
        sizes = tuple(self.worth[1] * _normal_size(one.rows) for one in (part, rest))
        return Contrast(value, gap, positives, unlabeled, sizes, value**2 * noise / gap**2)

    def _posterior(self, seen: "Contrast", share: float) -> tuple[Floats, Floats, Floats, Floats]:
        """α of part and rest, log odds ratios and weights: one row per draw of α.

        For each α the odds ratios are those that D leaves possible.
        """
        whole = np.clip(self.posterior.draws(), RAREST, 1 - RAREST)[:, None]
        ends = np.array([-FARTHEST, FARTHEST])
        if seen.separates:
            gap = (1 - whole) * (seen.value + seen.widest * np.array([-1, 1]))
            inside = (np.clip(whole + side * gap, 1e-12, 1 - 1e-12) for side in (1 - share, -share))
            ends = np.clip(np.subtract(*map(logit, inside)), *ends)
        low, high = np.broadcast_to(ends, (whole.size, 2)).T[..., None]
        high = np.maximum(high, low + 1e-6)
        odds = low + (high - low) * np.linspace(0, 1, STEPS)
        alpha, rest = _shares(whole, odds, share)
        log_weight = np.log(high - low) - 0.5 * (odds / PRIOR_SD) ** 2
        if seen.separates:
            variance = seen.variance(whole, alpha, rest)
            miss = seen.value - (alpha - rest) / (1 - whole)
            log_weight = log_weight - 0.5 * (miss**2 / variance + np.log(variance))
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        # Each draw counts alike, so that parts add up to the α that the headline gives.
        return alpha, rest, odds, weight / weight.sum(axis=1, keepdims=True)

    def fit(self, part: ScoreSums, rest: ScoreSums) -> float | None:
        """The p-value that part and rest mix the same two classes, from counts in bins of scores.

        In each bin the shares of part and rest differ by D·(share of positives − of unlabeled).
        None if there are too few rows.
        """
        if min(part.rows, rest.rows) < FEWEST * BINS or self.cuts.size < 2:
            return None
        value = self.contrast(part, rest).value
        places = np.searchsorted(self.cuts, self.f_p, "right")
        p = np.bincount(places, self.weight_p, self.cuts.size + 1)
        p, u = (bins / bins.sum() for bins in (p, np.array(self.unlabeled.bins)))
        own, other = np.array(part.bins), np.array(rest.bins)
        # One row more in each bin: an empty one would have no noise at all.
        noise = (own + other + 1) / (part.rows * rest.rows) / self.worth[1]
        noise = noise + value**2 * p / self._n_p
        off = own / part.rows - other / rest.rows - value * (p - u)
        return float(chi2.sf((off**2 / noise).sum(), self.cuts.size - 1))


def worth_of(evidence: Evidence) -> tuple[float, float]:
    """How many independent rows a positive and an unlabeled row of a fit count for."""
    tails = evidence.tails
    return evidence.effective[0] / tails.n_p, evidence.effective[1] / tails.n_u


@dataclass(frozen=True, slots=True)
class Contrast:
    """D, and means and mean squares of f over positives and over all unlabeled rows.

    `gap` is by how much the means differ, infinite if that is too little to divide by. `sizes` are
    those of part and rest, and `noise` is the variance that D has from the positives.
    """

    value: float
    gap: float
    positives: tuple[float, float]
    unlabeled: tuple[float, float]
    sizes: tuple[float, ...]
    noise: float

    @property
    def separates(self) -> bool:
        """Whether scores tell positives from unlabeled rows."""
        return self.gap < np.inf

    @property
    def widest(self) -> float:
        """How far from D its truth is looked for."""
        mean, square = self.unlabeled
        spread = sum((square - mean**2 + 1 / n) / n for n in self.sizes)
        return REACH * float(np.sqrt(spread / self.gap**2 + self.noise))

    def variance(self, whole: Floats, *shares: Floats) -> Floats:
        """The variance of D if part and rest have these shares of positives.

        By the shares, not by the rows: a few rows that look alike are no proof that all do.
        """
        negatives = [
            (u - whole * p) / (1 - whole)
            for p, u in zip(self.positives, self.unlabeled, strict=True)
        ]
        total = np.full_like(shares[0], self.noise)
        for share, n in zip(shares, self.sizes, strict=True):
            moments = zip(self.positives, negatives, strict=True)
            mean, square = (share * p + (1 - share) * q for p, q in moments)
            total += np.maximum(square - mean**2, RAREST) / n / self.gap**2
        return total


def _normal_size(n: int) -> float:
    """As many rows with a mean as good as normal: that of a few is not, and may be far off.

    >>> round(_normal_size(1), 2), round(_normal_size(100))
    (0.33, 98)
    """
    return n**2 / (n + 2)


def _shares(whole: Floats, odds: Floats, share: float) -> tuple[Floats, Floats]:
    """α of a part and of the rest with this log odds ratio, whose mean is that of the whole.

    >>> part, rest = _shares(np.array([0.5]), np.array([np.log(9.0)]), 0.5)
    >>> part.round(3), rest.round(3)                                       # odds of 3 and 1/3
    (array([0.75]), array([0.25]))
    """
    k = np.exp(odds)
    # (1 − s)(k − 1)·r² + (s·k + 1 − s − α(k − 1))·r − α = 0 for the rest r, in a stable form.
    middle = share * k + 1 - share - whole * (k - 1)
    root = np.sqrt(middle**2 + 4 * whole * (1 - share) * (k - 1))
    rest = 2 * whole / (middle + root)
    return k * rest / (1 + (k - 1) * rest), rest


def _quantiles(figure: Floats, weight: Floats, confidence: float) -> tuple[float, float, float]:
    """The low end, the median and the high end of weighted values."""
    order = np.argsort(figure, axis=None)
    value, mass = figure.ravel()[order], weight.ravel()[order]
    below = (np.cumsum(mass) - mass / 2) / mass.sum()
    risk = (1 - confidence) / 2
    low, middle, high = np.interp([risk, 0.5, 1 - risk], below, value)
    return float(low), float(middle), float(high)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShare(Compared):
    """α of one group, and against the rest.

    `differs` holds at the level of all groups together; `notes` say what speaks against the
    comparison.
    """

    group: str
    n_p: int
    n_u: int
    differs: bool = False
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The group in one line."""
        ends = "{} to {}".format(*map(figure, self.interval))
        times = "{:.2f} to {:.2f}".format(*self.ratio_interval)
        rows = f"{self.n_p:,} labeled, {self.n_u:,} unlabeled"
        verdict = "differs" if self.differs else "no clear difference"
        return (
            f"{self.group}: α = {figure(self.alpha)}, {ends} ({rows}); {self.ratio:.2f} times the "
            f"rest, {times}: {verdict}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ByGroup(Finding):
    """α of each group of a column, in the order of the groups.

    Intervals are at `confidence` for each group alone. A group `differs` if it would still do so
    after Bonferroni's correction for all `comparisons`. `notes` are about the column.
    """

    column: str
    confidence: float
    comparisons: int
    groups: tuple[GroupShare, ...]
    assumes: str = ASSUMES
    prior: str = PRIOR
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The lines of a summary."""
        shown = [f"{'':16}{one.sentence}" for one in self.groups[:LINES]]
        if (more := len(self.groups) - LINES) > 0:
            shown.append(f"{'':16}and {counted(more, 'more group')} in result.json")
        notes = [f"{one.group}: {note}" for one in self.groups for note in one.notes]
        lines = shown + [f"{'':16}{note}" for note in (*self.notes, *notes, self.assumes)]
        head = visible(f"by {self.column}")
        if len(head) > 15:
            return [head, *lines]
        return [f"{head:16}{lines[0][16:]}", *lines[1:]]

    def summary(self) -> str:
        """The groups as text."""
        return "\n".join(self.lines())

    def __str__(self) -> str:
        return self.summary()


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of a column: their names, and that of each row by number."""

    column: str
    names: tuple[str, ...]
    codes: RowNumbers
    notes: tuple[str, ...] = ()


def by_group(
    whole: Whole, groups: Groups, is_positive: Any, confidence: float, notes: Sequence[str] = ()
) -> ByGroup:
    """α of each group that has unlabeled rows, and against the rest.

    `groups` has a code for each row that took part: its positives in the order of the scores of
    positives, its unlabeled rows in that of theirs.
    """
    of_p, of_u = groups.codes[is_positive], groups.codes[~is_positive]
    n_p, n_u = (np.bincount(of, minlength=len(groups.names)).tolist() for of in (of_p, of_u))
    read = [k for k, n in enumerate(n_u) if n]
    comparisons = 1 if len(read) == 2 else len(read)
    shares = []
    for k in read if len(read) > 1 else ():
        own = of_u == k
        part, rest = whole.seen(whole.f_u[own]), whole.seen(whole.f_u[~own])
        compared = whole.compare(part, rest, float(own.mean()), confidence, of_p == k)
        shares.append(
            GroupShare(
                **asdict(compared), group=groups.names[k], n_p=n_p[k], n_u=n_u[k],
                differs=compared.p_value * comparisons < 1 - confidence,
                notes=tuple(_doubts(compared, n_p[k], comparisons)),
            )
        )  # fmt: skip
    sizes = zip(groups.names, n_u, strict=True)
    more = [f"{name}: no unlabeled rows, so no α" for name, n in sizes if not n]
    if len(read) < 2:
        more.append("all unlabeled rows are in one group, so there is nothing to compare")
    return ByGroup(
        column=groups.column, confidence=confidence, comparisons=comparisons, groups=tuple(shares),
        notes=(*groups.notes, *notes, *more),
    )  # fmt: skip


def _doubts(compared: Compared, n_p: int, comparisons: int) -> list[str]:
    """What a reader must know about one group."""
    notes = []
    if n_p == 0:
        notes.append("no labeled positives; its positives are assumed to score like the others")
    if compared.borrows:
        notes.append("its own rows say so little that most of its α is that of all groups")
    if compared.like_positives is not None and compared.like_positives * comparisons < LEVEL:
        notes.append(
            "its labeled positives do not score like the others, so labeling or the overlap of "
            "the classes differs, and the comparison can be off"
        )
    if compared.fit is not None and compared.fit * comparisons < LEVEL:
        notes.append(
            "its scores are not a mixture of the same two classes, so the overlap differs, and "
            "the comparison can be off"
        )
    return notes
