"""`topbin watch`: α of new rows by day, week or month, by the model of a run, and alarms.

The folder has one file that everything is made from, watch.json, which is replaced as a whole; the
lines for other tools and the page are written from it again. So a kill loses nothing. No file that
watch.json names is ever opened.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import pandas as pd
from msgspec import Meta
from scipy.sparse import issparse
from threadpoolctl import threadpool_limits

from topbin.core.atomic import lock, read_file, remove_parts, write_errors, write_text
from topbin.core.checks import Floats, check_fraction
from topbin.core.errors import InputError, option
from topbin.core.formatting import counted
from topbin.core.hashing import sha256_of
from topbin.core.labels import Mask, means_positive, spells
from topbin.core.options import CONFIDENCE, RISK, Read, Request, Rows
from topbin.data.batch import Batch, Part
from topbin.engines.count import Sums
from topbin.engines.engine import engine_of, total
from topbin.evaluate.parts import UNITS, ScoreSums, Whole, worth_of
from topbin.evaluate.watch import Every, Period, Watched, follow
from topbin.job.grouping import moments
from topbin.job.result import Result
from topbin.learn.probabilities import posterior_of
from topbin.show.page import watch_page
from topbin.store.answer import plain
from topbin.store.runs import RESULT, TEXT_BYTES, read_asked, read_result
from topbin.store.scorer import PROBABILITY, Rated, Scorer, open_new, read_scorer
from topbin.store.sources import file_sums, fitted_rows_note, paths_of

STATE, LINES, PAGE = "watch.json", "periods.jsonl", "watch.html"
SCHEMA = "topbin-watch-1"
MOST_COLUMNS = 300
FIRST_ROWS = 20_000  # which cut the columns into quarters
MOST_HASHES = 1 << 22  # of rows, in which copies are counted
LARGEST = np.uint64(2**64 - 1)
HASHED = ("number", "boolean", "date", "string")
QUARTERS = (0.25, 0.5, 0.75)
AGAIN = "Give only new files; or begin a new watch in another folder, with all files at once."
ASSUMES = (
    "if positives look as they did in the fit, and negatives too, so that only their shares move"
)
Sum = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchState:
    """What watch.json holds: the settings, the files seen so far by their sums, and the periods.

    `cuts` has quartiles of each column, among low-scoring rows of the first batch.
    """

    run: Sum
    time: str
    every: str
    risk: float
    confidence: float
    files: tuple[Sum, ...] = ()
    columns: tuple[str, ...] = ()
    cuts: tuple[tuple[float, ...], ...] = ()
    periods: tuple[Period, ...] = ()
    schema: str = SCHEMA

    def __post_init__(self) -> None:
        Every(self.every)  # refuses what is no length of a period (TB008)

    @property
    def period(self) -> Every:
        """How long a period is, and how periods follow one another."""
        return Every(self.every)


@dataclass(frozen=True, eq=False)
class Watch:
    """α of each period so far, and the alarms; `new` are the periods of the last call."""

    state: WatchState
    whole: Whole
    new: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    @cached_property
    def periods(self) -> tuple[Watched, ...]:
        """What is said about each period, in order of time."""
        state = self.state
        return follow(
            self.whole, state.periods, per_year=state.period.per_year,
            columns=state.columns, risk=state.risk, confidence=state.confidence,
        )  # fmt: skip

    @property
    def alarms(self) -> tuple[Watched, ...]:
        """The new periods that raise an alarm."""
        return tuple(p for p in self.periods if p.alarm and p.start in self.new)

    @property
    def assumes(self) -> str:
        """What α of a period needs, and how often an alarm is false."""
        state = self.state
        return (
            f"α holds {ASSUMES}; each of the two alarms is false in at most "
            f"{100 * state.risk:g} % of years"
        )

    def lines(self) -> list[str]:
        """The new periods as text."""
        sentences = [period.sentence for period in self.periods if period.start in self.new]
        return [*sentences, *(f"note: {note}" for note in self.notes), self.assumes]

    def summary(self) -> str:
        """The new periods as text."""
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        alarms = counted(len(self.alarms), "alarm")
        return f"<Watch: {counted(len(self.periods), 'period')}, {alarms}; see .summary()>"

    def frame(self) -> Any:
        """One row per period, as a pandas table."""
        return pd.DataFrame([plain(period) for period in self.periods])


def watch(
    run: Any,
    source: Any,
    *,
    time: str,
    every: str = "week",
    output: Any = None,
    read: Read = Read(),
    risk: float = RISK,
    confidence: float = CONFIDENCE,
    engine: Any = "local",
) -> Watch:
    """α of new rows by period, from the scores of a fitted model, and whether it has moved.

    Parameters
    ----------
    run
        The folder of a run, or the result of `topbin.fit`.
    source
        New rows: files or a frame, with the columns that the model reads. If they have the label
        column of the fit, rows that it marks are counted too.
    time
        The column of dates, or of numbers, that orders the rows.
    every
        "day", "week" or "month"; for a column of numbers, how wide a period is.
    output
        A folder that keeps the periods. With the same one, new files add to it; without one,
        nothing is written.
    read
        How the files are read, if not as in the fit.
    risk
        The chance of a false alarm in a year, of each of the two kinds.
    confidence
        Of the intervals.
    engine
        What counts the rows: one of `topbin.engines`, or its name.

    Returns
    -------
    Watch
        `periods`, `alarms`, `summary()`, `frame()`.
    """
    scorer, labels, key = _scorer(run, read.encoder)
    state = WatchState(
        run=key, time=time, every=str(every), risk=check_fraction(risk, "risk"),
        confidence=check_fraction(confidence, "confidence"),
    )  # fmt: skip
    if scorer.encoder.image is not None or not scorer.model.evidence_.has_scores:
        raise InputError("TB161", "topbin watch reads runs of tables, and this is another kind.")
    fit_scores = _fit_scores(scorer.model)
    scorer = scorer.lean()

    def with_new_rows(state: WatchState) -> Watch:
        counter = PeriodCounter(scorer, fit_scores.cuts, state, labels)
        return _count_new_rows(counter, fit_scores, source, read, engine)

    if output is None:
        return with_new_rows(state)
    folder = Path(output)
    with _new_folder(folder), lock(folder):
        state = read_watch(folder, state, fit_scores)
        if state.periods:
            _write(folder, Watch(state, fit_scores))  # which a kill may have prevented
        watched = with_new_rows(state)
        if not isinstance(run, Result) and (doubt := fitted_rows_note(Path(run), paths_of(source))):
            watched = replace(watched, notes=(*watched.notes, doubt))
        state_text = json.dumps(plain(watched.state), ensure_ascii=False)
        write_text(folder / STATE, f"{state_text}\n", force=True)
        _write(folder, watched)
    return watched


@contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
    """The folder, which is there afterwards only if all went well, or if it was before."""
    is_new = not folder.exists()
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()
        raise


def _scorer(run: Any, encoder: Any) -> tuple[Scorer, "KnownLabels", str]:
    """The scorer of a run, its labels, and a sum that tells it from others.

    `encoder` is the function that made vectors in the fit, or where the encoder of texts is now.
    """
    if isinstance(run, Result):
        made_of = run.data.hash.encode() + str(run.estimate.posterior).encode()
        scorer, about, negative = run.scorer, run.data.about, run.request.rows.negative
    else:
        scorer = read_scorer(Path(run), encoder=encoder)
        made_of = read_file(Path(run) / RESULT, TEXT_BYTES)
        about, negative = read_result(run).data, read_asked(run).rows.negative
    return scorer, KnownLabels(about.label, about.positive, negative), sha256_of(made_of)


def _fit_scores(model: Any) -> Whole:
    """The scores of the fit, as probabilities of the model that scores new rows."""
    if hasattr(model, "novel_"):
        raise InputError(
            "TB126",
            "a watch follows the share of positives, and this run tells known classes apart. Fit "
            "the rows of each period as unlabeled ones.",
        )
    evidence, estimate = model.evidence_, model.estimate_
    f_p, f_u = map(model.probability_map_, evidence.scores)
    # New rows are scored by models that never saw them; those of a group are alike nevertheless.
    worth = (1.0, 1.0) if evidence.groups_p is None else worth_of(evidence)
    return Whole(f_p, f_u, posterior_of(estimate), worth, evidence.weight_p)


def read_watch(folder: Path, new: WatchState, whole: Whole) -> WatchState:
    """What a folder has, or what is asked for if it is new; TB161 if these contradict."""
    if not os.path.lexists(folder / STATE):
        for path in (folder / LINES, folder / PAGE):
            if os.path.lexists(path):
                what = f'"{path}" exists already, but this folder holds no watch.'
                raise InputError("TB104", f"{what} Choose another one.")
        return new
    remove_parts(folder)
    try:
        state = msgspec.json.decode(read_file(folder / STATE, TEXT_BYTES), type=WatchState)
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise InputError("TB161", f'"{folder / STATE}" cannot be read: {error}.') from error
    for name in ("schema", "run", "time", "every", "risk", "confidence"):
        was, now = getattr(state, name), getattr(new, name)
        if was != now:
            watched = "another run, or this one before an audit"
            watched = watched if name == "run" else f"{name} {was!r}, not {now!r}"
            raise InputError("TB161", f'"{folder}" watches {watched}. Choose another folder.')
    if not _is_sound(state, whole.cuts.size + 1):
        raise InputError("TB161", f'"{folder / STATE}" contradicts itself; it is damaged.')
    return state


def _is_sound(state: WatchState, bins: int) -> bool:
    """Whether periods follow one another, and their counts are of the same bins and columns."""
    width, columns = len(QUARTERS) + 2, len(state.columns)
    return (
        state.period.follow_one_another([p.start for p in state.periods])
        and len(state.cuts) == columns
        and all(len(cuts) <= len(QUARTERS) and sorted(cuts) == [*cuts] for cuts in state.cuts)
        and all(p.total <= UNITS * p.rows and len(p.bins) == bins for p in state.periods)
        and all(sum(p.bins) == p.rows >= p.known + p.negative for p in state.periods)
        and all({len(c) for c in p.columns} <= {width} for p in state.periods)
        and {len(p.columns) for p in state.periods} <= {columns}
    )


@dataclass(frozen=True, slots=True)
class KnownLabels:
    """The label column of a fit, and the words for what it says; new rows need not have it."""

    label: str | None
    positive: str | None
    negative: Any

    def of(self, batch: Batch) -> tuple[Mask, Mask]:
        """The known positives and the known negatives of a batch."""
        if self.label is None or self.label not in batch.kinds:
            return np.zeros(batch.rows, bool), np.zeros(batch.rows, bool)
        coded = batch.coded(self.label)
        return (
            coded.where(partial(means_positive, "1" if self.positive is None else self.positive)),
            coded.where(lambda value: self.negative is not None and spells(self.negative, value)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class RowHashes:
    """Hashes of rows; parts add.

    If there are too many, those below 2⁶⁴/2^`halved` stand for all of them.
    """

    values: Any
    halved: int = 0

    def __add__(self, other: "RowHashes") -> "RowHashes":
        values, halved = np.append(self.values, other.values), max(self.halved, other.halved)
        values = values[values <= LARGEST >> np.uint64(halved)]
        while values.size > MOST_HASHES:
            halved += 1
            values = values[values <= LARGEST >> np.uint64(halved)]
        return RowHashes(values, halved)

    @property
    def copies(self) -> int:
        """How many rows are there already, of all rows."""
        return int(self.values.size - np.unique(self.values).size) << self.halved


@dataclass(frozen=True, slots=True, eq=False)
class PeriodCounts:
    """Periods by their start, and hashes of rows; parts add."""

    periods: Sums
    hashes: RowHashes

    def __add__(self, other: "PeriodCounts") -> "PeriodCounts":
        return PeriodCounts(self.periods + other.periods, self.hashes + other.hashes)


@dataclass(frozen=True, slots=True, eq=False)
class PeriodCounter:
    """What every part needs; it is sent to each worker once. `cuts` are those of probabilities."""

    scorer: Scorer
    cuts: Floats
    state: WatchState
    labels: KnownLabels

    @property
    def low(self) -> float:
        """The score below which rows are most likely negative, whatever α is."""
        return float(self.cuts[0]) if self.cuts.size else 1.0

    def count(self, batch: Batch) -> PeriodCounts:
        """Score the rows of a batch and count them by period."""
        rated, labels = self.scorer.rate(batch), self.labels.of(batch)
        starts = _starts(batch, self.state)
        hashed = [name for name, kind in batch.kinds.items() if kind in HASHED]
        hashes = pd.util.hash_pandas_object(batch.frame[hashed], index=False).to_numpy()
        periods = Sums()
        for start, numbers in pd.Series(np.arange(batch.rows)).groupby(starts):
            periods[str(start)] = self.period(str(start), rated, numbers.to_numpy(), labels)
        return PeriodCounts(periods, RowHashes(hashes))

    def period(self, start: str, rated: Rated, numbers: Any, labels: tuple[Mask, Mask]) -> Period:
        """The counts of some rows of a batch, by their numbers."""
        known, negative = (int(which[numbers].sum()) for which in labels)
        f = rated.columns[PROBABILITY][numbers]
        sums = ScoreSums.of(f, self.cuts)
        columns: tuple[tuple[int, ...], ...] = ()
        if self.state.columns:
            places = _matrix_places(self.scorer, self.state)
            X = np.asarray(rated.X[numbers][f < self.low], np.float64)[:, places]
            columns = tuple(
                _column_counts(X[:, j], np.asarray(cuts)) for j, cuts in enumerate(self.state.cuts)
            )
        return Period(start, sums.rows, sums.total, sums.bins, columns, known, negative)


def _count_part(counter: PeriodCounter, part: Part) -> PeriodCounts:
    nothing = PeriodCounts(Sums(), RowHashes(np.zeros(0, np.uint64)))
    return sum(map(counter.count, part.batches()), nothing)


def _count_new_rows(
    counter: PeriodCounter, fit_scores: Whole, source: Any, read: Read, engine: Any
) -> Watch:
    """The watch with the periods of new rows; TB161 if some were recorded before."""
    state = counter.state
    sums = tuple(file.sum for file in file_sums(Request(rows=Rows(source=source))) if file.sum)
    if again := set(sums) & set(state.files):
        words = f"{len(again):,} of {counted(len(sums), 'file')} had been added before"
        raise InputError("TB161", f"{words}. Nothing was added now. {AGAIN}")
    counter.scorer.refuse_images(source if isinstance(source, str | list | tuple) else "")
    encoder = counter.scorer.encoder
    needed = [*dict.fromkeys([*encoder.columns, state.time])]
    parts = open_new(encoder, source, read, needed).placed_parts()
    if not state.periods:
        state = _with_cuts(counter, next(parts[0].batches(rows=FIRST_ROWS)))
    # Parts are counted at the same time, and then each by one thread.
    with engine_of(engine) as opened, threadpool_limits(1 if len(parts) > 1 else None):
        counts: PeriodCounts = total(opened, _count_part, parts, replace(counter, state=state))
    every = state.period
    new = sorted(counts.periods.values(), key=lambda period: every.number(period.start))
    _refuse_late(state, every, new)
    periods = every.filled((*state.periods, *new))
    state = replace(state, periods=periods, files=(*state.files, *sums))
    about = "about " if counts.hashes.halved else ""
    note = f"copies of rows: {about}{counts.hashes.copies:,}; each of them counts"
    notes = (note,) if counts.hashes.copies else ()
    return Watch(state, fit_scores, frozenset(counts.periods), notes)


def _refuse_late(state: WatchState, every: Every, new: Sequence[Period]) -> None:
    """TB161 for rows of periods that are recorded, or before them."""
    last = max((every.number(period.start) for period in state.periods), default=-np.inf)
    late = [period for period in new if every.number(period.start) <= last]
    if late:
        more = f" and {len(late) - 3:,} more" if len(late) > 3 else ""
        raise InputError(
            "TB161",
            f"{counted(sum(period.rows for period in late))} are of periods up to "
            f"{state.periods[-1].start}, which are recorded already: "
            f"{', '.join(period.start for period in late[:3])}{more}. Nothing was added. {AGAIN}",
        )


def _column_counts(values: Floats, cuts: Floats) -> tuple[int, ...]:
    """Rows between cuts, and last those without a value; as many for each column."""
    gone = np.isnan(values)
    bins = np.bincount(np.searchsorted(cuts, values[~gone], "right"), minlength=len(QUARTERS) + 1)
    return (*map(int, bins), int(gone.sum()))


def _matrix_places(scorer: Scorer, state: WatchState) -> list[int]:
    """The places in the matrix of the columns that are watched; TB161 if one is not there."""
    places = {name: i for i, name in enumerate(scorer.encoder.names)}
    if unknown := set(state.columns) - set(places):
        what = f'the model reads no column "{unknown.pop()}"; {STATE} is damaged.'
        raise InputError("TB161", what)
    return [places[name] for name in state.columns]


def _with_cuts(counter: PeriodCounter, batch: Batch) -> WatchState:
    """The state with quartiles of the columns, from the first rows; none if there are too many.

    The time itself always moves, so that columns made of it are left out.
    """
    state, encoder = counter.state, counter.scorer.encoder
    names = [name for f in encoder.features if f.name != state.time
             for name in f.names(scaled=encoder.scaled)]  # fmt: skip
    rated = counter.scorer.rate(batch.take(slice(FIRST_ROWS)))
    if issparse(rated.X) or len(names) > MOST_COLUMNS:
        return state
    low = rated.columns[PROBABILITY] < counter.low
    X = np.asarray(rated.X, np.float64)[low if low.any() else slice(None)]
    watched = replace(state, columns=tuple(names))
    X = X[:, _matrix_places(counter.scorer, watched)]
    cuts = tuple(
        tuple(map(float, np.unique(np.quantile(x[~np.isnan(x)], QUARTERS))))
        if (~np.isnan(x)).any() else () for x in X.T
    )  # fmt: skip
    return replace(watched, cuts=cuts)


def _starts(batch: Batch, state: WatchState) -> Any:
    when, every = moments(batch.select([state.time]), state.time), state.period
    is_date = np.issubdtype(when.dtype, np.datetime64)
    if (gone := np.flatnonzero(np.isnan(when))).size:
        raise InputError(
            "TB121",
            f'"{state.time}" has no value in row {batch.first + gone[0] + 1:,} of {batch.name}, so '
            "it belongs to no period. Fill it in, or leave the row out.",
        )
    if is_date != every.is_of_dates:
        kind = "dates: give day, week or month" if is_date else "numbers: give a number"
        raise InputError("TB008", f'{option("every")} does not fit: "{state.time}" holds {kind}.')
    return every.starts(when)


def _write(folder: Path, watched: Watch) -> None:
    lines = (json.dumps(plain(period), ensure_ascii=False) for period in watched.periods)
    page = watch_page(watched.periods, watched.assumes, watched.state.confidence)
    write_text(folder / LINES, "\n".join(lines) + "\n", force=True)
    write_text(folder / PAGE, page, force=True)
