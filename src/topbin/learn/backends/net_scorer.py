"""A net as a model of the cross-fit, so that every row gets a score of a net that never saw it.

A net that is trained once holds a fifth of its rows out, and α from so few varies. In the
cross-fit α is read from all rows. How much to discard while it trains (algorithm 3 of Garg et al.
2021) the net reads from the fold that it holds out. The nets of all folds together score new rows.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from time import monotonic
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from topbin.core.checks import Floats
from topbin.data.images import Images
from topbin.learn.crossfit import OutOfTime, Plan, Progress, RunOptions
from topbin.learn.learners import PVU, TEDN


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
        from topbin.learn.classifiers.fitting import FitOptions, TwoSamples
        from topbin.learn.classifiers.nets import NetModel, train_net
        from topbin.learn.defaults import NetPlan

        def two(X: Images, is_positive: Any) -> TwoSamples:
            return TwoSamples(X[is_positive], X[~is_positive])

        inside, held = two(X, np.asarray(y) == 1), None
        learner, plan = PVU, NetPlan(epochs=self.warm, nets=1)
        if self.epochs and held_out is not None:
            held, learner = two(*held_out), TEDN
            plan = NetPlan(warm=self.warm, epochs=self.epochs, nets=1)
        options = FitOptions(
            plan=plan, seed=self.random_state, run=RunOptions(on_event=self._heard)
        )
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

    def planned(
        self, plan: Plan, run: RunOptions, chains: Sequence[str]
    ) -> tuple[Self, RunOptions]:
        """The net of a plan, which ends when time is up, and what is left for the cross-fit to do.

        Where this process trains, an event follows each epoch, not each of these chains.
        """
        net = clone(self).set_params(warm=plan.warm, epochs=plan.rounds, deadline=run.deadline)
        tell, steps = run.on_event, plan.warm + plan.rounds
        if run.n_jobs not in (None, 1) or tell is None:
            return net, run
        done = count(1 + steps * sum(name in (run.memory or ()) for name in chains))

        def heard(_: Progress) -> None:
            tell(Progress(next(done), steps * len(chains)))

        return net.set_params(on_event=heard), replace(run, on_event=None)


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
