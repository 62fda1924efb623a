"""Tails of a table of any size in two passes: the positive scores, then the unlabeled counts.

The first pass collects what is small: label values with their counts, the scores of the positives,
rows that cannot be used. The cuts go to every part; the second pass brings counts back, which add.

DEDPUL, AlphaMax and Elkan-Noto read every score. For them the unlabeled scores are counted in
65,536 cells between the lowest and the highest score, even in logits if all are probabilities,
and the same functions that serve scores in memory read them back as that many cells' middles.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import eq
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from topbin.core.checks import Floats, Scores
from topbin.core.errors import InputError, TopbinError, option
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.formatting import counted, listed
from topbin.core.labels import Coded, LabelValues, resolve_labels, spells
from topbin.core.options import CONFIDENCE, DEFAULT_METHOD
from topbin.core.tails import Counts, Tails, count_above
from topbin.data.batch import Part
from topbin.data.paths import SourceLike
from topbin.data.table import Table, open_table, skipped
from topbin.engines.engine import Engine, advising_to_skip, total, total_of
from topbin.mpe.estimate import add_alarms, estimate_alpha
from topbin.mpe.registry import cost_of_thinning, find_method
from topbin.mpe.thinning import thin

PART_ROWS = 1 << 22  # small row groups are read together up to this many rows
CHUNK_ROWS = 1 << 20
CELLS = 1 << 16  # of unlabeled scores, for methods that read every score
ROWS = 1 << 20  # at most so many scores represent all; quantiles, if there are more
UNREAD = Coded([], np.zeros(0, np.uint8))


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read, and what scores are read as."""

    score: str
    label: str | None
    by: str | None = None
    dtype: type[np.floating[Any]] = np.float64

    @property
    def names(self) -> list[str]:
        """The columns to read, each once."""
        named = (self.score, self.label, self.by)
        return list(dict.fromkeys(name for name in named if name is not None))

    def chunks(self, part: Part) -> Iterator["Chunk"]:
        """The rows of a part."""
        roles = {"labels": self.label, "groups": self.by}
        for batch in part.batches(self.names, CHUNK_ROWS):
            coded = {role: batch.coded(name) for role, name in roles.items() if name is not None}
            yield Chunk(batch.numbers(self.score, self.dtype), **coded)


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Scores with their labels and groups, where these were read; `scores` may hold NaN."""

    scores: Scores
    labels: Coded = UNREAD
    groups: Coded | None = None

    def at(self, index: Any) -> "Chunk":
        """Some of the rows."""
        groups = None if self.groups is None else self.groups.at(index)
        return Chunk(self.scores[index], self.labels.at(index), groups)

    def by_group(self, index: Any) -> Iterator[tuple[Any, Scores]]:
        """The scores of these rows by group; without a column of groups, one group called None."""
        scores = self.scores[index]
        if not scores.size:
            return
        if self.groups is None:
            yield None, scores
            return
        codes = self.groups.codes[index]
        order = np.argsort(codes, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
            yield self.groups.values[codes[rows[0]]], scores[rows]


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Tails, by group if one was asked for, and what was noticed while counting.

    Without a column of groups there is one group, called None. `distinct` says how many cuts a
    group had before they were thinned; `parts` and `columns` what was read.
    """

    tails: dict[Any, Tails]
    labels: LabelValues
    parts: tuple[Part, ...]
    columns: Columns
    distinct: Mapping[Any, int]
    notes: tuple[str, ...] = ()

    def estimates(
        self, method: str = DEFAULT_METHOD, confidence: float | None = CONFIDENCE
    ) -> dict[Any, AlphaEstimate]:
        """α of each group, by the same functions that read tails counted in memory."""
        estimates = {}
        for group, tails in self.tails.items():
            estimate = estimate_alpha(tails, method=method, confidence=confidence)
            costs = cost_of_thinning(tails, self.distinct[group], method)
            estimates[group] = replace(estimate, notes=(*estimate.notes, *costs))
        return estimates


class Task(NamedTuple):
    """What a pass does: the columns to read, how to read a chunk, and what no chunk gives."""

    columns: Columns
    read: Callable[[Chunk], Any]
    nothing: Any


class Sums(dict[Any, Any]):
    """Values by name, which add name by name.

    >>> Sums(a=1, b=2) + Sums(b=3)
    {'a': 1, 'b': 5}
    """

    def __add__(self, other: Mapping[Any, Any]) -> "Sums":
        return Sums(self | {k: self[k] + v if k in self else v for k, v in other.items()})


@dataclass(frozen=True, slots=True, eq=False)
class FirstPass:
    """What the first pass brings back from a part; parts add."""

    labels: Sums = field(default_factory=Sums)
    scores_p: Sums = field(default_factory=Sums)  # by group, each a tuple of arrays
    rows: int = 0
    unusable: int = 0

    def __add__(self, other: "FirstPass") -> "FirstPass":
        labels, scores_p = self.labels + other.labels, self.scores_p + other.scores_p
        return FirstPass(labels, scores_p, self.rows + other.rows, self.unusable + other.unusable)


def see(is_positive: Callable[[Any], bool], chunk: Chunk) -> FirstPass:
    """Labels, positive scores and unusable rows of a chunk: what the first pass looks for."""
    usable = np.isfinite(chunk.scores)
    unusable = usable.size - int(np.count_nonzero(usable))
    if unusable:
        chunk = chunk.at(usable)
    is_p = np.flatnonzero(chunk.labels.where(is_positive))
    scores_p = Sums({group: (scores,) for group, scores in chunk.by_group(is_p)})
    return FirstPass(Sums(chunk.labels.counts()), scores_p, usable.size, unusable)


def count_cuts(cuts: Mapping[Any, Scores], labels: LabelValues | None, chunk: Chunk) -> Sums:
    """By group, the rows of a chunk above each cut, then all: what the second pass counts.

    Without labels all rows count, and the positives among them are taken off the sum. A group
    without positives has no cuts; its rows are counted anyway.
    """
    usable = np.isfinite(chunk.scores)
    if labels is not None:
        usable &= labels.is_unlabeled(chunk.labels)
    counts = Sums()
    for group, scores in chunk.by_group(slice(None) if usable.all() else usable):
        above = count_above(cuts[group], scores) if group in cuts else np.zeros(0, np.int64)
        counts[group] = np.append(above, scores.size)
    return counts


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
    """Tails of the scores in files of any format that topbin reads, counted by an engine.

    Equal, bit for bit, to `Tails.from_scores` on all rows at once.

    Parameters
    ----------
    engine, source, score, label, …
        As in `count_from`.

    Returns
    -------
    Tails
        Which `estimate_alpha` reads.
    """
    roles = {"score": score, "label": label, "positive": positive, "negative": negative}
    return count_from(engine, source, **roles, drop_nan=drop_nan, skip_bad=skip_bad).tails[None]


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
    decimal: str | None = None,
    partitions: bool = False,
) -> Counted:
    """Tails of the scores in files, for every value of the column `by`, and what was noticed.

    Parameters
    ----------
    source
        A path, a glob pattern, or a list of these.
    score, label
        The columns of scores and of labels; `positive` and `negative` as in `read_labels`.
    drop_nan, skip_bad, partitions
        Leave out rows whose score is missing, NaN or infinite, which are otherwise TB004, and files
        that cannot be read, which are otherwise TB102. Read columns from folders, `column=value`.
    decimal
        What decimals follow in csv files, as in `topbin.data.open_table`.

    Returns
    -------
    Counted
        The tails of each group, and notes.
    """
    columns = Columns(score, label, by)
    with advising_to_skip(skip_bad):
        table = _opened(source, columns, decimal, skip_bad=skip_bad, partitions=partitions)
        is_short = table.types[score] == "FLOAT"
        columns = replace(columns, dtype=np.float32 if is_short else np.float64)
        # A guess, which is mostly right and saves a pass over the labels.
        is_positive = partial(spells, 1 if positive is None else positive)
        look = Task(columns, partial(see, is_positive), FirstPass())
        parts, seen, bad = _first_pass(engine, table.parts(PART_ROWS), look, skip_bad)
    if seen.unusable and not drop_nan:
        raise InputError(
            "TB004",
            f"{seen.unusable:,} of {seen.rows:,} scores are missing, NaN or infinite. Score these "
            f"rows again, or count without them: {option('drop_nan', True)}.",
        )
    name = f'column "{label}"'
    labels = resolve_labels(seen.labels, positive=positive, negative=negative, name=name)
    if [value for value in seen.labels if is_positive(value)] != [labels.positive]:
        exact = partial(see, partial(eq, labels.positive))
        seen = total(engine, over_chunks, parts, look._replace(read=exact))
    full = {group: Tails.of_positives(np.concatenate(s)) for group, s in seen.scores_p.items()}
    of_p = {group: thin(tails) for group, tails in full.items()}
    above = _second_pass(engine, parts, columns, labels, of_p)
    tails = _joined(of_p, above, by)
    distinct = {group: full[group].cuts.size for group in tails}
    notes = *skipped([*table.bad, *bad]), *table.decimal_lines
    notes = *notes, *_notes(seen, of_p.keys() ^ above.keys(), len(tails))
    return Counted(tails, labels, tuple(parts), columns, distinct, notes)


def _opened(source: SourceLike, columns: Columns, decimal: str | None, **reading: Any) -> Table:
    # A group is called as it is written, so no order of day and month has to be known.
    usual = {} if decimal is None else dict.fromkeys(columns.names, decimal)
    if columns.by is not None and columns.by != columns.score:
        usual[columns.by] = "text"
    table = open_table(source, columns=columns.names, dates="iso", decimal=usual, **reading)
    _check_kinds(table, columns.score)
    return table


def _joined(of_p: dict[Any, Tails], above: dict[Any, Counts], by: str | None) -> dict[Any, Tails]:
    """The tails of every group that has both kinds of rows."""
    both = sorted(of_p.keys() & above.keys(), key=str)
    if not both:
        raise InputError("TB003", f"no group of {by!r} has both positives and unlabeled rows.")
    return {k: replace(of_p[k], above_u=above[k][:-1], n_u=int(above[k][-1])) for k in both}


def _check_kinds(table: Table, score: str) -> None:
    """Refuse columns that cannot be scores, labels or groups, before any work."""
    for column, kind in table.kinds.items():
        if column != score and kind == "other":
            seen = f'column "{column}" of {table.name} is a {table.types[column]}'
            raise InputError("TB006", f"{seen}, not a value.")
    # In text files a word such as "n/a" makes a column of numbers one of strings.
    is_text = all(file.first_line is not None for file in table.files)
    allowed = {"number", "blank"} | ({"string", "other"} if is_text else set())
    if table.kinds[score] not in allowed:
        seen = f'column "{score}" of {table.name} is {table.kinds[score]}'
        raise InputError("TB006", f"scores must be numbers; {seen}.")


def _first_pass(
    engine: Engine, parts: list[Part], look: Task, skip_bad: bool
) -> tuple[list[Part], FirstPass, dict[str, TopbinError]]:
    """The parts that can be read, what was seen in them, and the errors of the other files.

    Of a file with a broken part nothing may count, so the others are then looked at again.
    """
    bad: dict[str, TopbinError] = {}
    while True:
        parts = [part for part in parts if part.path not in bad]
        if not parts:
            raise InputError("TB001", "no file that can be read has rows.")
        outcome = total_of(engine, over_chunks, parts, look)
        if not outcome.bad:
            return parts, outcome.value, bad
        if not skip_bad:
            raise outcome.first_error()
        bad |= outcome.bad


def _second_pass(
    engine: Engine, parts: list[Part], columns: Columns, labels: LabelValues, of_p: dict[Any, Tails]
) -> dict[Any, Counts]:
    """The counts of every group that has unlabeled rows.

    Where each row is positive or unlabeled, labels need not be read again: all rows are counted,
    and then the positives, whose counts are known, are taken off.
    """
    cuts = {group: tails.cuts for group, tails in of_p.items()}
    if labels.n_n:
        task = Task(columns, partial(count_cuts, cuts, labels), Sums())
    else:
        task = Task(replace(columns, label=None), partial(count_cuts, cuts, None), Sums())
    above = total(engine, over_chunks, parts, task)
    if not labels.n_n:
        own = {group: np.append(t.above_p, t.n_p) for group, t in of_p.items()}
        above = {group: counts - own.get(group, 0) for group, counts in above.items()}
    _check_unchanged(labels.n_u, sum(counts[-1] for counts in above.values()))
    return {group: counts for group, counts in above.items() if counts[-1]}


def _check_unchanged(before: int, now: int) -> None:
    """Refuse files that had another number of unlabeled rows in an earlier pass."""
    if before != now:
        raise InputError("TB102", "the files changed while they were read. Count them again.")


def over_chunks(task: Task, part: Part) -> Any:
    """The sum of what a task finds in the chunks of a part."""
    return sum(map(task.read, task.columns.chunks(part)), task.nothing)


def _notes(seen: FirstPass, alone: Collection[Any], groups: int) -> Iterator[str]:
    if seen.unusable:
        were = "was" if seen.unusable == 1 else "were"
        yield f"{seen.unusable:,} of {seen.rows:,} rows {were} left out: no finite score"
    if alone:
        many = f"{counted(len(alone), 'group')} left out"
        names = listed("blank" if group is None else str(group) for group in alone)
        yield f"{many}, without positives or without unlabeled rows: {names}"
    if groups > 1:
        yield (
            f"{groups:,} groups: each interval misses with its own probability, so some will; to "
            f"cover all at once ask for a confidence of 1 − (1 − confidence)/{groups}"
        )


@dataclass(frozen=True, slots=True)
class Ends:
    """The lowest and highest score, of all and of those strictly between 0 and 1; parts add."""

    low: float = np.inf
    high: float = -np.inf
    inner_low: float = np.inf
    inner_high: float = -np.inf

    @classmethod
    def of(cls, scores: Scores) -> "Ends":
        """The ends of these scores."""
        inner = scores[(scores > 0) & (scores < 1)]
        low, inner_low = (float(some.min(initial=np.inf)) for some in (scores, inner))
        high, inner_high = (float(some.max(initial=-np.inf)) for some in (scores, inner))
        return cls(low, high, inner_low, inner_high)

    def __add__(self, other: "Ends") -> "Ends":
        low, inner_low = min(self.low, other.low), min(self.inner_low, other.inner_low)
        high, inner_high = max(self.high, other.high), max(self.inner_high, other.inner_high)
        return Ends(low, high, inner_low, inner_high)

    def cells(self) -> tuple[Floats, Floats]:
        """The lower edge of each cell, ascending, and its middle; the last one is a point.

        >>> edges, middles = Ends(-1.0, 3.0).cells()
        >>> edges[[0, -1]], middles[[0, -1]].round(3)
        (array([-1.,  3.]), array([-1.,  3.]))
        """
        if self.low < 0 or self.high > 1:
            edges = np.linspace(self.low, self.high, CELLS + 1)
            return edges, np.append((edges[:-1] + edges[1:]) / 2, self.high)
        if self.inner_low > self.inner_high:
            edges = np.unique([self.low, self.high])
            return edges, edges
        z = np.linspace(logit(self.inner_low), logit(self.inner_high), CELLS + 1)
        # Rounding must not put an edge beyond the ends, or before the one below it.
        inside = np.clip(np.maximum.accumulate(expit(z[1:-1])), self.inner_low, self.inner_high)
        below, above = [0.0] * (self.low == 0), [self.inner_high] + [1.0] * (self.high == 1)
        edges = np.concatenate([below, [self.inner_low], inside, above])
        return edges, np.concatenate([below, expit((z[:-1] + z[1:]) / 2), above])


@dataclass(frozen=True, slots=True, eq=False)
class Binned:
    """The cells' lower edges and middles, their unlabeled scores, and the exact tails."""

    edges: Scores
    middles: Floats
    counts: Counts
    tails: Tails

    def scores(self) -> tuple[Floats, Floats]:
        """Scores that represent both samples; positives move to middles too, so ties stay ties."""
        cells = np.searchsorted(self.edges, self.tails.cuts, side="right") - 1
        return self._repeated(self.middles[cells]), _spread(self.middles, self.counts)

    def _repeated(self, values: Any) -> Any:
        """A value per cut, repeated for every positive whose score is that cut."""
        return _spread(values, -np.diff(self.tails.above_p, append=0))

    def estimate(
        self, method: str, confidence: float | None = CONFIDENCE, share_p: float | None = None
    ) -> AlphaEstimate:
        """α by a method that reads scores, with interval, bound and alarms of the exact tails."""
        chosen, n_p, n_u = find_method(method), self.tails.n_p, self.tails.n_u
        scores_p, scores_u = self.scores()
        if chosen.needs == "probabilities":
            scores_p = self._repeated(self.tails.cuts)  # the mean over the positives needs no bins
        share_p = n_p / (n_p + n_u) if share_p is None else share_p
        evidence = Evidence(scores_p, scores_u, share_p, self.tails)
        estimate = chosen.read(evidence)
        note = f"unlabeled scores binned to {self.middles.size:,} cells"
        if n_u > ROWS:
            note += f", of which {ROWS:,} quantiles stand for {n_u:,} scores"
        notes = (*estimate.notes, note)
        estimate = replace(estimate, method=f"{method} (binned)", n_p=n_p, n_u=n_u, notes=notes)
        return add_alarms(estimate, evidence, confidence, is_given=True)


def bin_scores(engine: Engine, counted: Counted) -> Binned:
    """Two more passes over what was counted: the ends of the scores, then the cells.

    Parameters
    ----------
    engine
        Which reads the files again.
    counted
        What `count_from` gave, without groups.

    Returns
    -------
    Binned
        Counts in cells, from which every method can be read.
    """
    if counted.columns.by is not None:
        raise InputError(
            "TB007", "methods that read every score are not computed by group; use bbe or bbe_cp."
        )
    tails, columns, labels = counted.tails[None], counted.columns, counted.labels
    task = Task(columns, partial(_ends, labels), Ends.of(tails.cuts))
    edges, middles = total(engine, over_chunks, counted.parts, task).cells()
    # Edges that are equal in float32 are one cell, with the last middle of them.
    cast = edges.astype(columns.dtype)
    last = np.append(cast[1:] != cast[:-1], True)
    cast, middles = cast[last], middles[last]
    task = Task(columns, partial(count_cuts, {None: cast}, labels), Sums())
    above = total(engine, over_chunks, counted.parts, task)[None]
    _check_unchanged(tails.n_u, above[0])
    return Binned(cast, middles, -np.diff(above[:-1], append=0), tails)


def _ends(labels: LabelValues, chunk: Chunk) -> Ends:
    return Ends.of(chunk.scores[np.isfinite(chunk.scores) & labels.is_unlabeled(chunk.labels)])


def _spread(values: Any, counts: Counts) -> Any:
    """Each value repeated by its count; if that is too many, evenly spaced quantiles instead.

    >>> _spread(np.array([1.0, 2.0]), np.array([1, 3]))
    array([1., 2., 2., 2.])
    """
    rows = int(counts.sum())
    if rows <= ROWS:
        return np.repeat(values, counts)
    wanted = ((np.arange(ROWS) + 0.5) * (rows / ROWS)).astype(np.int64)
    return values[np.searchsorted(np.cumsum(counts), wanted, side="right")]
