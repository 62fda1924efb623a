"""Tails of a table of any size in two passes: the positive scores, then the unlabeled counts.

The first pass collects what is small: label values with their counts, the scores of the positives,
rows that cannot be used. The cuts go to every part; the second pass brings counts back, which add.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from topbin.core.checks import Scores
from topbin.core.counting import Counts, count_above
from topbin.core.defaults import CONFIDENCE, DEFAULT_METHOD
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.labels import Labels, read_labels
from topbin.core.tails import Tails
from topbin.data.files import SHOWN, SourceLike, find_files, is_wide, skipped, survey
from topbin.data.parts import Chunk, Columns, Part, find_parts, read_part
from topbin.engines.engine import Engine
from topbin.engines.thin import cost, thin
from topbin.mpe.estimate import estimate_alpha


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Tails, by group if one was asked for, and what was noticed while counting.

    Without `by` there is one group, called None. `distinct` says how many cuts a group had before
    they were thinned; `parts` and `columns` what was read.
    """

    tails: dict[Any, Tails]
    labels: Labels
    parts: tuple[Part, ...]
    columns: Columns
    distinct: Mapping[Any, int]
    by: str | None = None
    notes: tuple[str, ...] = ()

    def estimates(
        self, method: str = DEFAULT_METHOD, confidence: float | None = CONFIDENCE
    ) -> dict[Any, AlphaEstimate]:
        """α of each group, by the same functions that read tails counted in memory."""
        return {group: self._estimate(group, method, confidence) for group in self.tails}

    def _estimate(self, group: Any, method: str, confidence: float | None) -> AlphaEstimate:
        tails = self.tails[group]
        found = estimate_alpha(tails, method=method, confidence=confidence)
        costs = cost(tails, self.distinct[group], method)
        return replace(found, notes=(*found.notes, *costs))


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What the first pass looks for in every part."""

    columns: Columns
    positive: Any

    def __call__(self, chunk: Chunk) -> "Seen":
        """Labels, positive scores and unusable rows of a chunk."""
        usable = np.isfinite(chunk.scores)
        unusable = usable.size - int(np.count_nonzero(usable))
        if unusable:
            chunk = chunk.at(usable)
        is_p = np.flatnonzero(chunk.labels.where(lambda value: value == self.positive))
        scores_p: dict[Any, tuple[Scores, ...]]
        scores_p = {group: (scores,) for group, scores in chunk.by_group(is_p)}
        return Seen(chunk.labels.counts(), scores_p, usable.size, unusable)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What the first pass brings back from a part; it adds."""

    labels: dict[Any, int] = field(default_factory=dict)
    scores_p: dict[Any, tuple[Scores, ...]] = field(default_factory=dict)
    rows: int = 0
    unusable: int = 0
    bad: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: "Seen") -> "Seen":
        return Seen(
            _merged(self.labels, other.labels),
            _merged(self.scores_p, other.scores_p),
            self.rows + other.rows,
            self.unusable + other.unusable,
            self.bad | other.bad,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What the second pass brings back: rows above each cut, then all of them."""

    above: dict[Any, Counts] = field(default_factory=dict)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(_merged(self.above, other.above))


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """What the second pass needs in every part; `unlabeled` are the labels of rows to count.

    Without a label column all rows count, and the positives among them are taken off the sum.
    """

    columns: Columns
    unlabeled: frozenset[Any]
    tails: dict[Any, Tails]

    def __call__(self, chunk: Chunk) -> Tally:
        """Count the usable unlabeled rows of a chunk at the cuts of their groups."""
        usable = np.isfinite(chunk.scores)
        if self.columns.label is not None:
            usable &= chunk.labels.where(self.unlabeled.__contains__)
        groups = chunk.by_group(slice(None) if usable.all() else usable)
        return Tally({group: self._counts(group, scores) for group, scores in groups})

    def _counts(self, group: Any, scores: Scores) -> Counts:
        """A group without positives has no cuts; its rows are counted all the same."""
        if group not in self.tails:
            return np.array([scores.size])
        return np.append(count_above(self.tails[group].cuts, scores), scores.size)


def tails_from(
    engine: Engine,
    source: SourceLike,
    *,
    score: str,
    label: str,
    positive: Any = None,
    negative: Any = None,
    drop_nan: bool = False,
    skip_bad: bool = False,
) -> Tails:
    """Tails of the scores in parquet, csv, tsv or json lines files, counted by an engine.

    Equal, bit for bit, to `Tails.from_scores` on all rows at once. `estimate_alpha` reads it.

    Parameters
    ----------
    source
        A path, a glob pattern, or a list of these.
    score, label
        The columns of scores and of labels; `positive` and `negative` as in `read_labels`.
    drop_nan
        Leave rows out whose score is missing, NaN or infinite, which are otherwise TB004.
    skip_bad
        Leave files out that cannot be read, which are otherwise TB102.
    """
    counted = count_from(
        engine, source, score=score, label=label, positive=positive, negative=negative,
        drop_nan=drop_nan, skip_bad=skip_bad,
    )  # fmt: skip
    return counted.tails[None]


def count_from(
    engine: Engine,
    source: SourceLike,
    *,
    score: str,
    label: str,
    by: str | None = None,
    positive: Any = None,
    negative: Any = None,
    drop_nan: bool = False,
    skip_bad: bool = False,
) -> Counted:
    """The same with what was noticed, and with tails for every value of the column `by`."""
    paths = find_files(source)
    wanted = [name for name in (score, label, by) if name is not None]
    files, bad = survey(paths, wanted, score, skip_bad=skip_bad)
    columns = Columns(score, label, by, is_wide(files, score))
    parts, seen = _first_pass(engine, find_parts(files), columns, positive, skip_bad)
    bad |= seen.bad
    _check_usable(seen, drop_nan)
    labels = read_labels(
        list(seen.labels), counts=list(seen.labels.values()), positive=positive, negative=negative
    )
    full = {group: Tails.of_positives(np.concatenate(s)) for group, s in seen.scores_p.items()}
    of_positives = {group: thin(tails) for group, tails in full.items()}
    cuts = Cuts(columns, frozenset(labels.unlabeled), of_positives)
    above = _second_pass(engine, parts, cuts, seen)
    tails = {
        group: _with(of_positives[group], above[group])
        for group in sorted(of_positives, key=str)
        if group in above
    }
    alone = [*(of_positives.keys() ^ above.keys())]
    if not tails:
        raise InputError("TB003", f"no group of {by!r} has both positives and unlabeled rows.")
    notes = (*skipped(bad), *_dropped(seen), *_left_out(alone), *_many(tails))
    distinct = {group: full[group].cuts.size for group in tails}
    return Counted(tails, labels, tuple(parts), columns, distinct, by, notes)


def _first_pass(
    engine: Engine, parts: list[Part], columns: Columns, positive: Any, skip_bad: bool
) -> tuple[list[Part], Seen]:
    """The parts that can be read and what was seen in them.

    Of a file with a broken part nothing may count, so the others are then looked at again.
    """
    look = Look(columns, 1 if positive is None else positive)
    bad: dict[str, str] = {}
    while True:
        parts = [part for part in parts if part.path not in bad]
        if not parts:
            raise InputError("TB001", "no file that can be read has rows.")
        seen = engine.total(_look, parts, look)
        if not seen.bad:
            return parts, replace(seen, bad=bad)
        if not skip_bad:
            raise InputError("TB102", seen.bad[min(seen.bad)])
        bad |= seen.bad


def _second_pass(engine: Engine, parts: list[Part], cuts: Cuts, seen: Seen) -> dict[Any, Counts]:
    """The counts of every group that has unlabeled rows.

    Where each row is positive or unlabeled, labels need not be read again: all rows are counted,
    and then the positives, whose counts are known, are taken off.
    """
    n_p = sum(tails.n_p for tails in cuts.tails.values())
    n_u = sum(count for value, count in seen.labels.items() if value in cuts.unlabeled)
    two_kinds = n_p + n_u == sum(seen.labels.values())
    if two_kinds:
        cuts = replace(cuts, columns=replace(cuts.columns, label=None))
    above = engine.total(count_part, parts, cuts).above
    if two_kinds:
        above = {group: counts - _own(cuts.tails.get(group)) for group, counts in above.items()}
    if n_u != sum(int(counts[-1]) for counts in above.values()):
        raise InputError("TB102", "the files changed while they were read. Count them again.")
    return {group: counts for group, counts in above.items() if counts[-1]}


def _own(tails: Tails | None) -> Counts | int:
    """The positives above each cut, then all of them; a group without any takes off nothing."""
    return 0 if tails is None else np.append(tails.above_p, tails.n_p)


def _look(look: Look, part: Part) -> Seen:
    try:
        return sum((look(chunk) for chunk in read_part(part, look.columns)), Seen())
    except InputError as error:
        return Seen(bad={part.path: error.message})


def count_part(cuts: Cuts, part: Part) -> Tally:
    """Count the unlabeled rows of a part at the cuts."""
    return sum((cuts(chunk) for chunk in read_part(part, cuts.columns)), Tally())


def _merged(ours: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> dict[Any, Any]:
    """Both, added where both have a value.

    >>> _merged({"a": 1, "b": 2}, {"b": 3})
    {'a': 1, 'b': 5}
    """
    sums = {key: ours[key] + value if key in ours else value for key, value in theirs.items()}
    return {**ours, **sums}


def _with(tails: Tails, counts: Counts) -> Tails:
    return replace(tails, above_u=counts[:-1], n_u=int(counts[-1]))


def _check_usable(seen: Seen, drop_nan: bool) -> None:
    if seen.unusable and not drop_nan:
        raise InputError(
            "TB004",
            f"{seen.unusable:,} of {seen.rows:,} scores are missing, NaN or infinite. Score these "
            "rows again, or count without them: drop_nan (on the command line --drop-nan).",
        )


def _dropped(seen: Seen) -> list[str]:
    if not seen.unusable:
        return []
    return [f"{seen.unusable:,} of {seen.rows:,} rows were left out: no finite score"]


def _left_out(alone: list[Any]) -> list[str]:
    if not alone:
        return []
    why = "no positives or no unlabeled rows"
    return [f"{_some(len(alone), 'group')} left out for {why}: {_listed(alone)}"]


def _many(tails: Mapping[Any, Tails]) -> list[str]:
    if len(tails) == 1:
        return []
    return [
        f"{len(tails):,} groups: each interval misses with its own probability, so some will; to "
        f"cover all at once ask for a confidence of 1 − (1 − confidence)/{len(tails)}"
    ]


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _listed(names: Any) -> str:
    names = sorted("blank" if name is None else str(name) for name in names)
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
