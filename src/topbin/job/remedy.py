"""What speaks against an answer: before a fit what the table says, after it columns that leak.

The width of an interval depends on how many rows there are, which is known, and on how well a model
will separate the classes, which is not. So `check_up` computes it for normal scores at several
AUCs, without luck: the scores are evenly spaced quantiles, and α is read from them as a fit reads
it from its own.

`find_remedy` has α without the columns that leak the label, also softly, or by the group that rows
belong to. A column that was filled in because of the label separates known positives from hidden
ones, so α̂ is too low. Columns are screened without training: each in turn is held at its median,
and the models of the fit score some rows again. Where α rises, a short cross-fit without it
decides. Two things tell a leak from a strong column. Without a leak the others contradict the
answer with it. And among unlabeled rows a leak says nothing: there, what it says is independent of
what the others say, whereas columns that know about positives agree on which rows these are.
"""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from scipy.special import ndtri
from scipy.stats import rankdata

from topbin.core.binomial import ranks_of
from topbin.core.checks import Floats, RowNumbers
from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.formatting import counted, figure
from topbin.core.labels import Mask
from topbin.core.options import CONFIDENCE
from topbin.data.features import LINEAR
from topbin.job.grouping import read_fold_groups
from topbin.job.prepare import Prepared
from topbin.learn.crossfit import Chain, Plan, RunOptions, crossfit
from topbin.learn.defaults import FIRST, coarse, default_model
from topbin.learn.labeling.propensity import matrix_columns
from topbin.learn.learners import PVU
from topbin.learn.probabilities import posterior_of
from topbin.learn.risk import Learner
from topbin.mpe.alarms import few_positives, soft_leak
from topbin.mpe.estimate import estimate_alpha
from topbin.store.answer import Remedy

AUCS = (0.99, 0.9, 0.8)  # of positives against negatives: of models that are very good, good, fair
ALPHA = 0.25
MOST_ROWS = 50_000  # more make the interval hardly narrower, and take time
NO_ALARMS = "no alarms (this does not prove the table right)"
SCREENED, ROWS = 12, 1_000  # columns by importance, and rows of each side that are scored again
SUSPECTS, RISES = 3, 0.03  # columns that a cross-fit may be made without, if α rises by so much
# Chosen on 14 tables with and without planted leaks; bench/results/alarms.md has others.
SURE, APART, PAIRS = 0.75, 2.5, 2_000
NOTHING = 0.05  # below it, α says that hardly any row is positive


@dataclass(frozen=True, slots=True)
class Checkup:
    """Reasons to doubt any estimate from a table, and the width of its interval by AUC."""

    alarms: tuple[Alarm, ...]
    widths: dict[float, float]
    confidence: float = CONFIDENCE

    def lines(self) -> list[str]:
        """The widths, the alarms and a verdict, as text."""
        each = ", ".join(f"{figure(width)} at AUC {auc:g}" for auc, width in self.widths.items())
        widths = f"expect a width of about {each}, if α is near {ALPHA:g}"
        codes = [alarm.code for alarm in self.alarms]
        verdict = f"{counted(len(codes), 'alarm')} to look into before a fit: {', '.join(codes)}"
        # A leak is noticed with its column, and with what to do about it.
        shown = (alarm for alarm in self.alarms if alarm.code != "leak")
        return [
            f"{f'{100 * self.confidence:g} % interval':<16}{widths}",
            *(f"alarm           {alarm.code}: {alarm.message}" for alarm in shown),
            f"verdict         {verdict if codes else NO_ALARMS}",
        ]


def check_up(data: Prepared) -> Checkup:
    """What is known about the rows of a table; TB003 if there are too few of them to fit."""
    data.check_enough()
    n_p, n_u = _independent(data)
    level = data.request.certainty.confidence
    evidence = {auc: without_luck(n_p, n_u, auc) for auc in AUCS}
    estimates = {auc: estimate_alpha(each, confidence=level) for auc, each in evidence.items()}
    first = estimates[AUCS[0]]
    if (n_p, n_u) != (data.labels.n_p, data.n_u):
        first = replace(first, n_p=data.labels.n_p, worth=(n_p, n_u))
    few = few_positives(first, evidence[AUCS[0]].tails)
    ends = {auc: each.interval or (0.0, 1.0) for auc, each in estimates.items()}
    widths = {auc: high - low for auc, (low, high) in ends.items()}
    return Checkup((*data.alarms, *few), widths, level)


def without_luck(n_p: int, n_u: int, auc: float) -> Evidence:
    """Cross-fitted normal scores with this AUC, as evenly spaced as they can be.

    >>> round(estimate_alpha(without_luck(1000, 1000, 0.99)).alpha, 2)
    0.25
    """
    n_p, n_u = min(n_p, MOST_ROWS), min(n_u, MOST_ROWS)
    gap, hidden = sqrt(2) * float(ndtri(auc)), round(ALPHA * n_u)
    scores_u = np.concatenate([_spaced(hidden) + gap, _spaced(n_u - hidden)])
    return Evidence.of(_spaced(n_p) + gap, scores_u, crossfitted=True)


def _spaced(n: int) -> Floats:
    """Quantiles of the normal distribution, evenly spaced in probability."""
    return np.asarray(ndtri((np.arange(n) + 0.5) / n), np.float64)


def _independent(data: Prepared) -> tuple[int, int]:
    """How many positives and unlabeled rows there are; of rows that belong together, groups."""
    labels = data.labels
    if data.folds.together is None:
        return labels.n_p, data.n_u
    groups: Any = data.folds.together.groups
    n_p, n_u = (np.unique(groups[side]).size for side in (labels.is_positive, labels.is_unlabeled))
    return int(n_p), int(n_u)


def find_remedy(
    data: Prepared,
    first: AlphaEstimate,
    careful: AlphaEstimate,
    chains: Sequence[Chain],
    model: Any,
) -> Remedy | None:
    """What α is without the columns that leak, or by the group that rows seem to belong to.

    `first` is the quick estimate of the same rows with all columns, to which that without a column
    is compared; `careful` is the one that people see. `model` is None if it is the default one.
    """
    if data.by_net or issparse(data.X):
        return None
    if (group := _named(data.alarms, "group-column", "near-copies")) and not data.folds.sentence:
        return _by_group(data, group[0], model)
    if leaks := _named(data.alarms, "leak"):
        return _remedy("drop", leaks, data, leaks, model)
    for suspect in _suspects(data, chains):
        others = _crossfitted(data, (suspect,), model)
        if others is None:
            continue
        estimate = estimate_alpha(others, confidence=data.request.certainty.confidence)
        if is_higher(first, estimate) and is_higher(careful, estimate):
            own = _crossfitted(data, (suspect,), model, alone=True)
            if own is not None and are_apart(own.scores[1], others.scores[1]):
                return Remedy(kind="drop", columns=(suspect,), estimate=estimate)
    return None


def is_higher(shown: AlphaEstimate, without: AlphaEstimate) -> bool:
    """Whether α without a column is likely above the answer with it.

    Where the other columns say nothing, only an α near 0 is suspicious.
    """
    if shown.interval is None or without.interval is None:
        return False
    if without.has_no_signal:
        return shown.interval[1] < NOTHING
    pairs = np.subtract.outer(*(posterior_of(one).draws() for one in (without, shown)))
    sure = float((pairs > 0).mean() + (pairs == 0).mean() / 2)
    return without.alpha > shown.alpha + RISES and sure >= SURE


def are_apart(one: Any, other: Any) -> bool:
    """Whether two scores of the same unlabeled rows show no agreement, by ranks.

    >>> rows = np.arange(100.0)
    >>> are_apart(rows, rows), are_apart(rows % 10, rows // 10), are_apart(rows * 0, rows)
    (False, True, True)
    """
    step = max(1, one.size // PAIRS)  # many rows would show the least agreement
    a, b = rankdata(one[::step]), rankdata(other[::step])
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return True
    return bool(np.corrcoef(a, b)[0, 1] * np.sqrt(a.size) < APART)


def is_in_vain(remedy: Remedy | None, known: Sequence[Alarm]) -> bool:
    """Whether α stays near 0 without the columns that leak: others leak too, or none does."""
    if remedy is None or remedy.kind == "group" or not _named(known, "leak"):
        return False
    return (remedy.estimate.interval or (0.0, remedy.estimate.alpha))[1] < NOTHING


def alarms_of(remedy: Remedy | None, known: Sequence[Alarm]) -> tuple[Alarm, ...]:
    """The alarm of a leak that no check of single columns has raised."""
    if remedy is None or remedy.kind == "group" or _named(known, "leak"):
        return ()
    return (soft_leak(remedy.columns[0], remedy.estimate),)


def _named(alarms: Sequence[Alarm], *codes: str) -> tuple[str, ...]:
    return tuple(a.column for a in alarms if a.code in codes and a.column is not None)


def _by_group(data: Prepared, group: str, model: Any) -> Remedy | None:
    folds = read_fold_groups(data.table, data.label, group, None)
    if folds.together is None:
        return None
    own = (group,) if group in data.encoder.columns else ()
    return _remedy("group", (group,), replace(data, folds=folds), own, model)


def _remedy(
    kind: Literal["drop", "group"],
    columns: tuple[str, ...],
    data: Prepared,
    without: Sequence[str],
    model: Any,
) -> Remedy | None:
    """A remedy by the quick estimate `without` some columns; None if no column is left."""
    evidence = _crossfitted(data, without, model)
    if evidence is None:
        return None
    estimate = estimate_alpha(evidence, confidence=data.request.certainty.confidence)
    return Remedy(kind=kind, columns=columns, estimate=estimate)


def _crossfitted(
    data: Prepared, columns: Sequence[str], model: Any, *, alone: bool = False
) -> Evidence | None:
    """What models without these columns, or with these alone, say; None if no column is left."""
    rows = np.flatnonzero(~data.labels.is_negative)
    own = matrix_columns(data.encoder, columns)
    X = data.X[rows][:, own] if alone else np.delete(data.X[rows], own, axis=1)
    if not X.shape[1]:
        return None
    model = model or default_model(X)
    weight = None if data.weight is None else data.weight[rows]
    return quick_evidence(data, rows, coarse(X, model), model, weight=weight)


def quick_evidence(
    data: Prepared,
    rows: Any,
    X: Any,
    model: Any,
    *,
    plan: Plan = FIRST,
    learner: Learner = PVU,
    weight: Any = None,
    memory: MutableMapping[str, Any] | None = None,
) -> Evidence:
    """What a short cross-fit says of some rows, of which the model reads X."""
    is_p = data.labels.is_positive[rows]
    fit = crossfit(
        model, X, is_p, learner, plan=data.folds.plan(plan, data.labels), sample_weight=weight,
        seed=data.request.certainty.seed, new_rows=False,
        run=RunOptions(n_jobs=data.request.budget.threads, memory=memory),
        **data.folds.at(rows).arrays,
    )  # fmt: skip
    return fit.evidence(is_p)


def _suspects(data: Prepared, chains: Sequence[Chain]) -> list[str]:
    """The columns without which α is highest, if it is clearly higher than with all of them."""
    if not chains or data.request.labeling.labeled_by:
        return []
    known = np.flatnonzero(~data.labels.is_negative)
    is_p = data.labels.is_positive[known]
    drawn = [_drawn(chain.held_out, is_p) for chain in chains]
    X = [data.X[known[rows]] for rows in drawn]
    labeled = np.concatenate([is_p[rows] for rows in drawn])
    if not labeled.any() or labeled.all():
        return []
    before = _alpha(chains, X, labeled)
    middle = np.nanmedian(np.concatenate(X), axis=0)
    after: dict[str, float] = {}
    for name in _important(data, chains):
        held = [part.copy() for part in X]
        own = matrix_columns(data.encoder, [name])
        for part in held:
            part[:, own] = middle[own]
        after[name] = _alpha(chains, held, labeled)
    risen = [name for name in after if after[name] > before + RISES]
    return sorted(risen, key=lambda name: -after[name])[:SUSPECTS]


def _drawn(held_out: RowNumbers, is_p: Mask) -> RowNumbers:
    """Some of the rows of each side, the same ones each time."""
    sides = held_out[is_p[held_out]], held_out[~is_p[held_out]]
    return np.concatenate([side[:: max(1, side.size // ROWS)] for side in sides])


def _alpha(chains: Sequence[Chain], X: Sequence[Any], labeled: Mask) -> float:
    """α from the first model of each fold, which is trained as the quick estimate is."""
    scores: list[Floats] = []
    for chain, part in zip(chains, X, strict=True):
        scores.append(ranks_of(replace(chain, models=chain.models[:1]).score(part)))
    places = np.concatenate(scores)
    evidence = Evidence(places[labeled], places[~labeled], crossfitted=True)
    return estimate_alpha(evidence, confidence=None).alpha


def _important(data: Prepared, chains: Sequence[Chain]) -> list[str]:
    """The columns that the models read most; all of them if the models do not say which."""
    names = [f.name for f in data.encoder.features if f.kind not in LINEAR]
    if not hasattr(chains[0].models[0], "feature_importances_"):
        return names[:SCREENED]
    total = np.sum([chain.models[0].feature_importances_ for chain in chains], axis=0)
    said = {name: float(total[matrix_columns(data.encoder, [name])].sum()) for name in names}
    return sorted(names, key=lambda name: -said[name])[:SCREENED]
