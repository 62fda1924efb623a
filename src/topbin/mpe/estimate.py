"""`estimate_alpha`: from scores, or their tails, to α with its interval, bound and alarms."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from topbin.core.checks import Scores, check_scores
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.tails import Tails
from topbin.mpe.alarms import find_alarms
from topbin.mpe.intervals import interval, interval_ranks, upper_bound
from topbin.mpe.prune import thin_tails
from topbin.mpe.registry import DEFAULT_METHOD, find_method

LOOK = 100  # scores; labels show themselves at once


def estimate_alpha(
    scores_p: Any,
    scores_u: Any = None,
    *,
    method: str = DEFAULT_METHOD,
    confidence: float | None = 0.95,
    pure_fraction: float | None = None,
    kappa: float = 0.0,
    share_p: float | None = None,
) -> AlphaEstimate:
    """Estimate α, the share of positives among the unlabeled, from scores of both samples.

    The scores must come from a model that did not train on these rows. Only their order matters,
    except to methods that say they need probabilities. Instead of two samples, `scores_p` may be
    a `Tails` counted elsewhere, for methods that read tails.

    Parameters
    ----------
    scores_p, scores_u
        Scores of the known positives and of the unlabeled rows; higher is more positive.
    method
        A name in `topbin.mpe.METHODS` that reads tails or scores.
    confidence
        Level of the interval and the bound; None asks for neither.
    pure_fraction, kappa
        What you know of the top bin, for the interval's lower end: that the highest-scoring
        `pure_fraction` of the positives stand apart from negatives, and that negatives score
        there at most `kappa` times as often as positives.
    share_p
        For methods that need probabilities: the share of positives in the data that trained the
        scorer; 0.5 if it weighted both sides equally. By default that of these two samples.

    >>> import numpy as np
    >>> estimate_alpha(np.ones(1000), np.repeat([1.0, 0.0], 500)).alpha  # half score like positives
    0.5
    """
    chosen = find_method(method)
    if chosen.needs == "features":
        raise InputError(
            "TB007",
            f"{method!r} reads features, not scores; use topbin.AlphaEstimator(method={method!r}).",
        )
    if isinstance(scores_p, Tails):
        if scores_u is not None or chosen.needs != "tails":
            raise InputError(
                "TB007",
                f"{method!r} cannot be computed from tails and scores_u={type(scores_u).__name__}; "
                "pass both score samples, or tails alone with a method that reads tails.",
            )
        return add_alarms(chosen.estimate(scores_p), scores_p, confidence, pure_fraction, kappa)
    if scores_u is None:
        raise InputError("TB001", "scores_u is missing; pass the scores of the unlabeled rows.")
    scores_p, scores_u = check_scores(scores_p, "scores_p"), check_scores(scores_u, "scores_u")
    _refuse_labels(scores_p, scores_u)
    if chosen.needs == "tails" and not chosen.thin:
        tails = Tails.from_scores(scores_p, scores_u)
    else:
        tails = thin_tails(scores_p, scores_u, ranks=interval_ranks(scores_p.size))
    if chosen.needs == "tails":
        found = chosen.estimate(tails)
    elif chosen.needs == "probabilities":
        found = chosen.estimate(scores_p, scores_u, share_p=share_p)
    else:
        found = chosen.estimate(scores_p, scores_u)
    return add_alarms(found, tails, confidence, pure_fraction, kappa)


def _refuse_labels(scores_p: Scores, scores_u: Scores) -> None:
    """Scores and labels of the same rows look like two samples, and would give α = 0."""
    head = scores_u[:LOOK]
    if scores_p.size != scores_u.size or ((head != 0) & (head != 1)).any():
        return  # without sorting what may be millions
    if np.array_equal(np.unique(scores_u), [0, 1]) and np.unique(scores_p).size > 2:
        raise InputError(
            "TB007",
            "scores_u holds only 0 and 1, as many as scores_p has scores, so it seems to hold "
            "labels. Pass two samples of scores, of the positives and of the unlabeled rows: "
            "estimate_alpha(scores[labels == 1], scores[labels == 0]).",
        )


def add_alarms(
    estimate: AlphaEstimate,
    tails: Tails,
    confidence: float | None = 0.95,
    pure_fraction: float | None = None,
    kappa: float = 0.0,
    others: Sequence[AlphaEstimate] = (),
) -> AlphaEstimate:
    """The same estimate with interval, bound and alarms read from the tails."""
    if confidence is not None:
        estimate = replace(
            estimate,
            confidence=confidence,
            interval=interval(tails, confidence, pure_fraction=pure_fraction, kappa=kappa),
            upper_bound=upper_bound(tails, confidence),
        )
    found = find_alarms(estimate, tails, others)
    return replace(estimate, alarms=(*estimate.alarms, *found))
