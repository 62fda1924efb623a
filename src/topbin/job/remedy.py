"""α without the columns that leak the label, also softly, or by the group that rows belong to.

A column that was filled in because of the label separates known positives from hidden ones, so α̂
is too low. Columns are screened without training: each in turn is held at its median, and the
models of the fit score some rows again. Where α rises, a short cross-fit without it decides. Two
things tell a leak from a strong column. Without a leak the others contradict the answer with it.
And among unlabeled rows a leak says nothing: there, what it says is independent of what the others
say, whereas columns that know about positives agree on which rows these are.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from scipy.stats import rankdata

from topbin.core.binomial import ranks_of
from topbin.core.checks import Floats, RowNumbers
from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.labels import Mask
from topbin.data.features import LINEAR
from topbin.job.grouping import read_fold_groups
from topbin.job.models import quick_evidence
from topbin.job.prepare import Prepared
from topbin.learn.crossfit import Chain
from topbin.learn.defaults import default_model
from topbin.learn.labeling.propensity import matrix_columns
from topbin.learn.probabilities import posterior_of
from topbin.mpe.alarms import soft_leak
from topbin.mpe.estimate import estimate_alpha
from topbin.store.answer import Remedy

SCREENED, ROWS = 12, 1_000  # columns by importance, and rows of each side that are scored again
SUSPECTS, RISES = 3, 0.03  # columns that a cross-fit may be made without, if α rises by so much
# Chosen on 14 tables with and without planted leaks; bench/results/alarms.md has others.
SURE_ENOUGH, UNRELATED, COMPARED_ROWS = 0.75, 2.5, 2_000
NOTHING = 0.05  # below it, α says that hardly any row is positive


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
    if (groups := _named(data.alarms, "group-column", "near-copies")) and not data.folds.sentence:
        folds = read_fold_groups(data.table, data.label, groups[0], None)
        grouped = replace(data, folds=folds)
        return None if folds.row_groups is None else _remedy("group", groups[:1], grouped, model)
    if leaks := _named(data.alarms, "leak"):
        return _remedy("drop", leaks, data, model)
    for suspect in _suspects(data, chains):
        others = _crossfitted(data, (suspect,), model)
        if others is None:
            continue
        estimate = estimate_alpha(others, confidence=data.request.certainty.confidence)
        if is_higher(first, estimate) and is_higher(careful, estimate):
            alone = _crossfitted(data, (suspect,), model, alone=True)
            if alone is not None and are_apart(alone.scores[1], others.scores[1]):
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
    gains = np.subtract.outer(posterior_of(without).draws(), posterior_of(shown).draws())
    sureness = float((gains > 0).mean() + (gains == 0).mean() / 2)
    return without.alpha > shown.alpha + RISES and sureness >= SURE_ENOUGH


def are_apart(scores: Any, others: Any) -> bool:
    """Whether two scores of the same unlabeled rows show no agreement, by ranks.

    >>> rows = np.arange(100.0)
    >>> are_apart(rows, rows), are_apart(rows % 10, rows // 10), are_apart(rows * 0, rows)
    (False, True, True)
    """
    step = max(1, scores.size // COMPARED_ROWS)  # many rows would show the least agreement
    a, b = rankdata(scores[::step]), rankdata(others[::step])
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return True
    return bool(np.corrcoef(a, b)[0, 1] * np.sqrt(a.size) < UNRELATED)


def leaves_alpha_near_zero(remedy: Remedy | None, alarms: Sequence[Alarm]) -> bool:
    """Whether α stays near 0 without the columns that leak: either others leak too, or none."""
    if remedy is None or remedy.kind == "group" or not _named(alarms, "leak"):
        return False
    return (remedy.estimate.interval or (0.0, remedy.estimate.alpha))[1] < NOTHING


def alarms_of(remedy: Remedy | None, alarms: Sequence[Alarm]) -> tuple[Alarm, ...]:
    """The alarm of a leak that no check of single columns has raised."""
    if remedy is None or remedy.kind == "group" or _named(alarms, "leak"):
        return ()
    return (soft_leak(remedy.columns[0], remedy.estimate),)


def _named(alarms: Sequence[Alarm], *codes: str) -> tuple[str, ...]:
    """The columns of alarms with one of these codes."""
    return tuple(a.column for a in alarms if a.code in codes and a.column is not None)


def _remedy(
    kind: Literal["drop", "group"], columns: tuple[str, ...], data: Prepared, model: Any
) -> Remedy | None:
    """A remedy by the quick estimate without these columns; None if no column is left."""
    features = [name for name in columns if name in data.encoder.columns]
    evidence = _crossfitted(data, features, model)
    if evidence is None:
        return None
    estimate = estimate_alpha(evidence, confidence=data.request.certainty.confidence)
    return Remedy(kind=kind, columns=columns, estimate=estimate)


def _crossfitted(
    data: Prepared, columns: Sequence[str], model: Any, *, alone: bool = False
) -> Evidence | None:
    """What models without these columns, or with these alone, say; None if no column is left."""
    rows, places = data.fitted_rows, matrix_columns(data.encoder, columns)
    X = data.X[rows][:, places] if alone else np.delete(data.X[rows], places, axis=1)
    return quick_evidence(data, rows, X, model or default_model(X)) if X.shape[1] else None


def _suspects(data: Prepared, chains: Sequence[Chain]) -> list[str]:
    """The columns without which α is highest, if it is clearly higher than with all of them."""
    if not chains or data.request.labeling.labeled_by:
        return []
    fitted = data.fitted_rows
    is_p = data.labels.is_positive[fitted]
    drawn = [_some_rows(chain.held_out, is_p) for chain in chains]
    X = [data.X[fitted[rows]] for rows in drawn]
    labeled = np.concatenate([is_p[rows] for rows in drawn])
    if not labeled.any() or labeled.all():
        return []
    before = _rescored_alpha(chains, X, labeled)
    # A value of the column: the mean of the middle two can be too large for a float.
    medians = np.nanquantile(np.concatenate(X), 0.5, axis=0, method="lower")
    after: dict[str, float] = {}
    for name in _important(data, chains):
        held_at_median = [part.copy() for part in X]
        places = matrix_columns(data.encoder, [name])
        for part in held_at_median:
            part[:, places] = medians[places]
        after[name] = _rescored_alpha(chains, held_at_median, labeled)
    risen = [name for name in after if after[name] > before + RISES]
    return sorted(risen, key=lambda name: -after[name])[:SUSPECTS]


def _some_rows(held_out: RowNumbers, is_p: Mask) -> RowNumbers:
    """Some of the rows of each side, the same ones each time."""
    sides = held_out[is_p[held_out]], held_out[~is_p[held_out]]
    return np.concatenate([side[:: max(1, side.size // ROWS)] for side in sides])


def _rescored_alpha(chains: Sequence[Chain], X: Sequence[Any], labeled: Mask) -> float:
    """α from the first model of each fold, which is trained as the quick estimate is."""
    scores: list[Floats] = []
    for chain, part in zip(chains, X, strict=True):
        scores.append(ranks_of(replace(chain, models=chain.models[:1]).score(part)))
    ranks = np.concatenate(scores)
    evidence = Evidence(ranks[labeled], ranks[~labeled], crossfitted=True)
    return estimate_alpha(evidence, confidence=None).alpha


def _important(data: Prepared, chains: Sequence[Chain]) -> list[str]:
    """The columns that the models read most; all of them if the models do not say which."""
    names = [f.name for f in data.encoder.features if f.kind not in LINEAR]
    if not hasattr(chains[0].models[0], "feature_importances_"):
        return names[:SCREENED]
    total = np.sum([chain.models[0].feature_importances_ for chain in chains], axis=0)
    read = {name: float(total[matrix_columns(data.encoder, [name])].sum()) for name in names}
    return sorted(names, key=lambda name: -read[name])[:SCREENED]
