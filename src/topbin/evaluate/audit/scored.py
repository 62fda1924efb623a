"""Audits of rows with held-out scores: where to draw, and what scores and answers say together.

Rows need not be equally likely to be drawn. Where a question needs rows that are, `equally_likely`
leaves some out so that the others are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from topbin.core.checks import Floats
from topbin.core.labels import NEGATIVE, POSITIVE
from topbin.evaluate.audit.draw import AuditSample, draw, draw_stratified, draw_weighted
from topbin.evaluate.audit.judging import compare_labels
from topbin.evaluate.audit.limits import RecallBound, TopBin, recall_bound, risk_of_look

ANYWHERE, TOP, RECALL = WHERE = ("anywhere", "top", "recall")
COINS = 0  # the seed of what is left out
LEAST_RIGHT = 0.02  # a proxy is taken to be right, and wrong, in at least this share of rows


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """All rows of one kind that people have reached as one sample, their answers, and the bin."""

    sample: AuditSample
    answers: list[str]
    top: TopBin | None


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

    def draw(
        self,
        n: int,
        where: str = ANYWHERE,
        *,
        seed: int = 0,
        stratified: bool = False,
        taken: Sequence[int] = (),
        threshold: float = 0.0,
    ) -> tuple[AuditSample, TopBin | None]:
        """A draw from all rows, from the top bin, or from both sides of a threshold; and the bin.

        Rows that are `taken` are not drawn again.
        """
        if where == ANYWHERE and not stratified:
            return draw_weighted(self.f_u, n, seed=seed, taken=taken), None
        free = np.setdiff1d(np.arange(self.u.size), taken)
        if where == RECALL:
            return self._draw_around(free, n, seed, threshold)
        if where == ANYWHERE:
            sample = draw_stratified(self.u[free], n, seed=seed)
            return replace(sample, rows=free[sample.rows]), None
        top = TopBin.at(self.p, self.u)
        free = free[self.u[free] >= top.cut]
        sample = draw(free.size, n, seed=seed)
        return replace(sample, rows=free[sample.rows], sizes=(top.above_u,)), top

    def _draw_around(
        self, free: Any, n: int, seed: int, threshold: float
    ) -> tuple[AuditSample, TopBin]:
        """A quarter of the rows from above a threshold, the others from below it."""
        is_above, top = self.u >= threshold, TopBin.above(threshold, self.p, self.u)
        above, below = free[is_above[free]], free[~is_above[free]]
        n_above = min(above.size, max(1, n // 4))
        sides = [(side, size) for side, size in ((below, n - n_above), (above, n_above)) if size]
        rows = np.concatenate([side[draw(side.size, size, seed=seed).rows] for side, size in sides])
        rows = np.random.default_rng(seed).permutation(rows)
        sizes = top.n_u - top.above_u, top.above_u
        return AuditSample(rows, is_above[rows].astype(np.int64), sizes, seed), top

    def compare(self, drawn: Pooled) -> str:
        """Whether the positives that were found score like the labeled ones, or their groups do.

        Of labeled ones, as many are left out as the draw would have: like is compared with like.
        """
        positives = drawn.sample.rows[np.asarray(drawn.answers) == POSITIVE]
        weights = drawn.sample.weights(self.f_u, self.f_p)
        often = np.divide(1, weights, out=np.zeros(weights.size), where=weights > 0)
        known = np.flatnonzero(equally_likely(often))
        if self.groups_p is None or self.groups_u is None:
            return compare_labels(self.p[known], self.u[positives])
        of_known = _by_group(self.p[known], self.groups_p[known])
        of_found = _by_group(self.u[positives], self.groups_u[positives])
        return compare_labels(of_known, of_found, what="groups with positives")

    def recall(
        self,
        drawn: Sequence[Pooled],
        threshold: float,
        *,
        confidence: float,
        look: int,
        goal: float | None = None,
    ) -> RecallBound | None:
        """How many positives are above a threshold at least, from all random answers on each side.

        Within a side, rows drawn anywhere are random too, and so are those drawn for this question.
        Of rows that were not equally likely, some are left out so that the others are.
        """
        answer_of: dict[int, str] = {}
        for one in drawn:
            weights, rows = one.sample.weights(self.f_u), one.sample.rows
            for side in (rows[self.u[rows] >= threshold], rows[self.u[rows] < threshold]):
                alike = set(side[equally_likely(weights[side], side)].tolist())
                answers = zip(rows.tolist(), one.answers, strict=True)
                answer_of |= {row: answer for row, answer in answers if row in alike}
        rows = np.fromiter(answer_of, np.int64, len(answer_of))
        is_above = self.u[rows] >= threshold
        if is_above.all() or not is_above.any():
            return None
        words = np.array(list(answer_of.values()))
        is_positive, is_negative = words == POSITIVE, words == NEGATIVE
        above = int((is_above & is_positive).sum()), int(is_above.sum())
        below = int((~is_above & ~is_negative).sum()), int((~is_above).sum())  # open rows count too
        spent = risk_of_look(1 - confidence, look)
        at = TopBin.above(threshold, self.p, self.u)
        return recall_bound(at, above, below, confidence=confidence, risk=spent, goal=goal)


def _by_group(scores: Any, codes: Any) -> Any:
    """The mean score of each group."""
    used = np.unique(codes)
    return np.bincount(codes, scores)[used] / np.bincount(codes)[used]


def equally_likely(chances: Floats, rows: Any = None) -> Any:
    """Which rows to keep if each is kept with its chance over the largest; always the same ones.

    Of rows that were drawn with unequal chances, this leaves rows that are equally likely.
    """
    places = np.arange(chances.size) if rows is None else np.asarray(rows, np.int64)
    coins = np.random.default_rng(COINS).random(int(places.max(initial=-1)) + 1)[places]
    return coins * chances.max(initial=0.0) < chances


def sharpened(f_u: Floats, proxies: Floats, finds: Sequence[float], alpha: float) -> Floats:
    """Probabilities by the model and proxies, if these err independently of it (naive Bayes).

    `finds` is the share of positives that each proxy, a column, says yes to. How often it says yes
    to a negative follows from its mean over all unlabeled rows.

    >>> sharpened(np.array([0.5, 0.5]), np.array([[1.0], [0.0]]), [0.8], alpha=0.5).round(2)
    array([0.8, 0.2])
    """
    log_odds = logit(f_u.clip(1e-9, 1 - 1e-9))
    for proxy, found in zip(proxies.T, finds, strict=True):
        false = (proxy.mean() - alpha * found) / max(1e-9, 1 - alpha)
        yes, wrong = np.clip([found, false], LEAST_RIGHT, 1 - LEAST_RIGHT)
        log_odds = log_odds + np.log(proxy * yes + (1 - proxy) * (1 - yes))
        log_odds -= np.log(proxy * wrong + (1 - proxy) * (1 - wrong))
    return np.asarray(expit(log_odds))
