"""Nets under the faces: hold-out, loop and scores of algorithm 3 for any rows torch can take.

Imported only when a net is asked for, so that the plain install never needs torch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from topbin.core import Alarm, AlphaEstimate, Evidence, InputError
from topbin.learn.backends.distributed import ALONE, Team, find_team
from topbin.learn.backends.needs_torch import Dataset, nn, torch
from topbin.learn.backends.torch import TorchBackend, kind_of, torch_backend
from topbin.learn.classifiers import fitting
from topbin.learn.classifiers.fitting import FitOptions, FittedModel, TrainingTable, TwoSamples
from topbin.learn.classifiers.plans import NetPlan
from topbin.learn.crossfit import Progress
from topbin.learn.groups import folds_of
from topbin.learn.learners.tedn import TEDN, mean_alpha
from topbin.learn.loop import TRACKED_BY, Diverged, Epoch, train
from topbin.learn.posterior import fit_posterior
from topbin.learn.risk import Learner
from topbin.learn.select import Floats, RowNumbers, Split, n_rows, split_rows

STEADY = "α is the mean of the estimates of the last {} epochs, because single ones vary"


@dataclass(frozen=True, slots=True, eq=False)
class NetModel:
    """A trained net that scores new rows, scaled as the rows it was trained on."""

    backend: TorchBackend
    scaler: StandardScaler | None

    def scores(self, X: Any) -> Floats:
        """One logit per row."""
        return self.backend.scores(scaled(X, self.scaler)).astype(np.float64)


def fit_net(
    net: str | nn.Module,
    samples: TwoSamples,
    options: FitOptions,
    learner: Learner,
    alpha: float | None = None,
) -> FittedModel:
    """Train a net on two samples, until it has settled, time is up, or its limit is reached.

    An α that the learner needs and is not given is found by (TED)ⁿ first. Processes that torchrun
    started train together; afterwards each scores new rows by itself.
    """
    notes: tuple[str, ...] = ()
    if learner.needs_alpha and alpha is None:
        first = _estimate_first(net, samples, replace(options, confidence=None))
        alpha, notes = fitting.usable(first)
    plan, team = options.plan or NetPlan(), find_team()
    scaler = fit_scaler(samples) if isinstance(net, str) else None
    inside, held = _hold_out(samples, scaler, plan.holdout, options.seed)
    own = held.together  # the groups of the held-out rows
    kind = kind_of(net, inside.X_p)
    warm, most = plan.phases(learner, kind)
    backend = torch_backend(
        learner, inside.X_p, X_u=inside.X_u, net=net, optim=plan.optim, augment=plan.augment,
        batch=plan.batch, seed=options.seed, device=plan.device, team=team, weights=inside.weights,
        phases=(warm, most) if warm else (most,),
    )  # fmt: skip
    run = partial(
        train, backend, learner, inside.X_p, inside.X_u,
        alpha=alpha, holdout=(held.X_p, held.X_u), epochs=most, warm_start=warm,
        warm_stop=plan.warm is None and kind.warm is None and warm > 0,
    )  # fmt: skip
    rows = (inside.X_p, inside.X_u, held.X_p, held.X_u, *(inside.weights or ()))
    about = f"{learner.name} {learner.at(alpha)} {alpha} {warm} {plan.warm}"
    done, epochs = _kept(plan.checkpoint, backend, rows, about, run)
    history, alarms = _follow(done, epochs, warm + most, options, team)
    scores_p, scores_u = (backend.scores(X).astype(np.float64) for X in (held.X_p, held.X_u))
    evidence = Evidence(scores_p, scores_u)
    if own is not None:
        n_p = scores_p.size
        evidence = replace(evidence, groups_p=own.groups[:n_p], groups_u=own.groups[n_p:])
    backend.team, backend.weights = ALONE, None
    estimate = fitting.judge(evidence, options, alpha, notes)
    if learner.estimates_alpha and options.method == TRACKED_BY:
        estimate = estimate.moved_to(mean_alpha(history, last=kind.last))
        estimate = replace(estimate, notes=(*estimate.notes, STEADY.format(kind.last)))
    estimate = replace(estimate, alarms=(*estimate.alarms, *alarms))
    posterior = fit_posterior(*evidence.scores, estimate.alpha)
    return FittedModel(NetModel(backend, scaler), posterior, estimate, history, evidence)


def _estimate_first(
    net: str | nn.Module, samples: TwoSamples, options: FitOptions
) -> AlphaEstimate:
    """α by (TED)ⁿ: of the default table model, whose error is smaller; for other rows the net's."""
    X_p, X_u = samples.X_p, samples.X_u
    if not is_numbers(samples):
        return fit_net(net, samples, options, TEDN).estimate
    is_positive = np.arange(len(X_p) + len(X_u)) < len(X_p)
    weight = None if samples.weights is None else np.concatenate(samples.weights)
    table = TrainingTable(np.concatenate([X_p, X_u]), is_positive, weight, samples.together)
    return fitting.fit_table(table, replace(options, estimator=None, plan=None), TEDN).estimate


def _hold_out(
    samples: TwoSamples, scaler: StandardScaler | None, share: float, seed: int
) -> tuple[TwoSamples, TwoSamples]:
    """Rows to train on, with weights of mean 1 so that steps keep their size, and the others."""
    (inside_p, held_p), (inside_u, held_u) = _splits(samples, share, seed)
    together = samples.together
    if together is not None:
        n_p = n_rows(samples.X_p)
        together = together.at(np.concatenate([held_p, n_p + held_u]))
    X_p, X_u = scaled(samples.X_p, scaler), scaled(samples.X_u, scaler)
    weights = None
    if samples.weights is not None:
        w_p, w_u = samples.weights[0][inside_p], samples.weights[1][inside_u]
        mean = np.concatenate([w_p, w_u]).mean()
        if mean == 0:
            raise InputError("TB012", "all rows to train on have a weight of zero.")
        weights = w_p / mean, w_u / mean
    inside = TwoSamples(pick(X_p, inside_p), pick(X_u, inside_u), weights)
    return inside, TwoSamples(pick(X_p, held_p), pick(X_u, held_u), together=together)


def _splits(samples: TwoSamples, share: float, seed: int) -> tuple[Split, Split]:
    """For P and for U, rows to train on and rows held out: a share of them, or one fold of groups.

    Groups are held out whole, so that their fold is one of round(1/share).
    """
    n_p, n_u = n_rows(samples.X_p), n_rows(samples.X_u)
    if samples.together is None:
        rng = np.random.default_rng(seed)
        return split_rows(n_p, rng, share=share), split_rows(n_u, rng, share=share)
    is_positive, folds = np.arange(n_p + n_u) < n_p, max(2, round(1 / share))
    inside, held = next(iter(folds_of(is_positive, folds, seed, together=samples.together)))
    splits = (inside[inside < n_p], held[held < n_p]), (inside[inside >= n_p], held[held >= n_p])
    return splits[0], (splits[1][0] - n_p, splits[1][1] - n_p)


def _kept(
    folder: str | None, backend: TorchBackend, rows: Sequence[Any], about: str, run: Any
) -> tuple[tuple[Epoch, ...], Iterator[Epoch]]:
    """The epochs that an earlier, interrupted fit left in the folder, and those still to come."""
    if folder is None:
        return (), run()
    from topbin.learn.backends import checkpoint

    path = checkpoint.path_in(folder, backend, rows, about)
    done = checkpoint.load(path, backend)
    return done, checkpoint.keep(path, backend, run(done=done), done)


def _follow(
    done: Sequence[Epoch], epochs: Iterator[Epoch], total: int, options: FitOptions, team: Team
) -> tuple[list[Epoch], tuple[Alarm, ...]]:
    """Take epochs until they have settled or time is up; a loss that diverges ends them."""
    history = list(done)
    if history and history[-1].settled:
        return history, ()
    try:
        for epoch in epochs:
            history.append(epoch)
            if options.on_event is not None and team.leads:
                options.on_event(Progress(epoch.epoch, total, epoch))
            if epoch.settled or team.any(monotonic() > options.deadline):
                break
    except Diverged as error:
        if not history:
            raise
        return history, (Alarm("diverged", error.message, "either"),)
    return history, ()


def is_numbers(samples: TwoSamples) -> bool:
    """Whether rows are plain tables of numbers."""
    return all(isinstance(X, np.ndarray) and X.ndim == 2 for X in (samples.X_p, samples.X_u))


def fit_scaler(samples: TwoSamples) -> StandardScaler | None:
    """The scale of tables of numbers, which the paper's nets expect; None for other rows."""
    if not is_numbers(samples):
        return None
    return StandardScaler().fit(np.concatenate([samples.X_p, samples.X_u]))


def scaled(X: Any, scaler: StandardScaler | None) -> Any:
    """Rows on the scale of the net, a missing number at its mean."""
    if scaler is None:
        return X
    return np.nan_to_num(scaler.transform(X), nan=0.0).astype(np.float32)


def pick(X: Any, rows: RowNumbers) -> Any:
    """Some rows of an array, tensor, tuple or Dataset."""
    if isinstance(X, tuple):
        return tuple(pick(part, rows) for part in X)
    return torch.utils.data.Subset(X, rows.tolist()) if isinstance(X, Dataset) else X[rows]
