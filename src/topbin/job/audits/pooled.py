"""All answers of one kind of audit as one sample, whatever draws they came from.

Every draw takes random rows that no earlier one took, so together they are one random sample. Rows
need not be equally likely: each draw says how many rows of each stratum it takes on average, and
what all draws take of a row together is what its answer is divided by.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topbin.evaluate.audit import AuditSample, TopBin
from topbin.evaluate.audits.draw import merged
from topbin.evaluate.measure import Floats
from topbin.job.audits.answers import AuditState, Draw
from topbin.job.audits.rows import RECALL, Scored
from topbin.job.files import MODEL
from topbin.store.runs import damaged

SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """The sample, its answers in the order of the draws, the bin of a top audit, and the draws."""

    sample: AuditSample
    answers: list[str]
    top: TopBin | None
    draws: tuple[Draw, ...]

    def in_order(self, f_u: Floats | None) -> dict[str, Any]:
        """What `live_estimate` needs: an answer counts by its own draw, as it did when it came.

        Draws that could not take rows of every stratum are left out: alone they say too little.
        """
        if f_u is None or not self.sample.expected:
            f = None if f_u is None else f_u[self.sample.rows]
            return {"answers": self.answers, "f": f, "f_u": f_u}
        said = dict(zip(self.sample.rows.tolist(), self.answers, strict=True))
        rows: dict[int, float] = {}
        most = np.zeros(f_u.size)
        for one in (drawn.sample for drawn in self.draws):
            w_u = one.weights(f_u)
            places = [place for place in one.rows.tolist() if place in said]
            if w_u.min() > 0 and places:
                rows |= {place: w_u[place] for place in places if place not in rows}
                most = np.maximum(most, w_u)
        at = np.fromiter(rows, np.int64, len(rows))
        w = np.fromiter(rows.values(), np.float64, len(rows))
        answers = [said[place] for place in rows]
        return {"answers": answers, "f": f_u[at], "f_u": f_u, "w": w, "w_u": most}


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
    return Pooled(sample, answers, top, tuple(draws))


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
