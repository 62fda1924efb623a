"""Which unlabeled rows are listed, best first: how many of them, and what to expect of them."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.atomic import read_file
from topbin.core.checks import Floats, RowNumbers, Scores, check_fraction
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.options import Listing
from topbin.data.write import in_front
from topbin.evaluate.curves import ListPrecision, list_precision
from topbin.evaluate.metrics import OutOfReach, out_of_reach
from topbin.store.answer import Answer, Candidates
from topbin.store.models import load, reading
from topbin.store.runs import CANDIDATES, MODEL
from topbin.store.scorer import after_audit

NO_INTERVAL = "min_precision needs an interval, and this estimate has none; ask for n rows instead."
USUAL_ROWS, FEWEST_ROWS = 100, 10  # that are listed if nobody says how many
OURS = ("rank", "row", "probability")  # the first columns of candidates.csv
PLACE = OURS.index("probability")
LINE = re.compile(r'(?:[^"\n]++|"[^"]*+")*+\n')  # of a csv file; a quoted cell may have line ends


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Unlabeled rows by their scores. Positives are sought, which score high.

    Or `novel` rows, which belong to no known class: they score low.

    >>> scores = np.array([0.2, 0.9, 0.5])
    >>> Ranking(scores).order(2).tolist(), Ranking(scores, novel=True).order(2).tolist()
    ([1, 2], [0, 2])
    """

    scores: Scores
    novel: bool = False

    def order(self, n: int | None = None) -> RowNumbers:
        """The places of the n best rows, best first; of equal ones those that come first."""
        return np.argsort(self.scores if self.novel else -self.scores, kind="stable")[:n]

    def best(self, n: int | None = None) -> "Ranking":
        """The n best rows, best first."""
        return replace(self, scores=self.scores[self.order(n)])

    def likely(self, probability_map: Any) -> Floats:
        """How likely each row is what is sought, from the map of scores to p(positive)."""
        known: Floats = probability_map(self.scores)
        return 1 - known if self.novel else known

    def share(self, alpha: float) -> float:
        """The share of what is sought among all unlabeled rows."""
        return 1 - alpha if self.novel else alpha

    def most(self, estimate: AlphaEstimate) -> float:
        """The same share at the high end of the interval, or by the bound if there is none."""
        if estimate.interval is not None:
            return self.share(estimate.interval[0 if self.novel else 1])
        bound = None if self.novel else estimate.upper_bound
        return bound or self.share(estimate.alpha)

    def precision(self, evidence: Evidence, estimate: AlphaEstimate) -> ListPrecision:
        """Of rows that are in order, best first: how many of the first k are what is sought."""
        positive = list_precision(evidence, estimate, self.scores)
        return positive.of_others if self.novel else positive

    def listed(
        self, precision: ListPrecision, estimate: AlphaEstimate, *, rows: int, of: int, why: str
    ) -> Candidates:
        """What to expect of so many of the best rows, `of` all unlabeled ones."""
        k, sought = rows - 1, self.share(estimate.alpha) * of
        share = min(1.0, float(rows * precision.value[k] / sought)) if sought else 0.0
        ends = (float(end[k]) for end in (precision.value, precision.low, precision.high))
        value, low, high = (None, None, None) if estimate.has_no_signal else ends
        return Candidates(
            rows=rows, threshold=float(self.scores[k]), precision=value, precision_low=low,
            precision_high=high, recall=share, why=why,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Picker:
    """Picks candidates: `best` are the best rows of `of` unlabeled ones, in order.

    `n_u` is how many unlabeled rows the job has.
    """

    best: Ranking
    evidence: Evidence
    estimate: AlphaEstimate
    of: int
    n_u: int

    def as_asked(self, asked: Listing) -> Candidates:
        """By the precision the job was asked for; by number where no threshold reaches it."""
        if asked.min_precision is None:
            return self.first(asked.candidates)
        try:
            return self.down_to(asked.min_precision)
        except OutOfReach as error:
            instead = self.first(asked.candidates or self._usual_rows())
            return replace(instead, why=f"{error.message} Instead, {instead.why}")

    def first(self, n: int | None = None) -> Candidates:
        """The n best rows; without a number, as many as is usual."""
        size = self.best.scores.size
        rows = min(n or self._usual_rows(), size)
        why = highest(rows)
        if n is None and rows < USUAL_ROWS:
            why += f", as many as can be {'novel' if self.best.novel else 'positive'}"
        return self._listed(self._precision(), rows, why)

    def down_to(self, min_precision: float) -> Candidates:
        """All rows down to a precision whose LOW end is this."""
        precision, scores = self._precision(), self.best.scores
        wanted = check_fraction(min_precision, "min_precision")
        if self.estimate.interval is None:
            raise InputError("TB126", NO_INTERVAL)
        # Without signal, probabilities are α for all rows, whatever α is.
        blind = self.estimate.has_no_signal
        low = np.zeros_like(precision.low) if blind else precision.low
        last = np.append(scores[1:] != scores[:-1], True)  # of rows with the same score
        good = np.flatnonzero(last & (low >= wanted))
        if good.size == 0:
            raise out_of_reach(wanted, low)
        rows = int(good[-1]) + 1
        why = f"estimated precision at least {min_precision:g}, by the interval's low end"
        if rows == scores.size < self.of:
            why += "; more rows reach it, and only the first are listed"
        return self._listed(precision, rows, why)

    def _precision(self) -> ListPrecision:
        return self.best.precision(self.evidence, self.estimate)

    def _listed(self, precision: ListPrecision, rows: int, why: str) -> Candidates:
        return self.best.listed(precision, self.estimate, rows=rows, of=self.of, why=why)

    def _usual_rows(self) -> int:
        """As many rows as are sought at the high end of α; at least a few, at most 100."""
        most = ceil(self.best.most(self.estimate) * self.n_u)
        return min(USUAL_ROWS, max(FEWEST_ROWS, most))


def highest(rows: int) -> str:
    """Why these rows are listed, if it is only for their rank."""
    return f"the {rows:,} highest probabilities" if rows > 1 else "the highest probability"


def ranked(frame: Any, numbers: Any, likely: Any, id: str | None) -> Any:
    """Rows as candidates.csv has them: rank, number, probability and id before the others."""
    if id in frame:
        frame = frame[[id, *(name for name in frame if name != id)]]
    return in_front(
        frame, {"rank": np.arange(1, len(frame) + 1), "row": numbers, "probability": likely}
    )


@dataclass(frozen=True, slots=True, eq=False)
class Relisted:
    """The candidates after an audit: what an answer says of them, how likely each is, their file.

    Without a `text` the file stays as it is.
    """

    listed: Candidates
    likely: Any = None
    text: str | None = None


def relisted(folder: Path, before: Answer, after: Answer) -> Relisted:
    """The candidates of a run, with the answer as it is now, `before`, and once it was audited.

    Their order stays, because the probability grows with the score; only how likely they are
    changes. A file that somebody edited is left alone.
    """
    listed, model = before.candidates, load(folder / MODEL)
    with reading(folder):
        rows = _rows_as_written(folder / CANDIDATES, listed.sum)
        if rows is None or not model.evidence_.has_scores:
            return Relisted(listed)
        was, now = (after_audit(model, answer) for answer in (before, after))
        best = _ranking_of(rows[1:], was, before)
        precision = best.precision(model.evidence_, now.estimate_)
        likely = best.likely(now.probability_map_).round(4)
        for row, value in zip(rows[1:], likely.tolist(), strict=True):
            row[PLACE] = str(value)
    text = "".join(",".join(row) + "\n" for row in rows)
    listed = replace(listed, sum=hashlib.sha256(text.encode()).hexdigest())
    if listed.precision is not None and 0 < listed.rows <= precision.value.size:
        n, of, why = listed.rows, before.data.n_u, listed.why
        new = best.listed(precision, now.estimate_, rows=n, of=of, why=why)
        listed = replace(new, threshold=listed.threshold, sum=listed.sum)
    return Relisted(listed, likely, text)


def _rows_as_written(path: Path, known: str | None) -> list[list[str]] | None:
    """The lines of candidates.csv, if it is as we wrote it: our own cells, then all others as one.

    Other cells are not read, so that they stay as they are.
    """
    try:
        content = read_file(path)
    except OSError:
        return None  # the report says why
    if hashlib.sha256(content).hexdigest() != known:
        return None
    text = content.decode()
    lines = LINE.findall(text)
    if not lines or "".join(lines) != text:
        return None
    rows = [line[:-1].split(",", len(OURS)) for line in lines]
    return rows if [name.strip('"') for name in rows[0][: len(OURS)]] == [*OURS] else None


def _ranking_of(rows: Sequence[Sequence[str]], model: Any, answer: Answer) -> Ranking:
    """The candidates by score; rows outside a sample by the scores that give their probability.

    Only the scores of the sample are kept.
    """
    is_novel = answer.novel is not None
    if answer.data.sample is None:
        return Ranking(model.evidence_.scores[1], is_novel).best(len(rows))
    likely = model.probability_map_
    known = [float(row[PLACE]) for row in rows]
    return Ranking(np.interp(known, likely(likely.knots), likely.knots), is_novel)
