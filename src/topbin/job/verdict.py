"""The verdict on a fit or on a run, from what was found and what an audit of its rows would buy."""

from dataclasses import replace
from typing import Any

from topbin.core.defaults import CONFIDENCE
from topbin.core.errors import InputError
from topbin.core.estimate import AlphaEstimate
from topbin.core.figures import figure
from topbin.evaluate.audit import AuditResult
from topbin.evaluate.audits.top import TopBin
from topbin.evaluate.audits.width import AuditWidths
from topbin.evaluate.verdict import Verdict, decide
from topbin.store.answer import Remedy


def verdict_of(
    estimate: AlphaEstimate,
    n_u: int,
    scores: tuple[Any, Any, Any] | None,
    *,
    remedy: Remedy | None = None,
    audit: AuditResult | None = None,
) -> Verdict:
    """The verdict; `scores` are those of P and of U, and the probabilities of U.

    Without them, audits are priced as if there were no model.
    """
    both = estimate if audit is None or audit.together is None else audit.together
    f_u: Any = None
    top: TopBin | None = None
    if scores is not None:
        f_u, top = scores[2], _top(scores[0], scores[1], estimate)
    widths = AuditWidths(both.alpha, n_u, f_u, top, estimate.confidence or CONFIDENCE)
    if remedy is None:
        return decide(estimate, audit=audit, widths=widths)
    again = f"the same fit with {remedy.option}"
    gained = f"{remedy.sentence}, instead of {figure(estimate.alpha)}"
    return decide(estimate, audit=audit, remedy=again, gained=gained, widths=widths)


def _top(scores_p: Any, scores_u: Any, estimate: AlphaEstimate) -> TopBin | None:
    """The bin that a top audit draws from; None if no unlabeled row is in it."""
    try:
        return in_groups(TopBin.at(scores_p, scores_u), estimate)
    except InputError:
        return None


def in_groups(top: TopBin, estimate: AlphaEstimate) -> TopBin:
    """The bin with rows that count as the independent rows that they are worth."""
    if estimate.worth is None:
        return top
    worth_p, worth_u = estimate.worth
    return replace(top, worth_p=worth_p / estimate.n_p, worth_u=worth_u / estimate.n_u)
