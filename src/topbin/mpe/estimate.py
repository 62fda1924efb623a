"""`estimate_alpha`: from scores, tails or evidence to α with its interval, bound and alarms."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from topbin.core import AlphaEstimate, Evidence, InputError
from topbin.core.checks import Scores
from topbin.core.options import CONFIDENCE, DEFAULT_METHOD
from topbin.core.posterior import AlphaPosterior
from topbin.core.tails import geometric_ranks
from topbin.mpe.alarms import find_alarms, seen_in_training
from topbin.mpe.bound import upper_bound
from topbin.mpe.overlap import alpha_posterior
from topbin.mpe.registry import METHODS, Method, find_method
from topbin.mpe.thinning import thin_tails

LOOK = 100  # scores that are looked at first; labels are noticed at once


def estimate_alpha(
    scores_p: Any,
    scores_u: Any = None,
    *,
    method: str = DEFAULT_METHOD,
    confidence: float | None = CONFIDENCE,
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
    share_p
        For methods that need probabilities: the share of positives in the data that trained the
        scorer; 0.5 if it weighted both sides equally. By default that of these two samples.

    Returns
    -------
    AlphaEstimate
        α with its interval, its bound and its alarms.

    Examples
    --------
    >>> scores_p, scores_u = np.linspace(2, 3, 1000), np.linspace(1, 3, 2000)
    >>> round(estimate_alpha(scores_p, scores_u).alpha, 1)          # half score like positives
    0.5
    """
    chosen = find_method(method)
    evidence = Evidence.of(scores_p, scores_u, share_p=share_p)
    chosen.check(evidence)
    is_given = not isinstance(scores_p, Evidence)  # by somebody: perhaps of rows that trained
    if evidence.has_scores and is_given:
        _refuse_labels(*evidence.scores)
        evidence = _thinned(evidence, chosen)
    return add_alarms(chosen.read(evidence), evidence, confidence, is_given=is_given)


def compared_estimates(evidence: Evidence) -> tuple[AlphaEstimate, ...]:
    """What the methods that are shown beside the main one make of the same evidence.

    Parameters
    ----------
    evidence
        Scores or tails.

    Returns
    -------
    tuple of AlphaEstimate
        One per method that can read them, without intervals.

    Examples
    --------
    >>> evidence = Evidence.of(np.linspace(2, 3, 200), np.linspace(1, 3, 400))
    >>> [found.method for found in compared_estimates(evidence)]
    ['overlap', 'bbe', 'bbe_cp', 'scott', 'dedpul']
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
    others: Sequence[AlphaEstimate] = (),
    *,
    is_given: bool = False,
) -> AlphaEstimate:
    """The same estimate with interval, bound and alarms read from the tails of the evidence.

    Rows in groups, and cross-fitted ones, count as the independent rows that they are worth. Scores
    that were given may be of rows that trained their model.
    """
    tails = evidence.independent
    if evidence.groups_p is not None:
        worth_p, worth_u = (max(1, round(n)) for n in evidence.grouped)
        note = _about_groups(evidence, (worth_p, worth_u), confidence is not None)
        estimate = replace(estimate, worth=(worth_p, worth_u), notes=(*estimate.notes, note))
    if confidence is not None:
        posterior = estimate.posterior
        if posterior is None:
            posterior = alpha_posterior(evidence.tails, effective=evidence.effective)
        bound = upper_bound(tails, confidence)
        # What holds for any overlap holds for that of the prior too, at the level of an upper end.
        most = upper_bound(tails, (1 + confidence) / 2)
        posterior = posterior.at_most(max(most, posterior.median))
        estimate = replace(
            estimate,
            confidence=confidence,
            posterior=posterior,
            interval=posterior.interval(confidence),
            # A bound that is higher is as valid, and must not contradict the answer beside it.
            upper_bound=max(bound, estimate.alpha) if estimate.method == "overlap" else bound,
        )
    alarms = (*estimate.alarms, *find_alarms(estimate, evidence, others))
    if is_given:
        alarms = (*alarms, *seen_in_training(estimate))
    estimate = replace(estimate, alarms=alarms)
    return _without_signal(estimate) if estimate.has_no_signal else estimate


def _without_signal(estimate: AlphaEstimate) -> AlphaEstimate:
    """Where positives do not score higher, any share fits, also that all rows are positive."""
    if estimate.posterior is None:
        return estimate
    posterior, level = AlphaPosterior.unknown(), estimate.confidence
    ends = None if level is None else posterior.interval(level)
    # Beside "α is unknown", an alarm about a large α would be confusing.
    alarms = tuple(alarm for alarm in estimate.alarms if alarm.code != "near-one")
    estimate = replace(estimate, posterior=posterior, interval=ends, alarms=alarms)
    if estimate.method != "overlap":
        return estimate
    return replace(estimate, alpha=1.0, upper_bound=None if level is None else 1.0)


def _about_groups(evidence: Evidence, worth: tuple[int, int], has_interval: bool) -> str:
    """What every reader of an estimate from groups must know."""
    both = np.append(evidence.groups_p, evidence.groups_u)
    n_p, n_u = evidence.groups_p.size, evidence.groups_u.size
    worth_p, worth_u = worth
    limits = "intervals count groups: " if has_interval else ""
    return (
        f"{np.unique(both).size:,} groups, {both.size:,} rows; folds keep groups together; {limits}"
        f"{n_p:,} known positives are worth {worth_p:,} independent rows, and {n_u:,} unlabeled "
        f"rows {worth_u:,}"
    )
