"""Which rows an audit draws, and all answers of one kind as one sample, whatever draw they are of.

Every draw takes random rows that no earlier one of its kind took, so together they are one random
sample. Rows need not be equally likely: each draw says how many rows of each stratum it takes on
average, and what all draws take of a row together is what its answer is divided by. Rows are read
again from what the run was made from; so they can also be listed again (`list_rows`).
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from topbin.core.atomic import lock
from topbin.core.checks import check_count
from topbin.core.errors import InputError, option
from topbin.core.options import Request
from topbin.data.batch import add_columns
from topbin.data.write import write_table
from topbin.engines.local import Local
from topbin.evaluate.audit import AuditSample, TopBin, draw, draw_stratified, draw_weighted
from topbin.evaluate.audit.draw import merged
from topbin.evaluate.candidates import list_precision
from topbin.evaluate.measure import Floats
from topbin.job.audits.answers import WAIT, AuditState, Draw
from topbin.job.files import CANDIDATES, MODEL, numbered, read_numbered, sum_of, unlabeled_rows
from topbin.job.labeled import open_labeled
from topbin.job.prepare import Prepared, prepare
from topbin.job.result import candidates_of, highest, in_front
from topbin.job.sampling import AUDITING, SAMPLING, count_labels, pick, split_sample
from topbin.job.sources import changed, read_again
from topbin.store.answer import Answer, Candidates, DataRead
from topbin.store.models import load, reading
from topbin.store.runs import ROWS, damaged, read_result, write_result
from topbin.store.scorer import after_audit

ANYWHERE, TOP, RECALL = WHERE = ("anywhere", "top", "recall")
SEED = 0


@dataclass(frozen=True, slots=True)
class DrawRequest:
    """What was asked of a draw; see `draw_audit`."""

    n: int
    where: str = ANYWHERE
    stratified: bool = False
    seed: int | None = None
    again: Request = Request()  # what the user names again, to be read

    def settled(self, state: AuditState) -> "DrawRequest":
        """The same with a seed: that of an equal draw without answers, or the next one."""
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
        is_plain = self.where != ANYWHERE or not self.stratified or self.n < 10
        by_strata = len(drawn.sizes) > 1 and not drawn.expected
        return (
            len(drawn.row) == self.n
            and drawn.where == self.where
            and (self.where != ANYWHERE or is_plain != by_strata)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Held-out scores of known positives and of unlabeled rows, and the probabilities of each.

    Rows in groups have the group of each too.
    """

    p: Any
    u: Any
    f_p: Any
    f_u: Any
    groups_p: Any = None
    groups_u: Any = None


def refuse_classes(found: Answer, what: str) -> None:
    """TB126 for something that a run with known classes does not have."""
    if found.data.classes is not None:
        raise InputError(
            "TB126",
            f"{what} is about positives, and this run tells known classes apart. Audit random rows "
            "(topbin audit RUN --n 100), and say of each whether it is of a known class; or label "
            "some rows of candidates.csv as a class of their own, and fit again.",
        )


def draw_from_rows(
    folder: Path, found: Answer, asked: DrawRequest, again: Draw | None, taken: Sequence[int]
) -> tuple[AuditSample, Any, TopBin | None]:
    """The draw, its rows with their numbers, and its bin, from all unlabeled rows in memory."""
    frame = read_unlabeled(folder, found.data, asked.again)
    if again is not None:
        sample, top = again.sample, again.bin
    else:
        threshold = found.candidates.threshold
        sample, top = _draw_by_score(asked, scores_of(folder), taken, threshold)
    if sample.rows.max() >= len(frame):
        raise damaged(folder / MODEL, "it has scored other rows than the run has")
    return sample, frame.iloc[sample.rows].reset_index(drop=True), top


def _draw_by_score(
    asked: DrawRequest, scored: Scored, taken: Sequence[int], threshold: float | None
) -> tuple[AuditSample, TopBin | None]:
    """A draw from all rows, from the top bin, or from both sides of the candidates' threshold."""
    seed, n, scores_u = asked.seed or 0, asked.n, scored.u
    if asked.where == ANYWHERE and not asked.stratified:
        return draw_weighted(scored.f_u, n, seed=seed, taken=taken), None
    free = np.setdiff1d(np.arange(scores_u.size), taken)
    if asked.where == ANYWHERE:
        sample = draw_stratified(scores_u[free], n, seed=seed)
        return replace(sample, rows=free[sample.rows]), None
    if asked.where == TOP:
        top = TopBin.at(scored.p, scores_u)
        free = free[scores_u[free] >= top.cut]
        sample = draw(free.size, n, seed=seed)
        return replace(sample, rows=free[sample.rows], sizes=(top.above_u,)), top
    return _draw_around(scored.p, scores_u, free, n, seed, float(threshold or 0.0))


def _draw_around(
    scores_p: Any, scores_u: Any, free: Any, n: int, seed: int, threshold: float
) -> tuple[AuditSample, TopBin]:
    """A quarter of the rows from above a threshold, the others from below it."""
    is_above, random = scores_u >= threshold, np.random.default_rng(seed)
    above, below = free[is_above[free]], free[~is_above[free]]
    n_above = min(above.size, max(1, n // 4))
    sides = [(side, size) for side, size in ((below, n - n_above), (above, n_above)) if size]
    rows = np.concatenate([side[draw(side.size, size, seed=seed).rows] for side, size in sides])
    rows = random.permutation(rows)
    counts = int(np.count_nonzero(~is_above)), int(np.count_nonzero(is_above))
    above_p = int(np.count_nonzero(scores_p >= threshold))
    top = TopBin(threshold, counts[1], scores_u.size, above_p, scores_p.size)
    return AuditSample(rows, is_above[rows].astype(np.int64), counts, seed), top


def draw_from_files(
    folder: Path, found: Answer, asked: DrawRequest, again: Draw | None, taken: Sequence[int]
) -> tuple[AuditSample, Any, TopBin | None]:
    """The same from the files of a sampled run, in one pass; `rows` are places among all rows.

    The pass also draws the sample of the run again, which shows whether the files have changed.
    """
    told, drawn_from = found.data, found.data.sample
    assert drawn_from is not None  # as the caller knows
    if asked.stratified or asked.where != ANYWHERE:
        raise InputError(
            "TB117",
            "the run was fitted on a sample, so not every row has a score to draw by. Draw without "
            f"{option('stratified')} and without {option('where')}.",
        )
    seed = asked.seed or 0
    sample = draw(told.n_u - len(taken), asked.n, seed=seed)
    request, rows, engine = read_again(folder, told, asked.again), drawn_from.rows, Local()
    named = request.rows
    table = open_labeled(named, request.read)
    counted = count_labels(engine, table, named.positive, named.negative)
    first = drawn_from.seed, SAMPLING, 2 * rows
    # As many more as earlier draws have, in case all of these come first.
    wanted = min(told.n_u, asked.n + len(taken))
    positives, both, drawn = pick(engine, counted, first, (seed, AUDITING, wanted))
    check_unchanged(split_sample(positives, both, rows).table.hash(), told)
    drawn = drawn.take(np.flatnonzero(~np.isin(drawn.places, taken))[: asked.n])
    sample = replace(sample, rows=drawn.places, sizes=(told.n_u,))
    return sample, numbered(drawn, told.label), None


def read_scores(folder: Path, found: Answer) -> Scored | None:
    """The scores and probabilities of a run; None for one on a sample, which scored some rows."""
    return scores_of(folder) if found.data.sample is None else None


def scores_of(folder: Path) -> Scored:
    """The same of a run that has scored all of its rows."""
    with reading(folder / MODEL):
        model = load(folder / MODEL)
        evidence = model.evidence_
        scores_p, scores_u = evidence.scores
        f_p, f_u = model.probability_map_(scores_p), model.probability_map_(scores_u)
        return Scored(scores_p, scores_u, f_p, f_u, evidence.groups_p, evidence.groups_u)


def read_unlabeled(folder: Path, told: DataRead, again: Request) -> Any:
    """All unlabeled rows with their numbers."""
    if os.path.lexists(folder / ROWS):
        if again.rows.main is not None:
            raise InputError(
                "TB008",
                f'"{folder}" keeps its rows, so no source is read again. To read answers, name '
                f"their file with {option('labels')}.",
            )
        return read_numbered(folder, ROWS)
    if told.image is not None:
        raise damaged(folder / ROWS, "the rows of a run on images are not there")
    return unlabeled_rows(prepared_again(folder, told, again))


def prepared_again(folder: Path, told: DataRead, again: Request) -> Prepared:
    """The rows of a run, read again from what it was made from."""
    data = prepare(read_again(folder, told, again))
    check_unchanged(data.hash, told)
    return data


def check_unchanged(found: str, told: DataRead) -> None:
    """Refuse rows that are not those of the run."""
    if found != told.hash:
        raise changed(told.source)


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """The sample, its answers in the order of the draws, and the bin of a top audit."""

    sample: AuditSample
    answers: list[str]
    top: TopBin | None


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


def kept(chances: Floats, rows: Any = None) -> Any:
    """Which rows to keep if each is kept with its chance over the largest; always the same ones.

    Of rows that were drawn with unequal chances, this leaves rows that are equally likely.
    """
    places = np.arange(chances.size) if rows is None else np.asarray(rows, np.int64)
    coins = np.random.default_rng(SEED).random(int(places.max(initial=-1)) + 1)[places]
    return coins * chances.max(initial=0.0) < chances


REASONS = re.compile(r"reason_\d_*")  # the columns that say why a row is listed


def list_rows(run: str | Path, n: int, *, again: Request = Request()) -> Candidates:
    """Write candidates.csv again with the n best unlabeled rows; `again` as in `draw_audit`.

    Rows that are new in the list have no reasons: the models that held them out are not kept.
    """
    folder, n = Path(run), check_count(n, "n")
    with lock(folder, wait=WAIT):
        found = read_result(folder)
        if found.data.sample is not None:
            raise InputError(
                "TB117",
                "the run was fitted on a sample, and only its best rows were kept. To list others, "
                "score the files: topbin score RUN FILES -o scored.parquet",
            )
        frame, listed = _listed(folder, found, n, again)
        write_table(folder / CANDIDATES, frame, force=True)
        listed = replace(listed, sum=sum_of(folder / CANDIDATES))
        write_result(folder, replace(found, candidates=listed))
    return listed


def _listed(folder: Path, found: Answer, n: int, again: Request) -> tuple[Any, Candidates]:
    rows, before = read_unlabeled(folder, found.data, again), read_numbered(folder, CANDIDATES)
    model = load(folder / MODEL)
    with reading(folder):
        model = after_audit(model, found)
        scores = model.evidence_.scores[1]
        order = np.argsort(-scores, kind="stable")[:n]
        best = list_precision(model.evidence_, model.estimate_, scores[order])
        likely = model.probability_map_(scores[order]).round(4)
        frame = rows.iloc[order].reset_index(drop=True)
        ours = [name for name in before if REASONS.fullmatch(name) and name not in frame]
        reasons = before.set_index("row")[ours].reindex(frame["row"])
    estimate, size, why = model.estimate_, order.size, highest(order.size)
    listed = candidates_of(estimate, best, scores[order], size, found.data.n_u, why, estimate.alpha)
    numbers = frame.pop("row").to_numpy()
    if found.data.id in frame:
        frame = frame[[found.data.id, *(name for name in frame if name != found.data.id)]]
    first = {"rank": np.arange(1, size + 1), "row": numbers, "probability": likely}
    frame = in_front(frame, first)
    return add_columns(frame, {name: reasons[name].to_numpy() for name in reasons}), listed
