"""`topbin.fit` on files larger than memory: train on a sample, score and count everything."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from topbin.core.checks import check_count
from topbin.core.defaults import CONFIDENCE
from topbin.core.errors import InputError
from topbin.core.evidence import Evidence
from topbin.core.labels import Labels, Mask
from topbin.core.tails import Tails
from topbin.data.batch import join
from topbin.data.columns import Columns
from topbin.data.features import fit_features
from topbin.data.find import SourceLike
from topbin.data.table import read_pair
from topbin.engines.engine import Engine
from topbin.engines.thin import cost, thin
from topbin.job.draw import Drawn, LabeledTable, draw, open_labeled
from topbin.job.fit import Event, check_options, fit, out_of_time
from topbin.job.prepare import (
    Prepared,
    as_numbers,
    from_pair,
    from_table,
    names_in,
    notice,
)
from topbin.job.result import Result
from topbin.job.sampled_result import SampledResult
from topbin.job.sweep import Best, Folds, Sweep, Swept, sweep
from topbin.learn.classifiers import TEDnClassifier
from topbin.learn.crossfit import Chain, Plan, chain_name, chains_of, is_whole, run_chain
from topbin.learn.defaults import PRESETS, default_model, plan_for
from topbin.learn.posterior import fit_posterior
from topbin.learn.select import Floats
from topbin.learn.tedn import TEDN
from topbin.mpe.estimate import compared_estimates, estimate_alpha

SAMPLE = 100_000
WORTH = 4  # times the sample: fewer rows fit in memory as well as two samples and what they need
LISTED = 1_000  # rows kept at least, so that more candidates can be asked for afterwards


def fit_sampled(
    engine: Engine,
    source: SourceLike,
    label: str | None = None,
    *,
    known: SourceLike | None = None,
    sample: int | None = None,
    positive: Any = None,
    negative: Any = None,
    id: str | None = None,
    drop: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    preset: str = "good",
    review: int = 100,
    min_precision: float | None = None,
    confidence: float = CONFIDENCE,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    on_event: Callable[[Event], object] | None = None,
) -> Result:
    """Do the whole job on files of any size; parameters as in `topbin.fit`.

    All positives and `sample` (100,000) unlabeled rows, drawn at random, train the models; as many
    others show which values the columns have. The rest is then scored by models that have seen
    neither these rows nor the positives they are compared with, and gives α and its interval;
    candidates come from all rows. Files with few unlabeled rows, at most four times the sample, are
    read whole instead.

    `known` names a table of positives; all rows of `source` are then unlabeled.
    """
    asked: dict[str, Any] = {
        "preset": preset, "review": review, "min_precision": min_precision, "seed": seed,
    }  # fmt: skip
    work: dict[str, Any] = {
        "confidence": confidence, "time_limit": time_limit, "threads": threads,
        "on_event": on_event or (lambda _: None),
    }  # fmt: skip
    roles = {"label": label, "positive": positive, "negative": negative}
    columns: dict[str, Any] = {"id": id, "drop": drop, "text": text}
    wanted = check_count(SAMPLE if sample is None else sample, "sample")
    check_options(preset, review, min_precision, confidence=confidence, time_limit=time_limit)
    opened = open_labeled(engine, source, known=known, **roles)
    if opened.labels.n_u <= WORTH * wanted:
        return fit(_whole(opened, source, known, columns), **asked, **work)
    drawn = draw(engine, opened, wanted, seed)
    return _fit_drawn(engine, opened, drawn, _prepared(opened, drawn, **columns), asked, **work)


def _fit_drawn(
    engine: Engine,
    opened: LabeledTable,
    drawn: Drawn,
    data: Prepared,
    asked: dict[str, Any],
    *,
    confidence: float,
    time_limit: float | None,
    threads: int | None,
    on_event: Callable[[Event], object],
) -> SampledResult:
    """Train, score and count all, and put it together."""
    is_p, seed, n_u = data.labels.is_positive, asked["seed"], opened.labels.n_u
    on_event(Event("sampled", data.labels.n_u, n_u))
    plan, chains, stopped = _train(data, asked["preset"], seed, threads, time_limit, on_event)
    careful = _classifier(data, plan, chains, confidence, seed, threads)
    first = data.doubted(careful.estimate_)
    on_event(Event("first", estimate=first))
    folds = Folds.of(chains, is_p, seed)
    scores = folds.held_out(chains, is_p)
    full = Tails.of_positives(scores[is_p])
    cuts = thin(full)
    most = max(asked["review"], LISTED, 10 * LISTED if asked["min_precision"] else 0)
    shared = Sweep(opened.roles, data.encoder, folds, cuts, drawn.places, most)
    swept = sweep(engine, opened.parts, shared)
    tails = with_counts(cuts, swept, n_u - drawn.places.size)
    estimate = estimate_alpha(tails, method=careful.method, confidence=confidence)
    notes = (
        *cost(tails, full.cuts.size, careful.method),
        _note(data.labels.n_u, n_u, seed),
    )
    estimate = replace(estimate, notes=(*estimate.notes, *notes))
    _settle(careful, estimate, scores, is_p)
    on_event(Event("stopped" if stopped else "done", estimate=estimate))
    aside = Best(shared.score(drawn.columns), drawn.columns, most)
    best = aside + Best(scores[~is_p], drawn.sample, most)
    best = best if swept.best is None else best + swept.best
    return SampledResult(
        data=data, classifier=careful, first=first, **asked,
        methods=compared_estimates(Evidence(counted=tails)), stopped=stopped,
        tails=tails, n_u=n_u, n_n=opened.labels.n_n, best=best,
    )  # fmt: skip


def _note(rows: int, n_u: int, seed: int) -> str:
    """What every reader of the estimate must know.

    >>> _note(10, 1000, 7)
    'trained on 10 of 1,000 unlabeled rows, drawn at random (seed 7); α is of 980 others'
    """
    return (
        f"trained on {rows:,} of {n_u:,} unlabeled rows, drawn at random (seed {seed}); "
        f"α is of {n_u - 2 * rows:,} others"
    )


def _whole(opened: LabeledTable, source: Any, known: Any, columns: dict[str, Any]) -> Prepared:
    """A table that fits in memory after all."""
    names = [source] if isinstance(source, str) or not isinstance(source, Sequence) else source
    sources = [str(name) for name in names]
    label, values = opened.roles.label, opened.labels
    if label is None:
        pair = read_pair(known, source, id=columns["id"])
        return from_pair(pair, **columns, sources=[str(known), *sources])
    return from_table(opened.table.whole(), label, values=values, **columns, sources=sources)


def _prepared(
    opened: LabeledTable,
    drawn: Drawn,
    id: str | None,
    drop: str | Sequence[str],
    text: str | Sequence[str],
) -> Prepared:
    """The positives and the sample as a table; categories and words are learned from other rows.

    If this table taught the categories, they would all be known here while some are new in the
    rest, and those of the sample alone would be new in the positives; a model would notice both.
    """
    files = f"the sample of {len(opened.table.files):,} files"
    table = replace(join([drawn.positives, drawn.sample]), name=files, picked=None)
    is_positive = np.arange(table.rows) < drawn.positives.rows
    label, told = opened.roles.label, opened.labels
    labels = Labels(
        is_positive, np.zeros_like(is_positive), told.positive, told.unlabeled, told.note
    )
    hidden = [name for name in (label, id) if name is not None]
    shown = replace(drawn.columns, name=files)
    drop, text = names_in(drop), names_in(text)
    encoder = fit_features(shown, exclude=[*hidden, *drop], text=text)
    columns = Columns(table)
    X = encoder.encode(columns)
    read = [name for name in encoder.columns if name not in text]
    findings, alarms = notice(columns, X, labels, read)
    return Prepared(
        table=table,
        labels=labels,
        encoder=encoder,
        X=X,
        findings=findings,
        alarms=alarms,
        sources=tuple(file.path for file in opened.table.files),
        label=label,
        id=id,
    )


def _train(
    data: Prepared,
    preset: str,
    seed: int,
    threads: int | None,
    time_limit: float | None,
    tell: Callable[[Event], object],
) -> tuple[Plan, list[Chain], str | None]:
    """The chains that hold rows out, with their models; after the time limit no repeat starts.

    The plan is that of the repeats that were started; the words say what the limit did.
    """
    X, is_p = as_numbers(data.X), data.labels.is_positive
    plan, model = plan_for(TEDN, X, PRESETS[preset]), default_model(X)
    deadline = inf if time_limit is None else monotonic() + time_limit
    chains: list[Chain] = []
    whole = 0
    for repeat in range(plan.repeats):
        if repeat and monotonic() > deadline:
            return replace(plan, repeats=repeat), chains, out_of_time(whole, plan.repeats)
        jobs = [job for job in chains_of(is_p, plan, seed + 1000 * repeat) if job[1].size]
        chains += Parallel(n_jobs=threads)(
            delayed(run_chain)(
                model, X, is_p, TEDN, held_out, repeat,
                alpha=None, plan=plan, seed=s, sample_weight=None, deadline=deadline,
            )
            for s, held_out in jobs
        )  # fmt: skip
        whole += all(is_whole(chain, plan) for chain in chains[-len(jobs) :])
        tell(Event("refine", repeat + 1, plan.repeats))
    return plan, chains, out_of_time(whole, plan.repeats)


def _classifier(
    data: Prepared,
    plan: Plan,
    chains: Sequence[Chain],
    confidence: float,
    seed: int,
    threads: int | None,
) -> TEDnClassifier:
    """The classifier for new rows: of its chains only those that hold nothing out are missing."""
    memory: dict[str, Any] = {}
    for chain in chains:
        k = sum(name.startswith(f"{TEDN.name}-{chain.repeat}-") for name in memory)
        memory[chain_name(TEDN, chain.repeat, k)] = chain
    careful = TEDnClassifier(
        plan=plan, confidence=confidence, random_state=seed, n_jobs=threads, positive=1,
        memory=memory,
    )  # fmt: skip
    careful.fit(data.X, data.labels.is_positive.astype(int))
    careful.memory = None
    return careful


def with_counts(cuts: Tails, swept: Swept, n_u: int) -> Tails:
    """The tails of all rows that were to be counted; TB102 if there were not as many."""
    if swept.n_u != n_u:
        raise InputError("TB102", "the files changed while they were read. Fit them again.")
    return replace(cuts, above_u=swept.above, n_u=n_u)


def _settle(careful: TEDnClassifier, estimate: Any, scores: Floats, is_p: Mask) -> None:
    """Give the classifier the α of all rows, and probabilities that average to it."""
    z_p, z_u = careful.scores_p_, careful.scores_u_
    careful.posterior_ = fit_posterior(z_p, z_u, estimate.alpha)
    careful.oof_proba_ = np.empty(is_p.size)
    careful.oof_proba_[is_p] = careful.posterior_(z_p)
    careful.oof_proba_[~is_p] = careful.posterior_(z_u)
    careful.estimate_, careful.alpha_ = estimate, estimate.alpha
    careful.evidence_ = Evidence(scores[is_p], scores[~is_p])
