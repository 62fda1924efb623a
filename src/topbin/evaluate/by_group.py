"""α by group: that of each group, and how it differs from the rest."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topbin.core.checks import RowNumbers
from topbin.core.formatting import counted, figure, visible
from topbin.evaluate.parts import PRIOR_SD, Compared, Whole

DOUBT = 0.01  # the level of the tests of what is assumed, for all groups together
LINES = 12  # groups on the screen
ASSUMES = (
    "if positives score alike in all groups, and negatives too, so that only their shares differ"
)
PRIOR = (
    f"the odds of a group and of the rest are expected to differ by a factor up to e (a normal "
    f"prior, sd {PRIOR_SD:g}, of the log odds ratio); that draws groups with few rows to the whole"
)


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
class ByGroup:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(self)


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
    sizes = [np.bincount(of, minlength=len(groups.names)) for of in (of_p, of_u)]
    kept = [k for k in range(len(groups.names)) if sizes[1][k]]
    comparisons = 1 if len(kept) == 2 else len(kept)
    found = []
    for k in kept if len(kept) > 1 else ():
        own = of_u == k
        part, rest = whole.seen(whole.f_u[own]), whole.seen(whole.f_u[~own])
        told = whole.compare(part, rest, float(own.mean()), confidence, of_p == k)
        found.append(
            GroupShare(
                **asdict(told), group=groups.names[k], n_p=int(sizes[0][k]), n_u=int(sizes[1][k]),
                differs=told.p_value * comparisons < 1 - confidence,
                notes=tuple(_doubts(told, int(sizes[0][k]), comparisons)),
            )
        )  # fmt: skip
    unread = [groups.names[k] for k in range(len(groups.names)) if not sizes[1][k]]
    more = [f"{name}: no unlabeled rows, so no α" for name in unread]
    if len(kept) < 2:
        more.append("all unlabeled rows are in one group, so there is nothing to compare")
    return ByGroup(
        column=groups.column, confidence=confidence, comparisons=comparisons, groups=tuple(found),
        notes=(*groups.notes, *notes, *more),
    )  # fmt: skip


def _doubts(told: Compared, n_p: int, comparisons: int) -> list[str]:
    """What a reader must know about one group."""
    notes = []
    if n_p == 0:
        notes.append("no labeled positives; its positives are assumed to score like the others")
    if told.borrows:
        notes.append("few rows, so most of its α is that of the whole")
    if told.like_positives is not None and told.like_positives * comparisons < DOUBT:
        notes.append(
            "its labeled positives do not score like the others, so labeling or the overlap of "
            "the classes differs, and the comparison can be off"
        )
    if told.fit is not None and told.fit * comparisons < DOUBT:
        notes.append(
            "its scores are not a mixture of the same two classes, so the overlap differs, and "
            "the comparison can be off"
        )
    return notes
