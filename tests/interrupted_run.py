"""A torch run that keeps a checkpoint an epoch; run as a script it is there to be killed."""

import sys
from time import sleep

import numpy as np
import torch
from torch import nn

from topbin.learn import LEARNERS, train
from topbin.learn.backends.checkpoint import keep, load
from topbin.learn.backends.torch import TorchBackend
from topbin.learn.nets import default_optim


def start(learner: str = "tedn") -> TorchBackend:
    """A net with dropout, so that random numbers matter beyond the order of the rows."""
    with torch.random.fork_rng():
        torch.manual_seed(4)
        net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2))
    optim = default_optim(LEARNERS[learner].loss, "uci-mlp")
    return TorchBackend(net, optim, batch=50, seed=4)


def samples():
    rng = np.random.default_rng(8)
    return [rng.normal(size=(n, 5)) + shift for n, shift in ((120, 1.0), (150, 0.2)) * 2]


def epochs(model, path, *, learner="tedn", total=12):
    X_p, X_u, held_p, held_u = samples()
    done = load(path, model)
    alpha = 0.4 if LEARNERS[learner].needs_alpha else None
    run = train(
        model, LEARNERS[learner], X_p, X_u, alpha=alpha, holdout=(held_p, held_u),
        epochs=total - 4, warm_start=4, done=done,
    )  # fmt: skip
    return done, keep(path, model, run, done)


if __name__ == "__main__":
    for epoch in epochs(start(), sys.argv[1])[1]:
        print(epoch.epoch, flush=True)
        sleep(0.02)  # so that the kill lands between the first epochs and the last
