"""Fitting: each function here sees a `Split` and never the truth.

The one loop of `topbin.learn` trains every net; our default is its nested cross-fit; feature-level
estimators read the rows themselves. Only methods that say so are told α.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin import AlphaEstimate, TEDnClassifier, mpe
from topbin.learn import (
    Backend,
    Epoch,
    Learner,
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

    Learners without a warm start train for the same number of epochs in total.
    """
    learner = find_learner(learner_name)
    read = for_net(split)
    model = backend(learner, read(split.X_p).shape[1:], settings, seed)
    warm = settings.warm_start if warm_start is None else warm_start
    warm = warm if learner.estimates_alpha else 0
    epochs = train(
        model,
        learner,
        read(split.X_p),
        read(split.X_u),
        alpha=alpha if learner.needs_alpha else None,
        holdout=(read(split.held_p), read(split.held_u)),
        warm_start=warm,
        warm_stop=warm_stop,
        epochs=settings.total - warm,
        least_kept=LEAST_KEPT,
    )

    def scores(X: Any) -> Floats:
        return model.scores(read(X))

    for epoch in epochs:
        if settings.recorded(epoch.epoch):
            yield Fitted(epoch, learner, scores, *(scores(X) for X in split.holdout))


def backend(learner: Learner, shape: tuple[int, ...], settings: Settings, seed: int) -> Backend:
    """A net of the profile with the paper's optimizer; images are cropped and flipped."""
    # Imported here because workers that fit no net need not load torch.
    import torch

    from topbin.learn import NETS, TorchBackend, build_net, crop_and_flip, default_optim

    net = build_net(settings.net, shape, size=settings.size, seed=seed)
    augment = None
    if NETS[settings.net].images:  # with this layout of the weights convolutions take 2/3 the time
        net, augment = net.to(memory_format=torch.channels_last), crop_and_flip  # type: ignore[call-overload]
    optim = default_optim(learner.loss, settings.net)
    return TorchBackend(net, optim, batch=settings.batch, augment=augment, seed=seed, threads=1)


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
    return Answer(getattr(mpe, method)(X[:n_p], X[n_p:], max_rows=settings.max_rows))


def fit_default(split: Split, settings: Settings, *, seed: int) -> Answer:
    """What `topbin fit` does with a table: `TEDnClassifier()` without options, on all rows.

    Images are reduced to 50 principal components first, because trees need columns that mean
    something; texts stay sparse.
    """
    X_p, X_u = pooled(split)
    reduce = for_default(stack(X_p, X_u))
    plan = None if settings.repeats is None else Plan(2, 2, settings.repeats)
    model = TEDnClassifier(plan=plan, random_state=seed).fit_pu(reduce(X_p), reduce(X_u))
    return Answer(model.estimate_, lambda rows: model.predict_proba(reduce(rows))[:, 1])
