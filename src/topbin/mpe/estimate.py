"""`estimate_alpha`: from scores, tails or evidence to α with its interval, bound and alarms."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from topbin.core import AlphaEstimate, Evidence, InputError
from topbin.core.checks import Scores
from topbin.core.defaults import CONFIDENCE, DEFAULT_METHOD
from topbin.mpe.alarms import by_own_models, find_alarms
from topbin.mpe.bbe_cp import geometric_ranks
from topbin.mpe.intervals import interval, interval_assumes, upper_bound
from topbin.mpe.prune import thin_tails
from topbin.mpe.registry import METHODS, Method, find_method

IMPURE = ", except that negatives may score that high κ = {:.2f} times as often as positives do"
SEEN = 0.005  # the smallest κ that is not written as 0
LOOK = 100  # scores that are looked at first; labels are noticed at once


def estimate_alpha(
    scores_p: Any,
    scores_u: Any = None,
    *,
    method: str = DEFAULT_METHOD,
    confidence: float | None = CONFIDENCE,
    pure_fraction: float | None = None,
    kappa: float = 0.0,
    share_p: float | None = None,
) -> AlphaEstimate:
    """Estimate α, the share of positives among the unlabeled, from scores of both samples.

    The scores must come from a model that did not train on these rows. Only their order matters,
    except to methods that say they need probabilities. Instead of two samples, `scores_p` may be
    the `Evidence` of a fitted classifier, or `Tails` for methods that read tails.

    Parameters
    ----------
    scores_p, scores_u
        Scores of the known positives and of the unlabeled rows; higher is more positive.
    method
        A name in `topbin.mpe.METHODS` that reads tails or scores.
    confidence
        Level of the interval and the bound; None asks for neither.
    pure_fraction, kappa
        What you know about the top bin, for the interval's lower end: that the highest-scoring
        `pure_fraction` of the positives are separate from negatives, and that negatives score
        there at most `kappa` times as often as positives.
    share_p
        For methods that need probabilities: the share of positives in the data that trained the
        scorer; 0.5 if it weighted both sides equally. By default that of these two samples.

    >>> import numpy as np
    >>> estimate_alpha(np.ones(1000), np.repeat([1.0, 0.0], 500)).alpha  # half score like positives
    0.5
    """
    chosen = find_method(method)
    evidence = Evidence.of(scores_p, scores_u, share_p=share_p)
    chosen.check(evidence)
    if evidence.has_scores and not isinstance(scores_p, Evidence):
        _refuse_labels(*evidence.scores)
        evidence = _thinned(evidence, chosen)
    return add_alarms(chosen.read(evidence), evidence, confidence, pure_fraction, kappa)


def compared_estimates(evidence: Evidence) -> tuple[AlphaEstimate, ...]:
    """What the methods that are shown beside the main one make of the same evidence.

    >>> evidence = Evidence.of([1.0] * 200, [1.0, 0.0] * 100)     # half score like positives
    >>> [found.method for found in compared_estimates(evidence) if found.alpha == 0.5]
    ['bbe', 'bbe_cp', 'dedpul']
    """
    return tuple(
        estimate_alpha(evidence, method=name, confidence=None)
        for name, method in METHODS.items()
        if method.compared and method.reads_scores and method.can_read(evidence)
    )


def _thinned(evidence: Evidence, method: Method) -> Evidence:
    """The same scores, counted only where this method, intervals and alarms look."""
    if method.needs == "tails" and method.cuts == "all":
        return evidence
    scores_p, scores_u = evidence.scores
    ranks = geometric_ranks(scores_p.size)
    return replace(evidence, counted=thin_tails(scores_p, scores_u, ranks=ranks))


def _refuse_labels(scores_p: Scores, scores_u: Scores) -> None:
    """Scores and labels of the same rows look like two samples, and would give α = 0."""
    head = scores_u[:LOOK]
    if scores_p.size != scores_u.size or ((head != 0) & (head != 1)).any():
        return  # without sorting what may be millions
    if np.array_equal(np.unique(scores_u), [0, 1]) and np.unique(scores_p).size > 2:
        raise InputError(
            "TB007",
            "scores_u contains only 0 and 1, as many as scores_p has scores, so it seems to "
            "contain labels. Pass two samples of scores, of the positives and of the unlabeled "
            "rows: estimate_alpha(scores[labels == 1], scores[labels == 0]).",
        )


def add_alarms(
    estimate: AlphaEstimate,
    evidence: Evidence,
    confidence: float | None = CONFIDENCE,
    pure_fraction: float | None = None,
    kappa: float = 0.0,
    others: Sequence[AlphaEstimate] = (),
) -> AlphaEstimate:
    """The same estimate with interval, bound and alarms read from the tails of the evidence.

    Rows in groups count as the independent rows that they are worth.
    """
    tails, own = evidence.independent, evidence.crossfitted
    kappa = max(kappa, evidence.kappa)
    if evidence.groups_p is not None:
        worth, note = (tails.n_p, tails.n_u), _about_groups(evidence, confidence is not None)
        estimate = replace(estimate, worth=worth, notes=(*estimate.notes, note))
    if confidence is not None:
        level = evidence.level(confidence)
        says_kappa = evidence.kappa >= SEEN and pure_fraction is None
        estimate = replace(
            estimate,
            confidence=confidence,
            interval=interval(
                tails, level, pure_fraction=pure_fraction, kappa=kappa, crossfitted=own
            ),
            interval_assumes=interval_assumes(
                tails, pure_fraction, crossfitted=own, n_p=evidence.tails.n_p
            )
            + (IMPURE.format(evidence.kappa) if says_kappa else ""),
            upper_bound=upper_bound(tails, level, crossfitted=own),
        )
    found = find_alarms(estimate, evidence.tails, others, tails)
    if own:
        found = tuple(map(by_own_models, found))
    return replace(estimate, alarms=(*estimate.alarms, *found))


def _about_groups(evidence: Evidence, has_interval: bool) -> str:
    """What every reader of an estimate from groups must know."""
    both = np.append(evidence.groups_p, evidence.groups_u)
    n_p, n_u, worth = evidence.groups_p.size, evidence.groups_u.size, evidence.independent
    limits = "intervals count groups: " if has_interval else ""
    return (
        f"{np.unique(both).size:,} groups, {both.size:,} rows; folds keep groups together; {limits}"
        f"{n_p:,} known positives are worth {worth.n_p:,} independent rows, and {n_u:,} unlabeled "
        f"rows {worth.n_u:,}"
    )
