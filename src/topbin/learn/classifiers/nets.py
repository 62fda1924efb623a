"""Nets under the faces: hold-out, loop and scores of algorithm 3 for any rows torch can take.

Imported only when a net is asked for, so that the plain install never needs torch.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from topbin.core.errors import InputError
from topbin.core.estimate import Alarm
from topbin.core.evidence import Evidence
from topbin.core.optional import require
from topbin.learn.backends.distributed import ALONE, Alone, find_team
from topbin.learn.backends.torch import TorchBackend, torch_backend
from topbin.learn.classifiers.fitting import (
    FitOptions,
    FittedModel,
    TrainingTable,
    fit_table,
    judge,
    usable,
)
from topbin.learn.classifiers.plans import NetPlan
from topbin.learn.crossfit import Progress
from topbin.learn.loop import Diverged, Epoch, train
from topbin.learn.posterior import fit_posterior
from topbin.learn.risk import Learner
from topbin.learn.select import Floats, RowNumbers, RowSplit, n_rows, split_rows
from topbin.learn.tedn import TEDN, mean_alpha

if TYPE_CHECKING:
    import torch
    from torch.utils.data import Dataset, Subset
else:
    torch = require("torch", extra="torch", caller="a net")
    from torch.utils.data import Dataset, Subset


Weights = tuple[Floats, Floats]  # of the rows of P and of U
STEADY = "α is the mean of the estimates of the last 10 epochs, because single ones vary"


@dataclass(frozen=True, slots=True, eq=False)
class NetModel:
    """A trained net that scores new rows, scaled as the rows it was trained on."""

    backend: TorchBackend
    scaler: StandardScaler | None

    def scores(self, X: Any) -> Floats:
        """One logit per row."""
        return self.backend.scores(scaled(X, self.scaler)).astype(np.float64)


def fit_net(
    net: "str | torch.nn.Module",
    X_p: Any,
    X_u: Any,
    learner: Learner,
    options: FitOptions,
    *,
    alpha: float | None = None,
    weights: Weights | None = None,
) -> FittedModel:
    """Train a net on two samples; an α it needs and is not given is found by (TED)ⁿ first.

    For a table (TED)ⁿ uses the default table model, which has a smaller error than a net; for
    other rows the same net.
    """
    notes: tuple[str, ...] = ()
    if learner.needs_alpha and alpha is None:
        first = replace(options, confidence=None)
        if is_numbers(X_p) and is_numbers(X_u):
            is_positive = np.arange(len(X_p) + len(X_u)) < len(X_p)
            weight = None if weights is None else np.concatenate(weights)
            table = TrainingTable(np.concatenate([X_p, X_u]), is_positive, weight)
            found = fit_table(table, TEDN, replace(first, estimator=None, plan=None)).estimate
        else:
            found = fit_net(net, X_p, X_u, TEDN, first, weights=weights).estimate
        alpha, notes = usable(found)
    run = train_net(net, X_p, X_u, learner, options, alpha=alpha, weights=weights)
    evidence = Evidence(run.scores_p, run.scores_u)
    estimate = judge(evidence, options, alpha=alpha, notes=notes)
    if learner.estimates_alpha and options.method == "bbe":
        estimate = estimate.moved_to(mean_alpha(run.history))
        estimate = replace(estimate, notes=(*estimate.notes, STEADY))
    estimate = replace(estimate, alarms=(*estimate.alarms, *run.alarms))
    return FittedModel(
        model=run.model,
        posterior=fit_posterior(*evidence.scores, estimate.alpha),
        estimate=estimate,
        history=run.history,
        evidence=evidence,
    )


@dataclass(frozen=True, slots=True, eq=False)
class NetRun:
    """A trained net, its scores of the held-out rows, and the history."""

    model: NetModel
    scores_p: Floats
    scores_u: Floats
    history: list[Epoch]
    alarms: tuple[Alarm, ...] = ()


def train_net(
    net: "str | torch.nn.Module",
    X_p: Any,
    X_u: Any,
    learner: Learner,
    options: FitOptions,
    *,
    alpha: float | None = None,
    weights: Weights | None = None,
) -> NetRun:
    """Hold rows out and run the loop until it has settled, time is up, or its limit is reached.

    Processes that torchrun started train together; afterwards each scores new rows by itself.
    """
    team = find_team()
    plan = options.plan or NetPlan()
    rng = np.random.default_rng(options.seed)
    scaler = fit_scaler(X_p, X_u) if isinstance(net, str) else None
    splits = [split_rows(n_rows(X), rng, share=plan.holdout) for X in (X_p, X_u)]
    X_p, X_u = scaled(X_p, scaler), scaled(X_u, scaler)
    train_p, train_u = pick(X_p, splits[0].train), pick(X_u, splits[1].train)
    held_p, held_u = pick(X_p, splits[0].holdout), pick(X_u, splits[1].holdout)
    shares = None if weights is None else _mean_one(weights, splits)
    backend = torch_backend(
        learner, train_p, net=net, optim=plan.optim, augment=plan.augment, batch=plan.batch,
        seed=options.seed, device=plan.device, team=team, weights=shares,
    )  # fmt: skip
    warm = plan.warm_of(learner)
    run = partial(
        train, backend, learner, train_p, train_u,
        alpha=alpha, holdout=(held_p, held_u), epochs=plan.epochs, warm_start=warm,
        warm_stop=plan.warm is None and warm > 0,
    )  # fmt: skip
    samples = (train_p, train_u, held_p, held_u, *(shares or ()))
    about = f"{learner.name} {learner.at(alpha)} {alpha} {warm} {plan.warm}"
    done, epochs = _kept(plan.checkpoint, backend, samples, about, run)
    history, alarms = _follow(done, epochs, warm + plan.epochs, options, team)
    scores_p, scores_u = (backend.scores(X).astype(np.float64) for X in (held_p, held_u))
    backend.team, backend.weights = ALONE, None
    return NetRun(NetModel(backend, scaler), scores_p, scores_u, history, alarms)


def _mean_one(weights: Weights, splits: Sequence[RowSplit]) -> Weights:
    """The weights of the rows to train on, scaled to a mean of 1, so that steps keep their size."""
    w_p, w_u = (weight[split.train] for weight, split in zip(weights, splits, strict=True))
    mean = np.concatenate([w_p, w_u]).mean()
    if mean == 0:
        raise InputError("TB012", "all rows to train on have a weight of zero.")
    return w_p / mean, w_u / mean


def _kept(
    folder: str | None,
    backend: TorchBackend,
    samples: Sequence[Any],
    about: str,
    run: Callable[..., Iterator[Epoch]],
) -> tuple[tuple[Epoch, ...], Iterator[Epoch]]:
    """The epochs that an earlier, interrupted fit left in the folder, and those still to come."""
    if folder is None:
        return (), run()
    from topbin.learn.backends import checkpoint

    path = checkpoint.path_in(folder, backend, samples, about)
    done = checkpoint.load(path, backend)
    return done, checkpoint.keep(path, backend, run(done=done), done)


def _follow(
    done: Sequence[Epoch], epochs: Iterator[Epoch], total: int, options: FitOptions, team: Alone
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


def is_numbers(X: Any) -> bool:
    """Whether rows are a plain table of numbers."""
    return isinstance(X, np.ndarray) and X.ndim == 2


def fit_scaler(X_p: Any, X_u: Any) -> StandardScaler | None:
    """The scale of a table of numbers, which the paper's nets expect; None for other rows."""
    if not (is_numbers(X_p) and is_numbers(X_u)):
        return None
    return StandardScaler().fit(np.concatenate([X_p, X_u]))


def scaled(X: Any, scaler: StandardScaler | None) -> Any:
    """Rows on the scale of the net, a missing number at its mean."""
    if scaler is None:
        return X
    return np.nan_to_num(scaler.transform(X), nan=0.0).astype(np.float32)


def pick(X: Any, rows: RowNumbers) -> Any:
    """Some rows of an array, tensor, tuple or Dataset."""
    if isinstance(X, tuple):
        return tuple(pick(part, rows) for part in X)
    return Subset(X, rows.tolist()) if isinstance(X, Dataset) else X[rows]
