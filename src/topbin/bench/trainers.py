"""Fitting: each function here sees a `Split` and never the truth.

A net is trained by the one loop of `topbin.learn`; our default is its nested cross-fit; feature
estimators read the rows themselves. α is passed only to methods that say they are told it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topbin.bench.profiles import Settings
from topbin.bench.tasks.split import Split
from topbin.core.estimate import AlphaEstimate
from topbin.learn.classifiers import TEDnClassifier
from topbin.learn.crossfit import Plan
from topbin.learn.loop import Epoch, train
from topbin.learn.registry import find_learner
from topbin.learn.risk import Learner, mean_risk
from topbin.learn.select import keep_lowest
from topbin.mpe.registry import METHODS

Floats = NDArray[np.floating[Any]]
FLAT_COLUMNS = 50
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
    seed: int,
) -> Iterator[Fitted]:
    """Train a net of the profile, yielding after each epoch that is measured.

    Learners without a warm start train for as many epochs in all.
    """
    from topbin.learn.backends.optim import default_optim
    from topbin.learn.backends.tensors import as_rows, row_shape
    from topbin.learn.backends.torch import TorchBackend
    from topbin.learn.nets import build_net

    learner = find_learner(learner_name)
    shape = row_shape(as_rows(split.X_p, "X_p"))
    assert shape is not None
    net = build_net(settings.net, shape, size=settings.size, seed=seed)
    optim = default_optim(learner.loss, settings.net)
    model = TorchBackend(net, optim, batch=settings.batch, seed=seed, threads=1)
    warm = settings.warm_start if warm_start is None else warm_start
    warm = warm if learner.estimates_alpha else 0
    epochs = train(
        model,
        learner,
        split.X_p,
        split.X_u,
        alpha=alpha if learner.needs_alpha else None,
        holdout=split.holdout,
        warm_start=warm,
        epochs=settings.total - warm,
        least_kept=LEAST_KEPT,
    )
    for epoch in epochs:
        if settings.recorded(epoch.epoch):
            yield Fitted(epoch, learner, model.scores, *(model.scores(X) for X in split.holdout))


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """α̂ of a method that has no epochs, and how it scores rows, if it classifies."""

    estimate: AlphaEstimate
    posterior: Callable[[Any], Floats] | None = None


def fit_features(split: Split, method: str, settings: Settings) -> Answer:
    """An estimator of features, on all rows: it needs no hold-out. Images as in `fit_default`."""
    X_p, X_u = pooled(split)
    X, _ = flat(np.concatenate([X_p, X_u]))
    X_p, X_u = X[: len(X_p)], X[len(X_p) :]
    return Answer(METHODS[method].estimate(X_p, X_u, max_rows=settings.max_rows))


def fit_default(split: Split, settings: Settings, *, seed: int) -> Answer:
    """What `topbin fit` does with a table: `TEDnClassifier` as it comes, on all rows.

    Images are reduced to 50 principal components first, as trees want columns that mean something.
    """
    X_p, X_u = pooled(split)
    X, reduce = flat(np.concatenate([X_p, X_u]))
    plan = None if settings.repeats is None else Plan(2, 2, settings.repeats)
    model = TEDnClassifier(plan=plan, random_state=seed).fit_pu(X[: len(X_p)], X[len(X_p) :])
    return Answer(model.estimate_, lambda rows: model.predict_proba(reduce(rows))[:, 1])


def pooled(split: Split) -> tuple[Any, Any]:
    """All positives and all unlabeled rows, training and hold-out together."""
    return (
        np.concatenate([split.X_p, split.held_p]),
        np.concatenate([split.X_u, split.held_u]),
    )


def flat(X: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A table of these rows, and the map that makes one of others."""
    if X.ndim == 2:
        return X, lambda rows: rows
    from sklearn.decomposition import PCA

    pca = PCA(FLAT_COLUMNS, random_state=0).fit(X.reshape(len(X), -1) / 255.0)

    def reduce(rows: Any) -> Any:
        return pca.transform(rows.reshape(len(rows), -1) / 255.0)

    return reduce(X), reduce
