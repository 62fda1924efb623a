"""Which rows an audit draws, and all answers of one kind as one sample, whatever draw they are of.

Every draw takes random rows that no earlier one of its kind took, so together they are one random
sample. Rows need not be equally likely: each draw says how many rows of each stratum it takes on
average, and what all draws take of a row together is what its answer is divided by. Rows are read
again from what the run was made from; so they can also be listed again (`list_rows`).

A proxy is a cheaper label of all unlabeled rows, such as what a language model says: a column that
is copied into the run folder once, and that every audit of the run uses from then on. The answers
of people show what it is worth, so it may be wrong (see `judge`).
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from topbin.core.atomic import lock
from topbin.core.checks import Floats, check_count
from topbin.core.errors import InputError, option
from topbin.core.labels import NEGATIVE, POSITIVE
from topbin.core.options import Request
from topbin.data.batch import add_columns
from topbin.data.schema import check_columns
from topbin.data.write import write_table
from topbin.engines.engine import Local
from topbin.evaluate.audit import AuditSample, TopBin, draw, read_answers
from topbin.evaluate.audit.draw import merged
from topbin.evaluate.audit.planning import AuditWidths
from topbin.evaluate.audit.scored import ANYWHERE, RECALL, Pooled, Scored, sharpened
from topbin.job.audits.answers import AuditState, Draw
from topbin.job.candidates import RankedRows, highest, likely, order, ranked
from topbin.job.files import (
    numbered,
    read_numbered,
    read_stored,
    sum_of,
    unlabeled_rows,
)
from topbin.job.labeled import open_labeled
from topbin.job.prepare import Prepared, prepare
from topbin.job.sampling import AUDITING, SAMPLING, count_labels, pick, split_sample
from topbin.store.answer import Answer, Candidates, DataRead
from topbin.store.models import load, reading
from topbin.store.runs import (
    CANDIDATES,
    MODEL,
    PROXIES,
    ROWS,
    WAIT,
    damaged,
    read_result,
    write_result,
)
from topbin.store.scorer import after_audit
from topbin.store.sources import changed, read_again

REASONS = re.compile(r"reason_\d_*")  # the columns that say why a row is listed
LABELS = 100  # of the audit whose width is shown
MOST_PROXIES = 20


@dataclass(frozen=True, slots=True)
class DrawRequest:
    """What was asked of a draw; see `draw_audit`."""

    n: int
    where: str = ANYWHERE
    stratified: bool = False
    seed: int | None = None
    sources: Request = Request()  # what the user names again, to be read

    def settled(self, state: AuditState) -> "DrawRequest":
        """The request with a seed: that of an equal draw without answers, or the next one."""
        if self.seed is not None:
            return self
        alike = [one for one in state.draws if self._is_like(one) and not state.is_begun(one)]
        following = max((one.seed for one in state.draws), default=-1) + 1
        return replace(self, seed=alike[-1].seed if alike else following)

    def earlier(self, state: AuditState) -> Draw | None:
        """The draw that was asked for in these words before, if there is one."""
        alike = (one for one in state.draws if self._is_like(one) and one.seed == self.seed)
        return next(alike, None)

    def _is_like(self, drawn: Draw) -> bool:
        is_alike = len(drawn.row) == self.n and drawn.where == self.where
        by_strata = self.stratified and self.n >= 10
        return is_alike and (self.where != ANYWHERE or by_strata == drawn.by_strata)


def refuse_classes(answer: Answer, what: str) -> None:
    """TB126 for something that a run with known classes does not have."""
    if answer.data.classes is not None:
        raise InputError(
            "TB126",
            f"{what} is about positives, and this run tells known classes apart. Audit random rows "
            "(topbin audit RUN --n 100), and say of each whether it is of a known class; or label "
            "some rows of candidates.csv as a class of their own, and fit again.",
        )


def draw_from_rows(
    folder: Path, answer: Answer, request: DrawRequest, earlier: Draw | None, taken: Sequence[int]
) -> tuple[AuditSample, Any, TopBin | None]:
    """The draw, its rows with their numbers, and its bin, from all unlabeled rows in memory."""
    frame = read_unlabeled(folder, answer.data, request.sources)
    if earlier is not None:
        sample, top = earlier.sample, earlier.bin
    else:
        sample, top = scores_of(folder).draw(
            request.n, request.where, seed=request.seed or 0, stratified=request.stratified,
            taken=taken, threshold=float(answer.candidates.threshold or 0.0),
        )  # fmt: skip
    if sample.rows.max() >= len(frame):
        raise damaged(folder / MODEL, "it has scored other rows than the run has")
    return sample, frame.iloc[sample.rows].reset_index(drop=True), top


def draw_from_files(
    folder: Path, answer: Answer, asked: DrawRequest, earlier: Draw | None, taken: Sequence[int]
) -> tuple[AuditSample, Any, TopBin | None]:
    """The draw, its rows and its bin from the files of a sampled run, in one pass.

    Its `rows` are places among all rows.

    The pass also draws the sample of the run again, which shows whether the files have changed.
    """
    data, drawn_from = answer.data, answer.data.sample
    assert drawn_from is not None  # as the caller knows
    if asked.stratified or asked.where != ANYWHERE:
        raise InputError(
            "TB117",
            "the run was fitted on a sample, so not every row has a score to draw by. Draw without "
            f"{option('stratified')} and without {option('where')}.",
        )
    seed = asked.seed or 0
    sample = draw(data.n_u - len(taken), asked.n, seed=seed)
    request, rows, engine = read_again(folder, data, asked.sources), drawn_from.rows, Local()
    named = request.rows
    table = open_labeled(named, request.read)
    counted = count_labels(engine, table, named.positive, named.negative)
    first = drawn_from.seed, SAMPLING, 2 * rows
    # As many more as earlier draws have, in case all of these come first.
    wanted = min(data.n_u, asked.n + len(taken))
    positives, both, drawn = pick(engine, counted, first, (seed, AUDITING, wanted))
    check_unchanged(split_sample(positives, both, rows).table.hash(), data)
    drawn = drawn.take(np.flatnonzero(~np.isin(drawn.places, taken))[: asked.n])
    sample = replace(sample, rows=drawn.places, sizes=(data.n_u,))
    return sample, numbered(drawn, data.label), None


def read_scores(folder: Path, answer: Answer) -> Scored | None:
    """The scores and probabilities of a run; None for one on a sample, which scored some rows."""
    return scores_of(folder) if answer.data.sample is None else None


def scores_of(folder: Path) -> Scored:
    """The scores and probabilities of a run that has scored all of its rows."""
    with reading(folder / MODEL):
        model = load(folder / MODEL)
        evidence = model.evidence_
        scores_p, scores_u = evidence.scores
        f_p, f_u = model.probability_map_(scores_p), model.probability_map_(scores_u)
        return Scored(scores_p, scores_u, f_p, f_u, evidence.groups_p, evidence.groups_u)


def read_unlabeled(folder: Path, data: DataRead, sources: Request) -> Any:
    """All unlabeled rows with their numbers."""
    if os.path.lexists(folder / ROWS):
        if sources.rows.main is not None:
            raise InputError(
                "TB008",
                f'"{folder}" keeps its rows, so no source is read again. To read answers, name '
                f"their file with {option('labels')}.",
            )
        return read_numbered(folder, ROWS)
    if data.image is not None:
        raise damaged(folder / ROWS, "the rows of a run on images are not there")
    return unlabeled_rows(prepared_again(folder, data, sources))


def prepared_again(folder: Path, data: DataRead, sources: Request) -> Prepared:
    """The rows of a run, read again from what it was made from."""
    rows = prepare(read_again(folder, data, sources))
    check_unchanged(rows.hash, data)
    return rows


def check_unchanged(hash_now: str, data: DataRead) -> None:
    """Refuse rows that are not those of the run."""
    if hash_now != data.hash:
        raise changed(data.source)


def kind_of(state: AuditState) -> str:
    """How the random rows were drawn: "weighted" or "stratified" if any of them were."""
    begun = [one for one in state.draws if state.is_begun(one) and one.bin is None]
    if any(one.expected for one in begun):
        return "weighted"
    return "stratified" if any(len(one.sizes) > 1 for one in begun) else "simple"


def pooled(folder: Path, state: AuditState, where: str, scored: Scored | None, n_u: int) -> Pooled:
    """All rows of one kind that people have reached, as one sample, with their answers."""
    draws = [one for one in state.draws if one.where == where]
    bins = [one.bin for one in draws if state.is_begun(one)]
    draws = [one for one in draws if one.bin == bins[-1]] if bins else []
    seen: dict[int, tuple[str, int]] = {}
    reached = []
    for one in draws:
        said = [answer for answer in state.answers_of(one) if answer is not None]
        for place, stratum, answer in zip(one.rows, one.stratum, said, strict=False):
            seen.setdefault(place, (answer, stratum))
        reached.append(len(said))
    rows = np.fromiter(seen, np.int64, len(seen))
    if scored is not None and rows.size and rows.max() >= scored.u.size:
        raise damaged(folder / MODEL, "it has scored other rows than the run has")
    answers = [one for one, _ in seen.values()]
    top = bins[-1] if bins else None
    strata, sizes = np.zeros(rows.size, np.int64), [n_u]
    if where == RECALL and top is not None:
        strata = np.array([stratum for _, stratum in seen.values()], np.int64)
        sizes = [top.n_u - top.above_u, top.above_u]
    sample = AuditSample(rows, strata, tuple(sizes), 0, *_expected(draws, reached, scored))
    return Pooled(sample, answers, top)


def _expected(
    draws: list[Draw], reached: list[int], scored: Scored | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """How many rows of each stratum were reached on average; nothing if all are equally likely."""
    if scored is None or not any(one.expected for one in draws):
        return (), ()
    parts = [
        (one.cuts, one.expected or (len(one.rows),), m / len(one.rows))
        for one, m in zip(draws, reached, strict=True)
    ]
    return merged(parts, scored.f_u)


def list_rows(run: str | Path, n: int, *, sources: Request = Request()) -> Candidates:
    """Write candidates.csv again with the n best unlabeled rows; `sources` as in `draw_audit`.

    Rows that are new in the list have no reasons: the models that held them out are not kept.
    """
    folder, n = Path(run), check_count(n, "n")
    with lock(folder, wait=WAIT):
        answer = read_result(folder)
        if answer.data.sample is not None:
            raise InputError(
                "TB117",
                "the run was fitted on a sample, and only its best rows were kept. To list others, "
                "score the files: topbin score RUN FILES -o scored.parquet",
            )
        frame, listed = _listed(folder, answer, n, sources)
        write_table(folder / CANDIDATES, frame, force=True)
        listed = replace(listed, sum=sum_of(folder / CANDIDATES))
        write_result(folder, replace(answer, candidates=listed))
    return listed


def _listed(folder: Path, answer: Answer, n: int, sources: Request) -> tuple[Any, Candidates]:
    rows, before = read_unlabeled(folder, answer.data, sources), read_numbered(folder, CANDIDATES)
    model = load(folder / MODEL)
    with reading(folder):
        model = after_audit(model, answer)
        scores, novel = model.evidence_.scores[1], answer.novel is not None
        best = order(scores, n, novel=novel)
        ranking = RankedRows(scores[best], model.evidence_, model.estimate_, answer.data.n_u, novel)
        listed = ranking.top(best.size, highest(best.size))
        probability = likely(model.probability_map_, scores[best], novel=novel).round(4)
        frame = rows.iloc[best].reset_index(drop=True)
        ours = [name for name in before if REASONS.fullmatch(name) and name not in frame]
        reasons = before.set_index("row")[ours].reindex(frame["row"])
    numbers = frame.pop("row").to_numpy()
    frame = ranked(frame, numbers, probability, answer.data.id)
    return add_columns(frame, {name: reasons[name].to_numpy() for name in reasons}), listed


@dataclass(frozen=True, slots=True)
class ProxyGain:
    """What proxies are worth, by the known positives: the share of these that each one finds.

    `without` and `width` are how wide the interval of an audit of `labels` rows is about to be; if
    the known positives are not at hand, `finds` is empty, and the width is not known.
    """

    proxies: tuple[str, ...]
    finds: tuple[float, ...]
    labels: int
    without: float
    width: float | None

    def __str__(self) -> str:
        names = ", ".join(f'"{name}"' for name in self.proxies)
        if self.width is None:
            return f"{names} will sharpen the audits of this run, as far as the answers agree"
        shares = ", ".join(f"{100 * share:.0f} %" for share in self.finds)
        return (
            f"{names} find {shares} of the known positives. If they find as many of the others, "
            f"{self.labels:,} labels give an interval {self.width:.3f} wide instead of "
            f"{self.without:.3f}; if not, it is wider, and still valid"
        )


def add_proxies(
    run: str | Path, columns: Sequence[str], *, sources: Request = Request()
) -> ProxyGain:
    """Use columns of the rows as proxies in all audits of a run, in place of earlier ones.

    A cell is yes or no as in an audit, or a number from 0 to 1; blank cells count as the mean.
    `sources` as in `draw_audit`.
    """
    folder = Path(run)
    answer, names = read_result(folder), tuple(dict.fromkeys(columns))
    refuse_classes(answer, option("proxy"))
    if len(names) > MOST_PROXIES:
        raise InputError(
            "TB008",
            f"a run has at most {MOST_PROXIES} proxies; {option('proxy')} names {len(names)}.",
        )
    if answer.data.sample is not None:
        raise InputError("TB117", "the run was fitted on a sample, so its audits have no proxies.")
    known = None
    if os.path.lexists(folder / ROWS):
        frame = read_unlabeled(folder, answer.data, sources)
    else:
        data = prepared_again(folder, answer.data, sources)
        frame, known = unlabeled_rows(data), data.table.frame[data.labels.is_positive]
    check_columns(names, list(frame), f'"{folder}"')
    values = pd.DataFrame({name: _proxy(frame[name], name) for name in names})
    finds: tuple[float, ...] = ()
    if known is not None and known[[*names]].notna().any().all():
        finds = tuple(float(_proxy(known[name], name).mean()) for name in names)
    with lock(folder, wait=WAIT):
        write_table(folder / PROXIES, values, force=True)
    estimate, scored = answer.audited or answer.estimate, scores_of(folder)
    alpha, n_u = float(estimate.alpha), answer.data.n_u
    sharper = sharpened(scored.f_u, values.to_numpy(), finds, alpha) if finds else None
    labels = min(LABELS, n_u)
    width, without = (
        None if f is None else AuditWidths(alpha, n_u, f).anywhere(labels)
        for f in (sharper, scored.f_u)
    )
    return ProxyGain(names, finds, labels, float(without or 0.0), width)


def read_proxies(folder: Path, n_u: int) -> tuple[tuple[str, ...], Floats | None]:
    """The names and values of a run's proxies, a column each; TB114 if they are no such values."""
    if not os.path.lexists(folder / PROXIES):
        return (), None
    frame = read_stored(folder, PROXIES)
    is_sound = len(frame) == n_u and 1 <= frame.shape[1] <= MOST_PROXIES
    if not is_sound or not all(dtype.kind in "iuf" for dtype in frame.dtypes):
        raise damaged(folder / PROXIES, "it does not have a number for every unlabeled row")
    values = frame.to_numpy(np.float64, na_value=np.nan)
    if not (values >= 0).all() or not (values <= 1).all():
        raise damaged(folder / PROXIES, "not all of its numbers are between 0 and 1")
    return tuple(frame), values


def _proxy(cells: Any, name: str) -> Floats:
    """A column as numbers from 0 to 1."""
    if pd.api.types.is_numeric_dtype(cells.dtype) and not pd.api.types.is_bool_dtype(cells.dtype):
        values = cells.to_numpy(np.float64, na_value=np.nan)
    else:
        meaning = {POSITIVE: 1.0, NEGATIVE: 0.0}
        try:
            values = np.array([meaning.get(word, np.nan) for word in read_answers(cells)])
        except InputError as error:
            what = error.marked.removeprefix("audit answers not understood: ")
            raise InputError("TB002", f'the proxy "{name}" is not understood: {what}') from error
    if not values.size or np.isnan(values).all():
        raise InputError("TB008", f'the proxy "{name}" has no value in any row.')
    if np.nanmin(values) < 0 or np.nanmax(values) > 1:
        seen = f"{np.nanmin(values):g} to {np.nanmax(values):g}"
        raise InputError(
            "TB008", f'the proxy "{name}" must be yes or no, or a number from 0 to 1; it is {seen}.'
        )
    return np.asarray(np.where(np.isnan(values), np.nanmean(values), values))
