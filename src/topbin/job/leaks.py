"""Columns that leak the label, also softly, and α without them; α by group, if rows belong to one.

A column that was filled in because of the label separates known positives from hidden ones, so α̂
is too low. Columns are screened without training: each in turn is held at its median, and the
models of the fit score some rows again. If α rises, a short cross-fit without that column decides.
What tells a leak from a strong column is what the others say: without a strong column they say
little, and without a leak they contradict the answer with it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from topbin.core.checks import Floats, RowNumbers
from topbin.core.estimate import Alarm, AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.labels import Mask
from topbin.core.shares import share_below
from topbin.data.features import LINEAR
from topbin.data.images.rows import Images
from topbin.job.prepare import Prepared
from topbin.job.together import read_kept
from topbin.learn.classifiers.labeling import matrix_columns
from topbin.learn.crossfit import Chain, RunOptions, crossfit
from topbin.learn.defaults import FIRST, coarse, default_model
from topbin.learn.learners import PVU
from topbin.learn.probabilities import posterior_of
from topbin.mpe.alarms import soft_leak
from topbin.mpe.estimate import estimate_alpha
from topbin.store.answer import Remedy

SCREENED, ROWS = 12, 1_000  # columns by importance, and rows of each side that are scored again
RISES = 0.03  # α, before a cross-fit is made
# Chosen on made tables with and without planted leaks; bench/results/alarms.md has others.
SURE, WIDEST, MOVES = 0.82, 0.6, 0.05
NOTHING = 0.05  # below it, α says that hardly any row is positive


def find_remedy(
    data: Prepared,
    first: AlphaEstimate,
    careful: AlphaEstimate,
    chains: Sequence[Chain],
    shared: dict[str, Any],
) -> Remedy | None:
    """What α is without the columns that leak, or by the group that rows seem to belong to.

    `first` is the quick estimate of the same rows with all columns, to which that without a column
    is compared; `careful` is the one that people see.
    """
    if isinstance(data.X, Images) or issparse(data.X):
        return None
    if (group := _named(data.alarms, "group-column", "near-copies")) and data.kept is None:
        return _by_group(data, group[0], shared)
    leaks = _named(data.alarms, "leak")
    if leaks:
        found = _refitted(data, leaks, shared)
        # If α stays near 0, others leak too, or no column does.
        if found is None or (found.interval or (0.0, found.alpha))[1] < NOTHING:
            return None
        return _dropped(leaks, found)
    suspect = _suspect(data, chains)
    if suspect is None or (found := _refitted(data, (suspect,), shared)) is None:
        return None
    is_leak = moves(careful, found) and contradicts(first, found)
    return _dropped((suspect,), found) if is_leak else None


def moves(shown: AlphaEstimate, without: AlphaEstimate) -> bool:
    """Whether α without a column is clearly above the answer that is shown, and its interval."""
    high = (shown.interval or (0.0, shown.alpha))[1]
    return without.alpha > max(high, shown.alpha + MOVES)


def contradicts(first: AlphaEstimate, without: AlphaEstimate) -> bool:
    """Whether α without a column says that the column leaks.

    Where the other columns say nothing, only an α near 0 is suspicious.
    """
    if first.interval is None or without.interval is None:
        return False
    high, (low, most) = first.interval[1], without.interval
    if without.has_no_signal:
        return high < NOTHING
    pairs = np.subtract.outer(_draws(without), _draws(first))
    sure = float((pairs > 0).mean() + (pairs == 0).mean() / 2)
    return without.alpha > high and sure >= SURE and most - low <= WIDEST


def _draws(estimate: AlphaEstimate) -> Floats:
    return posterior_of(estimate).draws()


def alarms_of(remedy: Remedy | None, known: Sequence[Alarm]) -> tuple[Alarm, ...]:
    """The alarm of a leak that no check of single columns has raised."""
    if remedy is None or remedy.kind == "group" or _named(known, "leak"):
        return ()
    return (soft_leak(remedy.columns[0], remedy.estimate),)


def _named(alarms: Sequence[Alarm], *codes: str) -> tuple[str, ...]:
    return tuple(a.column for a in alarms if a.code in codes and a.column is not None)


def _dropped(columns: tuple[str, ...], found: AlphaEstimate) -> Remedy:
    return Remedy(kind="drop", columns=columns, estimate=found)


def _by_group(data: Prepared, group: str, shared: dict[str, Any]) -> Remedy | None:
    kept = read_kept(data.table, data.label, group, None)
    if kept is None or kept.together is None:
        return None
    own = (group,) if group in data.encoder.columns else ()
    found = _refitted(replace(data, kept=kept), own, shared)
    return None if found is None else Remedy(kind="group", columns=(group,), estimate=found)


def _refitted(
    data: Prepared, without: Sequence[str], shared: dict[str, Any]
) -> AlphaEstimate | None:
    """The quick estimate without some columns; None if no column is left."""
    rows = np.flatnonzero(~data.labels.is_negative)
    X = np.delete(data.X[rows], matrix_columns(data.encoder, without), axis=1)
    if not X.shape[1]:
        return None
    is_p, plan, held = data.labels.is_positive[rows], FIRST, {}
    if data.kept is not None:
        plan, held = data.kept.plan(FIRST, data.labels), data.kept.at(rows).arrays
    model = shared.get("estimator") or default_model(X)
    fit = crossfit(
        model, coarse(X, model), is_p, PVU, plan=plan, seed=shared["random_state"],
        sample_weight=None if data.weight is None else data.weight[rows],
        new_rows=False, run=RunOptions(n_jobs=shared["n_jobs"]), **held,
    )  # fmt: skip
    return estimate_alpha(fit.evidence(is_p), confidence=shared["confidence"])


def _suspect(data: Prepared, chains: Sequence[Chain]) -> str | None:
    """The column without which α is highest, if it is clearly higher than with all of them."""
    if not chains or data.request.labeling.labeled_by:
        return None
    known = np.flatnonzero(~data.labels.is_negative)
    is_p = data.labels.is_positive[known]
    drawn = [_drawn(chain.held_out, is_p) for chain in chains]
    X = [data.X[known[rows]] for rows in drawn]
    labeled = np.concatenate([is_p[rows] for rows in drawn])
    if not labeled.any() or labeled.all():
        return None
    before = _alpha(chains, X, labeled)
    middle = np.nanmedian(np.concatenate(X), axis=0)
    after: dict[str, float] = {}
    for name in _important(data, chains):
        held = [part.copy() for part in X]
        own = matrix_columns(data.encoder, [name])
        for part in held:
            part[:, own] = middle[own]
        after[name] = _alpha(chains, held, labeled)
    worst = max(after, key=after.__getitem__, default=None)
    return worst if worst is not None and after[worst] > before + RISES else None


def _drawn(held_out: RowNumbers, is_p: Mask) -> RowNumbers:
    """Some of the rows of each side, the same ones each time."""
    sides = held_out[is_p[held_out]], held_out[~is_p[held_out]]
    return np.concatenate([side[:: max(1, side.size // ROWS)] for side in sides])


def _alpha(chains: Sequence[Chain], X: Sequence[Any], labeled: Mask) -> float:
    """α from the first model of each fold, which is trained as the quick estimate is."""
    scores: list[Floats] = []
    for chain, part in zip(chains, X, strict=True):
        own = np.asarray(replace(chain, models=chain.models[:1]).score(part))
        scores.append(share_below(own, np.sort(own)))
    found = np.concatenate(scores)
    evidence = Evidence(found[labeled], found[~labeled], crossfitted=True)
    return estimate_alpha(evidence, confidence=None).alpha


def _important(data: Prepared, chains: Sequence[Chain]) -> list[str]:
    """The columns that the models read most; all of them if the models do not say which."""
    names = [f.name for f in data.encoder.features if f.kind not in LINEAR]
    if not hasattr(chains[0].models[0], "feature_importances_"):
        return names[:SCREENED]
    total = np.sum([chain.models[0].feature_importances_ for chain in chains], axis=0)
    said = {name: float(total[matrix_columns(data.encoder, [name])].sum()) for name in names}
    return sorted(names, key=lambda name: -said[name])[:SCREENED]
