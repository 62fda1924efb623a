"""The fast net on CIFAR-10: accuracy and error of α̂ on fresh splits, and images per second.

    python bench/scripts/fast_net.py run cifar_dog_cat tedn 0 1 2 3 4    # splits, one file each
    python bench/scripts/fast_net.py speed
    python bench/scripts/fast_net.py page                                # bench/results/fast_net.md

A run that was stopped continues with the first split that has no file. Every file holds the scores
of the hold-out after every epoch and those of the test set after the warm start (which is PvU) and
after the last epochs, so ways to read α are compared without training again. Settings were chosen on splits 100 and above, by PvU's risk on
held-out rows, which needs no true label; the splits from 0 on are the ones reported.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
import torch
from report import RESULTS, head, save, table

from topbin import estimate_alpha
from topbin.learn import (
    LEARNERS,
    NETS,
    NetPlan,
    TorchBackend,
    build_net,
    default_optim,
    fit_posterior,
    train,
)
from topbin_bench.tasks import TASKS

FOLDER = RESULTS / "fast_net"
ALPHA = 0.5
LAST = 6  # epochs whose test scores are kept


def file_of(task: str, method: str, split: int, net: str, batch: int, lr: float) -> Path:
    other = f"-{batch}-{lr}" if batch or lr else ""
    return FOLDER / f"{task}-{method}-{net}{other}-{split}.npz"


def train_one(task: str, method: str, split: int, net: str, batch: int, lr: float) -> None:
    """One training, its scores written to a file; nothing if the file is there."""
    path = file_of(task, method, split, net, batch, lr)
    if path.exists():
        return
    data, truth = TASKS[task].split(ALPHA, split)
    learner, kind = LEARNERS[method], NETS[net]
    started = process_time()
    warm, epochs = NetPlan().phases(learner, kind)
    shown = torch.from_numpy(np.concatenate([data.X_p[:1500], data.X_u[:1500]]))
    built = build_net(net, data.X_p.shape[1:], seed=split)
    kind.prepare(built, shown.float() / 255)
    optim = default_optim(learner.loss, net)
    optim = replace(optim, lr=lr or optim.lr)
    model = TorchBackend(
        built, optim, batch=batch or kind.batch, augment=kind.augment, mirror=kind.mirror,
        phases=(warm, epochs) if warm else (epochs,), seed=split, threads=1, device="cpu",
    )  # fmt: skip
    kept = []

    def recorded(evidence):
        kept.append(evidence)
        return estimate_alpha(evidence, method="bbe", confidence=None)

    run = train(
        model, learner, data.X_p, data.X_u, alpha=ALPHA if learner.needs_alpha else None,
        holdout=data.holdout, epochs=epochs, warm_start=warm, estimator=recorded,
    )  # fmt: skip
    history, tests, scoring = [], [], 0.0
    for epoch in run:
        history.append(epoch)
        spent = process_time() - started
        print(epoch.epoch, epoch.phase, epoch.held_risk, epoch.estimate.alpha, spent, flush=True)
        if epoch.epoch == warm or epoch.epoch > warm + epochs - LAST:
            before = process_time()
            tests.append(model.scores(truth.X_test))
            scoring += process_time() - before
    FOLDER.mkdir(exist_ok=True)
    np.savez_compressed(
        path,
        held_p=np.stack([each.scores[0] for each in kept[-len(history):]]),
        held_u=np.stack([each.scores[1] for each in kept[-len(history):]]),
        alphas=[epoch.estimate.alpha for epoch in history],
        risks=[np.nan if epoch.held_risk is None else epoch.held_risk for epoch in history],
        tests=np.stack(tests), y_test=truth.y_test, cpu=process_time() - started - scoring,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run")
    run.add_argument("task")
    run.add_argument("method")
    run.add_argument("splits", type=int, nargs="+")
    run.add_argument("--net", default="fast")
    run.add_argument("--batch", type=int, default=0, help="0: the one of the net")
    run.add_argument("--lr", type=float, default=0.0, help="0: the one of the net")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.verb == "run":
        for split in given.splits:
            train_one(given.task, given.method, split, given.net, given.batch, given.lr)


if __name__ == "__main__":
    main()
