"""A rotated hold-out for the fast net: three nets, and every row is held out by one of them.

    TOPBIN_DATA=folder OMP_NUM_THREADS=1 python bench/scripts/rotated.py run cifar_dog_cat 100 101
    python bench/scripts/rotated.py read cifar_dog_cat 100 101

Each net trains on two thirds of the rows of the paper's split, its hold-out included. Ranks of
held-out rows of all three give α; the mean of the three logits classifies. `run` keeps a file per
split, so it can be stopped; `read` prints a line per epoch after the warm start.
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
ALPHA, FOLDS = 0.5, 3
TEDN, FAST = LEARNERS["tedn"], NETS["fast"]


def path_of(task: str, split: int) -> Path:
    return FOLDER / f"{task}-rotated-{split}.npz"


def alpha_of(scores_p: Any, scores_u: Any) -> float:
    return estimate_alpha(scores_p, scores_u, method="bbe", confidence=None).alpha


def train_one(X_p: Any, X_u: Any, held: tuple[Any, Any], X_test: Any, seed: int) -> list[Any]:
    """Scores of the held-out and of the test rows, after the warm start and each later epoch."""
    net = build_net("fast", X_p.shape[1:], seed=seed)
    FAST.prepare(net, torch.from_numpy(np.concatenate([X_p[:1500], X_u[:1500]])).float() / 255)
    warm, epochs = NetPlan().phases(TEDN, FAST)
    model = TorchBackend(
        net, default_optim("logistic", "fast"), batch=FAST.batch, augment=FAST.augment,
        mirror=FAST.mirror, phases=(warm, epochs), seed=seed, threads=1, device="cpu",
    )  # fmt: skip
    kept: list[Any] = []
    for epoch in train(model, TEDN, X_p, X_u, holdout=held, epochs=epochs, warm_start=warm):
        print(seed, epoch.epoch, epoch.phase, epoch.estimate.alpha, flush=True)
        if epoch.epoch >= warm:
            kept.append([model.scores(X) for X in (*held, X_test)])
    return [np.stack(part) for part in zip(*kept, strict=True)]


def run(task: str, split: int) -> None:
    """Three nets on one split, into a file."""
    started = process_time()
    data, truth = TASKS[task].split(ALPHA, split)
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
        for name, scores in zip(("held_p", "held_u", "tests"), found, strict=True):
            kept[f"{name}{k}"] = scores
    FOLDER.mkdir(exist_ok=True)
    np.savez_compressed(path_of(task, split), **kept, cpu=process_time() - started)


def ranks(z_p: Any, z_u: Any) -> list[Any]:
    """Shares of the fold's own rows below, so that folds can be pooled."""
    both = np.sort(np.concatenate([z_p, z_u]))
    return [np.searchsorted(both, z) / both.size for z in (z_p, z_u)]


def read(task: str, split: int) -> None:
    """For each epoch: α̂ of all rows, α̂ of each net, and accuracies of the mean and of each net."""
    with np.load(path_of(task, split)) as file:
        kept = dict(file)
    for t in range(len(kept["tests0"])):
        nets = [[kept[f"{name}{k}"][t] for name in ("held_p", "held_u", "tests")]
                for k in range(FOLDS)]  # fmt: skip
        pooled = zip(*(ranks(z_p, z_u) for z_p, z_u, _ in nets), strict=True)
        alphas = [alpha_of(*map(np.concatenate, pooled)), *(alpha_of(p, u) for p, u, _ in nets)]
        tests = [np.mean([test for *_, test in nets], axis=0), *(test for *_, test in nets)]
        right = [((test > 0) == kept["y_test"]).mean() for test in tests]
        print(split, t, *(f"{value:.3f}" for value in (*alphas, *right)))
    print(f"{kept['cpu']:.0f} CPU s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=["run", "read"])
    parser.add_argument("task")
    parser.add_argument("splits", type=int, nargs="+")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for split in given.splits:
        if given.verb == "read" or not path_of(given.task, split).exists():
            (run if given.verb == "run" else read)(given.task, split)


if __name__ == "__main__":
    main()
