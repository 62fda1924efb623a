"""Fitting: each function here sees a `Split` and never the truth.

The one loop of `topbin.learn` trains every net; our default is its nested cross-fit; feature-level
estimators read the rows themselves. Only methods that say so are told α.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin import AlphaEstimate, TEDnClassifier, mpe
from topbin.learn import (
    Backend,
    Epoch,
    Learner,
    NetPlan,
    Plan,
    find_learner,
    keep_lowest,
    mean_risk,
    train,
)
from topbin_bench.profiles import Settings
from topbin_bench.rows import flat, for_default, for_net, pooled, stack
from topbin_bench.tasks.split import Split

Floats = NDArray[np.floating[Any]]
LEAST_KEPT = 10


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A model after one epoch: its record, a way to score rows, and the scores of the hold-out."""

    epoch: Epoch
    learner: Learner
    scores: Callable[[Any], Floats]
    scores_p: Floats
    scores_u: Floats

    def risk(self, alpha: float | None) -> float:
        """The learner's own objective on the hold-out, which a stop without labels can use."""
        z_u = self.scores_u
        used = self.epoch.alpha if self.learner.estimates_alpha else alpha
        if self.learner.discard and used is not None:
            z_u = z_u[keep_lowest(z_u, min(1.0, used), least=LEAST_KEPT)]
        return mean_risk(self.learner.at(alpha), self.scores_p, z_u)


def fit_net(
    split: Split,
    learner_name: str,
    settings: Settings,
    *,
    alpha: float | None,
    warm_start: int | None,
    warm_stop: bool = False,
    seed: int,
) -> Iterator[Fitted]:
    """Train a net of the profile and yield after each epoch that is measured.

    Learners without a warm start train for the same number of epochs in total; with a net that has
    its own schedule, those that discard get the warm start too and the others only its epochs.
    """
    learner = find_learner(learner_name)
    read = for_net(split, settings.net)
    model, warm, most = backend(learner, read(split.X_p), read(split.X_u), settings, seed)
    if warm and warm_start is not None:
        warm, most = warm_start, settings.total - warm_start
    epochs = train(
        model,
        learner,
        read(split.X_p),
        read(split.X_u),
        alpha=alpha if learner.needs_alpha else None,
        holdout=(read(split.held_p), read(split.held_u)),
        warm_start=warm,
        warm_stop=warm_stop,
        epochs=most,
        least_kept=LEAST_KEPT,
    )

    def scores(X: Any) -> Floats:
        return model.scores(read(X))

    for epoch in epochs:
        if settings.recorded(epoch.epoch):
            yield Fitted(epoch, learner, scores, *(scores(X) for X in split.holdout))


def backend(
    learner: Learner, X_p: Any, X_u: Any, settings: Settings, seed: int
) -> tuple[Backend, int, int]:
    """A net of the profile, the epochs of its warm start, and those after it.

    A net with its own schedule is trained as `topbin.learn` does it; the others have the paper's
    optimizer, and images are cropped and flipped.
    """
    # Imported here because workers that fit no net need not load torch.
    import torch

    from topbin.learn import (
        NETS,
        TorchBackend,
        build_net,
        crop_and_flip,
        default_optim,
        torch_backend,
    )

    kind = NETS[settings.net]
    if kind.warm is not None:
        kind = replace(kind, epochs=settings.epochs, warm=settings.warm_start)
        warm, most = NetPlan().phases(learner, kind)
        model = torch_backend(
            learner, X_p, X_u=X_u, net=settings.net, batch=settings.batch, seed=seed,
            phases=(warm, most) if warm else (most,),
        )  # fmt: skip
        return model, warm, most
    net = build_net(settings.net, X_p.shape[1:], size=settings.size, seed=seed)
    augment = None
    if kind.images:  # with this layout of the weights convolutions take 2/3 of the time
        net, augment = net.to(memory_format=torch.channels_last), crop_and_flip  # type: ignore[call-overload]
    optim = default_optim(learner.loss, settings.net)
    model = TorchBackend(net, optim, batch=settings.batch, augment=augment, seed=seed, threads=1)
    warm = settings.warm_start if learner.estimates_alpha else 0
    return model, warm, settings.total - warm


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """α̂ of a method that has no epochs, and how it scores rows, if it classifies."""

    estimate: AlphaEstimate
    posterior: Callable[[Any], Floats] | None = None


def fit_features(split: Split, method: str, settings: Settings) -> Answer:
    """A feature-level estimator on all rows, because it needs no hold-out."""
    X_p, X_u = pooled(split)
    X, _ = flat(stack(X_p, X_u))
    n_p = X_p.shape[0]
    return Answer(mpe.METHODS[method].estimate(X[:n_p], X[n_p:], max_rows=settings.max_rows))


def fit_default(
    split: Split, settings: Settings, *, methods: Sequence[str], seed: int
) -> list[Answer]:
    """`TEDnClassifier()` without options, on all rows; with a net of its own schedule, that net.

    There is one answer for each method that reads α from the scores. For the other profiles images
    are reduced to 50 principal components first, because trees need columns that mean something;
    texts stay sparse.
    """
    X_p, X_u = pooled(split)
    plan: Plan | NetPlan | None = None
    if settings.net.startswith("fast"):
        read, estimator = for_net(split, settings.net), settings.net
        plan = NetPlan(epochs=settings.epochs, warm=settings.warm_start, batch=settings.batch)
    else:
        read, estimator = for_default(stack(X_p, X_u)), None
        if settings.repeats is not None:
            plan = Plan(2, 2, settings.repeats)
    faces = [
        TEDnClassifier(estimator, plan=plan, method=method, random_state=seed) for method in methods
    ]
    if estimator is not None:
        fitted = [face.fit_pu(read(X_p), read(X_u)) for face in faces]
    else:
        X, y = stack(read(X_p), read(X_u)), np.repeat([1, 0], [X_p.shape[0], X_u.shape[0]])
        fit = faces[0].crossfit(X, y)
        fitted = [face.fit_from(fit, X, y) for face in faces]
    return [Answer(model.estimate_, partial(_probability, model, read)) for model in fitted]


def _probability(model: TEDnClassifier, read: Callable[[Any], Any], rows: Any) -> Floats:
    return model.predict_proba(read(rows))[:, 1]
