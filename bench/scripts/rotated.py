"""A rotated hold-out for the fast net: three nets, and every row is held out by one of them.

    TOPBIN_DATA=folder OMP_NUM_THREADS=1 python bench/scripts/rotated.py cifar_dog_cat 0 1 2 3 4

Each net trains on two thirds of the rows of the paper's split, its hold-out included, as
`TEDnClassifier("fast")` does. There is a file per split, so a run can be stopped;
`fast_net.py collect` reads them.
"""

import argparse
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from report import RESULTS

from topbin import estimate_alpha
from topbin.learn import LEARNERS, NETS, NetPlan, TorchBackend, build_net, default_optim, train
from topbin_bench.tasks import TASKS

FOLDER = RESULTS / "fast_net"
FOLDS = 3
TEDN, FAST = LEARNERS["tedn"], NETS["fast"]


def path_of(task: str, split: int, alpha: float) -> Path:
    return FOLDER / f"{task}-rotated-{alpha}-{split}.npz"


def train_one(X_p: Any, X_u: Any, held: tuple[Any, Any], X_test: Any, seed: int) -> dict[str, Any]:
    """Scores of held-out rows after the warm start and each later epoch, and of the test set.

    `tests` has the test set after the warm start, which is PvU, and after the last two epochs.
    """
    started, scoring = process_time(), 0.0
    net = build_net("fast", X_p.shape[1:], seed=seed)
    FAST.prepare(net, torch.from_numpy(np.concatenate([X_p[:1500], X_u[:1500]])).float() / 255)
    warm, epochs = NetPlan().phases(TEDN, FAST)
    model = TorchBackend(
        net, default_optim("logistic", "fast"), batch=FAST.batch, augment=FAST.augment,
        mirror=FAST.mirror, phases=(warm, epochs), seed=seed, threads=1, device="cpu",
    )  # fmt: skip
    kept: list[Any] = []
    tests: list[Any] = []

    def estimate(evidence: Any) -> Any:
        kept.append(evidence.scores)
        return estimate_alpha(evidence, method="bbe", confidence=None)

    for epoch in train(
        model, TEDN, X_p, X_u, holdout=held, epochs=epochs, warm_start=warm, estimator=estimate
    ):
        print(seed, epoch.epoch, epoch.phase, epoch.estimate.alpha, flush=True)
        if epoch.epoch == warm or epoch.epoch > warm + epochs - 2:
            before = process_time()
            tests.append(model.scores(X_test))
            scoring += process_time() - before
    held_p, held_u = (np.stack(part[warm - 1 :]) for part in zip(*kept, strict=True))
    cpu = process_time() - started - scoring
    return {"held_p": held_p, "held_u": held_u, "tests": np.stack(tests), "cpu": cpu}


def run(task: str, split: int, alpha: float) -> None:
    """Three nets on one split, into a file."""
    data, truth = TASKS[task].split(alpha, split)
    X_p, X_u = (
        np.concatenate(pair) for pair in zip((data.X_p, data.X_u), data.holdout, strict=True)
    )
    rng = np.random.default_rng(split)
    fold_p, fold_u = (rng.permutation(len(X)) % FOLDS for X in (X_p, X_u))
    kept = {"y_test": truth.y_test}
    for k in range(FOLDS):
        held = X_p[fold_p == k], X_u[fold_u == k]
        rows = X_p[fold_p != k], X_u[fold_u != k]
        found = train_one(*rows, held, truth.X_test, split + 1000 * k)
        kept |= {f"{name}{k}": value for name, value in found.items()}
    FOLDER.mkdir(exist_ok=True)
    np.savez_compressed(path_of(task, split, alpha), **kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("splits", type=int, nargs="+")
    parser.add_argument("--alpha", type=float, default=0.5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for split in given.splits:
        if not path_of(given.task, split, given.alpha).exists():
            run(given.task, split, given.alpha)


if __name__ == "__main__":
    main()
