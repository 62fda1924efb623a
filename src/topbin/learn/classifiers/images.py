"""Nets for images in the one cross-fit, so that every image gets a score.

A net that is trained once holds a fifth of its rows out, and α from so few varies. Here the rows
are cut into folds; for each fold a net is trained on the others and scores the fold, which it has
never seen. So α is read from all rows. How much to discard while it trains (algorithm 3 of Garg et
al. 2021) the net also reads from its fold. The nets of all folds together score new images.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import count, groupby
from math import inf
from time import monotonic
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from topbin.core.checks import Floats, look_up
from topbin.core.errors import InputError
from topbin.core.labels import Mask
from topbin.data.images.rows import Images
from topbin.learn.classifiers import fitting
from topbin.learn.classifiers.faces import TEDnClassifier
from topbin.learn.classifiers.fitting import FitOptions, Recipe, TwoSamples
from topbin.learn.crossfit import (
    CrossFit,
    Ensemble,
    OutOfTime,
    Plan,
    Progress,
    RunOptions,
    chain_name,
)
from topbin.learn.defaults import NetPlan
from topbin.learn.learners import PVU, TEDN


@dataclass(frozen=True, slots=True)
class Effort:
    """How much work: folds, repeats, and how often a net sees the images in each of its phases.

    `warm` epochs of PvU are followed by `epochs` of (TED)ⁿ; none means PvU alone. Small samples
    get more of both, so that a net takes enough steps.
    """

    folds: int
    repeats: int = 1
    warm: int = 8
    epochs: int = 0
    net: str = "fast"

    @property
    def plan(self) -> Plan:
        """The same as a plan of a cross-fit, in which each fold is one fit."""
        return Plan(outer=self.folds, inner=1, repeats=self.repeats, warm=0, rounds=1)

    @property
    def work(self) -> Plan:
        """A plan that is worth as many passes over the rows, for forecasts."""
        rounds = self.warm + self.epochs
        return Plan(outer=self.folds - 1, inner=1, repeats=self.repeats, warm=0, rounds=rounds)


FIRST_IMAGES = Effort(folds=2, warm=2)
# bench/results/image_folders.md has how these were chosen.
EFFORTS = {
    "fast": Effort(folds=2, warm=6, epochs=4),
    "good": Effort(folds=3, warm=8, epochs=4),
    "best": Effort(folds=4, repeats=2, warm=10, epochs=6),
}
NETS_MODULE = "topbin.learn.classifiers.nets"  # it needs torch, which takes seconds to load


@dataclass(eq=False, repr=False, kw_only=True)
class NetScorer(BaseEstimator):  # type: ignore[misc]
    """A net with scikit-learn's `fit` and `decision_function`, for the cross-fit.

    It trains with one thread: for small nets a second one costs more than it saves.
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
        from topbin.learn.classifiers.nets import NetModel, train_net

        inside, held = two_samples(X, np.asarray(y) == 1), None
        learner, plan = PVU, NetPlan(epochs=self.warm, nets=1)
        if self.epochs and held_out is not None:
            held, learner = two_samples(*held_out), TEDN
            plan = NetPlan(warm=self.warm, epochs=self.epochs, nets=1)
        run = RunOptions(on_event=self._heard)
        options = FitOptions(plan=plan, seed=self.random_state, run=run)
        with one_thread():
            trained = train_net(self.estimator, inside, held, options, learner, watch_warm=False)
        self.model_ = NetModel(trained.backend, None)
        self.classes_ = np.array([0, 1])
        self.on_event, self.deadline = None, inf  # they belong to a fit that is over
        return self

    def _heard(self, epoch: Progress) -> None:
        """After each epoch: tell, and stop if time is up, because half a fold is of no use."""
        if self.on_event is not None:
            self.on_event(epoch)
        if monotonic() > self.deadline:
            raise OutOfTime

    def decision_function(self, X: Images) -> Floats:
        """One logit per image."""
        with one_thread():
            return self.model_.scores(X) if len(X) else np.zeros(0)


def two_samples(X: Images, is_positive: Mask) -> TwoSamples:
    """Known positives, and the others."""
    return TwoSamples(X[is_positive], X[~is_positive])


@dataclass(eq=False, repr=False, kw_only=True)
class ImageClassifier(TEDnClassifier):
    """How many of the unlabeled images are positive, and which; `topbin.fit` uses it.

    X are `Images`, or an array of uint8 (n, height, width) or (n, height, width, channels). The
    estimator is a `NetScorer`; `is_first` says that it makes the first, quick estimate.
    """

    is_first: bool = False

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, times: Any = None
    ) -> Self:
        """Cross-fit nets over images and their labels."""
        found = self.crossfit(X, y, groups, times, sample_weight=sample_weight)
        return self.fit_from(found, X, y)

    def crossfit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        times: Any = None,
        *,
        sample_weight: Any = None,
        keep_chains: bool | Literal["first"] = False,
    ) -> CrossFit:
        """Train a net for each fold; the nets of all folds together score new images."""
        if sample_weight is not None or groups is not None or times is not None:
            raise InputError("TB136", "images take no weights, groups or times; leave them out.")
        options = self._heard_by_epoch(self._options())
        table = self._given(X, y).table
        found = fitting.run_crossfit(
            table, self._recipe().learner, options, new_rows=False, keep_chains=True
        )
        groups = groupby(found.chains, key=lambda chain: chain.repeat)
        nets = tuple(tuple(net for chain in own for net in chain.models) for _, own in groups)
        return replace(found, ensemble=Ensemble(nets, found.ensemble.references))

    @property
    def steps(self) -> int:
        """How many events there are for each fold: one per epoch, where this process trains."""
        return self.estimator.warm + self.estimator.epochs if self.n_jobs in (None, 1) else 1

    def _heard_by_epoch(self, options: FitOptions) -> FitOptions:
        """The same options with a net that knows the time limit and reports its epochs."""
        net = clone(self.estimator).set_params(deadline=options.run.deadline)
        on_event = options.run.on_event
        if self.n_jobs not in (None, 1) or on_event is None:
            return replace(options, estimator=net)
        jobs = [
            chain_name(self._recipe().learner, repeat, k)
            for repeat in range(self.plan.repeats)
            for k in range(self.plan.outer)
        ]
        done = self.steps * sum(name in (self.memory or ()) for name in jobs)
        epochs = count(done + 1)

        def heard(_: Progress) -> None:
            on_event(Progress(next(epochs), self.steps * len(jobs)))

        run = replace(options.run, on_event=None)
        return replace(options, estimator=net.set_params(on_event=heard), run=run)

    def _recipe(self) -> Recipe:
        # In the cross-fit every net is one fit; the net itself discards, if it is to.
        return Recipe(PVU if self.is_first else replace(PVU, name=TEDN.name))

    def _read(self, X: Any, *, reset: bool) -> Images:
        images = X if isinstance(X, Images) else Images.of(X, "X")
        if reset:
            self.row_shape_ = list(images.row_shape)
        elif list(images.row_shape) != self.row_shape_:
            raise InputError(
                "TB109",
                f"images of shape {images.row_shape} (channels, height, width); the model was "
                f"fitted on {tuple(self.row_shape_)}.",
            )
        return images


def image_classifier(effort: Effort, rows: int, **params: Any) -> ImageClassifier:
    """A classifier that trains nets with this effort on so many images."""
    import_module(NETS_MODULE)  # now, because forecasts are made from what the first estimate takes
    more = epochs_factor(rows, effort)
    net = NetScorer(
        estimator=effort.net, warm=round(more * effort.warm), epochs=round(more * effort.epochs)
    )
    return ImageClassifier(estimator=net, plan=effort.plan, **params)


def epochs_factor(rows: int, effort: Effort) -> float:
    """How many times the usual epochs: more where there are few images, and so few steps."""
    trained = rows * (effort.folds - 1) / effort.folds
    return float(np.clip(2_000 / max(1.0, trained), 1.0, 2.0))


def foresee_images(X: Images, is_positive: Any, preset: str) -> float:
    """Seconds that the first and the careful estimate will take, from an epoch on some images."""
    step = max(1, len(X) // 500)
    some = np.union1d(np.arange(0, len(X), step), np.flatnonzero(is_positive)[:10])
    import_module(NETS_MODULE)
    began = monotonic()
    NetScorer(warm=1).fit(X[some], is_positive[some])
    per_image = (monotonic() - began) / some.size
    efforts = FIRST_IMAGES, effort_of(preset)
    passes = sum(epochs_factor(len(X), each) * work_of_epochs(each) for each in efforts)
    return per_image * len(X) * passes


def work_of_epochs(effort: Effort) -> float:
    """How many times an effort trains on every image."""
    return float((effort.folds - 1) * effort.repeats * (effort.warm + effort.epochs))


def effort_of(preset: str) -> Effort:
    """The effort that a preset means for images."""
    return look_up(preset, EFFORTS, "preset")


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread of torch."""
    from topbin.learn.backends.needs_torch import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
