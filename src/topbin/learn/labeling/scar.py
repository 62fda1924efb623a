"""Are the labeled positives a random sample of all? A test that redraws labels among likely ones.

Among rows that are surely positive, labels at random are exchangeable. So the labels of these rows
are redrawn many times, and the labeled rows are compared with the others by the mean ranks of their
components, in the data and in every redraw. The test sees only rows that look like some labeled
ones: a kind of positive that is never labeled is invisible to it, as to everything else.

Rows in groups are not tested. With one row per group, random labels raised an alarm in about 40 %
of fits to rows like those of docs/how-to/groups.md.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from topbin.core.checks import Floats, RowNumbers
from topbin.core.estimate import Alarm
from topbin.core.labels import Mask

REDRAWS, TRIALS = 999, 200
LEVEL, TILT = 0.05, 2.0
WEAK = 0.1  # a power below which a test without a finding says nothing
# The models that call a row likely were trained on the labels of others like it, and some likely
# rows are negative, so labels vary more among them than chance alone lets them: by this factor.
# With 1.15, about √SPREAD of `topbin.core.evidence`, 6 of 29 fits with random labels raised an
# alarm, with 1.3 two did. Other seeds check it in bench/results/subtypes.md.
VARY = 1.3
STRATA = 4
FEWEST = 20  # likely positives, labeled or not; with fewer the test says nothing


@dataclass(frozen=True, slots=True)
class ScarTest:
    """How surprising these labels would be if labels were random, and what the test can find.

    Attributes
    ----------
    p_value, level
        The share of redrawn labels that differ as much, and the value below which it is an alarm.
    power, tilt
        How often the test would find labels for which positives of one half have `tilt` times the
        odds.
    n_p, n_u
        The likely positives that were compared, labeled and not.
    in_groups
        Whether rows are in groups, which are not tested.
    is_alarm, says_nothing, sentence
        Whether random labels would rarely look like these, whether the test could hardly find
        anything, and the result in words.

    >>> test = ScarTest(p_value=0.4, power=0.6, tilt=3.0, n_p=100, n_u=80)
    >>> test.is_alarm, test.alarms()
    (False, ())
    >>> ScarTest(p_value=0.4, power=0.02, tilt=3.0, n_p=30, n_u=20).says_nothing
    True
    """

    p_value: float | None
    power: float | None
    tilt: float
    n_p: int
    n_u: int
    level: float = LEVEL
    in_groups: bool = False

    @property
    def is_alarm(self) -> bool:
        """Whether random labels would rarely look like these."""
        return self.p_value is not None and self.p_value < self.level

    @property
    def says_nothing(self) -> bool:
        """Whether there was no test, or one that could hardly find anything and did not."""
        if self.p_value is None or self.power is None:
            return True
        return self.power < WEAK and not self.is_alarm

    @property
    def sentence(self) -> str:
        """The result in words, which never say that labels are random."""
        if self.in_groups:
            return "not tested: rows are in groups, and the test needs labels drawn row by row"
        seen = f"{self.n_p:,} labeled and {self.n_u:,} unlabeled rows that are likely positive"
        if self.p_value is None or self.power is None:
            return f"no test: {seen} are too few to compare"
        p = f"p = {self.p_value:.3f}, {seen}"
        if self.is_alarm:
            return f"the labels do not look random ({p})"
        # An audit can find bias among positives that do not look like it; both are true then.
        outcome = f"no sign of biased labels among rows that look positive ({p}), which is no proof"
        if self.says_nothing:
            outcome = f"the test could not show anything ({p})"
        return (
            f"{outcome}: if some positives had "
            f"{self.tilt:g} times the odds of others to be labeled, at best "
            f"{100 * self.power:.0f} % of such tests would show it"
        )

    def alarms(self) -> tuple[Alarm, ...]:
        """An alarm for an estimate that takes labels as random, if this speaks against it."""
        if not self.is_alarm:
            return ()
        message = f"{self.sentence}; look at the subtypes."
        return (Alarm("biased-labels", message, "down"),)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {**asdict(self), "sentence": self.sentence}


def scar_test(
    rows: Floats,
    is_labeled: Mask,
    *,
    likely: Floats | None = None,
    vary: float = VARY,
    seed: int = 0,
    tilt: float = TILT,
) -> ScarTest:
    """Compare the labeled among likely positives with the others, by redrawing the labels.

    `rows` are the likely positives, in any space of few columns. `likely` says how likely each is,
    if they differ: less likely ones are less often labeled, so only rows that are about equally
    likely are compared with each other.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(200, 2))
    >>> scar_test(rows, rows[:, 0] > 0).p_value                   # only one half is labeled
    0.001
    """
    n_p, n_u = int(is_labeled.sum()), int((~is_labeled).sum())
    if min(n_p, n_u) < FEWEST:
        return ScarTest(None, None, tilt, n_p, n_u)
    rng, ranks = np.random.default_rng(seed), rankdata(rows, axis=0)
    strata = np.zeros(n_p + n_u, np.intp) if likely is None else _alike(likely)
    for k in range(strata.max() + 1):
        ranks[strata == k] -= ranks[strata == k].mean(axis=0)
    ranks = ranks[:, np.ptp(ranks, axis=0) > 0]
    ranks /= np.sqrt((ranks**2).mean(axis=0))
    counts = np.bincount(strata[is_labeled], minlength=strata.max() + 1)

    def distance_of(keys: Floats) -> float:
        return _distance(ranks, _lowest(keys, strata, counts))

    redrawn = [distance_of(rng.random(n_p + n_u)) for _ in range(REDRAWS)]
    seen = _distance(ranks, np.flatnonzero(is_labeled)) / vary**2
    p_value = (1 + np.count_nonzero(np.array(redrawn) >= seen)) / (1 + REDRAWS)
    critical = vary**2 * np.quantile(redrawn, 1 - LEVEL)
    is_seen = [distance_of(_tilted(ranks, tilt, rng)) > critical for _ in range(TRIALS)]
    return ScarTest(float(p_value), float(np.mean(is_seen)), tilt, n_p, n_u)


def _alike(likely: Floats) -> RowNumbers:
    """Strata of about equally likely rows, none of them small."""
    parts = max(1, min(STRATA, likely.size // (2 * FEWEST)))
    return np.asarray((rankdata(likely, "min") - 1) * parts // likely.size, np.intp)


def _lowest(keys: Floats, strata: RowNumbers, counts: RowNumbers) -> RowNumbers:
    """The rows with the lowest keys, so many in each stratum."""
    order = np.lexsort((keys, strata))
    starts = np.searchsorted(strata[order], np.arange(counts.size))
    place = np.arange(order.size) - starts[strata[order]]
    return order[place < counts[strata[order]]]


def _distance(ranks: Floats, labeled: RowNumbers) -> float:
    """The sum of squared standardized differences of mean ranks, over the components.

    Ranks are centered, so the sum over the labeled rows is minus that over the others.
    """
    n_p, n = labeled.size, ranks.shape[0]
    total = ranks[labeled].sum(axis=0)
    return float((total**2).sum() * n / (n_p * (n - n_p)))


def _tilted(ranks: Floats, tilt: float, rng: np.random.Generator) -> Floats:
    """Keys for which one half of the rows, in a random direction, has `tilt` times the odds."""
    along = ranks @ rng.normal(size=ranks.shape[1])
    odds = np.where(along > np.median(along), tilt, 1.0)
    return np.asarray(rng.exponential(size=along.size) / odds)
