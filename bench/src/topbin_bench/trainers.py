"""Fitting: each function here sees a `Split` and never the truth.

A net is trained by the one loop of `topbin.learn`; our default is its nested cross-fit; feature
estimators read the rows themselves. α is passed only to methods that say they are told it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.core.estimate import AlphaEstimate
from topbin.core.optional import require
from topbin.learn.classifiers import TEDnClassifier
from topbin.learn.crossfit import Plan
from topbin.learn.loop import Epoch, train
from topbin.learn.registry import find_learner
from topbin.learn.risk import Learner, mean_risk
from topbin.learn.select import keep_lowest
from topbin.mpe.registry import METHODS
from topbin_bench.profiles import Settings
from topbin_bench.rows import flat, for_default, for_net, pooled, stack
from topbin_bench.tasks.split import Split

Floats = NDArray[np.floating[Any]]
LEAST_KEPT = 10


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A model after one epoch: its record, a way to score rows, and the hold-out's scores."""

    epoch: Epoch
    learner: Learner
    scores: Callable[[Any], Floats]
    scores_p: Floats
    scores_u: Floats

    def risk(self, alpha: float | None) -> float:
        """The learner's own objective on the hold-out: what a stop without labels can go by."""
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
    """Train a net of the profile, yielding after each epoch that is measured.

    Learners without a warm start train for as many epochs in all.
    """
    from topbin.learn.backends.optim import default_optim
    from topbin.learn.backends.tensors import as_rows, row_shape
    from topbin.learn.backends.torch import TorchBackend
    from topbin.learn.nets import NETS, build_net, crop_and_flip

    learner = find_learner(learner_name)
    read = for_net(split)
    shape = row_shape(as_rows(read(split.X_p), "X_p"))
    assert shape is not None
    net = build_net(settings.net, shape, size=settings.size, seed=seed)
    augment = None
    if NETS[settings.net].images:
        net, augment = channels_last(net), crop_and_flip
    optim = default_optim(learner.loss, settings.net)
    model = TorchBackend(net, optim, batch=settings.batch, augment=augment, seed=seed, threads=1)
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


def channels_last(net: Any) -> Any:
    """The same net, its weights laid out so that convolutions are half as fast again."""
    torch = require("torch", extra="torch", caller="topbin bench")
    return net.to(memory_format=torch.channels_last)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """α̂ of a method that has no epochs, and how it scores rows, if it classifies."""

    estimate: AlphaEstimate
    posterior: Callable[[Any], Floats] | None = None


def fit_features(split: Split, method: str, settings: Settings) -> Answer:
    """An estimator of features, on all rows: it needs no hold-out. Images as in `fit_default`."""
    X_p, X_u = pooled(split)
    X, _ = flat(stack(X_p, X_u))
    n_p = X_p.shape[0]
    return Answer(METHODS[method].estimate(X[:n_p], X[n_p:], max_rows=settings.max_rows))


def fit_default(split: Split, settings: Settings, *, seed: int) -> Answer:
    """What `topbin fit` does with a table: `TEDnClassifier` as it comes, on all rows.

    Images are reduced to 50 principal components first, as trees want columns that mean something;
    texts stay the sparse table that they are.
    """
    X_p, X_u = pooled(split)
    reduce = for_default(stack(X_p, X_u))
    plan = None if settings.repeats is None else Plan(2, 2, settings.repeats)
    model = TEDnClassifier(plan=plan, random_state=seed).fit_pu(reduce(X_p), reduce(X_u))
    return Answer(model.estimate_, lambda rows: model.predict_proba(reduce(rows))[:, 1])
