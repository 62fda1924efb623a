"""Nets that are fitted: hold-out, loop and scores of algorithm 3 for any rows torch can take.

`fit_net` trains a net for a classifier. `NetScorer` is a net as a model of the cross-fit, so that
every row gets a score of a net that never saw it. A net that is trained once holds a fifth of its
rows out, and α from so few varies; in the cross-fit α is read from all rows. How much to discard
while it trains (algorithm 3 of Garg et al. 2021) the net reads from the fold that it holds out.
The nets of all folds together score new rows.

Imported only when a net is asked for, so that the plain install never needs torch.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice, product
from math import inf
from time import monotonic
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler

from topbin.core import Alarm, AlphaEstimate, Evidence, InputError
from topbin.core.checks import Floats
from topbin.data.images import Images
from topbin.learn import fitting
from topbin.learn.backends.distributed import ALONE, Team, find_team
from topbin.learn.backends.torch import TorchBackend, kind_of, threads, torch_backend
from topbin.learn.crossfit import OutOfTime, Plan, Progress, RunOptions, chain_name
from topbin.learn.defaults import NetPlan
from topbin.learn.fitting import FitOptions, FittedModel
from topbin.learn.folds import Split, folds_of, split_rows
from topbin.learn.learners import PVU, TEDN
from topbin.learn.loop import TRACKED_BY, Diverged, Epoch, mean_alpha, train
from topbin.learn.nets import NetLike
from topbin.learn.probabilities import fit_probabilities
from topbin.learn.risk import Learner
from topbin.learn.rows import NetSamples, TrainingTable, n_rows
from topbin.mpe.alarms import find_alarms

TURN = 1000  # between the seeds of nets that take turns
STEADY = "α is the mean of the estimates of the last {} epochs, because single ones vary"


@dataclass(frozen=True, slots=True, eq=False)
class NetModel:
    """A trained net that scores new rows, scaled as the rows it was trained on.

    With `others`, which held other rows out, the score is the mean logit of all.
    """

    backend: TorchBackend
    scaler: StandardScaler | None
    others: tuple[TorchBackend, ...] = ()

    def scores(self, X: Any) -> Floats:
        """One logit per row."""
        rows, nets = scaled(X, self.scaler), (self.backend, *self.others)
        logits: Floats = np.mean([net.scores(rows).astype(np.float64) for net in nets], axis=0)
        return logits


@dataclass(frozen=True, slots=True, eq=False)
class TrainedNet:
    """One net, its epochs, and what happened on the way."""

    backend: TorchBackend
    history: Sequence[Epoch]
    alarms: tuple[Alarm, ...]


def fit_net(
    net: NetLike,
    samples: NetSamples,
    options: FitOptions,
    learner: Learner,
    alpha: float | None = None,
) -> FittedModel:
    """Train nets on two samples, each until it has settled, time is up, or its limit is reached.

    An α that the learner needs and is not given is found by (TED)ⁿ first. Processes that torchrun
    started train together; afterwards each scores new rows by itself. Where several nets take
    turns, each holds out other rows, and α is read from the held-out rows of all.
    """
    notes: tuple[str, ...] = ()
    if learner.needs_alpha and alpha is None:
        first = _estimate_first(net, samples, replace(options, confidence=None))
        alpha, notes = fitting.as_known_alpha(first)
    plan, team = options.plan or NetPlan(), find_team()
    scaler = fit_scaler(samples) if isinstance(net, str) else None
    kind = kind_of(net, samples.X_p)
    rows = n_rows(samples.X_p) + n_rows(samples.X_u)
    plan = replace(plan, nets=plan.turns(learner, kind, rows))
    trained, parts = list[TrainedNet](), list[Evidence]()
    for inside, held in _hold_outs(samples, scaler, plan, options.seed):
        if trained and team.any(monotonic() > options.run.deadline):
            break
        own = replace(options, plan=plan, seed=options.seed + TURN * len(trained))
        trained.append(train_net(net, inside, held, own, learner, alpha, len(trained), team))
        parts.append(_held_out_scores(trained[-1].backend, held))
    evidence = _joined(parts)
    epochs = (epoch for each in trained for epoch in each.history)
    history = [replace(epoch, epoch=number) for number, epoch in enumerate(epochs, 1)]
    estimate = fitting.read_estimate(evidence, options, alpha, notes)
    if learner.estimates_alpha and options.method == TRACKED_BY and len(trained) == 1:
        # BBE's α of (TED)ⁿ as the paper reads it.
        notes = (*estimate.notes, STEADY.format(kind.last))
        moved = estimate.moved_to(mean_alpha(history, last=kind.last))
        estimate = replace(moved, notes=notes, alarms=find_alarms(moved, evidence))
    alarms = (alarm for each in trained for alarm in each.alarms)
    estimate = replace(estimate, alarms=(*estimate.alarms, *alarms))
    likely = fit_probabilities(evidence, estimate)
    backend, *others = (each.backend for each in trained)
    model = NetModel(backend, scaler, tuple(others))
    return FittedModel(model, likely, estimate, history, evidence)


def train_net(
    net: NetLike,
    inside: NetSamples,
    held: NetSamples | None,
    options: FitOptions,
    learner: Learner,
    alpha: float | None = None,
    earlier: int = 0,
    team: Team = ALONE,
    *,
    watch_warm: bool = True,
) -> TrainedNet:
    """Train a net on some rows, by what those held out say; so many `earlier` ones were trained."""
    plan, kind = options.plan, kind_of(net, inside.X_p)
    warm, most = plan.phases(learner, kind)
    backend = torch_backend(
        learner, inside.X_p, X_u=inside.X_u, net=net, optim=plan.optim, augment=plan.augment,
        batch=plan.batch, seed=options.seed, device=plan.device, team=team, weights=inside.weights,
        phases=(warm, most) if warm else (most,),
    )  # fmt: skip
    holdout = None if held is None else (held.X_p, held.X_u)
    run = partial(
        train, backend, learner, inside.X_p, inside.X_u,
        alpha=alpha, holdout=holdout, epochs=most, warm_start=warm,
        warm_stop=plan.warm is None and kind.warm is None and warm > 0, watch_warm=watch_warm,
    )  # fmt: skip
    rows = (inside.X_p, inside.X_u, *(holdout or ()), *(inside.weights or ()))
    about = f"{learner.name} {learner.at(alpha)} {alpha} {warm} {plan.warm}"
    done, epochs = _resumed(plan.checkpoint, backend, rows, about, run)
    steps = warm + most
    history, alarms = _follow(done, epochs, earlier * steps, plan.nets * steps, options, team)
    return TrainedNet(backend, history, alarms)


def _held_out_scores(backend: TorchBackend, held: NetSamples) -> Evidence:
    """The last that the net does with its team: scores of the rows that it did not train on."""
    scores_p, scores_u = (backend.scores(X).astype(np.float64) for X in (held.X_p, held.X_u))
    backend.team, backend.weights = ALONE, None
    evidence, together, n_p = Evidence(scores_p, scores_u), held.together, scores_p.size
    if together is None:
        return evidence
    return replace(evidence, groups_p=together.groups[:n_p], groups_u=together.groups[n_p:])


def _joined(parts: Sequence[Evidence]) -> Evidence:
    """The held-out rows of all nets; their logits have one scale, because one recipe made them.

    No group is held out by two nets, and each net numbers its own from 0.
    """
    if len(parts) == 1:
        return parts[0]
    scores_p, scores_u = map(np.concatenate, zip(*(part.scores for part in parts), strict=True))
    evidence = Evidence(scores_p, scores_u, crossfitted=True)
    if parts[0].groups_p is None:
        return evidence
    starts = np.cumsum([0, *(sum(map(len, part.scores)) for part in parts[:-1])])
    groups_p = [part.groups_p + start for part, start in zip(parts, starts, strict=True)]
    groups_u = [part.groups_u + start for part, start in zip(parts, starts, strict=True)]
    return replace(evidence, groups_p=np.concatenate(groups_p), groups_u=np.concatenate(groups_u))


def _estimate_first(net: NetLike, samples: NetSamples, options: FitOptions) -> AlphaEstimate:
    """α by (TED)ⁿ: of the default table model, whose error is smaller; for other rows the net's."""
    X_p, X_u = samples.X_p, samples.X_u
    if not is_numbers(samples):
        return fit_net(net, samples, options, TEDN).estimate
    is_positive = np.arange(len(X_p) + len(X_u)) < len(X_p)
    weight = None if samples.weights is None else np.concatenate(samples.weights)
    table = TrainingTable(np.concatenate([X_p, X_u]), is_positive, weight, samples.together)
    return fitting.fit_table(table, replace(options, estimator=None, plan=None), TEDN).estimate


def _hold_outs(
    samples: NetSamples, scaler: StandardScaler | None, plan: NetPlan, seed: int
) -> Iterator[tuple[NetSamples, NetSamples]]:
    """For each net, rows to train on and the others.

    The weights of rows to train on have mean 1, so that steps keep their size.
    """
    X_p, X_u = scaled(samples.X_p, scaler), scaled(samples.X_u, scaler)
    whole = replace(samples, X_p=X_p, X_u=X_u)
    for inside, held in _splits(samples, plan.holdout, plan.nets or 1, seed):
        rows = whole.at(inside)
        if rows.weights is not None:
            mean = np.concatenate(rows.weights).mean()
            if mean == 0:
                raise InputError("TB012", "all rows to train on have a weight of zero.")
            rows = replace(rows, weights=(rows.weights[0] / mean, rows.weights[1] / mean))
        yield rows, whole.at(held)


def _splits(samples: NetSamples, share: float, nets: int, seed: int) -> Iterator[Split]:
    """For each net, rows to train on and rows held out; those of P are numbered before those of U.

    A single net holds out a share of the rows, or of the groups the fold of that size: groups are
    held out whole. Several nets hold out one fold each, so that every row is held out once.
    """
    n_p, n_u = n_rows(samples.X_p), n_rows(samples.X_u)
    if samples.together is None and nets == 1:
        rng = np.random.default_rng(seed)
        sides = split_rows(n_p, rng, share=share), split_rows(n_u, rng, share=share)
        inside, held = (np.concatenate([p, n_p + u]) for p, u in zip(*sides, strict=True))
        yield inside, held
        return
    is_positive, folds = np.arange(n_p + n_u) < n_p, max(2, round(1 / share)) if nets == 1 else nets
    yield from islice(folds_of(is_positive, folds, seed, together=samples.together), nets)


def _resumed(
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
    done: Sequence[Epoch],
    epochs: Iterator[Epoch],
    earlier: int,
    total: int,
    options: FitOptions,
    team: Team,
) -> tuple[list[Epoch], tuple[Alarm, ...]]:
    """Take epochs until they have settled or time is up; a loss that diverges ends them."""
    history = list(done)
    if history and history[-1].settled:
        return history, ()
    try:
        for epoch in epochs:
            history.append(epoch)
            if options.run.on_event is not None and team.leads:
                options.run.on_event(Progress(earlier + epoch.epoch, total, epoch))
            if epoch.settled or team.any(monotonic() > options.run.deadline):
                break
    except Diverged as error:
        if not history:
            raise
        return history, (Alarm("diverged", error.message, "either"),)
    return history, ()


def is_numbers(samples: NetSamples) -> bool:
    """Whether rows are plain tables of numbers."""
    return all(isinstance(X, np.ndarray) and X.ndim == 2 for X in (samples.X_p, samples.X_u))


def fit_scaler(samples: NetSamples) -> StandardScaler | None:
    """The scale of tables of numbers, which the paper's nets expect; None for other rows."""
    if not is_numbers(samples):
        return None
    return StandardScaler().fit(np.concatenate([samples.X_p, samples.X_u]))


def scaled(X: Any, scaler: StandardScaler | None) -> Any:
    """Rows on the scale of the net, a missing number at its mean."""
    if scaler is None:
        return X
    return np.nan_to_num(scaler.transform(X), nan=0.0).astype(np.float32)


@dataclass(eq=False, repr=False, kw_only=True)
class NetScorer(BaseEstimator):  # type: ignore[misc]
    """A net with scikit-learn's `fit` and `decision_function`.

    `warm` epochs of PvU are followed by `epochs` of (TED)ⁿ; none means PvU alone. It trains with
    one thread: for small nets a second one costs more than it saves.
    """

    estimator: str = "fast"
    warm: int = 8
    epochs: int = 0
    random_state: int = 0
    on_event: Callable[[Progress], object] | None = None
    deadline: float = inf

    def fit(self, X: Images, y: Any, held_out: tuple[Images, Any] | None = None) -> Self:
        """Train on images, of which those with y = 1 are known to be positive.

        `held_out` are other images and which of them are positive: (TED)ⁿ discards as they say.
        """

        def two(X: Images, is_positive: Any) -> NetSamples:
            return NetSamples(X[is_positive], X[~is_positive])

        inside, held = two(X, np.asarray(y) == 1), None
        learner, plan = PVU, NetPlan(epochs=self.warm, nets=1)
        if self.epochs and held_out is not None:
            held, learner = two(*held_out), TEDN
            plan = NetPlan(warm=self.warm, epochs=self.epochs, nets=1)
        run = RunOptions(on_event=self._after_epoch)
        options = FitOptions(plan=plan, seed=self.random_state, run=run)
        with threads(1):
            trained = train_net(self.estimator, inside, held, options, learner, watch_warm=False)
        self.model_ = NetModel(trained.backend, None)
        self.classes_ = np.array([0, 1])
        self.on_event, self.deadline = None, inf  # they belong to a fit that is over
        return self

    def _after_epoch(self, epoch: Progress) -> None:
        """After each epoch: tell, and stop if time is up, because half a fold is of no use."""
        if self.on_event is not None:
            self.on_event(epoch)
        if monotonic() > self.deadline:
            raise OutOfTime

    def decision_function(self, X: Images) -> Floats:
        """One logit per image."""
        with threads(1):
            return self.model_.scores(X) if len(X) else np.zeros(0)

    def planned(self, plan: Plan, run: RunOptions, learner: Learner) -> tuple[Self, RunOptions]:
        """The net of a plan, which ends when time is up, and what is left for the cross-fit to do.

        Where this process trains, an event follows each epoch, not each chain.
        """
        net = clone(self).set_params(warm=plan.warm, epochs=plan.rounds, deadline=run.deadline)
        tell, steps = run.on_event, plan.warm + plan.rounds
        if run.n_jobs not in (None, 1) or tell is None:
            return net, run
        chains = [
            chain_name(learner, *job) for job in product(range(plan.repeats), range(plan.outer))
        ]
        done = count(1 + steps * sum(name in (run.memory or ()) for name in chains))

        def report(_: Progress) -> None:
            tell(Progress(next(done), steps * len(chains)))

        return net.set_params(on_event=report), replace(run, on_event=None)
